"""Put table cells into events."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit.json_types import Json


def put(owner: dict[str, Json], path: Sequence[str], value: Json) -> None:
    """Set the value at a path of an event. Raises `ValueError` if another column's value is in the way."""
    for step in path[:-1]:
        below = owner.setdefault(step, {})
        if not isinstance(below, dict):
            raise ValueError(f"{'.'.join(path)} cannot be set: {step} is set by another column, and is not an object")
        owner = below
    if isinstance(owner.get(path[-1]), dict) and not isinstance(value, dict):
        raise ValueError(f"{'.'.join(path)} cannot be set: other columns set members of it")
    owner[path[-1]] = value
