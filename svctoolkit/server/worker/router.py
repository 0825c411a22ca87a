"""Turn accepted blocks into tasks: find the destinations of each event, and drop duplicates."""

from __future__ import annotations

import hashlib
import logging
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any

from svctoolkit.errors import StoreError
from svctoolkit.lexical import storable
from svctoolkit.pipeline.fates import PENDING, REPEATED, Fate, fate_after_plan, fate_at_routing
from svctoolkit.pipeline.rules import needs_all
from svctoolkit.server.store import schema
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.digests import Duplicate
from svctoolkit.server.store.head import Head
from svctoolkit.server.store.record import time_of
from svctoolkit.server.store.schema import Received, Violation
from svctoolkit.server.store.work import Chunk, Work
from svctoolkit.server.worker.asked import Asked
from svctoolkit.server.worker.checks import Checks
from svctoolkit.server.worker.knobs import Knobs
from svctoolkit.server.worker.pump.pump import CHUNK, Pump, Pumped
from svctoolkit.server.worker.task import Siblings, Task, owner_of
from svctoolkit.workspace import Destination, Source, Workspace, is_forward_key

_CHUNK = 2000  # events in one transaction, or one block, if no destination answers at once
_LOAD = 50  # events: after a transaction of at least this many, the router waits for more,
_COMPANY = 500  # until this many are queued,
_PATIENCE = 0.02  # for at most this many seconds
_WINDOW = 20_000  # events in memory; the rest wait in the store
_LOADED_BLOCKS = 100  # read from the store at a time
_HELD = 5_000  # bytes; larger events are read again when they are sent
_STEP_AFTER_WAIT = re.compile(r"/w[0-9]+$")
_TEXT = 1000  # characters of an id or a name that are stored for lookups
_LOG = logging.getLogger("svctoolkit.delivery")


@dataclass(slots=True)
class Routes:
    """What the router found for some blocks: records for the store, and tasks by destination."""

    events: list[Received] = field(default_factory=list)
    fates: list[schema.Fate] = field(default_factory=list)  # of events that go no further
    tasks: dict[str, list[Task]] = field(default_factory=dict)
    checks: list[schema.Check] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    siblings: dict[tuple[int, str], Siblings] = field(default_factory=dict)  # by request and destination
    known_fates: dict[Hashable, list[tuple[str, Fate]]] = field(default_factory=dict)  # by what decides them


