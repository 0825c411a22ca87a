"""Check policies on what arrives at all destinations of a replay, event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

from svctoolkit.causes import text_template
from svctoolkit.history import History
from svctoolkit.pipeline import Passage
from svctoolkit.pipeline.run import Done
from svctoolkit.policies import Finding, Policies, PolicyBreach, Whole
from svctoolkit.policies.arrivals import Sent, json_line
from svctoolkit.policies.tables import Sheets, Tables
from svctoolkit.replay.engine.ledger import Book
from svctoolkit.replay.records.record import Record, paths_of
from svctoolkit.replay.tally.tally import Example, Group, Tally, add_counts
from svctoolkit.results import ABSENT, EventResult, Payload
from svctoolkit.secrets import Masker

_Key: TypeAlias = tuple[str, str, str, str, str]


class Police:
    """Collects what arrives of the events of a batch, and adds breaches to the groups and counts of a book."""

    def __init__(self, book: Book, policies: Policies) -> None:
        self._book, self._policies = book, policies
        self._sent: dict[str, Sent] = {}
        self._maskers: dict[str, Masker] = {}
        self._read: dict[str, list[tuple[Sequence[Payload], bytes]]] = {}
        self._searched: set[str] = set()  # destinations whose JSON the policies have searched
        self._sheets = Sheets(policies.reads)

    def reader(self, destination: str) -> Done | None:
        """Return a function that writes the payloads of one event as JSON; None unless policies search them.

        To write them before the next event is mapped takes half the time.
        """
        if destination not in self._searched:
            return None
        read = self._read[destination] = []
        seconds = self._book.sum.tally.seconds

        def add(results: Sequence[EventResult]) -> None:
            began = perf_counter()
            payloads = _sent_of(results)
            read.append((payloads, json_line(payloads)))
            seconds["policies"] = seconds.get("policies", 0.0) + perf_counter() - began

        return add

    def see(self, destination: str, passages: Sequence[Passage | None], masker: Masker) -> None:
        """Add what arrived of the events of a batch at a destination."""
        if not self._policies.about(destination):
            return
        payloads: list[Sequence[Payload]] = []
        lines: list[bytes] | None = None
        read = self._read.pop(destination, ())
        if len(read) == sum(passage is not None and bool(passage.results) for passage in passages):
            each = iter(read)
            pairs = [next(each) if passage and passage.results else ((), json_line(())) for passage in passages]
            payloads, lines = [made for made, _ in pairs], [line for _, line in pairs]
        else:
            payloads = [_sent_of(passage.results) if passage else () for passage in passages]
        if any(payloads):
            losses = [tuple(passage.lost or ()) if passage else () for passage in passages]
            sent = self._sent[destination] = Sent(destination, payloads, losses, lines)
            self._maskers[destination] = masker
            self._policies.search(destination, sent)

    def check(self, records: Sequence[Record]) -> None:
        """Check the events that have arrived at all their destinations, and forget them."""
        for destination, sent in self._sent.items():
            if destination in self._policies.reads:
                mask = self._maskers[destination].mask
                for record, payloads in zip(records, sent.payloads, strict=True):
                    self._sheets.add(record.event, record.place, destination, payloads, mask)
        broken: dict[tuple[int, str, str], None] = {}
        for position, breach in self._policies.check_batch([record.event for record in records], self._sent):
            self._add(records[position], breach)
            broken[position, breach.policy, breach.destination] = None
        for _, policy, destination in broken:
            self._book.sum.breach(policy, destination)
        self._searched.update(destination for destination, sent in self._sent.items() if sent.is_searched)
        self._sent.clear()
        self._read.clear()

    def finish(self) -> list[bytes]:
        """Return what was sent since the last call, for policies about all events together."""
        rows = self._sheets.finish()
        return [rows] if rows else []

    def _add(self, record: Record, breach: PolicyBreach) -> None:
        words, masker = self._book.words, self._maskers[breach.destination]
        text = words(breach.text, masker)
        path = breach.path
        group = self._book.sum.group(breach.destination, "breach", path, breach.policy, text_template(text))
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


def _sent_of(results: Sequence[EventResult]) -> list[Payload]:
    # A result with payloads has no error from before they were sent: to look for one takes time for every event.
    return [
        payload
        for result in results
        if result.destination_response is ABSENT or not result.error
        for payload in result.payloads
    ]


def check_whole(policies: Policies, tally: Tally, tables: Tables, history: Path | str | None) -> list[str]:
    """Add the breaches of policies about all events together to the groups and counts of a run.

    Return what could not be checked.
    """
    whole = _whole(tally, tables, history if policies.needs_history else None)
    groups = {group.key: group for group in tally.groups}
    for key, breach, finding in _found(policies, whole):
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
    for key, _, finding in _found(policies, Whole(tables)):
        places.setdefault(key, set()).add(finding.place)
    return places


def _found(policies: Policies, whole: Whole) -> Iterator[tuple[_Key, PolicyBreach, Finding]]:
    """Yield the breaches of policies about all events together, with the keys of their groups."""
    for breach, finding in policies.check_whole(whole):
        alike = text_template(breach.text) if breach.event_id else breach.text
        yield (breach.destination, "breach", breach.path, breach.policy, alike), breach, finding


def _whole(tally: Tally, tables: Tables, history: Path | str | None) -> Whole:
    if history is None:
        return Whole(tables)
    own = History(tally.history)
    return Whole(tables, History.load(history).merge(own).delivered(), own.all_days())
