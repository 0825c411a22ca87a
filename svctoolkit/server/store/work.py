"""The worker's reads and writes: blocks to route, events to deliver, and their outcomes."""

from __future__ import annotations

import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

from msgspec.structs import replace

from svctoolkit.pipeline import HeldChanges
from svctoolkit.server.store.block import Block, block_of
from svctoolkit.server.store.database import Store, insert
from svctoolkit.server.store.digests import Digests
from svctoolkit.server.store.held import save_held
from svctoolkit.server.store.record import Record, encode, read, rows, selected
from svctoolkit.server.store.schema import (
    BlockRow,
    Carried,
    Check,
    Delivery,
    Fate,
    Received,
    Rejected,
    Violation,
    Webhook,
    marks,
)

_CACHED_BLOCKS, _CACHED_BYTES = 16, 8 << 20
_REMEMBERED_BYTES = 64_000  # maximum size of a block to cache before it is requested
_DATA = rows(Delivery).columns.index("data")
_NUMBER, _DELIVERY = rows(Delivery).columns.index("number"), rows(Fate).columns.index("delivery")
_BLOCKS = f"select {', '.join(selected(BlockRow))} from blocks o"


class PendingEvent(NamedTuple):
    """An event that is still to be delivered to a destination."""

    seq: int
    source: str
    run: str
    user: str
    anonymous: str
    type: str
    name: str
    attempts: int
    first_at: float | None
    alone: int
    mark: bytes | None


class SentRequest(NamedTuple):
    """A request that was sent, without a number yet, and the seqs of the events that it carried.

    `packed` is its exchange as `pack_exchange` returns it, if the delivery does not have it.
    """

    delivery: Delivery
    seqs: Sequence[int]
    packed: bytes | None = None


class Chunk(NamedTuple):
    """Routed blocks with everything that was found about their events. The `delivery` of a fate is the place of its
    request in `requests`.
    """

    blocks: Sequence[Block]
    events: Sequence[Received] = ()
    fates: Sequence[Fate] = ()
    checks: Sequence[Check] = ()
    violations: Sequence[Violation] = ()
    requests: Sequence[SentRequest] = ()
    held: Sequence[HeldChanges] = ()


