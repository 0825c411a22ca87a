"""The journal: an event survives kill -9 from the moment its call returns, whatever the database is doing."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.queue import journal as journals
from svctoolkit.sqlite import Connection

from .gateway import KEY, Gateway, until

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not journals.IS_SUPPORTED, reason="needs file locks")
Make = Callable[..., ServiceClient]


def journal_of(directory: Path) -> Path:
    (path,) = directory.glob("*.journal")
    return path


def killed(directory: Path, program: str) -> None:
    """Run a program with a client `c` that kills itself at its end, so that nothing is written or sent any more."""
    start = f"""
import os, signal, sqlite3, sys
from svctoolkit.sdk import ServiceClient
c = ServiceClient(data_directory={str(directory)!r}, data_plane_url="http://127.0.0.1:9", track_lifecycle_events=False,
                  sleep_timeout=3600)
c.initialize({KEY!r})
"""
    command = [sys.executable, "-c", start + program + "\nos.kill(os.getpid(), signal.SIGKILL)"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_events_survive_although_the_database_is_locked(make: Make, gateway: Gateway, tmp_path: Path):
    """While another connection holds SQLite's write lock, each call's event is on disk when the call returns."""
    data = tmp_path / "data"
    killed(
        data,
        f"""
other = sqlite3.connect({str(data / "queue-3.db")!r}, isolation_level=None)
other.execute("BEGIN IMMEDIATE")
for number in range(200): c.track(str(number))
assert c.stats().in_memory == 0
""",
    )
    assert make().flush()

    assert gateway.names == [str(number) for number in range(200)]


@pytest.mark.parametrize("cut", [1, 5, 300])
def test_a_torn_last_record_is_dropped(make: Make, gateway: Gateway, tmp_path: Path, cut: int):
    """A record that was cut off was never acknowledged; everything before it is delivered."""
    data = tmp_path / "data"
    killed(data, 'c._engine.database.gate.enter(); [c.track(name, {"pad": "x" * 400}) for name in "abc"]')
    journal = journal_of(data)
    os.truncate(journal, journal.stat().st_size - cut)
    assert make().flush()

    assert gateway.names == ["a", "b"]
    assert len(list(data.glob("*.journal"))) == 1  # only that of the new client


def test_a_record_that_the_disk_took_in_part_hides_no_later_one(make: Make, gateway: Gateway, tmp_path: Path):
    """What follows damage is found again, even if an event contains something like a record."""
    data = tmp_path / "data"
    killed(data, 'c._engine.database.gate.enter(); [c.track(name, {"pad": "x" * 400}) for name in "abc"]')
    journal = journal_of(data)
    content = journal.read_bytes()
    second = content.index(b'"event":"b"')
    journal.write_bytes(content[: second - 40] + b"\xf5SJ1garbage" + content[second:])
    assert make().flush()

    assert gateway.names == ["a", "c"]


def test_the_format_is_as_documented(make: Make, tmp_path: Path):
    """A reader that is written after the module's docstring finds source, users and events."""
    client = make()
    client._engine.database.gate.enter()  # nothing is moved to the database meanwhile
    client.track("one", user_id="u-1", anonymous_id="a-1")
    client.track("two", {"text": "å"})
    content = journal_of(tmp_path / "data").read_bytes()
    client._engine.database.gate.leave()

    records = []
    while content:
        mark, length, checksum = struct.unpack("<4sII", content[:12])
        record, content = content[12 : 12 + length], content[12 + length :]
        assert mark == bytes.fromhex("F5534A31")
        assert zlib.crc32(record) == checksum
        records.append(record)
    source, origin = records[0].decode().split("\n")
    assert (source, origin) == (client._engine.queue.source, client._engine.queue._origin)
    (_, flags, length), rest = struct.unpack("<dBI", records[1][:13]), records[1][13:]
    assert (flags, rest[:length]) == (0, b"a-1\nu-1")
    assert b'"event":"one"' in rest[length:]
    assert "å".encode() in records[2]


@pytest.mark.parametrize("content", [b"\xf5SJ2 of a later version", b"no journal at all"])
def test_a_file_that_is_no_journal_of_this_version_is_left_alone(make: Make, tmp_path: Path, content: bytes):
    """A later version may have written it: its events must not be removed."""
    file = tmp_path / "data" / "queue-3.77-abc.journal"
    file.parent.mkdir()
    file.write_bytes(content)
    client = make()
    assert client.flush()
    client.shutdown()

    assert file.read_bytes() == content


def test_a_client_without_events_leaves_no_journal(make: Make, tmp_path: Path):
    """Not even until the next start."""
    make().shutdown()

    assert list((tmp_path / "data").glob("*.journal")) == []


def test_the_journal_of_a_living_process_is_left_alone(make: Make, gateway: Gateway, tmp_path: Path):
    """Another client on the same directory does not read it: its owner would store the same events again."""
    first = make()
    first._engine.database.gate.enter()
    first.track("of the first")
    second = make(data_plane_url="http://127.0.0.1:9", control_plane_url=gateway.url)
    waiting = second.stats().waiting
    first._engine.database.gate.leave()
    assert first.flush()

    assert waiting == 0
    assert gateway.names == ["of the first"]


