"""Places in payloads: their leaves by path, and paths that are given by their last steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.json_types import Json
from svctoolkit.results.texts import open_texts

_DEEPEST = 40
_MOST = 20_000  # leaves of a payload


def leaves(payloads: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    """Yield the dotted path and value of each leaf, `*` for indexes; texts that are JSON are opened."""
    for payload in payloads:
        for count, leaf in enumerate(_leaves(open_texts(payload), "", _DEEPEST)):
            if count == _MOST:
                break
            yield leaf


def _leaves(value: Json, path: str, depth: int) -> Iterator[tuple[str, Json]]:
    members: Iterator[tuple[str, Json]]
    if depth and isinstance(value, Mapping):
        members = ((str(name), inner) for name, inner in value.items())
    elif depth and isinstance(value, list):
        members = (("*", inner) for inner in value)
    else:
        yield path, value
        return
    for step, inner in members:
        yield from _leaves(inner, f"{path}.{step}" if path else step, depth - 1)


def ends_with(path: str, steps: str) -> bool:
    """Return whether a path ends with these steps; indexes do not count."""
    plain = path.replace(".*", "")
    return plain == steps or plain.endswith(f".{steps}")


def values_at(payloads: Sequence[Json], steps: str) -> list[tuple[str, Json]]:
    """Return the leaves whose path ends with these steps."""
    return [(path, value) for path, value in leaves(payloads) if ends_with(path, steps)]