class Work:
    """The worker's side of a store. `digests` are those of the events that `save_chunk` stores."""

    def __init__(self, store: Store) -> None:
        self._store, self.digests = store, Digests(store)
        # Numbered in the order in which they are stored, so that readers who page by number miss none.
        self._violation_numbers = count(store.read("select coalesce(max(number), 0) + 1 from violations")[0][0])
        self._delivery_numbers = count(store.read("select coalesce(max(number), 0) + 1 from deliveries")[0][0])

    def count_unrouted(self) -> Counter[str]:
        """Return how many requests are not routed yet, by run."""
        return Counter(dict(self._store.read("select run, count(*) from blocks where routed = 0 group by run")))

    def next_blocks(self, after: int, most: int, most_bytes: int) -> list[Block]:
        """Return the next blocks to route: up to `most` blocks or about `most_bytes`, but at least one."""
        sql = f"{_BLOCKS} where routed = 0 and first > ? order by first limit ?"
        blocks: list[Block] = []
        size = 0
        while len(blocks) < most and size < most_bytes:
            # A few at a time: a block may have megabytes.
            few = min(8, most - len(blocks))
            rows = self._store.read(sql, (blocks[-1].first if blocks else after, few))
            blocks += [block_of(BlockRow(**read(BlockRow, row))) for row in rows]
            size += sum(len(block.body) for block in blocks[-len(rows) :]) if rows else 0
            if len(rows) < few:
                break
        return blocks

    def save_chunk(self, chunk: Chunk) -> list[int]:
        """Store the routing of blocks and all its results in one transaction. Return the numbers of the requests."""
        ends = chunk.blocks[0].first, chunk.blocks[-1].first
        records: list[tuple[type[Record], Sequence[Record]]] = [(Received, chunk.events), (Check, chunk.checks)]
        tables = [(record, encode(some)) for record, some in records if some]
        attempts = _Attempts(chunk.fates, chunk.requests, chunk.held)
        numbers: list[int] = []

        def save(to: sqlite3.Connection) -> None:
            for record, encoded in tables:
                insert(to, record, encoded)
            self.digests.save(to, chunk.events)
            if chunk.violations:
                numbered = [replace(one, number=next(self._violation_numbers)) for one in chunk.violations]
                insert(to, Violation, encode(numbered))
            numbers[:] = attempts.save(to, self._delivery_numbers)
            # In the same transaction as the fates: after a crash, a block is either routed completely or read again.
            to.execute("update blocks set routed = 1 where first between ? and ?", ends)

        self._store.write(save).result()
        self.digests.saved(chunk.events)
        return numbers

    def save_rejected(self, rejected: Rejected) -> Future[None]:
        rows = encode([rejected])
        return self._store.write(lambda to: insert(to, Rejected, rows))

    def save_webhook(self, webhook: Webhook) -> Future[None]:
        rows = encode([webhook])
        return self._store.write(lambda to: insert(to, Webhook, rows))

    def save_results(
        self,
        fates: Sequence[Fate],
        requests: Sequence[SentRequest],
        saved: Callable[[list[int]], None],
        held: Sequence[HeldChanges] = (),
    ) -> Future[None]:
        """Store the results of attempts. `saved` gets the numbers of the deliveries, within the transaction.

        `held` is what simulated servers hold because of them. The `delivery` of a fate is the index of its request in
        `requests`; in the store it is the number.
        """
        attempts = _Attempts(fates, requests, held)
        return self._store.write(lambda to: saved(attempts.save(to, self._delivery_numbers)))

    def pending_counts(self) -> Counter[tuple[str, str]]:
        """Return how many events are pending, by destination and run."""
        sql = "select destination, run, count(*) from fates where status = 'pending' group by destination, run"
        return Counter({(destination, run): number for destination, run, number in self._store.read(sql)})

    def pending_events(self, destination: str, after: int, most: int, owner: str | None) -> list[PendingEvent]:
        """Return the events after a seq that are pending at a destination, in order, of one owner or of all.

        The owner of an event is its anonymous id, or else its user id.
        """
        of_owner = "" if owner is None else "and (e.anonymous = ? or (e.anonymous = '' and e.user = ?)) "
        sql = (
            "select seq, e.source, e.run, e.user, e.anonymous, e.type, e.name, f.attempts, f.since, f.alone, "
            "(select mark from checks c where c.seq = f.seq) "
            "from fates f join events e using (seq) "
            f"where destination = ? and status = 'pending' and seq > ? {of_owner}order by seq limit ?"
        )
        owners = () if owner is None else (owner, owner)
        return [PendingEvent(*row) for row in self._store.read(sql, (destination, after, *owners, most))]

    def pending_reason(self, destination: str) -> str:
        """Return why an event is still pending at a destination, or an empty string."""
        sql = "select reason from fates where destination = ? and status = 'pending' and reason != '' limit 1"
        rows = self._store.read(sql, (destination,))
        return str(rows[0][0]) if rows else ""

    def reopen(self, statuses: Iterable[str], destination: str | None, run: str | None) -> Counter[tuple[str, str]]:
        """Make settled events pending again, with zero attempts. Return how many, by destination and run."""
        values: list[str] = [*statuses]
        conditions = [f"status in ({marks(values)})"]
        for column, value in (("destination", destination), ("run", run)):
            if value is not None:
                conditions.append(f"{column} = ?")
                values.append(value)
        where = " and ".join(conditions)
        reopened: Counter[tuple[str, str]] = Counter()

        def save(to: sqlite3.Connection) -> None:
            sql = f"select destination, run, count(*) from fates where {where} group by destination, run"
            for key, of_run, number in to.execute(sql, values):
                reopened[key, of_run] = number
            to.execute(f"update fates set status = 'pending', attempts = 0, since = null where {where}", values)

        self._store.write(save).result()
        return reopened

    def forget(self, run: str | None) -> int:
        """Delete settled events, of one run (and of the runs within it) or of all. Return how many."""
        chosen = "(run = :run or instr(run, :run || '/') = 1)" if run is not None else "1"
        values = {"run": run}
        events = 0

        def save(to: sqlite3.Connection) -> None:
            nonlocal events
            for table in ("deliveries", "violations", "checks", "fates", "events"):
                settled = f"not exists (select 1 from fates p where p.seq = {table}.seq and p.status = 'pending')"
                events = to.execute(f"delete from {table} where {chosen} and {settled}", values).rowcount
            # `carried` has no run, so its rows follow the deliveries that were just deleted.
            to.execute("delete from carried where number not in (select number from deliveries)")
            pending = "select 1 from fates where status = 'pending' and seq between first and first + count - 1"
            to.execute(f"delete from blocks where routed = 1 and {chosen} and not exists ({pending})", values)
            to.execute(f"delete from rejected where {chosen}", values)
            for table in ("held", "webhooks", "memory"):
                to.execute(f"delete from {table} where {chosen}", values)

        self._store.write(save).result()
        return events


