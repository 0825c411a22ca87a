"""From accepted blocks to tasks: who gets which event, duplicates out."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any

from svctoolkit.events import EVENT_TYPES
from svctoolkit.server.ingest.blocks import COLUMNS, Block, Head, block_of
from svctoolkit.server.store.database import Store, insert, marks
from svctoolkit.server.worker.attempt import Task
from svctoolkit.server.worker.rules import filtered, needs_all
from svctoolkit.workspace import Source, Workspace

_CHUNK = 2000  # events in one transaction, or one block
_WINDOW = 20_000  # events in memory; the rest waits in the store
_HELD = 20_000  # bytes; larger events are read again when their turn comes
_LOG = logging.getLogger("svctoolkit.delivery")


@dataclass(slots=True)
class Routed:
    """What the router found out about some blocks, as rows of the store and as tasks by destination."""

    events: list[tuple[Any, ...]] = field(default_factory=list)
    fates: list[tuple[Any, ...]] = field(default_factory=list)
    tasks: dict[str, list[Task]] = field(default_factory=dict)


class Router:
    """A thread that routes blocks in the order of their events. `deliver` is called when the result is in the store.

    Of events with the same `messageId`, source and run within `window` seconds only the first is delivered.
    """

    def __init__(
        self, store: Store, workspace: Workspace, deliver: Callable[[Sequence[Block], Routed], None], window: float
    ) -> None:
        self._store, self._workspace, self._deliver, self._window = store, workspace, deliver, window
        self._changed = Condition()
        self._blocks: deque[Block] = deque()
        self._waiting_events = 0
        self._taken_to = 0
        self._behind = True  # some blocks are in the store only: at the start, those of the last time
        self._stopped = False
        self._thread = Thread(target=self._run, name="svctoolkit router", daemon=True)
        self._thread.start()

    def add(self, block: Block) -> None:
        """A block that is in the store."""
        with self._changed:
            if self._behind or self._waiting_events > _WINDOW:
                self._behind = True
            elif block.first > self._taken_to:
                self._blocks.append(block)
                self._waiting_events += block.count
            self._changed.notify()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            blocks = self._take()
            if not blocks:
                continue
            try:
                routed = self._routed(blocks)
                self._store.write(lambda to: _save(to, blocks, routed)).result()  # noqa: B023
            except sqlite3.Error:
                _LOG.exception("the store cannot take the routes of events from %s on; trying again", blocks[0].first)
                with self._changed:
                    self._behind, self._taken_to = True, blocks[0].first - 1
                    self._blocks.clear()
                    self._waiting_events = 0
                    self._changed.wait_for(lambda: self._stopped, 1.0)
                continue
            self._deliver(blocks, routed)

    def _take(self) -> list[Block]:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._behind or self._blocks)
            if not self._blocks and self._behind:
                self._load()
            taken: list[Block] = []
            while self._blocks and (not taken or sum(b.count for b in taken) < _CHUNK):
                taken.append(self._blocks.popleft())
            if taken:
                self._taken_to = taken[-1].first
                self._waiting_events -= sum(b.count for b in taken)
            return taken

    def _load(self) -> None:
        rows = self._store.read(
            f"select {COLUMNS} from blocks where routed = 0 and first > ? order by first limit 100",
            (self._taken_to,),
        )
        self._behind = len(rows) == 100
        for row in rows:
            self._blocks.append(block_of(row))
            self._waiting_events += self._blocks[-1].count

    def _routed(self, blocks: Sequence[Block]) -> Routed:
        found = Routed()
        numbered = [(block, place, head) for block in blocks for place, head in enumerate(block.heads)]
        digests = [_digest(block, head) for block, _, head in numbered]
        known = self._known(digests)
        for (block, place, head), digest in zip(numbered, digests, strict=True):
            seq = block.first + place
            repeated = block.at - known.get(digest, float("-inf")) < self._window
            if not repeated:
                known[digest] = block.at
            row = _event_row(seq, block, head, None if repeated else digest)
            found.events.append(row)
            # An anonymous user keeps the anonymous id after an identify, so that comes first for the order.
            held = block if len(block.body) < _HELD * block.count else None
            for key, (status, by, reason) in self._fates(block, place, head, repeated):
                found.fates.append((seq, key, block.run, status, by, reason, 0, block.at, None))
                if status == "pending":
                    task = Task(seq, block.source, block.run, row[6] or row[5], block=held)
                    found.tasks.setdefault(key, []).append(task)
        return found

    def _known(self, digests: Sequence[int]) -> dict[int, float]:
        """When each of the digests was last seen."""
        known: dict[int, float] = {}
        for start in range(0, len(digests), 500):
            some = digests[start : start + 500]
            sql = f"select digest, max(at) from events where digest in ({marks(some)}) group by digest"
            known.update(self._store.read(sql, some))
        return known

    def _fates(
        self, block: Block, place: int, head: Head, repeated: bool
    ) -> Iterator[tuple[str, tuple[str, str, str]]]:
        """Each destination with status, stage and reason."""
        source = self._workspace.sources.get(block.source) or Source(block.source, block.source, block.source)
        for key in block.destinations:
            destination = self._workspace.destinations.get(key)
            if repeated:
                yield key, ("filtered", "deduplication", "an earlier event has the same messageId")
            elif head.type not in EVENT_TYPES:
                what = "is unsupported" if isinstance(head.type, str) else "missing or invalid"
                yield key, ("failed", "routing", f"message type {what}")
            elif destination is None:
                yield key, ("failed", "routing", "the destination is no longer in the workspace")
            else:
                event = block.events[place] if needs_all(destination) else _short(head)
                why = filtered(event, source, destination)
                yield key, ("filtered", "routing", why) if why else ("pending", "", "")


def _short(head: Head) -> dict[str, Any]:
    return {"type": head.type, "event": head.event, "integrations": head.integrations}


def _save(to: sqlite3.Connection, blocks: Sequence[Block], routed: Routed) -> None:
    insert(to, "events", routed.events)
    insert(to, "fates", routed.fates)
    to.execute("update blocks set routed = 1 where first between ? and ?", (blocks[0].first, blocks[-1].first))


def _digest(block: Block, head: Head) -> int:
    text = f"{block.source}\0{block.run}\0{head.message_id}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def _event_row(seq: int, block: Block, head: Head, digest: int | None) -> tuple[Any, ...]:
    members = (head.message_id, head.user_id, head.anonymous_id, head.type, head.event or head.name)
    texts = [value if isinstance(value, str) else "" if value is None else str(value) for value in members]
    if not "".join(texts).isascii():  # SQLite takes no half of a surrogate pair
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
    message_id, user, anonymous, kind, name = texts
    return (seq, message_id, digest, block.source, block.run, user, anonymous, kind, name, block.at)
