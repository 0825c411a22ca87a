"""Parallel readers of the live stream do not affect each other, however slow one is."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import replace
from threading import Thread
from typing import Any

from svctoolkit import DataPlane, Workspace

EVENT = {"type": "track", "event": "E", "userId": "u1"}
CHANGES, BATCH, BATCHES = 2000, 500, 16  # more than is kept for a slow reader and fits into the buffers in between
SLOWLY = 4096  # bytes that the slow reader reads after each batch


class Reader:
    """A connection to the stream; `seqs` are the events that it received, `missed` the gaps."""

    def __init__(self, plane: DataPlane) -> None:
        self.seqs: list[int] = []
        self.missed: list[dict[str, Any]] = []
        self._tail = b""
        self._connection = socket.socket()
        self._connection.settimeout(60)
        self._connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, 8192
        )  # before connecting: the default buffer would hold megabytes
        self._connection.connect(("127.0.0.1", plane.port))
        self._connection.sendall(b"GET /inspect/stream HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        while b": connected\n\n" not in self._tail:
            self._tail += self._connection.recv(4096)
        self._tail = b""

    def read(self, size: int = 1 << 16) -> bool:
        """Read once. False at the end of the stream."""
        part = self._connection.recv(size)
        *frames, self._tail = (self._tail + part).split(b"\n\n")
        for frame in frames:
            lines = dict(line.split(b": ", 1) for line in frame.splitlines())
            if lines.get(b"event") == b"received":
                self.seqs.append(json.loads(lines[b"data"])["seq"])
            elif lines.get(b"event") == b"missed":
                self.missed.append(json.loads(lines[b"data"]))
        return bool(part)

    def read_all(self) -> None:
        while self.read():
            pass

    def close(self) -> None:
        self._connection.close()


def start(reader: Reader) -> Thread:
    """Read to the end as fast as possible."""
    thread = Thread(target=reader.read_all, daemon=True)
    thread.start()
    return thread


def wait_for(reader: Reader, seq: int) -> None:
    """Wait until the reader has received this event or a later one."""
    deadline = time.monotonic() + 60
    while not reader.seqs or reader.seqs[-1] < seq:
        assert time.monotonic() < deadline, f"{len(reader.seqs)} events, and not {seq}, after a minute"
        time.sleep(0.005)


def test_a_fast_reader_misses_nothing_next_to_slow_ones(workspace: Workspace) -> None:
    """One reader never reads, one reads a little now and then: the third misses nothing, and ingestion does not wait.

    When the slow readers do read, they learn of every gap.
    """
    settings = workspace.data_plane
    workspace.data_plane = replace(settings, limits=replace(settings.limits, changes=CHANGES))
    last = BATCH * BATCHES
    with DataPlane(workspace) as plane:
        deaf, slow, healthy = readers = [Reader(plane) for _ in range(3)]
        threads = [start(healthy)]
        for sent in range(BATCH, last + 1, BATCH):
            plane.send([EVENT] * BATCH, source="quiet")
            slow.read(SLOWLY)
            if sent > CHANGES // 2:
                wait_for(healthy, sent - CHANGES // 2)
        threads += [start(slow), start(deaf)]
        for reader in readers:
            wait_for(reader, last)
        plane.stop()
    for thread, reader in zip(threads, (healthy, slow, deaf), strict=True):
        thread.join(60)
        reader.close()

    assert (healthy.seqs, healthy.missed) == ([*range(1, last + 1)], [])
    for reader in (slow, deaf):
        assert reader.missed
        assert reader.seqs == sorted(set(reader.seqs))
        assert len(reader.seqs) + sum(gap["count"] for gap in reader.missed) == last
