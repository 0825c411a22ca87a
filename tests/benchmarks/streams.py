"""The cost of readers of `/inspect/stream` for a data plane at 300 events/s.

Thirty readers that never read; one that never reads, one that is slow and one that keeps up; and three that keep up.
Two data planes, as in `ingest`, take turns: one with readers, one without. The rate is per second of the server's CPU
time, the best of some rounds: other programs on the machine only make it worse.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from time import sleep

from tests.benchmarks import ingest
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import cpu_of

IDLE, HEALTHY, PACE = 30, 3, 300
_BATCH = 10


def run(options: Options) -> Iterator[Figure]:
    with ingest.served("hook") as (port, process), ingest.served("hook") as (other, bare):
        ingest.measure(port, 20), ingest.measure(other, 20)
        requests, rounds = options.many(100, 4), options.many(6, 1)
        with _streams(port, IDLE, reading=False):
            pairs = _pairs(
                lambda: ingest.rate(port, process.pid, requests), lambda: ingest.rate(other, bare.pid, requests), rounds
            )
        yield _figure(f"{IDLE} unread streams", pairs)
        with _streams(port, 1, reading=False), _streams(port, 1, pause=0.1), _streams(port, 1):
            pairs = _pairs(
                lambda: ingest.rate(port, process.pid, requests), lambda: ingest.rate(other, bare.pid, requests), rounds
            )
        yield _figure("a reader that never reads, a slow one, one that keeps up", pairs)
        seconds = options.many(5, 1)
        with _streams(port, HEALTHY):
            pairs = _pairs(lambda: _paced(port, process.pid, seconds), lambda: _paced(other, bare.pid, seconds), rounds)
        yield _figure(f"{HEALTHY} readers, at {PACE} events/s", pairs)


def _pairs(ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> list[tuple[float, float]]:
    """Pairs of rounds; each side goes first every other time."""
    pairs = []
    for number in range(rounds):
        other = theirs() if number % 2 else 0.0
        pairs.append((ours(), other or theirs()))
    return pairs


def _figure(what: str, pairs: list[tuple[float, float]]) -> Figure:
    ours, theirs = (max(rates) for rates in zip(*pairs, strict=True))
    return Figure(f"{what}: to the recorder", ours, "events/s", "without them", theirs)


def _paced(port: int, pid: int, seconds: int) -> float:
    """Events per second of the server's CPU time, when they come at `PACE`."""
    before = cpu_of(pid)
    requests = seconds * PACE // _BATCH
    ingest.measure(port, requests, pace=PACE, batch=_BATCH)
    ingest.drain(port)
    return requests * _BATCH / (cpu_of(pid) - before)


@contextmanager
def _streams(port: int, number: int, *, reading: bool = True, pause: float = 0) -> Iterator[None]:
    """Open this number of streams, each of which rests `pause` seconds after each read."""
    with ExitStack() as stack:
        for _ in range(number):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.sendall(b"GET /inspect/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert connection.recv(15).startswith(b"HTTP/1.1 200")
            if reading:
                thread = Thread(target=_read, args=(connection, pause), daemon=True)
                thread.start()
                stack.callback(thread.join)
                stack.callback(connection.shutdown, socket.SHUT_RDWR)
        yield


def _read(connection: socket.socket, pause: float) -> None:
    with suppress(ConnectionResetError):  # the client has disconnected before reading everything
        while connection.recv(1 << 16):
            sleep(pause)
