"""Integers of events that JavaScript cannot represent: it rounds those beyond 2^53."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from svctoolkit.transformations._contract import CodeLoss, Output

_SAFE = 2**53
_DEEPEST = 100
# Sixteen digits after a colon, a bracket or a comma. A regular expression for this takes seven times as long.
# In the JSON of events without blanks: `LONG in events.translate(ALIKE)` if there may be integers beyond 2^53.
ALIKE = bytes.maketrans(b"0123456789[,-", b"0000000000:::")
LONG = b":" + b"0" * 16


# Any: an event
def with_rounded(output: Output, event: Mapping[str, Any]) -> Output:
    """Return the output of JavaScript for an event, with a loss for each integer that it rounded."""
    integers = [*_long_integers(event, ())]
    if not integers or not output.events:
        return output
    losses = []
    for number, returned in enumerate(output.events):
        rounded = [
            CodeLoss(".".join(map(str, path)), "an integer beyond 2^53", str(now))
            for path, value in integers
            if isinstance(now := _at(returned, path), (int, float)) and not isinstance(now, bool) and now != value
        ]
        losses.append((*(output.losses[number] if output.losses else ()), *rounded))
    return msgspec.structs.replace(output, losses=tuple(losses)) if any(losses) else output


def _long_integers(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], int]]:
    if type(value) is int:
        if abs(value) > _SAFE:
            yield path, value
    elif isinstance(value, Mapping) and len(path) < _DEEPEST:
        for name, inner in value.items():
            yield from _long_integers(inner, (*path, name))
    elif isinstance(value, list) and len(path) < _DEEPEST:
        for index, inner in enumerate(value):
            yield from _long_integers(inner, (*path, index))


def _at(value: Any, path: Sequence[str | int]) -> Any:
    try:
        for step in path:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return None
    return value
