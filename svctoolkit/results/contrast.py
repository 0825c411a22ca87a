"""What some events have in common that others lack: missing fields, types, values, lengths, and the first day.

Properties of events are counted on both sides and ranked by how well they separate them. Work and memory are bounded:
long lists and deep values are read in part, and rare values are dropped while counting.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar, overload

import msgspec

from svctoolkit.displayed import Displayed, render
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.results.features import Feature, Features

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
_MOST = 5
_LEAST_SHARE, _LEAST_SCORE = 0.5, 0.3
#: How informative a property is, if it separates the events as well as another
_ORDER = ("missing", "empty", "present", "type", "value", "negative", "longer", "since")
#: Column of a frame -> type.
TRAIT_COLUMNS: Final = {
    "kind": "category", "path": "string", "value": "string", "failing": "int64", "of_failing": "int64",
    "passing": "int64", "of_passing": "int64", "score": "float64", "text": "string",
}  # fmt: skip


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
        return self.sentence("failing", "passing")

    def sentence(self, these: str, others: str) -> str:
        """The same with other words for the two sets of events."""
        passing = f"{self.passing:,} of {self.of_passing:,} {others}"
        return f"{self.what} in {self.failing:,} of {self.of_failing:,} {these}, {passing}"

    @property
    def what(self) -> str:
        """The property alone: `properties.price is missing`."""
        return {
            "missing": f"{self.path} is missing",
            "empty": f"{self.path} is empty",
            "present": f"{self.path} is present",
            "type": f"{self.path} is of type {self.value}",
            "value": f"{self.path} is {self.value}",
            "negative": f"{self.path} is negative",
            "longer": f"{self.path} has over {self.value} characters",
            "since": f"the day is {self.value} or later",
        }[self.kind]


class Traits(Displayed, ArrowOut, Sequence[Trait]):
    """What a set of events has in common, the best property first; `sides` are the words for both sets."""

    def __init__(self, traits: Iterable[Trait] = (), sides: tuple[str, str] = ("failing", "passing")) -> None:
        self._traits, self.sides = tuple(traits), sides

    @overload
    def __getitem__(self, index: int) -> Trait: ...
    @overload
    def __getitem__(self, index: slice) -> Traits: ...
    def __getitem__(self, index: int | slice) -> Trait | Traits:
        return Traits(self._traits[index], self.sides) if isinstance(index, slice) else self._traits[index]

    def __len__(self) -> int:
        return len(self._traits)

    def frame(self) -> pd.DataFrame:
        """Return one row for each property.

        Columns: `kind`, `path`, `value`, `failing`, `of_failing`, `passing`, `of_passing` (as in `Trait`), `score`,
        `text`.
        """
        import pandas as pd

        return pd.DataFrame(storable_all(self.rows()), columns=list(TRAIT_COLUMNS)).astype(TRAIT_COLUMNS)

    def rows(self) -> list[list[Json]]:
        """Return the rows of the frame."""
        rows = []
        for trait in self:
            members = {**trait.to_dict(), "score": trait.score, "text": trait.sentence(*self.sides)}
            rows.append([members[name] for name in TRAIT_COLUMNS])
        return rows

    def lines(self) -> list[str]:
        """Return a sentence for each property, or one that says that there is none."""
        these, others = self.sides
        return [trait.sentence(these, others) for trait in self] or [f"nothing that {others} lack"]

    def __repr__(self) -> str:
        return render(self, "text")


class Sample(Generic[T]):
    """At most `most` of the items that are added, chosen at random: the same for the same items in the same order."""

    def __init__(self, most: int) -> None:
        self.chosen: list[T] = []
        self._most, self._count, self._random = most, 0, random.Random(0)

    def add(self, item: T) -> None:
        self._count += 1
        if len(self.chosen) < self._most:
            self.chosen.append(item)
        elif (at := self._random.randrange(self._count)) < self._most:
            self.chosen[at] = item


def contrast(failing: Iterable[Mapping[str, Json]], passing: Iterable[Mapping[str, Json]]) -> tuple[Trait, ...]:
    """Return the properties that at least half of the failing events have and clearly fewer of the passing ones.

    The best come first, at most five. If a missing object separates the events, its fields are left out. Empty if one
    of the sides has no events.
    """
    of_failing = Features()
    for event in failing:
        of_failing.add(event)
    of_passing = Features(of_failing)
    for event in passing:
        of_passing.add(event)
    return compare_features(of_failing, of_passing)


def compare_features(failing: Features, passing: Features) -> tuple[Trait, ...]:
    """Return the properties that separate events that have been counted: see `contrast`."""
    if not failing.number or not passing.number:
        return ()
    sizes = failing.number, passing.number
    traits = [*_traits(failing.counts(), passing.counts(), sizes), *_since(failing.days, passing.days, sizes)]
    traits = [t for t in traits if t.failing >= _LEAST_SHARE * failing.number and t.score >= _LEAST_SCORE]
    traits.sort(key=lambda t: (-round(t.score, 3), t.path.count("."), _ORDER.index(t.kind), t.path, t.value))
    chosen: list[Trait] = []
    for trait in traits:
        if len(chosen) < _MOST and not any(_follows(trait, other) for other in chosen):
            chosen.append(trait)
    return tuple(chosen)


def _traits(found: Counter[Feature], others: Counter[Feature], sizes: tuple[int, int]) -> Iterator[Trait]:
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


def _follows(trait: Trait, other: Trait) -> bool:
    """Return whether a trait says nothing new after another: it is about the same field, or about part of it."""
    return trait.path == other.path or (
        other.kind in ("missing", "empty", "present", "type") and trait.path.startswith(f"{other.path}.")
    )
