"""`agree`: the same value of an event arrives at several destinations, within a tolerance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any, Final, TypeAlias

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, Proof, Reach, ScreenedCheck, Whole
from svctoolkit.policies.arrivals import Arrival, Sent
from svctoolkit.policies.paths import has_value, near_paths, values_at, values_by_request, without_indexes
from svctoolkit.policies.shares import share

#: The values of each request of an event at one destination, with their path.
Requests: TypeAlias = Sequence[tuple[str, Sequence[Json]]]
_EXACT: Final = 2.0**53  # floats represent integers up to here
_AMOUNT = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE]-\d{1,3})?", re.ASCII)


def make(options: Json) -> ScreenedCheck:
    """Return the check. Raises `ConfigError` for a value that is not `destination.path`, or a negative tolerance."""
    places = [_place(text) for text in options["values"]]
    if double := next((text for text in options["values"] if places.count(_place(text)) > 1), None):
        raise ConfigError(f"{double!r} is listed twice. A value always agrees with itself")
    tolerance = share(options.get("tolerance", 0))
    on = options.get("on")

    def check(event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        by_key = {arrival.destination: arrival for arrival in arrivals}
        wanted = [(by_key[destination], steps) for destination, steps in places if destination in by_key]
        if len(wanted) < 2 or _are_alike_numbers([arrival.scalar(steps) for arrival, steps in wanted], tolerance):
            return
        if on is not None and not has_value(Arrival("", [event]), on):
            return
        found = [(arrival.destination, values_by_request(arrival, steps)) for arrival, steps in wanted]
        if any(value is not None for _, requests in found for _, values in requests for value in values):
            yield from _differences(found, tolerance)

    def screen(_events: Sequence[Mapping[str, Json]], sent: Mapping[str, Sent]) -> Iterator[int]:
        wanted = [sent[key].scalars(steps) for key, steps in places if key in sent]
        for position, scalars in enumerate(zip(*wanted, strict=True) if len(wanted) > 1 else ()):
            if not _are_alike_numbers(scalars, tolerance):
                yield position

    def early(key: str, sent: Sent) -> None:
        for destination, steps in places:
            if destination == key:
                sent.scalars(steps)

    def reach(event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Reach:
        by_key = {arrival.destination: arrival for arrival in arrivals}
        wanted = [(by_key[destination], steps) for destination, steps in places if destination in by_key]
        has_values = any(values_at(arrival, steps) for arrival, steps in wanted)
        if on is not None and (len(wanted) < 2 or not has_value(Arrival("", [event]), on)):
            if values_at(Arrival("", [event]), on):
                return Reach.MEMBER
            return Reach.NOTHING if len(wanted) < 2 else Reach.LACKING if has_values else Reach.ARRIVED
        if len(wanted) < 2:
            return Reach.NOTHING
        return Reach.VALUES if has_values else Reach.EVENT

    def mistakes(reached: Reach, whole: Whole) -> Iterator[Finding]:
        # On a day without orders, no event has an order's number or revenue: only a sign of a mistake is a breach.
        if reached == Reach.EVENT:
            with_member = f" with {on}" if on is not None else ""
            near = [near_paths(steps, whole.paths.get(key, ())) for key, steps in places]
            for number, (key, steps) in enumerate(places if on is not None or any(near) else ()):
                text = f"is in none of the events{with_member}, so nothing was compared.{near[number]}"
                yield Finding(key, steps, text.removesuffix("."), option=("values", number))
        elif reached in (Reach.ARRIVED, Reach.LACKING) and on is not None:
            meant = near_paths(on, whole.paths.get("", ()))
            if meant or reached == Reach.LACKING:
                text = f"cannot be checked: none of the events has a value at {on!r}.{meant}".removesuffix(".")
                yield Finding(places[0][0], "", text, option=("on",))

    def doubts(reached: Reach, whole: Whole) -> Iterator[Finding]:
        found = [*mistakes(reached, whole)]
        yield from found
        named = " and ".join(f"{destination}.{steps}" for destination, steps in places)
        if reached == Reach.EVENT and not found:
            whole.unchecked.append(f"agree: no event has {named}, so nothing was compared")
        elif reached < Reach.EVENT and not found:
            with_member = f" with {on}" if on is not None else ""
            whole.unchecked.append(f"agree: no event{with_member} arrives at two destinations of {named}")

    proof = Proof(reach, doubts, ["", *(key for key, _ in places)])
    return ScreenedCheck(check, screen, early, {key for key, _ in places}.__contains__, proof)


def _are_alike_numbers(scalars: Sequence[bytes], tolerance: float) -> bool:
    """Return whether all scalars that a search has found are numbers, and agree: as nearly always."""
    try:
        first, *others = map(float, scalars)
    except ValueError:  # a text, or nothing was found
        return False
    return abs(first) < _EXACT and all(abs(other) < _EXACT and _is_close(first, other, tolerance) for other in others)


def _differences(found: Sequence[tuple[str, Requests]], tolerance: float) -> Iterator[Finding]:
    """Yield how values differ from those at the first destination, request by request.

    With another number of requests, each must have the values of one of the others.
    """
    (first, wanted), *others = found
    differing: Iterator[Finding | None]
    for destination, requests in others:
        if len(requests) == len(wanted):
            differing = (
                _difference(*pair, first, destination, tolerance) for pair in zip(wanted, requests, strict=True)
            )
        else:
            differing = _unmatched(wanted, requests, first, destination, tolerance)
        yield from (finding for finding in differing if finding is not None)


def _unmatched(
    wanted: Requests, requests: Requests, first: str, destination: str, tolerance: float
) -> Iterator[Finding | None]:
    """Yield how requests differ from the first of the others if they agree with none of them."""
    for request in requests:
        if not any(_difference(other, request, first, destination, tolerance) is None for other in wanted):
            yield _difference(wanted[0], request, first, destination, tolerance)
    for other in wanted:
        if not any(_difference(other, request, first, destination, tolerance) is None for request in requests):
            yield _difference(other, requests[0], first, destination, tolerance)


def _difference(
    wanted: tuple[str, Sequence[Json]],
    request: tuple[str, Sequence[Json]],
    first: str,
    destination: str,
    tolerance: float,
) -> Finding | None:
    """Return how the values of one request differ from those of a request to the first destination, if they do."""
    (steps, expected), (path, values) = wanted, request
    if len(values) != len(expected) and values and expected:
        return Finding(destination, path, f"{_count(values)}, but {first} {_count(expected)}")
    for one, other in zip(expected or [None], values or [None], strict=False):
        if not _alike(one, other, tolerance):
            has = f"no {steps}" if one is None else _text(one)
            note = _note(one, other, tolerance)
            return Finding(destination, path, f"is {_text(other)}, but {first} has {has}{note}", other)
    return None


def _note(one: Any, other: Any, tolerance: float) -> str:
    """Return why values differ that the tolerance would allow."""
    first, second = _number(one), _number(other)
    if first is None or second is None or (isinstance(one, str) and isinstance(other, str)):
        return ""
    if abs(first - second) > Decimal(tolerance) * max(abs(first), abs(second)):
        return ""
    return "; the tolerance is for numbers up to 2^53: texts and larger numbers must be exactly the same"


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    """Return whether two values are the same. The tolerance is for amounts: numbers that are exact as floats.

    A text may be an identifier, as may a larger number: a number must be exactly the one in the text.
    """
    first, second = _number(one), _number(other)
    are_texts = isinstance(one, str), isinstance(other, str)
    if first is None or second is None or all(are_texts):
        return type(one) is type(other) and bool(one == other)
    if any(are_texts):
        return first == second
    if max(abs(one), abs(other)) >= _EXACT:
        return bool(one == other)
    return _is_close(one, other, tolerance)


def _is_close(first: float, second: float, tolerance: float) -> bool:
    return abs(first - second) <= tolerance * max(abs(first), abs(second))


def _number(value: Any) -> Decimal | None:
    """Return a number, also one that is written as text: forms have only texts. `007` and `1e5` are identifiers."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        # As it is written: 12.3 in a text equals 12.3, although no float is exactly that.
        return Decimal(repr(value)) if isfinite(value) else None
    if isinstance(value, int):
        return Decimal(value)
    return Decimal(value) if isinstance(value, str) and _AMOUNT.fullmatch(value) else None


def _text(value: Any) -> str:
    return "missing" if value is None else repr(value) if isinstance(value, str) else str(value)


def _count(values: Sequence[Json]) -> str:
    return "has 1 value" if len(values) == 1 else f"has {len(values)} values"


def _place(text: str) -> tuple[str, str]:
    destination, _, steps = text.partition(".")
    if not steps:
        raise ConfigError(f"{text!r} is not a value. Write destination.path, such as ga4.params.value")
    return destination, without_indexes(steps)


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