def test_a_running_client_adopts_the_journal_of_a_process_that_died(make: Make, gateway: Gateway, tmp_path: Path):
    """Not only a client that starts: in a pool of workers the others go on."""
    client = make(sleep_timeout=1)
    killed(tmp_path / "data", 'c._engine.database.gate.enter(); c.track("of the dead")')
    until(lambda: gateway.names == ["of the dead"])

    until(lambda: client.stats().delivered == 1)
    stats = client.stats()
    assert (stats.recorded, stats.carried, stats.waiting) == (0, 1, 0)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_does_not_keep_the_journal_of_its_dead_parent(make: Make, gateway: Gateway, tmp_path: Path):
    """A forked child inherits the descriptor, and with it the lock: it gives both up."""
    program = """
c._engine.database.gate.enter()
c.track("of the parent")
c._engine.database.gate.leave()
c._engine.database.gate.enter()
if os.fork() == 0:
    os.read(0, 1)
    os._exit(0)
"""
    start = f"""
import os, signal
from svctoolkit.sdk import ServiceClient
c = ServiceClient(data_directory={str(tmp_path / "data")!r}, data_plane_url="http://127.0.0.1:9",
                  track_lifecycle_events=False)
c.initialize({KEY!r})
{program}
os.kill(os.getpid(), signal.SIGKILL)"""
    parent = subprocess.Popen(
        [sys.executable, "-c", start], env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE
    )
    parent.wait()
    try:
        client = make()
        # The child may not have got so far when the parent dies; every two seconds the client looks again.
        until(lambda: client.flush() and gateway.names == ["of the parent"])
    finally:
        parent.stdin.close()  # ends the child


def test_a_client_that_is_garbage_gives_up_its_journal(make: Make, gateway: Gateway, tmp_path: Path):
    """Its descriptor is closed, and its events belong to the next client of the directory."""
    client = ServiceClient(
        data_directory=tmp_path / "data", data_plane_url="http://127.0.0.1:9", track_lifecycle_events=False
    )
    client.initialize(KEY)
    client.track("left behind")
    client._engine.worker.stop(60)
    del client
    until(lambda: gc.collect() >= 0 and make().flush() and gateway.names == ["left behind"])


def test_a_long_journal_is_replaced_and_removed(make: Make, gateway: Gateway, tmp_path: Path):
    """The journals of a client that runs for long do not grow without bound, and a closed one leaves none."""
    client = make(flush_queue_size=100)
    for round_ in range(5):
        for number in range(50):
            client.track(f"{round_}-{number}", {"pad": "x" * 30_000})
        assert client.flush()
    until(lambda: client._engine.queue.refresh() is not None and len(list((tmp_path / "data").glob("*.journal"))) == 1)

    assert journal_of(tmp_path / "data").stat().st_size < 2 * journals.LONG
    assert len(gateway.names) == len(set(gateway.names)) == 250
    assert client.shutdown()
    assert list((tmp_path / "data").glob("*.journal")) == []


def test_threads_keep_their_order_while_journals_are_replaced(
    make: Make, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
):
    """Eight threads with a user each: every user's events arrive once and in order across many journals."""
    monkeypatch.setattr("svctoolkit.sdk.queue.journals.LONG", 2000)
    client = make(flush_queue_size=20, db_threshold_count=1_000_000)

    def record(user: int) -> None:
        for number in range(150):
            client.track(str(number), user_id=f"u-{user}")

    threads = [threading.Thread(target=record, args=(user,)) for user in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        client._engine.queue.refresh()
    for thread in threads:
        thread.join()
    assert client.flush()

    by_user: dict[str, list[str]] = {}
    for event in gateway.events:
        by_user.setdefault(event["userId"], []).append(event["event"])
    assert by_user == {f"u-{user}": [str(number) for number in range(150)] for user in range(8)}


def test_a_full_disk_keeps_the_order_across_journal_memory_and_database(make: Make, gateway: Gateway, tmp_path: Path):
    """Events before, during and after: in the order of their calls, and every one stored when there is room."""
    import resource

    client = make(data_plane_url="http://127.0.0.1:9", control_plane_url=gateway.url)
    data, limit = tmp_path / "data", resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for round_ in range(3):
            for number in range(5):
                client.track(f"{round_} room {number}")
            resource.setrlimit(resource.RLIMIT_FSIZE, (journal_of(data).stat().st_size, limit[1]))
            for number in range(5):
                client.track(f"{round_} full {number}")
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            client.stats()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)

    assert client.stats().in_memory == 0
    expected = [f"{r} {what} {n}" for r in range(3) for what in ("room", "full") for n in range(5)]
    assert list(client.frame()["event"]) == expected


def test_a_kill_between_storing_and_removing_sends_nothing_twice(make: Make, gateway: Gateway, tmp_path: Path):
    """The database knows how far it has read a journal, because both are written in one transaction."""
    killed(tmp_path / "data", 'for name in "abc": c.track(name)\nassert c.stats().waiting == 3\nc.track("d")')
    with sqlite3.connect(tmp_path / "data/queue-3.db", factory=Connection) as connection:
        stored = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    assert stored >= 3
    assert make().flush()

    assert gateway.names == ["a", "b", "c", "d"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_at_any_moment_after_the_start_sends(gateway: Gateway, tmp_path: Path):
    """The child sends, and can import what the parent's threads were using, at each of 0 to 50 ms."""
    program = f"""
import os, signal, sys, time
from svctoolkit.sdk import ServiceClient
for delay in (0, 1, 2, 5, 10, 20, 35, 50):
    c = ServiceClient(data_directory={str(tmp_path)!r} + f"/{{delay}}", data_plane_url={gateway.url!r},
                      track_lifecycle_events=False)
    c.initialize({KEY!r})
    known = set(sys.modules)
    time.sleep(delay / 1000)
    if os.fork() == 0:
        signal.alarm(100)
        import http.client, urllib.request, gzip, ssl
        c.track(f"child {{delay}}")
        os._exit(0 if c.flush(60) else 1)
    assert os.wait()[1] == 0, delay
    c.track("parent")
    assert c.flush(60)
    assert set(sys.modules) == known, set(sys.modules) - known
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    children = [name for name in gateway.names if name != "parent"]
    assert children == [f"child {delay}" for delay in (0, 1, 2, 5, 10, 20, 35, 50)]
