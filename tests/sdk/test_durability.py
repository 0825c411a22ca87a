"""No event is lost: kills, forks, damaged files, full disks, several processes."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.operate.commands import main
from svctoolkit.sqlite import Connection

from .gateway import KEY, Gateway, until

ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(os.name != "posix", reason="needs fork and signals")


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@posix
def test_no_event_is_lost_when_the_process_is_killed(gateway: Gateway, make, tmp_path: Path):
    """After kill -9 under load, every event whose call returned arrives; duplicates have the same messageId."""
    kills = os.environ.get("SVCTOOLKIT_KILLS", "20")
    returned, data = tmp_path / "returned", tmp_path / "killed"
    _python(str(Path(__file__).with_name("victim.py")), str(data), gateway.url, str(returned), kills, "7")
    client = make(data_directory=data, flush_queue_size=100, db_threshold_count=1_000_000)
    assert client.flush(300)

    ids = defaultdict(set)
    for event in gateway.events:
        ids[event["event"]].add(event["messageId"])
    numbers = returned.read_text().split()
    assert len(numbers) > 20 * int(kills)
    assert [n for n in numbers if f"event {n}" not in ids] == []
    assert [name for name, found in ids.items() if len(found) > 1] == []


def test_events_of_a_killed_process_are_sent_in_order(make, gateway: Gateway):
    """Its stored events arrive in the order of the calls."""
    client = make(flush_queue_size=7)
    for number in range(50):
        client.track(f"{number}")
    assert client.flush()

    assert gateway.names == [str(n) for n in range(50)]


@posix
@pytest.mark.parametrize("share", [0.999, 0.6, 0.3, 0.0])
def test_a_truncated_log_costs_only_its_tail(make, gateway: Gateway, tmp_path: Path, share: float):
    """After a power cut that truncated the log, the client starts and delivers the events before the cut."""
    program = f"""
import os
from svctoolkit.sdk import ServiceClient
c = ServiceClient(data_directory={str(tmp_path / "cut")!r}, track_lifecycle_events=False, data_plane_url="http://127.0.0.1:9")
c.initialize({KEY!r})
for n in range(200): c.track(str(n))
os._exit(0)"""
    _python("-c", program)
    log = tmp_path / "cut" / "queue-3.db-wal"
    os.truncate(log, int(log.stat().st_size * share))
    client = make(data_directory=tmp_path / "cut")
    client.track("after")
    assert client.flush()

    assert gateway.names[-1] == "after"
    assert gateway.names[:-1] == [str(n) for n in range(len(gateway.names) - 1)]
    assert len(gateway.names) > 200 * share * 0.8


@posix
def test_a_full_disk_moves_events_to_memory_and_back(make, gateway: Gateway, tmp_path: Path):
    """While the disk is full, events wait in memory and `on_error` is called once.

    With free space they are stored again.
    """
    errors = []
    client = make(on_error=errors.append, data_plane_url="http://127.0.0.1:9", backoff=lambda failures: 3600.0)
    client.track("before")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        (journal,) = (tmp_path / "data").glob("*.journal")
        resource.setrlimit(resource.RLIMIT_FSIZE, (journal.stat().st_size, limit[1]))
        for number in range(5):
            client.track(f"full {number}")
        full = client.stats()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    client.track("after")

    assert (full.in_memory, full.waiting, full.recorded, full.dropped) == (5, 6, 6, {})
    assert sum("cannot be written" in str(error) for error in errors) == 1
    assert client.stats().in_memory == 0
    assert list(client.frame()["event"]) == ["before", *[f"full {n}" for n in range(5)], "after"]


@posix
def test_the_memory_buffer_is_bounded(make, tmp_path: Path):
    """On a full disk, 16 to 32 MB of events wait in memory: as much in the inbox as behind it.

    Beyond that the oldest of a side are dropped, counted and passed to `on_drop`; the newest events stay.
    """
    dropped = []
    file = tmp_path / "file"
    file.write_text("not a directory")
    client = make(
        data_directory=file / "data",
        data_plane_url="http://127.0.0.1:9",
        on_drop=lambda e, r: dropped.append((e["event"], r)),
    )
    for number in range(1200):
        client.track(str(number), {"pad": "x" * 30_000})
    stats = client.stats()

    assert 16 * 2**20 / 31_000 < stats.in_memory < 32 * 2**20 / 30_000
    assert stats.dropped == {"memory full": 1200 - stats.in_memory}
    # The worker calls `on_drop`, and drops more while it takes events out of the inbox.
    until(lambda: len(dropped) == 1200 - client.stats().in_memory)
    numbers = {int(number) for number, _ in dropped}
    assert (len(numbers), {reason for _, reason in dropped}) == (len(dropped), {"memory full"})
    assert client.stats().in_memory > 16 * 2**20 / 31_000
    assert not numbers & {*range(1200 - 16 * 2**20 // 31_000, 1200)}


def test_without_a_data_directory_events_are_still_delivered(make, gateway: Gateway, tmp_path: Path):
    """`on_error` is called if it cannot be created; events are sent from memory."""
    errors = []
    (tmp_path / "file").write_text("not a directory")
    client = make(data_directory=tmp_path / "file" / "data", on_error=errors.append)
    client.track("one")
    assert client.flush()

    assert gateway.names == ["one"]
    assert "cannot be opened" in str(errors[0])


def test_a_damaged_file_is_set_aside(make, gateway: Gateway, tmp_path: Path):
    """A queue file that is not a database is renamed and reported, and a new one is created."""
    errors = []
    (tmp_path / "data").mkdir()
    (tmp_path / "data/queue-3.db").write_bytes(b"garbage " * 4096)
    client = make(on_error=errors.append)
    client.track("one")
    assert client.flush()

    assert gateway.names == ["one"]
    (aside,) = (tmp_path / "data").glob("queue-3.db.damaged-*")
    assert aside.read_bytes() == b"garbage " * 4096
    assert "is damaged: moved it to" in str(errors[0])


def _stored(make, folder: Path, *statements: str) -> None:
    """Store three events of earlier runs in a queue file, and change it like a damaged disk."""
    first = make()
    for number in range(3):
        first.track(str(number))
    first._engine.close(1)  # as at the end of the process, without sending
    with closing(sqlite3.connect(folder / "data/queue-3.db", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        [
            "PRAGMA writable_schema=ON",
            "UPDATE sqlite_master SET name=CAST(x'ff9f' AS TEXT), sql='x' WHERE name='parked'",
        ],
        ["UPDATE state SET value=CAST(x'7b9f' AS TEXT)"],
    ],
    ids=["schema", "value"],
)
def test_a_file_with_bytes_that_are_not_text_is_set_aside(
    make, gateway: Gateway, tmp_path: Path, statements: list[str]
):
    """SQLite's message about the damage, or the text itself, is not UTF-8: Python cannot decode it."""
    _stored(make, tmp_path, *statements)
    errors = []
    client = make(on_error=errors.append)
    client.track("after")
    assert client.flush()

    assert gateway.names[-1] == "after"
    assert any("is damaged: moved it to" in str(error) for error in errors)