class Router:
    """Routes blocks in the order of their events. `deliver` is called when the result is in the store.

    Routing runs in the router's thread, or in the thread that adds a block and then calls `route`. Of events with the
    same `messageId`, source and run within the window, only the first is delivered.
    """

    def __init__(
        self,
        work: Work,
        workspace: Workspace,
        pump: Pump,
        deliver: Callable[[Sequence[Block], Routes, Pumped, Sequence[int]], None],
        knobs: Knobs,
        asked: Asked,
    ) -> None:
        """`deliver` gets routed blocks, and the numbers of the requests that the pump made."""
        self._work, self._workspace, self._pump = work, workspace, pump
        self._deliver, self._knobs, self._asked = deliver, knobs, asked
        self._routing = False  # a thread has taken blocks, and will look for more
        self._checks = Checks(workspace)
        self._changed = Condition()
        self._blocks: deque[Block] = deque()
        self._waiting_events = self._waiting_bytes = 0
        self._queued_to = 0  # seq of the last block queued here
        self._last_taken = 0  # events
        self._wanted = 0  # events that the router's thread waits for, which should not wake up for fewer
        self._limit = CHUNK  # events in one transaction
        self._behind = True  # some blocks are only in the store: at the start, those of the previous run
        self._stopped = False
        self._thread = Thread(target=self._run, name="svctoolkit router", daemon=True)

    def start(self) -> None:
        """Route what the previous process left, then new blocks. `deliver` must be ready to be called."""
        self._thread.start()

    def add(self, block: Block, *, wake: bool) -> None:
        """Add a block that is in the store. Without `wake`, the caller must call `route`."""
        with self._changed:
            if self._behind or self._waiting_events > _WINDOW or self._waiting_bytes > self._knobs.limits.unrouted:
                self._behind = True
            elif block.first > self._queued_to:  # else it was already loaded from the store
                self._queue(block)
            # While behind, the block is only in the store; the router's thread has to fetch it, whatever the caller
            # does.
            if (wake and self._waiting_events >= self._wanted) or self._behind:
                self._changed.notify()

    def route(self) -> None:
        """Route added blocks in this thread, unless another one is routing. Later blocks go to the router's thread."""
        with self._changed:
            # A second thread must not route: events would overtake earlier ones of the same user.
            blocks = [] if self._routing or self._behind or self._stopped else self._pop()
        if not blocks:
            return
        try:
            self._route(blocks)
        except Exception as error:  # noqa: BLE001 - the events are in the store: not the sender's error
            _report(error)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            try:
                blocks = self._take()
                if blocks:
                    self._route(blocks)
            except Exception as error:  # noqa: BLE001 - a thread that ends silently would stop all routing
                _report(error)
                self._start_over()

    def _route(self, blocks: Sequence[Block]) -> None:
        try:
            self._deliver(blocks, *self._save(blocks))
        finally:
            with self._changed:
                self._routing = False
                if self._behind or self._blocks:
                    self._changed.notify()

    def _save(self, blocks: Sequence[Block]) -> tuple[Routes, Pumped, Sequence[int]]:
        try:
            routes = self._routes(blocks)
            pumped = self._pump.settle(blocks, routes.tasks)
            self._limit = CHUNK if pumped.is_quick else _CHUNK
            return routes, pumped, self._write(blocks, routes, pumped)
        except Exception:
            # All or nothing: the first of these blocks must remain the next one to read from the store. Blocks added
            # from now on are read from there, too, or they would be routed before these.
            with self._changed:
                self._forget_queue()
                self._queued_to = blocks[0].first - 1
            raise

    def _write(self, blocks: Sequence[Block], routes: Routes, pumped: Pumped) -> Sequence[int]:
        """Store everything about the blocks in one transaction. Return the numbers of the requests."""
        routes.fates += _still_pending(routes, pumped)
        chunk = Chunk(
            blocks=blocks, events=routes.events, checks=routes.checks, violations=routes.violations,
            fates=[*pumped.fates, *routes.fates], requests=pumped.requests, held=pumped.held,
        )  # fmt: skip
        while True:
            try:
                return self._work.save_chunk(chunk)
            except StoreError as error:
                # Only the write is repeated: the requests have been made.
                if not pumped.requests:
                    raise
                _report(error)
                with self._changed:
                    if self._changed.wait_for(lambda: self._stopped, 1.0):
                        raise

    def _start_over(self) -> None:
        """Drop the queue and read it from the store again, in a second."""
        with self._changed:
            if self._blocks:
                # Read again from the oldest block that is not routed, not from the newest that was queued.
                self._queued_to = min(self._queued_to, self._blocks[0].first - 1)
            self._forget_queue()
            self._changed.wait_for(lambda: self._stopped, 1.0)

    def _forget_queue(self) -> None:
        self._blocks.clear()
        self._waiting_events = self._waiting_bytes = 0
        self._behind = True

    def _take(self) -> list[Block]:
        with self._changed:
            if self._blocks and self._last_taken >= _LOAD and not self._behind:
                # Digests are in random order, so every transaction rewrites most pages of their index. With only a
                # few events per transaction, that would dominate the cost of routing.
                self._wanted = enough = min(_COMPANY, self._limit)
                self._changed.wait_for(lambda: self._stopped or self._waiting_events >= enough, _PATIENCE)
                self._wanted = 0
            self._changed.wait_for(
                lambda: self._stopped or (not self._routing and (self._behind or bool(self._blocks)))
            )
            if self._stopped:
                return []
            if not self._blocks and self._behind:
                self._load()
            return self._pop()

    def _pop(self) -> list[Block]:
        """Return the next blocks, for the caller to route. Must be called with the lock."""
        blocks: list[Block] = []
        # At least one block, even if it alone exceeds the limit; a block is never split between transactions.
        count = 0
        while self._blocks and (not blocks or count + self._blocks[0].count <= self._limit):
            blocks.append(self._blocks.popleft())
            count += blocks[-1].count
        self._last_taken = count
        self._waiting_events -= self._last_taken
        self._waiting_bytes -= sum(len(b.body) for b in blocks)
        # Set under the lock that took the blocks: from here on, other threads leave routing to this one.
        self._routing = bool(blocks)
        return blocks

    def _load(self) -> None:
        """Read blocks from the store. A thread that adds one meanwhile waits for the lock, and finds it queued."""
        blocks = self._work.next_blocks(self._queued_to, _LOADED_BLOCKS, self._knobs.limits.unrouted)
        for block in blocks:
            self._queue(block)
        self._behind = bool(blocks)  # until nothing more is found

    def _queue(self, block: Block) -> None:
        self._blocks.append(block)
        self._waiting_events += block.count
        self._waiting_bytes += len(block.body)
        # Compared with `first` of a new block in `add`, which may have been read from the store already.
        self._queued_to = block.first

    def _routes(self, blocks: Sequence[Block]) -> Routes:
        routes = Routes()
        heads = [(block, _heads(block)) for block in blocks]
        numbered = [(block, place, head) for block, of_block in heads for place, head in enumerate(of_block)]
        digests = [digest for block, of_block in heads for digest in _digests(block, of_block)]
        earlier = self._work.digests.earlier(digests)
        for (block, place, head), digest in zip(numbered, digests, strict=True):
            seq, first = block.first + place, earlier.get(digest)
            repeats = first.seq if first is not None and block.at - first.at < self._knobs.dedup_window else None
            # A repeat within the window does not extend it: the window counts from the first event.
            if repeats is None:
                earlier[digest] = Duplicate(seq, block.at)
            event = _received(seq, block, head, digest, repeats)
            routes.events.append(event)
            if block.destinations:
                self._send_on(routes, block, place, head, event)
        return routes

    def _send_on(self, routes: Routes, block: Block, place: int, head: Head, event: Received) -> None:
        """Decide the outcome of an event at each destination: a fate, or a task."""
        # Keep the block with small events, so that the lane need not read it again.
        own_block = block if len(block.body) < _HELD * block.count else None
        fates = self._fates(routes, block, place, head, event.repeats)
        check = None
        if any(fate.status == "pending" for _, fate in fates):  # an event without destinations is not checked
            check = self._checks.check(block, place, event)
        if check is not None:
            routes.checks.append(check.record)
            routes.violations += check.violations
            # What is forwarded is not changed here: the other data plane has its own plans.
            fates = [(k, fate if is_forward_key(k) else fate_after_plan(fate, check.reason)) for k, fate in fates]
        seq, user, kind, name = event.seq, event.user or event.anonymous, event.type, event.name
        for key, (status, by, reason, _) in fates:
            if status != "pending":
                fate = schema.Fate(
                    seq=seq, type=kind, name=name, source=block.source, destination=key, status=status, by=by,
                    reason=storable(reason), attempts=0, run=block.run, at=event.received_at, user=user,
                )  # fmt: skip
                routes.fates.append(fate)
            else:
                owner = owner_of(event.user, event.anonymous)
                task = Task(seq, block.source, block.run, owner, user, kind, name, block=own_block)
                task.change = check.change if check is not None else None
                if block.count > 1 and self._has_code(key):
                    task.siblings = routes.siblings.setdefault((block.first, key), Siblings())
                    task.siblings.tasks.append(task)
                routes.tasks.setdefault(key, []).append(task)

    def _has_code(self, key: str) -> bool:
        destination = self._workspace.destinations.get(key)
        return destination is not None and destination.transformation is not None

    def _fates(
        self, routes: Routes, block: Block, place: int, head: Head, repeats: int | None
    ) -> list[tuple[str, Fate]]:
        """Return each destination with the fate of the event there."""
        if repeats is not None:
            # A fate for each destination, so that a client that sent twice sees what happened to the second one.
            # The other data plane has been asked again by a request that is answered with its answer.
            is_asked = block.first + place in self._asked
            return [(key, PENDING if is_asked and is_forward_key(key) else REPEATED) for key in block.destinations]
        deciding = _deciding(block, head) if block.count > 1 else None
        if deciding is not None and deciding in routes.known_fates:
            return routes.known_fates[deciding]
        # The workspace file may have been reloaded since the request was accepted, without this source.
        source = self._workspace.sources.get(block.source) or Source(block.source, block.source, block.source)
        known = self._workspace.destinations
        fates = [(key, self._fate(block, place, head, source, known.get(key), key)) for key in block.destinations]
        if deciding is not None and not any(key in known and needs_all(known[key]) for key in block.destinations):
            routes.known_fates[deciding] = fates
        return fates

    def _fate(
        self, block: Block, place: int, head: Head, source: Source, destination: Destination | None, key: str
    ) -> Fate:
        if destination is None and is_forward_key(key):
            return PENDING  # every event, by no rule: the other data plane has its own
        try:
            # Most destinations decide by type, name and integrations alone. Decoding the whole event would cost more
            # than the rest of routing.
            whole = destination is not None and needs_all(destination)
            event = block.events[place] if whole else _short(head)
            return fate_at_routing(event, source, destination, self._knobs.event_blocking)
        except Exception as error:  # noqa: BLE001 - a bug here must not stop the events after this one
            _LOG.exception("routing of event %s", block.first + place)
            return Fate("failed", "routing", f"this is a bug in svctoolkit: {type(error).__name__}")