def _carried(number: int, request: SentRequest) -> list[Carried]:
    """Return the rows for a request of several events. A request of one event needs none: it has the event itself."""
    if len(request.seqs) == 1:
        return []
    return [Carried(number=number, place=place, seq=seq) for place, seq in enumerate(request.seqs)]


class _Attempts:
    """The results of attempts, ready to be written."""

    def __init__(self, fates: Sequence[Fate], requests: Sequence[SentRequest], held: Sequence[HeldChanges]) -> None:
        self._fates, self._requests, self._held = fates, requests, held
        # Packing takes longest, so it is done before the transaction; the numbers are known only inside it.
        self._deliveries, self._settled = encode([request.delivery for request in requests]), encode(fates)
        for row, request in zip(self._deliveries, requests, strict=True):
            if request.packed is not None:
                row[_DATA] = request.packed

    def save(self, to: sqlite3.Connection, free: Iterator[int]) -> list[int]:
        """Write them in a transaction. Return the numbers that the requests get."""
        numbers = [next(free) for _ in self._requests]
        for row, number in zip(self._deliveries, numbers, strict=True):
            row[_NUMBER] = number
        for row, fate in zip(self._settled, self._fates, strict=True):
            row[_DELIVERY] = None if fate.delivery is None else numbers[fate.delivery]
        insert(to, Delivery, self._deliveries)
        pairs = zip(numbers, self._requests, strict=True)
        insert(to, Carried, encode([one for number, request in pairs for one in _carried(number, request)]))
        insert(to, Fate, self._settled)
        save_held(to, self._held)
        return numbers


class Events:
    """The accepted events of a store by seq. Caches the last few blocks."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, Lock()
        self._blocks: OrderedDict[int, Block] = OrderedDict()
        self._newest: Block | None = None
        self._size = 0

    def __getitem__(self, seq: int) -> Mapping[str, Any]:
        """Return the event. Raises `KeyError` if it was deleted, `StoreError` if it cannot be read."""
        block = self.block(seq)
        return block.events[seq - block.first]

    def block(self, seq: int) -> Block:
        """Return the request that contained the event. Raises as `[seq]` does."""
        return self._from_cache(seq) or self._read(seq)

    def remember(self, block: Block) -> None:
        """Cache a block that was just used, so that its next reader need not load and parse it again."""
        # A lane reads the same block once per event: compare with the last one before taking the lock.
        if self._newest is not block and len(block.body) <= _REMEMBERED_BYTES:
            self._newest = block
            self._keep(block)

    def _from_cache(self, seq: int) -> Block | None:
        with self._lock:
            return next((b for b in self._blocks.values() if b.first <= seq < b.first + b.count), None)

    def _read(self, seq: int) -> Block:
        rows = self._store.read(f"{_BLOCKS} where first <= ? order by first desc limit 1", (seq,))
        if not rows:
            raise KeyError(seq)
        block = block_of(BlockRow(**read(BlockRow, rows[0])))
        # Deleted by retention: the seq lies in a gap between two blocks.
        if seq >= block.first + block.count:
            raise KeyError(seq)
        self._keep(block)
        return block

    def _keep(self, block: Block) -> None:
        with self._lock:
            if block.first not in self._blocks:
                self._blocks[block.first] = block
                self._size += len(block.body)
            # The newest block always stays, however large: its events are about to be delivered.
            while len(self._blocks) > 1 and (len(self._blocks) > _CACHED_BLOCKS or self._size > _CACHED_BYTES):
                _, oldest = self._blocks.popitem(last=False)
                self._size -= len(oldest.body)
