"""Convert table cells to JSON, and put them into events."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json


# Any: a cell of any library
def plain(value: Any) -> Any:
    """Return a cell as JSON; None for missing values (NaN, NaT, NA)."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return dict(_members(value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (datetime, date)):
        return moment(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "tolist"):  # numpy
        return plain(value.tolist())
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value)


def _members(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        cell = plain(inner)
        if cell is not None:
            yield str(key), cell


def moment(value: datetime | date) -> str | None:
    """Return the time as ISO 8601 in the format of the SDKs. A time without a zone is UTC."""
    if value != value:  # NaT
        return None
    if not isinstance(value, datetime):
        return value.isoformat()
    return iso(value.replace(tzinfo=UTC) if value.tzinfo is None else value)


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