def _still_pending(routes: Routes, pumped: Pumped) -> list[schema.Fate]:
    """Return the fates of tasks without any attempt."""
    if not pumped.tasks:
        return []
    attempted = {(fate.seq, fate.destination) for fate in pumped.fates}
    left = [(task, key) for key, tasks in pumped.tasks.items() for task in tasks if (task.seq, key) not in attempted]
    received = {event.seq: event.received_at for event in routes.events} if left else {}
    return [
        schema.Fate(
            seq=task.seq, type=task.type, name=task.name, source=task.source, destination=key, status="pending", by="",
            reason="", attempts=0, run=task.run, at=received[task.seq], user=task.user,
        )
        for task, key in sorted(left, key=lambda pair: pair[0].seq)
    ]  # fmt: skip


def _report(error: Exception) -> None:
    if isinstance(error, StoreError):
        _LOG.error("the store cannot be used for routing; retrying: %s", error)
    else:
        _LOG.error("routing failed; retrying", exc_info=error)


def _heads(block: Block) -> Sequence[Head]:
    """Return the heads of a block; empty ones for an unreadable request, so that it does not block the queue."""
    try:
        return block.heads
    except Exception:  # noqa: BLE001 - any error that a damaged store may cause
        _LOG.exception("the request with the events from %s on cannot be read", block.first)
        # A head for each event keeps the numbers of the events after this block right.
        return [Head(message_id=f"unreadable-{block.first + place}") for place in range(block.count)]


