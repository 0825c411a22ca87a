"""What some events have in common that others lack: missing fields, types, values, lengths, and the first day.

Properties of events are counted on both sides and ranked by how well they separate them. Work and memory are bounded:
long lists and deep values are read in part, and rare values are dropped while counting.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

import msgspec

from svctoolkit.json_types import Json, json_type

_DEEPEST, _ELEMENTS, _LONGEST_VALUE = 12, 20, 60
_LENGTHS = (40, 100, 255, 500, 1024)  # limits that vendors have for names and values
_EVERY, _RARE = 500, 0.1  # after so many events, values that fewer events have are dropped
_LEAST_SHARE, _LEAST_SCORE = 0.5, 0.3
#: How informative a property is, if it separates the events as well as another
_ORDER = ("missing", "empty", "present", "type", "value", "negative", "longer", "since")
_DAY = ("receivedAt", "originalTimestamp", "timestamp", "sentAt")


class Trait(msgspec.Struct, frozen=True):
    """A property that separates two sets of events, and how many events of each set have it.

    `kind` is one of `missing`, `empty`, `present`, `type`, `value`, `negative`, `longer` (text of more than `value`
    characters) and `since` (`value` is a day). `path` is the field, with `*` for any element of a list: a field is
    missing if one element lacks it. `value` is JSON text, a type, a length, or a day.
    """

    kind: str
    path: str
    value: str
    failing: int
    of_failing: int
    passing: int
    of_passing: int

    @property
    def score(self) -> float:
        """The difference of the two shares, from 0 to 1: 1 separates them completely."""
        return self.failing / self.of_failing - self.passing / self.of_passing

    def to_dict(self) -> dict[str, Json]:
        """The members and the sentence, for JSON."""
        return {**msgspec.structs.asdict(self), "text": self.text}

    @property
    def text(self) -> str:
        """A sentence: `properties.price is missing in 100 of 100 failing, 0 of 9,700 passing`."""
        what = {
            "missing": f"{self.path} is missing",
            "empty": f"{self.path} is empty",
            "present": f"{self.path} is present",
            "type": f"{self.path} is of type {self.value}",
            "value": f"{self.path} is {self.value}",
            "negative": f"{self.path} is negative",
            "longer": f"{self.path} has over {self.value} characters",
            "since": f"the day is {self.value} or later",
        }[self.kind]
        passing = f"{self.passing:,} of {self.of_passing:,} passing"
        return f"{what} in {self.failing:,} of {self.of_failing:,} failing, {passing}"


class _Feature(NamedTuple):
    kind: str
    path: str
    value: str = ""


def contrast(
    failing: Iterable[Mapping[str, Json]], passing: Iterable[Mapping[str, Json]], most: int = 5
) -> tuple[Trait, ...]:
    """Return the properties that at least half of the failing events have and clearly fewer of the passing ones.

    At most `most` are returned, the best first. If a missing object separates the events, its fields are left out.
    Empty if one of the sides has no events.
    """
    of_failing, found, days = _count(failing, None)
    of_passing, others, other_days = _count(passing, found)
    if not of_failing or not of_passing:
        return ()
    sizes = of_failing, of_passing
    traits = [*_traits(found, others, sizes), *_since(days, other_days, sizes)]
    traits = [t for t in traits if t.failing >= _LEAST_SHARE * of_failing and t.score >= _LEAST_SCORE]
    traits.sort(key=lambda t: (-round(t.score, 3), t.path.count("."), _ORDER.index(t.kind), t.path, t.value))
    chosen: list[Trait] = []
    for trait in traits:
        if len(chosen) < most and not any(_follows(trait, other) for other in chosen):
            chosen.append(trait)
    return tuple(chosen)


def _count(
    events: Iterable[Mapping[str, Json]], known: Mapping[_Feature, int] | None
) -> tuple[int, Counter[_Feature], Counter[str]]:
    """Count features and days. Of the second set, only fields and features that are `known` in the first one count."""
    number, counts, days = 0, Counter[_Feature](), Counter[str]()
    for number, event in enumerate(events, 1):
        features = set(_walk(event, "", 0))
        counts.update(features if known is None else {f for f in features if f.kind == "present" or f in known})
        days[_day(event)] += 1
        if known is None and number % _EVERY == 0:
            for feature in [f for f, count in counts.items() if f.kind == "value" and count < _RARE * number]:
                del counts[feature]
    return number, counts, days


def _walk(value: Json, path: str, depth: int) -> Iterator[_Feature]:
    """Yield the features of a value and of what it contains."""
    if isinstance(value, Mapping) and depth < _DEEPEST:
        for name, inner in value.items():
            at = f"{path}.{name}" if path else name
            yield _Feature("present", at)
            yield from _walk(inner, at, depth + 1)
    if not path:
        return
    if not isinstance(value, Mapping):
        yield from _leaf(value, path)
    yield _Feature("type", path, json_type(value))
    if isinstance(value, list) and value and depth < _DEEPEST:
        elements = [set(_walk(element, f"{path}.*", depth + 1)) for element in value[:_ELEMENTS]]
        # A field counts as present if all elements have it.
        everywhere = reduce(set.intersection, elements)
        yield from (f for f in set[_Feature]().union(*elements) if f.kind != "present" or f in everywhere)


def _leaf(value: Json, path: str) -> Iterator[_Feature]:
    if value in ("", []):
        yield _Feature("empty", path)
    elif isinstance(value, str):
        yield from (_Feature("longer", path, str(length)) for length in _LENGTHS if len(value) > length)
        if len(value) <= _LONGEST_VALUE:
            yield _Feature("value", path, json.dumps(value, ensure_ascii=False))
    elif isinstance(value, (bool, int, float)):
        yield _Feature("value", path, json.dumps(value))
        if value < 0:
            yield _Feature("negative", path)


def _traits(found: Counter[_Feature], others: Counter[_Feature], sizes: tuple[int, int]) -> Iterator[Trait]:
    of_failing, of_passing = sizes
    for feature in found:
        yield Trait(*feature, found[feature], of_failing, others[feature], of_passing)
    for feature in {*found, *others}:
        if feature.kind == "present":
            failing, passing = of_failing - found[feature], of_passing - others[feature]
            yield Trait("missing", feature.path, "", failing, of_failing, passing, of_passing)


def _since(days: Counter[str], others: Counter[str], sizes: tuple[int, int]) -> Iterator[Trait]:
    """The first day of the failing events, if all of both sides have a day."""
    if "" in days or "" in others or not days:
        return
    first = min(days)
    passing = sum(count for day, count in others.items() if day >= first)
    yield Trait("since", "", first, sizes[0], sizes[0], passing, sizes[1])


def _day(event: Mapping[str, Any]) -> str:
    moment = next((event[name] for name in _DAY if isinstance(event.get(name), str)), "")
    return str(moment)[:10]


def _follows(trait: Trait, other: Trait) -> bool:
    """Return whether a trait says nothing new after another: it is about the same field, or about part of it."""
    return trait.path == other.path or (
        other.kind in ("missing", "empty", "present", "type") and trait.path.startswith(f"{other.path}.")
    )
