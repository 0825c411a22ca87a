"""Places in payloads: their leaves by path, and paths that are given by their last steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from svctoolkit.json_types import Json
from svctoolkit.pipeline.leaves import leaves as leaves_by_path
from svctoolkit.results.lineage import dotted_path
from svctoolkit.results.texts import open_texts

_MOST = 20_000  # leaves of a payload


def leaves(payloads: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    """Yield the dotted path and value of each leaf, `*` for indexes; texts that are JSON are opened."""
    for payload in payloads:
        for path, value in islice(leaves_by_path(open_texts(payload)).items(), _MOST):
            yield dotted_path(tuple("*" if isinstance(step, int) else step for step in path)), value


def ends_with(path: str, steps: str) -> bool:
    """Return whether a path ends with these steps; indexes do not count."""
    plain = path.replace(".*", "")
    return plain == steps or plain.endswith(f".{steps}")


def values_at(payloads: Sequence[Json], steps: str) -> list[tuple[str, Json]]:
    """Return the leaves whose path ends with these steps."""
    return [(path, value) for path, value in leaves(payloads) if ends_with(path, steps)]