def _deciding(block: Block, head: Head) -> Hashable | None:
    """Return what alone decides the fates of an event at routing, unless a destination needs all of it.

    None for an event with its own integrations, and for members that are not text.
    """
    own = head.integrations
    every = own is None or (type(own) is dict and len(own) == 1 and own.get("All") is True)
    if not every or type(head.type) is not str or not (head.event is None or type(head.event) is str):
        return None
    return block.source, block.destinations, head.type, head.event


def _short(head: Head) -> dict[str, Any]:
    return {"type": head.type, "event": head.event, "integrations": head.integrations}


def _digests(block: Block, heads: Sequence[Head]) -> Iterator[int]:
    # Per source and run: two apps, or two parallel tests, may use the same ids.
    # The steps of a scenario that waits share theirs, so that the window can be tested.
    run = _STEP_AFTER_WAIT.sub("", block.run) if block.run else ""
    of_block = hashlib.blake2b(f"{block.source}\0{run}\0".encode("utf-8", "surrogatepass"), digest_size=8)
    for head in heads:
        digest = of_block.copy()
        digest.update(head.message_id.encode("utf-8", "surrogatepass"))  # JSON may contain half a pair
        # 63 bits, because SQLite's integers are signed.
        yield int.from_bytes(digest.digest(), "big") >> 1


def _received(seq: int, block: Block, head: Head, digest: int, repeats: int | None) -> Received:
    named = head.event or head.name
    members = (
        head.message_id,
        "" if head.user_id is None else head.user_id,
        "" if head.anonymous_id is None else head.anonymous_id,
        head.type,
        "" if named is None else named,
    )
    message_id, user, anonymous, kind, name = members if _are_columns(members) else map(_column, members)
    return Received(
        seq=seq, message_id=message_id, type=kind, name=name, source=block.source, run=block.run,
        received_at=time_of(block.at), repeats=repeats, digest=digest if repeats is None else None,
        user=user, anonymous=anonymous,
    )  # fmt: skip


def _are_columns(members: Sequence[Any]) -> bool:
    """Whether all are short ASCII, as nearly always. Checking each of five separately would take twice as long."""
    try:
        text = "".join(members)
    except TypeError:
        return False
    return len(text) <= _TEXT and text.isascii()


def _column(value: Any) -> str:
    """Return a member of an event as stored for lookups: the start of its text."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return storable(text[:_TEXT] if len(text) > _TEXT else text)
