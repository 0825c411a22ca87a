"""`agree`: the same value of an event arrives at several destinations, within a tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, ScreenedCheck
from svctoolkit.policies.arrivals import Arrival, Sent
from svctoolkit.policies.paths import has_value, values_at
from svctoolkit.policies.shares import share


def make(options: Json) -> ScreenedCheck:
    """Return the check. Raises `ConfigError` for a value that is not `destination.path`, or a negative tolerance."""
    places = [_place(text) for text in options["values"]]
    tolerance = share(options.get("tolerance", 0))
    on = options.get("on")

    def check(event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        by_key = {arrival.destination: arrival for arrival in arrivals}
        wanted = [(by_key[destination], steps) for destination, steps in places if destination in by_key]
        if len(wanted) < 2 or _are_alike_numbers([arrival.scalar(steps) for arrival, steps in wanted], tolerance):
            return
        if on is not None and not has_value(Arrival("", [event]), on):
            return
        found = []
        for arrival, steps in wanted:
            values = values_at(arrival, steps)
            found.append((arrival.destination, *(values[0] if values else (steps, None))))
        if any(value is not None for _, _, value in found):
            yield from _differences(found, tolerance)

    def screen(events: Sequence[Mapping[str, Json]], sent: Mapping[str, Sent]) -> Iterator[int]:
        wanted = [(sent[key], steps) for key, steps in places if key in sent]
        for position in range(len(events)) if len(wanted) > 1 else ():
            if not _are_alike_numbers([of.scalar(position, steps) for of, steps in wanted], tolerance):
                yield position

    def early(key: str, sent: Sent) -> None:
        for destination, steps in places:
            if destination == key:
                sent.search(steps)

    return ScreenedCheck(check, screen, early)


def _are_alike_numbers(scalars: Sequence[bytes], tolerance: float) -> bool:
    """Return whether all scalars that a search has found are numbers, and agree: as nearly always."""
    try:
        first, *others = map(float, scalars)
    except ValueError:  # a text, or nothing was found
        return False
    return all(_is_close(first, other, tolerance) for other in others)


def _differences(found: Sequence[tuple[str, str, Json]], tolerance: float) -> Iterator[Finding]:
    first, *others = found
    for destination, path, value in others:
        if not _alike(first[2], value, tolerance):
            text = f"is {_text(value)}, but {first[0]} has {_text(first[2])}"
            yield Finding(destination, path, text, value)


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    first, second = _number(one), _number(other)
    if first is None or second is None:
        return bool(one == other)
    return _is_close(first, second, tolerance)


def _is_close(first: float, second: float, tolerance: float) -> bool:
    return abs(first - second) <= tolerance * max(abs(first), abs(second))


def _number(value: Any) -> float | None:
    """Return a number, also one that is written as text: forms have only texts."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _text(value: Any) -> str:
    return "missing" if value is None else repr(value) if isinstance(value, str) else str(value)


def _place(text: str) -> tuple[str, str]:
    destination, _, steps = text.partition(".")
    if not steps:
        raise ConfigError(f"{text!r} is not a value. Write destination.path, such as ga4.params.value")
    return destination, steps


kind = PolicyKind(
    "the same value at several destinations, within a tolerance",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["values"],
        "properties": {
            "on": {"type": "string", "minLength": 1},
            "values": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "tolerance": {"type": ["number", "string"]},
        },
    },
    make,
    lambda options: [_place(text)[0] for text in options["values"]],
)
