"""What the events of a group have in common: they are read again, with events that arrive at the same destination."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from svctoolkit import personal
from svctoolkit.json_types import Json
from svctoolkit.replay.inputs import Events, input_of, records
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.record import Chunk, Record
from svctoolkit.replay.results.members import members
from svctoolkit.replay.tally.rows import Columns as RowColumns
from svctoolkit.replay.tally.tally import Group
from svctoolkit.results.contrast import Trait, contrast
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    from svctoolkit.replay.results.results import Comparison, Replayed

MOST = 10_000  # events of each side that are looked at
_PASSING = ("ok", "same", "changed", "no longer failing", "newly delivered")


def contrast_group(
    events: Events,
    workspace: Workspace,
    columns: Mapping[str, str] | None,
    mask_personal: bool,
    result: Replayed | Comparison,
    group: Group,
) -> tuple[Trait, ...]:
    """Compare the events of a group with others. Secrets in values are masked, and on request personal data."""
    destination = workspace.destinations.get(group.destination)
    owner = destination.id if destination else group.destination
    failing = {member.place for member in members(result, group, MOST, destination_id=owner)[0]}
    passing = _passing_places(result.blocks(), owner, group.events, failing)
    sides: dict[bool, list[Mapping[str, Json]]] = {True: [], False: []}
    for record in _read(events, Columns(columns), failing | passing):
        sides[record.place in failing].append(record.event)
    mask = workspace.masker.text
    return tuple(_masked(trait, mask, mask_personal) for trait in contrast(sides[True], sides[False]))


def _passing_places(
    blocks: Iterable[RowColumns], destination: str, names: Collection[str], failing: Collection[str]
) -> set[str]:
    """Return the places of events with one of these names that arrive at a destination: at most 10,000, at random."""
    chosen, count = list[str](), 0
    choose = random.Random(0)
    for place, name, outcome in _outcomes(blocks, destination):
        if outcome not in _PASSING or place in failing or (name not in names and "…" not in names):
            continue
        count += 1
        if len(chosen) < MOST:
            chosen.append(place)
        elif (at := choose.randrange(count)) < MOST:
            chosen[at] = place
    return set(chosen)


def _outcomes(blocks: Iterable[RowColumns], destination: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, name (or type) and outcome of each event.

    The outcome is the kind of a comparison, or in a replay the status of the event's last stage.
    """
    for block in blocks:
        outcomes, last = block.get("kind") or block["status"], ("", "", "")
        for n, place in enumerate(block["place"]):
            if block["destination_id"][n] != destination:
                continue
            if last[0] not in ("", place):
                yield last
            last = str(place), str(block["event_name"][n] or block["event_type"][n]), str(outcomes[n])
        if last[0]:
            yield last


def _read(events: Events, columns: Columns, places: Collection[str]) -> Iterator[Record]:
    for chunk in input_of(events).chunks():
        if isinstance(chunk, Chunk):
            for record in records(chunk, columns):
                if isinstance(record, Record) and record.place in places:
                    yield record


def _masked(trait: Trait, mask: Callable[[str], str], mask_personal: bool) -> Trait:
    value = mask(trait.value)
    if mask_personal and trait.kind == "value":
        value = json.dumps(personal.replace_at(trait.path, json.loads(trait.value), personal.mask), ensure_ascii=False)
    return Trait(trait.kind, mask(trait.path), value, trait.failing, trait.of_failing, trait.passing, trait.of_passing)