def test_a_damaged_event_does_not_hold_up_the_others(
    make, gateway: Gateway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The data plane refuses it, so it is parked; the queue can still be listed."""
    _stored(make, tmp_path, "UPDATE events SET body=x'7b2261223a9f' WHERE id=2")
    answer = gateway.batch

    def refuse(body: bytes, headers: Mapping[str, str]) -> Any:
        try:
            return answer(body, headers)
        except ValueError:
            return (400, {}, b"invalid json")

    gateway.batch = refuse
    errors = []
    client = make(on_error=errors.append)
    client.track("after")
    assert client.flush()

    assert sorted(gateway.names) == ["0", "2", "after"]
    assert [error for error in errors if "internal" in str(error)] == []
    assert (client.stats().parked, len(client.frame())) == (1, 1)
    assert main(["queue", str(tmp_path / "data"), "ls"]) == 0
    assert "parked" in capsys.readouterr().out


def test_a_file_damaged_while_in_use_loses_no_new_event(make, gateway: Gateway, tmp_path: Path):
    """It is also set aside, and the call that found the damage loses nothing."""
    first = make()
    for number in range(300):
        first.track(str(number), {"pad": "x" * 2000})
    first._engine.close(1)  # as at the end of the process, without sending
    path = tmp_path / "data/queue-3.db"
    content = bytearray(path.read_bytes())
    content[4096 : len(content)] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    errors = []
    client = make(on_error=errors.append)
    client.track("after")
    assert client.flush()

    assert gateway.names[-1] == "after"
    assert list((tmp_path / "data").glob("queue-3.db.damaged-*"))


def test_a_deleted_file_is_created_again(make, gateway: Gateway, tmp_path: Path):
    """When the data directory is deleted under a running client, later events are stored in a new one."""
    client = make()
    for file in (tmp_path / "data").iterdir():
        file.unlink()
    client.flush()
    client.track("after")
    assert client.stats().waiting == 1

    connection = sqlite3.connect(tmp_path / "data/queue-3.db", factory=Connection)
    assert connection.execute("SELECT count(*) FROM events").fetchone() == (1,)
    connection.close()


def test_the_oldest_events_over_the_limit_are_dropped_and_reported(make):
    """Over dbThresholdCount, the oldest events are deleted, counted, and passed to `on_drop` with the reason."""
    dropped = []
    client = make(
        db_threshold_count=10, data_plane_url="http://127.0.0.1:9", on_drop=lambda e, r: dropped.append((e["event"], r))
    )
    for number in range(13):
        client.track(str(number))

    assert list(client.frame()["event"]) == [str(n) for n in range(3, 13)]
    assert client.stats().dropped == {"queue full": 3}
    assert dropped == [("0", "queue full"), ("1", "queue full"), ("2", "queue full")]


def test_threads_share_a_client(make, gateway: Gateway):
    """Eight threads that track in parallel lose and repeat nothing."""
    client = make()
    threads = [threading.Thread(target=lambda t=t: [client.track(f"{t}-{n}") for n in range(100)]) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.flush()

    assert sorted(gateway.names) == sorted(f"{t}-{n}" for t in range(8) for n in range(100))


@posix
def test_processes_share_a_file(gateway: Gateway, make, tmp_path: Path):
    """Four processes on one file, each recording and sending, deliver every event exactly once."""
    program = f"""
import os
from svctoolkit.sdk import ServiceClient
os.fork(), os.fork()
c = ServiceClient(data_directory={str(tmp_path / "shared")!r}, data_plane_url={gateway.url!r})
c.initialize({KEY!r}, {{"trackLifecycleEvents": False}})
for n in range(200): c.track(f"{{os.getpid()}} {{n}}")
c.shutdown(20)
try:
    while True: os.wait()
except ChildProcessError: pass"""
    _python("-c", program)
    make(data_directory=tmp_path / "shared").flush()

    assert len(gateway.names) == len(set(gateway.names)) == 4 * 200


@pytest.mark.slow
@posix
def test_a_fork_during_a_write_loses_nothing(make, tmp_path: Path):
    """Children that are forked while other threads write store their events on disk, and none hangs."""
    settings = {
        "data_directory": str(tmp_path / "forked"),
        "data_plane_url": "http://127.0.0.1:9",
        "db_threshold_count": 1_000_000,
    }
    program = f"""
import os, signal, sys, threading, time
from svctoolkit.sdk import ServiceClient
sys.setswitchinterval(0.0002)
c = ServiceClient({", ".join(f"{k}={v!r}" for k, v in settings.items())})
c.initialize({KEY!r}, {{"trackLifecycleEvents": False}})
stop = threading.Event()
def write():
    while not stop.is_set():
        c.track("parent")
        time.sleep(0.0005)  # or there are hundreds of thousands of events to read
threads = [threading.Thread(target=write, daemon=True) for _ in range(2)]
for thread in threads: thread.start()
for number in range(50):
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        c.track(f"child {{number}}")
        os._exit(c.stats().in_memory)
    assert os.waitpid(child, 0)[1] == 0, number
stop.set()
for thread in threads: thread.join()
os._exit(0)"""
    _python("-W", "ignore", "-c", program)

    stored = Counter(make(**settings).frame()["event"])
    assert stored.pop("parent") > 150
    assert stored == {f"child {n}": 1 for n in range(50)}


@posix
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_sends_its_own_events(make, gateway: Gateway):
    """In a child, a new worker starts with the next call: a pre-fork server loses nothing."""
    client = make()
    client.track("parent before")
    assert client.flush()
    child = os.fork()
    if child == 0:
        client.track("child")
        os._exit(0 if client.flush(60) else 1)
    _, status = os.waitpid(child, 0)
    client.track("parent after")
    assert client.flush()

    assert status == 0
    assert gateway.names == ["parent before", "child", "parent after"]


@posix
def test_a_fork_leaves_no_connection_to_the_garbage_collector(gateway: Gateway, tmp_path: Path):
    """It would warn of each, in every child."""
    program = f"""
import os
from svctoolkit.sdk import ServiceClient
c = ServiceClient(data_directory={str(tmp_path / "forked")!r}, data_plane_url={gateway.url!r}, profile="server")
c.initialize({KEY!r})
c.track("one", user_id="u")
assert c.flush(60)
if (child := os.fork()) == 0: os._exit(0)
os.waitpid(child, 0)"""

    assert _python("-W", "always::ResourceWarning", "-c", program).stderr == ""


@posix
def test_what_a_child_stores_survives_when_its_parent_closes_the_queue(make, gateway: Gateway, tmp_path: Path):
    """The parent is the only process that had the file open before the fork; it ends while the child is using it."""
    folder = str(tmp_path / "forked")
    program = f"""
import os
from svctoolkit.sdk import ServiceClient
c = ServiceClient(data_directory={folder!r}, data_plane_url="http://127.0.0.1:9", track_lifecycle_events=False)
c.initialize({KEY!r})
c.track("parent")
c.stats()
(ready, stored), (closed, close) = os.pipe(), os.pipe()
if (child := os.fork()) == 0:
    c.track("child before")
    c.stats()
    os.write(stored, b"x")
    os.read(closed, 1)
    c.track("child after")
    c.shutdown(0)
    os._exit(0)
os.read(ready, 1)
c.shutdown(0)
os.write(close, b"x")
assert os.waitpid(child, 0)[1] == 0
os._exit(0)"""
    _python("-W", "ignore", "-c", program)
    make(data_directory=folder).flush()

    assert gateway.names == ["parent", "child before", "child after"]


def test_waiting_events_are_sent_when_the_program_ends(gateway: Gateway, tmp_path: Path):
    """A script that tracks 50 events and ends delivers 50, without flush and with the largest batch size."""
    settings = {"dataPlaneUrl": gateway.url, "dataDirectory": str(tmp_path / "script"), "flushQueueSize": 1}
    program = f"""
from svctoolkit import sdk
sdk.initialize({KEY!r}, {settings | {"trackLifecycleEvents": False}})
for n in range(50): sdk.track(str(n))"""
    _python("-c", program)

    assert gateway.names == [str(n) for n in range(50)]


@pytest.mark.slow
def test_a_program_may_end_while_its_log_is_being_copied(tmp_path: Path):
    """Scripts that end right after many events end cleanly, and every event is in the file."""
    settings = {"dataPlaneUrl": "http://127.0.0.1:9", "dataDirectory": str(tmp_path / "long")}
    program = f"""
from svctoolkit import sdk
sdk.initialize({KEY!r}, {settings | {"trackLifecycleEvents": False, "dbThresholdCount": 1_000_000}})
for n in range(5_000): sdk.track(str(n), {{"pad": "x" * 2000}})"""
    for _ in range(3):
        _python("-c", program)

    connection = sqlite3.connect(tmp_path / "long/queue-3.db", factory=Connection)
    assert connection.execute("SELECT count(*) FROM events").fetchone() == (15_000,)
    connection.close()


def test_the_end_of_the_program_does_not_wait_for_the_network(tmp_path: Path):
    """Offline, a script ends at once, and its events are in the file."""
    settings = {"dataPlaneUrl": "http://127.0.0.1:9", "dataDirectory": str(tmp_path / "offline")}
    program = f"""
from svctoolkit import sdk
sdk.initialize({KEY!r}, {settings | {"trackLifecycleEvents": False}})
for n in range(50): sdk.track(str(n))"""
    _python("-c", program)

    connection = sqlite3.connect(tmp_path / "offline/queue-3.db", factory=Connection)
    assert connection.execute("SELECT count(*) FROM events").fetchone() == (50,)
    connection.close()


def test_a_claim_of_a_dead_process_ends(make, gateway: Gateway, tmp_path: Path):
    """Events that a dead process had claimed are taken over at once, not after the claim's minute."""
    client = make()
    client.track("one")
    assert client.stats().waiting == 1
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    connection = sqlite3.connect(tmp_path / "data/queue-3.db", isolation_level=None, factory=Connection)
    host = os.uname().nodename
    source = connection.execute("SELECT source FROM events").fetchone()[0]
    claim = ("t", "cloud", source, 1, 10**9, f"{host}|{gone.pid}|x", client._engine.settings.clock() + 59)
    connection.execute("INSERT INTO claims VALUES(?,?,?,?,?,?,?)", claim)
    connection.close()

    assert client.flush()
    assert gateway.names == ["one"]


def test_calls_after_shutdown_are_delivered(make, gateway: Gateway):
    """A call after `shutdown` is recorded and delivered like any other."""
    client = make()
    client.track("before")
    assert client.shutdown()
    client.track("after")
    assert client.flush()

    assert gateway.names == ["before", "after"]


def test_events_wait_for_the_next_start(make, gateway: Gateway):
    """Events that could not be delivered in one run are delivered in the next."""
    first: ServiceClient = make(data_plane_url="http://127.0.0.1:9", control_plane_url=gateway.url)
    first.track("offline")
    assert not first.shutdown(0.1)
    second = make()
    assert second.flush()

    assert gateway.names == ["offline"]
    until(lambda: second.stats().waiting == 0)
