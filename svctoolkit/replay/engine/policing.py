"""Check policies on what arrives at all destinations of a replay, event by event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from svctoolkit.causes import text_template
from svctoolkit.history import History
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Passage
from svctoolkit.pipeline.texts import Keep
from svctoolkit.policies import Finding, Policies, PolicyBreach, Whole
from svctoolkit.policies.arrivals import Sent, json_line
from svctoolkit.policies.tables import Sheets, Tables
from svctoolkit.replay.engine.ledger import Book
from svctoolkit.replay.records.record import Record, paths_of
from svctoolkit.replay.tally.tally import Example, Group, Tally, add_counts
from svctoolkit.results import ABSENT, EventResult, Payload
from svctoolkit.secrets import Masker
from svctoolkit.simulations import Loss

_Key: TypeAlias = tuple[str, str, str, str, str]


class Police:
    """Collects what arrives of the events of a batch, and adds breaches to the groups and counts of a book."""

    def __init__(self, book: Book, policies: Policies) -> None:
        self._book, self._policies = book, policies
        self._sent: dict[str, Sent] = {}
        self._expected: _Arriving | None = None
        self._maskers: dict[str, Masker] = {}
        self._sheets = Sheets(policies.reads)

    def expect(self, destination: str, events: int) -> Keep | None:
        """Return what gets the payloads of a batch that have no results, before `see`; None if no policy needs them."""
        if not self._policies.about(destination):
            return None
        self._expected = _Arriving(events, encodes=self._policies.searches(destination))
        return self._expected.add

    def see(self, destination: str, passages: Sequence[Passage | None], masker: Masker) -> None:
        """Add what arrived of the events of a batch at a destination."""
        if not self._policies.about(destination):
            return
        arriving = self._expected or _Arriving(len(passages), encodes=False)
        self._expected = None
        for position, passage in enumerate(passages):
            if passage is not None and passage.results:
                arriving.add(position, _sent_of(passage.results), passage.lost or ())
        if any(arriving.payloads):
            sent = self._sent[destination] = Sent(destination, arriving.payloads, arriving.losses, arriving.lines)
            self._maskers[destination] = masker
            self._policies.search(destination, sent)

    def check(self, records: Sequence[Record]) -> None:
        """Check the events that have arrived at all their destinations, and forget them."""
        for destination, sent in self._sent.items():
            if destination in self._policies.reads:
                mask = self._maskers[destination].mask
                for record, payloads in zip(records, sent.payloads, strict=True):
                    self._sheets.add(record.head, record.place, destination, payloads, mask)
        broken: dict[tuple[int, str, str], None] = {}
        known = set[tuple[int, _Key]]()

        def event_at(position: int) -> Mapping[str, Json]:
            return records[position].event

        heads = [record.head for record in records]
        for position, breach in self._policies.check_batch(heads, self._sent, event_at):
            self._add(position, records[position], breach, known)
            broken[position, breach.policy, breach.destination] = None
        for _, policy, destination in broken:
            self._book.sum.breach(policy, destination)
        of_sum = self._book.sum
        given = event_at, len(records), self._sent
        of_sum.reach(self._policies.prove(*given, of_sum.tally.reached))
        for key, paths in self._policies.paths(*given, of_sum.tally.reached).items():
            maskers = [self._maskers[key]] if key else self._maskers.values()
            of_sum.see_paths({key: {self._book.words(path, *maskers) for path in paths}})
        self._sent.clear()

    def finish(self) -> list[bytes]:
        """Return what was sent since the last call, for policies about all events together."""
        rows = self._sheets.finish()
        return [rows] if rows else []

    def _add(self, position: int, record: Record, breach: PolicyBreach, known: set[tuple[int, _Key]]) -> None:
        """Add a breach to its group, which counts events: one with several requests is in it once."""
        words, masker = self._book.words, self._maskers[breach.destination]
        text = words(breach.text, masker)
        path = breach.path
        key = (breach.destination, "breach", path, breach.policy, text_template(text))
        group = self._book.sum.group(*key) if (position, key) not in known else None
        known.add((position, key))
        if group is not None:
            head = self._book.head(record)
            if not group.count and isinstance(breach.value, str):
                group.decides = words(next(paths_of(record.event, breach.value), ""), masker)
            value = "" if breach.value is None else words(str(breach.value), masker)
            self._book.sum.show(
                group,
                record,
                head["event_name"] or head["event_type"],
                Example(record.place, head["event_id"], after=value),
            )


class _Arriving:
    """What arrives of the events of a batch at one destination, by their positions.

    `encodes`: the payloads become JSON right after the mapping, which takes a third of the time of doing it later.
    """

    def __init__(self, events: int, *, encodes: bool) -> None:
        self.payloads: list[Sequence[Payload]] = [()] * events
        self.losses: list[Sequence[Loss]] = [()] * events
        self.lines = [json_line(())] * events if encodes else None

    def add(self, position: int, payloads: Sequence[Payload], losses: Sequence[Loss] = ()) -> None:
        self.payloads[position], self.losses[position] = payloads, losses
        if self.lines is not None:
            self.lines[position] = json_line(payloads)


def _sent_of(results: Sequence[EventResult]) -> list[Payload]:
    # A result with payloads has no error from before they were sent: to look for one takes time for every event.
    return [
        payload
        for result in results
        if result.destination_response is ABSENT or not result.error
        for payload in result.payloads
    ]


def check_whole(
    policies: Policies,
    tally: Tally,
    tables: Tables,
    history: Path | str | None,
    simulated: Mapping[str, bool],
    *,
    is_complete: bool,
) -> list[str]:
    """Add the breaches of policies about all events together to the groups and counts of a run.

    `simulated` is whether a destination is simulated, `is_complete` whether all events were run: a policy that has
    checked nothing then never will. Return what could not be checked.
    """
    whole = _whole(tally, tables, history if policies.needs_history else None, simulated)
    groups = {group.key: group for group in tally.groups}
    doubts = policies.check_reach(tally.reached, whole) if is_complete else ()
    for key, breach, finding in chain(_with_keys(policies.check_whole(whole)), _with_keys(doubts)):
        if key not in groups:
            tally.groups = [*tally.groups, groups.setdefault(key, Group(*key))]
        example = [Example(finding.place, breach.event_id, after=breach.text)] if finding.place else []
        groups[key].merge(
            Group(
                *key,
                count=finding.events,
                events={breach.event: finding.events} if breach.event else {},
                examples=example,
                days={str(finding.missing): finding.events} if finding.missing else {},
            )
        )
        counts = tally.policies.get(breach.policy, {})
        tally.policies = {**tally.policies, breach.policy: add_counts(counts, {breach.destination: finding.events})}
    tally.groups = sorted(tally.groups, key=lambda group: -group.count)
    return [*dict.fromkeys(whole.unchecked)]


def places_of_queries(policies: Policies, sent: Sequence[bytes]) -> dict[_Key, set[str]]:
    """Return the places of the events that queries find in what was sent, by the key of their group."""
    tables, places = Tables(policies.reads), dict[_Key, set[str]]()
    for rows in sent:
        tables.add(rows)
    for key, _, finding in _with_keys(policies.check_whole(Whole(tables))):
        places.setdefault(key, set()).add(finding.place)
    return places


def _with_keys(breaches: Iterable[tuple[PolicyBreach, Finding]]) -> Iterator[tuple[_Key, PolicyBreach, Finding]]:
    """Yield the breaches of policies about all events together, with the keys of their groups."""
    for breach, finding in breaches:
        alike = text_template(breach.text) if breach.event_id else breach.text
        yield (breach.destination, "breach", breach.path, breach.policy, alike), breach, finding


def _whole(tally: Tally, tables: Tables, history: Path | str | None, simulated: Mapping[str, bool]) -> Whole:
    names = {flow.event for flow in tally.flows} | {shift.event for shift in tally.shifts}
    if history is None:
        return Whole(tables, names=names, simulated=simulated, paths=tally.paths)
    own = History(tally.history)
    delivered = History.load(history).merge(own).delivered()
    days = sorted([*own.all_days(), *own.missing_days()])
    return Whole(tables, delivered, days, names=names, simulated=simulated, paths=tally.paths)
