"""Sending straight from the journal: the database has a copy only of what is not delivered at the first attempt."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.queue import journal as journals
from svctoolkit.sqlite import Connection

from .gateway import KEY, Answer, Gateway

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not journals.IS_SUPPORTED, reason="needs file locks")
Make = Callable[..., ServiceClient]
RECORDER = """
import os, signal, sys
from svctoolkit.sdk import ServiceClient
directory, key, url, number, flush = sys.argv[1:]
client = ServiceClient(data_directory=directory, data_plane_url=url, track_lifecycle_events=False, sleep_timeout=3600,
                       flush_queue_size=10)
client.initialize(key).wait(60)
client._engine.database.gate.enter()  # nothing is moved to the database meanwhile
for i in range(int(number)):
    client.track(str(i), user_id="u-1")
client._engine.database.gate.leave()
client.flush(float(flush))
os.kill(os.getpid(), signal.SIGKILL)
"""


def record_and_die(data: Path, url: str, number: int, flush: float) -> None:
    command = [sys.executable, "-c", RECORDER, str(data), KEY, url, str(number), str(flush)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@contextmanager
def journal_only(client: ServiceClient) -> Iterator[None]:
    """Within it, the events of the client are neither sent nor moved to the database."""
    gate = client._engine.database.gate
    assert gate.enter(60)
    try:
        yield
    finally:
        gate.leave()


def record(client: ServiceClient, names: list[str], user: Callable[[str], str] = lambda _: "u-1") -> None:
    """Record events, so that all of them are in the journal at some time."""
    with journal_only(client):
        for name in names:
            client.track(name, user_id=user(name))


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def rows(data: Path) -> int:
    connection = sqlite3.connect(data / "queue-3.db", factory=Connection)
    (number,) = connection.execute("SELECT count(*) FROM events").fetchone()
    connection.close()
    return int(number)


def balances(client: ServiceClient) -> bool:
    stats = client.stats()
    gone = stats.delivered + stats.waiting + stats.parked + sum(stats.dropped.values())
    return stats.recorded + stats.carried == gone


def test_what_is_delivered_at_once_is_never_in_the_database(make: Make, gateway: Gateway, tmp_path: Path):
    """While a full batch is sent, the database has no copy; afterwards the journal is known to be settled."""
    copies = []
    gateway.rule = lambda events: copies.append(rows(tmp_path / "data"))
    client = make(flush_queue_size=10)
    record(client, numbers(100))
    assert client.flush()

    assert gateway.names == numbers(100)
    assert set(copies) == {0}
    assert (client.stats().delivered, client.stats().waiting, balances(client)) == (100, 0, True)


def test_what_is_not_delivered_at_once_is_stored_in_order(make: Make, gateway: Gateway, tmp_path: Path):
    """A request fails: its events and all later ones arrive afterwards, each once, in order, and are counted once."""
    gateway.answers += [(200, {}, b""), (503, {}, b"")]  # the first ten are taken, and not kept by this gateway
    copies = []
    gateway.rule = lambda events: copies.append(rows(tmp_path / "data"))
    client = make(flush_queue_size=10)
    record(client, numbers(100))
    assert client.flush()

    assert gateway.names == numbers(100)[10:]
    assert copies[0] >= 70  # the claim of 80 events, without those that were delivered
    assert (client.stats().delivered, client.stats().waiting, balances(client)) == (100, 0, True)


def test_what_was_claimed_but_not_sent_stays_in_the_journal(make: Make, gateway: Gateway, tmp_path: Path):
    """The data plane is down: the events are stored by the next tick, and none is counted twice."""
    client = make(flush_queue_size=10)
    gateway.rule = lambda events: (503, {}, b"")
    record(client, numbers(30))
    assert not client.flush(0.1)
    assert (client.stats().waiting, client.stats().recorded, balances(client)) == (30, 30, True)
    gateway.rule = None
    assert client.flush()

    assert gateway.names == numbers(30)
    assert (client.stats().delivered, client.stats().recorded, balances(client)) == (30, 30, True)


def test_a_refused_event_is_parked_with_the_time_of_its_call(make: Make, gateway: Gateway):
    """One event in a batch is refused; it is parked, and everything else is delivered."""

    def rule(events: list[dict[str, Any]]) -> Answer | None:
        return (400, {}, b"no") if any(event["event"] == "13" for event in events) else None

    gateway.rule = rule
    now = [1_000_000.0]
    client = make(flush_queue_size=10, clock=lambda: now[0])
    record(client, numbers(30))
    now[0] += 50
    assert client.flush()

    assert sorted(gateway.names, key=int) == [name for name in numbers(30) if name != "13"]
    (parked,) = [event for event in client._engine.queue.listing() if event.state == "parked"]
    assert (json.loads(parked.body)["event"], parked.at) == ("13", 1_000_000.0)
    assert (client.stats().delivered, client.stats().parked, balances(client)) == (29, 1, True)


def test_a_kill_during_the_request_loses_nothing(make: Make, gateway: Gateway, tmp_path: Path):
    """The journal keeps what is under way; the next client sends all of it with the same messageIds."""
    taken: list[dict[str, Any]] = []

    def keep(events: list[dict[str, Any]]) -> Answer:
        taken.extend(events)
        return (503, {"Retry-After": "0"}, b"")

    gateway.rule = keep
    record_and_die(tmp_path / "data", gateway.url, 30, flush=0.3)
    gateway.rule = None
    assert make().flush()

    # The dead client's last request may be answered only now.
    assert list(dict.fromkeys(gateway.names)) == numbers(30)
    ids = {event["event"]: event["messageId"] for event in gateway.events}
    assert {event["messageId"] for event in taken} <= set(ids.values())
    assert all(ids[event["event"]] == event["messageId"] for event in taken)


def test_a_kill_after_the_answer_sends_nothing_twice(make: Make, gateway: Gateway, tmp_path: Path):
    """The position in the journal is stored before `flush` returns."""
    record_and_die(tmp_path / "data", gateway.url, 100, flush=60)
    client = make()
    client.track("after")
    assert client.flush()

    assert gateway.names == [*numbers(100), "after"]


def test_a_listing_during_a_request_changes_nothing(make: Make, gateway: Gateway):
    """Whoever needs the events in the database gets them there: they are still delivered and counted once."""
    listed = []
    gateway.rule = lambda events: listed.append([event.state for event in client._engine.queue.listing()])
    client = make(flush_queue_size=10)
    record(client, numbers(30))
    assert client.flush()

    assert listed[0] == ["waiting"] * 30
    assert gateway.names == numbers(30)
    assert (client.stats().delivered, client.stats().waiting, balances(client)) == (30, 0, True)


def test_events_of_a_user_wait_for_those_that_another_process_sends(make: Make, gateway: Gateway, tmp_path: Path):
    """Other users' events are sent before, straight from the journal."""
    client = make(flush_queue_size=10)
    client.track("first", user_id="u-1")
    client._engine.queue.listing()  # moves it to the database
    database = sqlite3.connect(tmp_path / "data" / "queue-3.db", isolation_level=None, factory=Connection)
    (source, id) = database.execute("SELECT source, id FROM events").fetchone()
    owner = f"{os.uname().nodename}|{os.getppid()}|another process"
    until = client._engine.settings.clock() + 60
    database.execute("INSERT INTO claims VALUES('t', 'cloud', ?, ?, ?, ?, ?)", (source, id, id, owner, until))
    record(client, ["a", "b", "second"], lambda name: "u-1" if name == "second" else "u-2")
    assert not client.flush(0.5)
    assert gateway.names == ["a", "b"]

    database.execute("DELETE FROM claims")
    database.close()
    assert client.flush()
    assert gateway.names == ["a", "b", "first", "second"]
    assert balances(client)


