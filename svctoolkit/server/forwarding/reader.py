"""The events of a store that are to be forwarded, in the order of their arrival, even while a data plane writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from svctoolkit.server.batches import StoredEvent, stored_events
from svctoolkit.server.store.archive import Archive, Chosen, Of
from svctoolkit.server.store.block import block_of
from svctoolkit.server.store.schema import BlockRow

_SHOWN = 20  # requests that could not be read


class Reader:
    """The chosen events that a store has now; later ones are not included. Its methods raise `StoreError`.

    With `event`, only events of this name or type. Events that the data plane has recognized as repeats are left out,
    because it has not delivered them either.
    """

    def __init__(self, store: Archive, chosen: Chosen, event: str) -> None:
        self._store, self._chosen, self._event = store, chosen, event
        self._last = store.bounds().last
        #: how many were left out while reading: repeated events, and those that are not `event`
        self.repeats = self.others = 0
        #: events that could not be read, and why, for the first requests
        self.damaged, self.problems = 0, list[str]()

    def sources(self) -> list[Of]:
        """Return the sources with chosen events, oldest first. `event` is not considered."""
        return self._store.counts(self._last, self._chosen)

    def left(self, after: Mapping[str, int]) -> int:
        """Return how many events of these sources come after the seqs. `event` is not considered."""
        later = self._store.counts(self._last, replace(self._chosen, after=after))
        return sum(of.events for of in later) - sum(self._begun(*position) for position in after.items())

    def _begun(self, source: str, seq: int) -> int:
        """Return how many events of the source's request with this one come up to it, if it has later ones, too."""
        found = self._store.request_of(seq)
        if found is None or found.source != source or not found.holds(seq + 1):
            return 0
        return seq - found.first + 1 if self._chosen.since <= found.at < self._chosen.until else 0

    def events(self, after: Mapping[str, int]) -> Iterator[StoredEvent]:
        """Yield the events of these sources after the seqs."""
        found = self._store.request_of(min(after.values(), default=0))
        chosen, start = replace(self._chosen, after=after), found.first - 1 if found else -1
        for row in self._store.blocks(start, self._last, chosen):
            yield from self._of_request(row, after[row.source], self._store.repeats(row.first, row.first + row.count))

    def _of_request(self, row: BlockRow, after: int, repeated: frozenset[int]) -> Iterator[StoredEvent]:
        try:
            events = stored_events(block_of(row))
        except Exception as error:  # noqa: BLE001 - a damaged file can cause any error
            self.damaged += row.count
            if len(self.problems) < _SHOWN:
                self.problems.append(f"{row.count:,} events of the source {row.source}, from {row.first} on: {error}")
            return
        for event in events:
            if event.seq <= after:
                continue
            if event.seq in repeated:
                self.repeats += 1
            elif self._event and self._event not in (event.name, event.type):
                self.others += 1
            else:
                yield event
