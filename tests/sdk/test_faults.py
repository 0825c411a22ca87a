"""Disk faults: locked by others, full, slow, deleted, damaged. Calls stay fast and in order, and counters balance."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from svctoolkit.sdk import ServiceClient
from svctoolkit.sqlite import Connection
from tests.pace import slowness

from .gateway import Gateway, until

posix = pytest.mark.skipif(os.name != "posix", reason="needs file limits")
ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 0.5  # a call that waited for the disk would take twice as long


def balance(client: ServiceClient) -> tuple[int, int]:
    """Check that the events that came in equal those that went out or are still there."""
    stats = client.stats()
    return stats.recorded + stats.carried, (
        stats.delivered + stats.waiting + stats.parked + sum(stats.dropped.values())
    )


def slowest(call: Callable[[int], object], times: int) -> float:
    """The longest of these calls, except for the fifth that a busy machine may delay."""
    seconds = []
    for number in range(times):
        began = time.perf_counter()
        call(number)
        seconds.append(time.perf_counter() - began)
    return sorted(seconds)[times * 4 // 5 - 1]


@contextmanager
def full_disk(file: Path) -> Iterator[None]:
    """No file of this process may grow beyond the current size of this one."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, limit[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_foreign_write_lock_delays_no_call(make, gateway: Gateway, tmp_path: Path):
    """While another process holds SQLite's write lock, calls return quickly; then everything is stored, in order."""
    client = make()
    client.track("before")
    other = sqlite3.connect(tmp_path / "data/queue-3.db", isolation_level=None, factory=Connection)
    other.execute("BEGIN IMMEDIATE")
    longest = slowest(lambda number: client.track(f"{number}"), 20)
    assert client.stats().in_memory == 0
    assert balance(client) == (21, 21)
    other.execute("ROLLBACK")
    other.close()

    assert longest < LIMIT_SECONDS
    assert client.flush()
    assert gateway.names == ["before", *map(str, range(20))]
    assert balance(client) == (21, 21)


class SlowConnection(sqlite3.Connection):
    """Every write takes a second, as on an overloaded network drive, until it recovers."""

    seconds = 1.0

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:  # type: ignore[override]
        if statement.lstrip().startswith(("INSERT", "COMMIT", "UPDATE", "DELETE")):
            time.sleep(self.seconds)
        return super().execute(statement, *values)


def test_a_slow_disk_delays_no_call(make, gateway: Gateway, monkeypatch: pytest.MonkeyPatch):
    """Once a disk has been slow, calls no longer wait for it; nothing is lost, and the order is kept."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": SlowConnection}))
    client = make()
    longest = slowest(lambda number: client.track(f"{number}"), 30)
    monkeypatch.setattr(SlowConnection, "seconds", 0.0)

    assert longest < LIMIT_SECONDS
    assert client.flush(60)
    assert gateway.names == [str(n) for n in range(30)]
    assert balance(client) == (30, 30)


def test_a_recovered_disk_is_written_synchronously_again(make, monkeypatch: pytest.MonkeyPatch):
    """When the disk is fast again, events are on disk when their calls return."""
    delay = [0.1]

    class Moody(sqlite3.Connection):
        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:  # type: ignore[override]
            if statement.startswith("INSERT"):
                time.sleep(delay[0])
            return super().execute(statement, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Moody}))
    client = make(data_plane_url="http://127.0.0.1:9")
    client.track("slow")
    delay[0] = 0.0
    client.track("rescued")
    until(lambda: client.stats().in_memory == 0)
    client.track("again")
    until(lambda: (client.track("more"), client.stats().in_memory == 0)[1])

    assert list(client.frame()["event"])[:3] == ["slow", "rescued", "again"]


@posix
def test_a_full_disk_delivers_stored_events_first(make, gateway: Gateway, tmp_path: Path):
    """Without room for a single page, stored events are sent, then those in memory; none twice, none lost."""
    client = make(flush_queue_size=7)
    for number in range(20):
        client.track(f"stored {number}")
    with full_disk(tmp_path / "data/queue-3.db-wal"):
        longest = slowest(lambda number: client.track(f"memory {number}"), 20)
        assert client.flush(60)
        names = list(gateway.names)
        assert balance(client) == (40, 40)
        client.track("later")
    client.track("last")
    assert client.flush(60)

    assert longest < LIMIT_SECONDS
    assert names == [*(f"stored {n}" for n in range(20)), *(f"memory {n}" for n in range(20))]
    assert gateway.names == [*names, "later", "last"]
    assert balance(client) == (42, 42)
    assert client.stats().waiting == 0


@pytest.mark.parametrize("remove", ["directory", "files"])
def test_a_deleted_directory_loses_nothing(make, gateway: Gateway, tmp_path: Path, remove: str):
    """Deleted under a running client, it is reported and created again, and its events are delivered."""
    errors: list[Exception] = []
    client = make(on_error=errors.append)
    client.track("one")
    assert client.flush()
    client.track("two")
    if remove == "directory":
        shutil.rmtree(tmp_path / "data")
    else:
        for file in (tmp_path / "data").iterdir():
            file.unlink()
    client.track("three")
    assert balance(client) == (3, 3)
    assert client.flush()
    client.track("four")
    assert balance(client) == (4, 4)
    assert client.flush()

    assert gateway.names == ["one", "two", "three", "four"]
    assert balance(client) == (4, 4)
    assert any("was removed: moved" in str(error) for error in errors)
    assert (tmp_path / "data/queue-3.db").exists()


def test_events_of_a_damaged_file_are_counted_as_lost(make, gateway: Gateway, tmp_path: Path):
    """The loss has a number and a reason."""
    client = make()
    for number in range(300):
        client.track(f"{number}", {"pad": "x" * 2000})
    client._engine.close(1)  # as at the end of the process, without sending
    path = tmp_path / "data/queue-3.db"
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    client.track("after")

    assert client.stats().dropped == {"damaged file": 300 - client.stats().delivered}
    assert balance(client) == (301, 301)
    assert client.flush()
    assert gateway.names[-1] == "after"


@posix
def test_events_that_end_with_the_process_are_reported(tmp_path: Path):
    """Without a disk and without a data plane, their number is logged at the end."""
    program = f"""