def test_a_forgotten_user_is_not_sent_from_the_journal(make: Make, gateway: Gateway):
    """Another client of the directory forgets the user while the events are in this one's journal."""
    client, other = make(flush_queue_size=10), make()
    with journal_only(client):
        for name in numbers(30):
            client.track(name, user_id="u-1" if name == "7" else "u-2")
        other.forget("u-1")
        for name in numbers(40)[30:]:
            client.track(name, user_id="u-1")
    assert client.flush()

    assert sorted(gateway.names, key=int) == [name for name in numbers(40) if name != "7"]
    assert client.stats().dropped == {"forgotten": 1}
    assert balances(client)


def test_events_that_are_too_old_are_not_sent_from_the_journal(make: Make, gateway: Gateway):
    """`max_age` applies although they were never in the database."""
    now = [1_000_000.0]
    client = make(flush_queue_size=10, max_age=100, clock=lambda: now[0])
    with journal_only(client):
        for name in numbers(40):
            now[0] += 101 if name == "20" else 0
            client.track(name, user_id="u-1")
    assert client.flush()

    assert gateway.names == numbers(40)[20:]
    assert client.stats().dropped == {"too old": 20}
    assert balances(client)


def test_damage_in_the_journal_hides_no_later_event(make: Make, gateway: Gateway, tmp_path: Path):
    """A record that the disk took in part is skipped, also between two batches."""
    client = make(flush_queue_size=10)
    with journal_only(client):
        for name in numbers(25):
            if name == "10":
                (path,) = (tmp_path / "data").glob("*.journal")
                with path.open("ab") as file:
                    file.write(b"\xf5SJ1" + b"\x40\0\0\0" * 3)
            client.track(name, user_id="u-1")
        with path.open("ab") as file:
            file.write(b"\xf5SJ1")
    assert client.flush()

    assert gateway.names == numbers(25)
    assert balances(client)


def test_a_flush_ends_although_events_are_recorded_all_the_time(make: Make, gateway: Gateway):
    """It waits for what was recorded before: each request here is followed by another full batch."""

    def rule(events: list[dict[str, Any]]) -> None:
        for number in range(10):
            client.track(f"later {number}", user_id="u-1")

    gateway.rule = rule
    client = make(flush_queue_size=10)
    record(client, numbers(50))
    assert client.flush()
    gateway.rule = None

    assert [name for name in gateway.names if name.isdigit()] == numbers(50)


def test_events_are_delivered_although_their_position_cannot_be_stored(
    make: Make, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
):
    """A disk that takes no commit: everything arrives in order, also what is refused at the first attempt."""
    fails = [False]

    class Full(sqlite3.Connection):
        # Any: those of sqlite3
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            if fails[0] and statement == "COMMIT":
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(statement, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Full}))
    client = make(flush_queue_size=10)
    gateway.answers += [(503, {}, b"")]
    record(client, numbers(30))
    fails[0] = True
    assert client.flush()

    assert gateway.names == numbers(30)
    assert (client.stats().delivered, client.stats().waiting, balances(client)) == (30, 0, True)
    fails[0] = False
