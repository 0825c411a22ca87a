"""Find where each event of some blocks goes, and drop duplicates."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import msgspec

from svctoolkit.lexical import storable
from svctoolkit.pipeline.fates import PENDING, REPEATED, Fate, fate_after_plan, fate_at_routing, routing_key
from svctoolkit.pipeline.rules import needs_all
from svctoolkit.server.store import schema
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.digests import Duplicate
from svctoolkit.server.store.head import Head
from svctoolkit.server.store.record import time_of
from svctoolkit.server.store.schema import Received, Violation
from svctoolkit.server.store.work import Work
from svctoolkit.server.worker.checks import Checks
from svctoolkit.server.worker.knobs import Knobs
from svctoolkit.server.worker.relayed import RelayedRequests
from svctoolkit.server.worker.task import Siblings, Task, owner_of
from svctoolkit.workspace import Destination, Source, Workspace, is_forward_key

_HELD = 5_000  # bytes; larger events are read again when they are sent
_STEP_AFTER_WAIT = re.compile(r"/w[0-9]+$")
_TEXT = 1000  # characters of an id or a name that are stored for lookups
_LOG = logging.getLogger("svctoolkit.delivery")


class Routes(msgspec.Struct):
    """What the router found for some blocks: records for the store, and tasks by destination."""

    events: list[Received] = []
    fates: list[schema.Fate] = []  # of events that go no further
    tasks: dict[str, list[Task]] = {}
    checks: list[schema.Check] = []
    violations: list[Violation] = []
    siblings: dict[tuple[int, str], Siblings] = {}  # by request and destination
    known_fates: dict[Hashable, list[tuple[str, Fate]]] = {}  # by what decides them


class RouteFinder:
    """Decides the outcome of every event at each destination of its block: a task, or a fate that needs no request.

    Must be called by one thread at a time, in the order of the events.
    """

    def __init__(self, work: Work, workspace: Workspace, knobs: Knobs, relayed: RelayedRequests) -> None:
        """`relayed` has the events whose clients get the answer of another data plane."""
        self._work, self._workspace, self._knobs, self._relayed = work, workspace, knobs, relayed
        self._checks = Checks(workspace)

    def find(self, blocks: Sequence[Block]) -> Routes:
        """Return the routes of blocks. Their events are counted as seen when the result is in the store."""
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
            is_relayed = block.first + place in self._relayed
            return [(key, PENDING if is_relayed and is_forward_key(key) else REPEATED) for key in block.destinations]
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


def _heads(block: Block) -> Sequence[Head]:
    """Return the heads of a block; empty ones for an unreadable request, so that it does not block the queue."""
    try:
        return block.heads
    except Exception:  # noqa: BLE001 - any error that a damaged store may cause
        _LOG.exception("the request with the events from %s on cannot be read", block.first)
        # A head for each event keeps the numbers of the events after this block right.
        return [Head(message_id=f"unreadable-{block.first + place}") for place in range(block.count)]


def _deciding(block: Block, head: Head) -> Hashable | None:
    """Return what alone decides the fates of an event at routing, unless a destination needs all of it; or None."""
    key = routing_key(head.type, head.event, head.integrations)
    return None if key is None else (block.source, block.destinations, key)


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