import resource, signal
from svctoolkit.sdk import ServiceClient
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
client = ServiceClient(data_directory={str(tmp_path)!r}, data_plane_url="http://127.0.0.1:9", profile="server")
client.initialize("key")
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
for number in range(7): client.track("one", user_id="u")"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert ended.returncode == 0
    assert f"7 event(s) are lost: they could not be stored in {tmp_path / 'queue-3.db'}" in ended.stderr


def test_counters_balance_at_any_time(make, gateway: Gateway):
    """Seen from another thread while events are recorded, refused, dropped and delivered, the sum is right."""
    gateway.rule = lambda events: (400, {}, b"no") if any("bad" in e["event"] for e in events) else None
    client = make(flush_queue_size=5, db_threshold_count=200)
    unbalanced, stop = [], threading.Event()

    def watch() -> None:
        while not stop.is_set():
            before, after = balance(client)
            if before != after:
                unbalanced.append((before, after))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for number in range(400):
        client.track("bad" if number % 50 == 7 else f"{number}", {"pad": "x" * (40_000 if number % 90 == 3 else 10)})
    client.opt_out(True)
    client.track("after")
    client.flush(20)
    stop.set()
    watcher.join()

    assert unbalanced == []
    assert balance(client) == (401, 401)
    assert set(client.stats().dropped) >= {"too large", "opted out"}


def test_events_of_an_earlier_run_are_counted_separately(make, gateway: Gateway):
    """The sum is right from the start."""
    first = make(data_plane_url="http://127.0.0.1:9")
    first.track("one")
    first.track("two")
    first.shutdown(0.1)
    second = make()
    second.track("three")

    assert second.stats().carried == 2
    assert balance(second) == (3, 3)
    assert second.flush()
    assert balance(second) == (3, 3)
    assert second.stats().delivered == 3


@pytest.mark.slow
def test_a_call_takes_under_two_milliseconds(make, gateway: Gateway):
    """On a working disk, 99 of 100 calls return within 2 ms while the client sends.

    Longer delays are allowed if other programs on this machine delay a parallel loop without calls just as long.
    """
    client = make(flush_queue_size=30, db_threshold_count=1_000_000)
    seconds, beside = [], []
    for number in range(5000):
        began = time.perf_counter()
        client.track(f"{number}", {"revenue": 12.5})
        ended = time.perf_counter()
        while time.perf_counter() - ended < 0.001:
            pass
        seconds.append(ended - began)
        beside.append(time.perf_counter() - ended - 0.001)

    late = len(seconds) * 99 // 100
    assert sorted(seconds)[late] < 0.002 * slowness() + sorted(beside)[late]
