"""What the events of groups have in common: they are read again, with events that arrive at the same destination.

The rows are read once, and the input once for each side, for all groups together. Only the chosen events are decoded,
and only counts are kept of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from svctoolkit import personal
from svctoolkit.replay.inputs import Events
from svctoolkit.replay.results.members import COLUMNS, Reader, text_of_member
from svctoolkit.replay.tally.rows import Columns as RowColumns
from svctoolkit.replay.tally.tally import Group
from svctoolkit.results.contrast import Sample, Trait, Traits, compare_features
from svctoolkit.results.features import Features
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    from svctoolkit.replay.results.results import Comparison, Replayed

MOST = 10_000  # events of each side of a contrast
_MOST_FAILING, _MOST_PASSING = 20_000, 6_000  # events over all contrasts
_ENOUGH = 2_000  # a share of as many passing events is off by two points at most
_LEAST = 200  # events of each side
_PASSING = ("ok", "same", "changed", "no longer failing", "newly delivered")
_SELECTION = ("selected", "others")


def contrast_groups(
    events: Events,
    workspace: Workspace,
    columns: Mapping[str, str] | None,
    mask_personal: bool,
    result: Replayed | Comparison,
    groups: Sequence[Group],
) -> list[Traits]:
    """Compare the events of each group with others. Secrets in values are masked, and on request personal data."""
    alike: dict[tuple[str, frozenset[str]], list[Group]] = {}
    for group in groups:
        alike.setdefault((_owner(workspace, group.destination), frozenset(group.events)), []).append(group)
    failing, passing = MOST, MOST
    if len(groups) > 1:
        failing = max(_LEAST, _MOST_FAILING // len(groups))
        passing = max(_LEAST, min(_ENOUGH, _MOST_PASSING // len(alike)))
    questions = [
        _Question(owner, names, [_Failing(result, group, failing) for group in of_name], Sample(passing))
        for (owner, names), of_name in alike.items()
    ]
    _ask(result, questions)
    sides = [([one.events.chosen for one in question.failing], question.passing.chosen) for question in questions]
    mask = partial(_masked, workspace.masker.text, mask_personal)
    asked = [group.key for of_name in alike.values() for group in of_name]
    found = dict(zip(asked, _contrasts(Reader(events, columns), sides), strict=True))
    return [Traits(map(mask, found[group.key])) for group in groups]


def contrast_places(
    events: Events,
    workspace: Workspace,
    columns: Mapping[str, str] | None,
    mask_personal: bool,
    result: Replayed | Comparison,
    places: Collection[str],
) -> Traits:
    """Compare the events at some places with the other events of a replay, whatever their outcome."""
    selected, others = Sample[str](MOST), Sample[str](MOST)
    last = ""
    for block in result.blocks(["place"]):
        for place in block["place"]:
            if place != last:
                (selected if place in places else others).add(place)
            last = place
    mask = partial(_masked, workspace.masker.text, mask_personal)
    (traits,) = _contrasts(Reader(events, columns), [([selected.chosen], others.chosen)])
    return Traits(map(mask, traits), _SELECTION)


class _Failing:
    """The events of a group."""

    def __init__(self, result: Replayed | Comparison, group: Group, most: int) -> None:
        self._kind, self._text_of, self.events = group.kind, text_of_member(result, group), Sample[str](most)
        if group.kind == "lossy":  # the rows do not say what was lost
            for example in group.examples:
                self.events.add(example.place)

    def see(self, block: RowColumns, rows: Sequence[int], outcomes: Sequence[str]) -> bool:
        """Add an event with these rows if it is in the group, and return whether it is."""
        if self._kind not in outcomes or all(self._text_of(block, n) is None for n in rows):
            return False
        self.events.add(block["place"][rows[-1]])
        return True


class _Question(NamedTuple):
    """Groups of events with the same names at a destination, and events with these names that arrive there.

    The groups share the events that arrive, because counting their features takes most of the time.
    """

    owner: str
    names: frozenset[str]
    failing: Sequence[_Failing]
    passing: Sample[str]

    def see(self, block: RowColumns, rows: Sequence[int], outcomes: Sequence[str]) -> None:
        """Add an event with these rows, if it is in a group or arrives."""
        last = rows[-1]
        name = str(block["event_name"][last] or block["event_type"][last])
        if name not in self.names and "…" not in self.names:
            return
        in_groups = [one.see(block, rows, outcomes) for one in self.failing]
        if not any(in_groups) and outcomes[-1] in _PASSING:
            self.passing.add(block["place"][last])


def _owner(workspace: Workspace, key: str) -> str:
    destination = workspace.destinations.get(key)
    return destination.id if destination else key


def _ask(result: Replayed | Comparison, questions: Sequence[_Question]) -> None:
    """Choose the events of both sides of each question, in one pass over the rows."""
    of_owner: dict[str, list[_Question]] = {}
    for question in questions:
        of_owner.setdefault(question.owner, []).append(question)
    for block in result.blocks(COLUMNS):
        outcomes = block.get("kind") or block["status"]
        for owner, rows in _events(block):
            for question in of_owner.get(owner, ()):
                question.see(block, rows, [outcomes[n] for n in rows])


def _events(block: RowColumns) -> Iterator[tuple[str, list[int]]]:
    """Yield the destination and the rows of each event: the rows of one event are next to each other."""
    last, rows = ("", ""), list[int]()
    for n, key in enumerate(zip(block["destination_id"], block["place"], strict=True)):
        if key != last and rows:
            yield last[0], rows
            rows = []
        last = key
        rows.append(n)
    if rows:
        yield last[0], rows


def _contrasts(
    reader: Reader, sides: Sequence[tuple[Sequence[Collection[str]], Collection[str]]]
) -> Iterator[tuple[Trait, ...]]:
    """Count the features of events by place: of several sets, and of events that each of these is compared with.

    The latter are counted against the former.
    """
    failing = [[Features() for _ in places] for places, _ in sides]
    _count(reader, [*chain(*failing)], [*chain(*(places for places, _ in sides))])
    passing = [Features(*known) for known in failing]
    _count(reader, passing, [places for _, places in sides])
    for these, others in zip(failing, passing, strict=True):
        for one in these:
            yield compare_features(one, others)


def _count(reader: Reader, features: Sequence[Features], places: Sequence[Collection[str]]) -> None:
    wanted: dict[str, list[Features]] = {}
    for one, of_one in zip(features, places, strict=True):
        for place in of_one:
            wanted.setdefault(place, []).append(one)
    for record in reader.records(wanted):
        for one in wanted.get(record.place, ()):
            one.add(record.event)


def _masked(mask: Callable[[str], str], mask_personal: bool, trait: Trait) -> Trait:
    value = mask(trait.value)
    if mask_personal and trait.kind == "value":
        value = json.dumps(personal.replace_at(trait.path, json.loads(trait.value), personal.mask), ensure_ascii=False)
    return Trait(trait.kind, mask(trait.path), value, trait.failing, trait.of_failing, trait.passing, trait.of_passing)
