"""The last changes of a data plane, numbered, for streams and for listeners.

All readers share one list: a change is described, masked and encoded once for all readers, and only if there are any.
Each reader keeps the number of the last change that it has read. A reader that is too slow misses changes, and learns
how many.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from threading import Lock
from typing import Any, TypeAlias

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker

Listener: TypeAlias = Callable[[str, list[dict[str, Any]]], None]
Describe: TypeAlias = Callable[[Any], dict[str, Any]]
_LOG = logging.getLogger("svctoolkit.delivery")


class _Chunk(msgspec.Struct):
    """Changes of one kind that happened together. The first one has the number `first`."""

    first: int
    kind: str
    rows: Sequence[Any]
    describe: Describe
    frames: list[bytes] = []
    runs: list[str] = []

    @property
    def end(self) -> int:
        return self.first + len(self.rows)

    def encode(self, masker: Masker) -> None:
        """Build the server-sent event of every change."""
        changes = [*map(self.describe, self.rows)]
        texts = msgspec.json.Encoder().encode_lines(changes).splitlines()
        # Nearly always there is nothing to mask, which one search shows for all of them.
        together = b"[%b]" % b",".join(texts)
        if masker.mask_json(together) != together:
            texts = [*map(masker.mask_json, texts)]
        kind = self.kind.encode()
        frames = [b"id: %d\nevent: %b\ndata: %b\n\n" % (n, kind, text) for n, text in enumerate(texts, self.first)]
        # Readers in another thread may do the same concurrently. Each assignment is atomic, and the frames come last.
        self.runs = [change["run"] for change in changes]
        self.frames = frames


class Reading(msgspec.Struct, frozen=True):
    """What a reader gets: server-sent events, its new number, and how many changes it has missed."""

    frames: list[bytes]
    number: int
    missed: int


class Feed:
    """Keeps the last `capacity()` changes. The first change has the number 1."""

    def __init__(self, masker: Callable[[], Masker], capacity: Callable[[], int]) -> None:
        self._masker, self._capacity = masker, capacity
        self._lock = Lock()
        self._chunks: deque[_Chunk] = deque()
        self._listeners: list[Listener] = []
        self._next = 1
        #: The number of open streams. Only the event loop changes it.
        self.readers = 0

    @property
    def number(self) -> int:
        """The number of the last change."""
        return self._next - 1

    @property
    def watched(self) -> bool:
        """Whether there is a reader or listener at the moment."""
        return bool(self.readers or self._listeners)

    def publish(self, kind: str, rows: Sequence[Json], describe: Describe) -> None:
        """Add changes. `describe` turns a row into JSON when a reader needs it; the JSON must have a `run`."""
        if not rows:
            return
        with self._lock:
            self._chunks.append(_Chunk(self._next, kind, rows, describe))
            self._next += len(rows)
            # The newest chunk always stays, whatever its size.
            while len(self._chunks) > 1 and self._next - self._chunks[0].end >= self._capacity():
                self._chunks.popleft()
        if self._listeners:
            # Outside the lock: a listener may call back into the data plane.
            changes = [describe(row) for row in rows]
            self._call(kind, changes)

    def _call(self, kind: str, changes: list[dict[str, Json]]) -> None:
        for listener in list(self._listeners):
            try:
                listener(kind, changes)
            except KeyboardInterrupt:
                raise
            except BaseException:  # noqa: BLE001 - errors of a listener, even pytest's `fail`, must not stop events
                _LOG.exception("a listener failed for changes of the kind %r", kind)

    def listen(self, listener: Listener) -> None:
        """Call `listener(kind, changes)` for every change from now on. Its errors are logged."""
        with self._lock:
            self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.remove(listener)

    def close(self) -> None:
        """Notify listeners that there will be no more changes."""
        self._call("end", [{}])

    def read(self, after: int, run: str | None, most: int = 1000) -> Reading:
        """Return about `most` changes after a number, or only those of one run."""
        with self._lock:
            first = self._chunks[0].first if self._chunks else self._next
            missed = max(0, first - after - 1)
            chunks = list(self._some(after, most))
        frames: list[bytes] = []
        number = after + missed
        # Building a masker takes time, and usually another reader has encoded these changes already.
        masker = self._masker() if any(not chunk.frames for chunk in chunks) else None
        for chunk in chunks:
            if not chunk.frames and masker is not None:
                chunk.encode(masker)
            # The reader may have read the first part of this chunk before.
            start = max(0, number + 1 - chunk.first)
            numbered = zip(chunk.frames[start:], chunk.runs[start:], strict=True)
            frames += [frame for frame, of_run in numbered if run in (None, of_run)]
            number = chunk.end - 1
        return Reading(frames, number, missed)

    def _some(self, after: int, most: int) -> Iterator[_Chunk]:
        size = 0
        # Most readers have read all but the last of thousands of chunks.
        start = bisect_right(self._chunks, after + 1, key=attrgetter("end"))
        for chunk in islice(self._chunks, start, None):
            yield chunk
            size += len(chunk.rows)
            if size >= most:
                return
