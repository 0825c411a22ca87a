"""Check policies on what arrives at all destinations of a replay, event by event."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit.causes import text_template
from svctoolkit.pipeline import Passage
from svctoolkit.policies import Arrival, Policies, PolicyBreach
from svctoolkit.replay.engine.ledger import Book
from svctoolkit.replay.records.record import Record, paths_of
from svctoolkit.replay.tally.tally import Example
from svctoolkit.secrets import Masker


class Police:
    """Collects what arrives of the events of a batch, and adds breaches to the groups and counts of a book."""

    def __init__(self, book: Book, policies: Policies) -> None:
        self._book, self._policies = book, policies
        self._arrivals: dict[int, list[Arrival]] = {}
        self._maskers: dict[str, Masker] = {}

    def see(self, destination: str, record: Record, passage: Passage, masker: Masker) -> None:
        """Add what arrived of an event at a destination."""
        payloads = [payload for result in passage.results if not result.error for payload in result.payloads]
        if payloads:
            self._maskers[destination] = masker
            arrival = Arrival(destination, payloads, tuple(passage.lost or ()))
            self._arrivals.setdefault(id(record), []).append(arrival)

    def check(self, records: Sequence[Record]) -> None:
        """Check the events that have arrived at all their destinations, and forget them."""
        for record in records:
            broken: dict[tuple[str, str], None] = {}
            for breach in self._policies.check(record.event, self._arrivals.get(id(record), ())):
                self._add(record, breach)
                broken[breach.policy, breach.destination] = None
            for policy, destination in broken:
                self._book.sum.breach(policy, destination)
        self._arrivals.clear()

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
