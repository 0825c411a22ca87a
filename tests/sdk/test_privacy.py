"""Consent, erasure and age limits: what is recorded at all, and what is removed without being sent."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.errors import StorageError
from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.base.settings import ConsentQuery
from svctoolkit.sqlite import Connection

from .gateway import KEY, Gateway, until

DAY = 24 * 3600
DOWN = (503, {}, b"down")
REFUSED = (400, {}, b"no")
#: A process that records events of two users and lives on, without moving them into the queue's file.
OTHER = """
import signal, sys
from svctoolkit.sdk import ServiceClient
client = ServiceClient(data_plane_url=sys.argv[1], data_directory=sys.argv[2], profile="server", backoff=lambda n: 3600)
client.initialize(sys.argv[3])
client.flush(0)
print("begun", flush=True)
sys.stdin.readline()
for user in ("u-1", "u-2"):
    client.track("Of Another Process", user_id=user)
print("recorded", flush=True)
sys.stdin.readline()
print(client.shutdown(60), flush=True)
"""


def _balances(client: ServiceClient) -> bool:
    stats = client.stats()
    return stats.recorded + stats.carried == (
        stats.delivered + stats.waiting + stats.parked + sum(stats.dropped.values())
    )


def _directory_contains(directory: Path, text: bytes) -> list[str]:
    return [path.name for path in directory.rglob("*") if path.is_file() and text in path.read_bytes()]


# Consent


def test_consent_is_asked_when_an_event_is_recorded(make, gateway: Gateway) -> None:
    """With the event's type, name and user. Without it, nothing is stored, and the call returns no messageId."""
    asked: list[ConsentQuery] = []
    agreed = {"u-1"}

    def consent(query: ConsentQuery) -> bool:
        asked.append(query)
        return query.user_id in agreed

    client = make(profile="server", consent=consent)
    assert client.track("Kept", user_id="u-1")
    assert client.track("Not Kept", user_id="u-2", anonymous_id="a-2") == ""
    assert client.identify("u-2") == ""
    agreed.clear()
    assert client.track("Revoked", user_id="u-1") == ""
    assert client.flush()

    assert gateway.names == ["Kept"]
    assert asked[1:3] == [("track", "Not Kept", "u-2", "a-2"), ("identify", "", "u-2", "")]
    assert client.stats().dropped == {"no consent": 3}
    assert _balances(client)


def test_the_user_of_the_installation_consents_to_lifecycle_events_too(make, gateway: Gateway) -> None:
    """A desktop program: nothing goes out before consent, everything after it."""
    has_agreed = False
    client = make(track_lifecycle_events=True, application_version="1", consent=lambda query: has_agreed)
    client.identify("u-1", {"email": "u@mail.example"})
    client.track("Too Early")
    has_agreed = True
    client.track("Agreed")
    assert client.flush()

    assert gateway.names == ["Agreed"]
    assert "userId" not in gateway.events[0]
    assert client.stats().dropped["no consent"] >= 3


def test_consent_is_asked_in_the_callers_context(make, gateway: Gateway) -> None:
    """Also while another thread is inside the client: the answer may depend on the request of this thread."""
    local = threading.local()
    client = make(consent=lambda query: getattr(local, "name", "") == query.name)

    def request(name: str) -> None:
        local.name = name
        for _ in range(50):
            client.track(name)
            client.track("Of Nobody")

    threads = [threading.Thread(target=request, args=(f"request {n}",), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert client.flush()

    assert sorted(gateway.names) == sorted(f"request {n}" for n in range(4) for _ in range(50))


async def _coroutine(_: ConsentQuery) -> bool:
    return True


def _failure(_: ConsentQuery) -> bool:
    raise LookupError("no session")


@pytest.mark.parametrize(
    ("consent", "problem"),
    [
        (lambda query: None, "consent must return True or False, got NoneType; the event is dropped"),
        (lambda query: 1, "consent must return True or False, got int; the event is dropped"),
        (_coroutine, "consent must return True or False, got coroutine; the event is dropped"),
        (_failure, "consent failed: LookupError: no session; the event is dropped"),
    ],
    ids=["None", "1", "async", "failure"],
)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_only_true_is_consent(make, gateway: Gateway, consent: Any, problem: str) -> None:
    """Anything else drops the event, and is reported."""
    errors: list[Exception] = []
    client = make(consent=consent, on_error=errors.append)
    client.track("event")

    assert client.flush()
    assert gateway.names == []
    assert [str(error) for error in errors] == [problem]


# Erasure


def test_forget_removes_waiting_and_parked_events(make, gateway: Gateway, tmp_path: Path) -> None:
    """Of this user, whichever ID the event has; other users' events stay, and are delivered in order."""
    client = make(profile="server")
    gateway.rule = lambda events: REFUSED
    for user in ("u-1", "u-2"):
        client.track("Parked", {"card": f"secret of {user}."}, user_id=user)
    assert client.flush()
    gateway.rule = lambda events: DOWN
    for number in range(3):
        for user in ("u-1", "u-2", "u-11"):
            client.track(f"Waiting {number}", {"card": f"secret of {user}."}, user_id=user)
    client.identify("u-1", {"email": "secret of u-1."})
    client.track("Mentions", {"friend": "u-1"}, user_id="u-2")
    client.track("Anonymous", {"card": "secret of u-1."}, anonymous_id="u-1")
    assert client.flush(0.05) is False
    client.track("In The Journal", {"card": "secret of u-1."}, user_id="u-1")

    assert client.forget("u-1") == 7
    assert client.forget("u-1") == 0
    assert client.stats().dropped == {"forgotten": 7}
    assert _balances(client)
    assert _directory_contains(tmp_path / "data", b"secret of u-1.") == []
    gateway.rule = None
    client.retry_parked()
    client.track("Back Again", user_id="u-1")
    assert client.flush()
    others = [(event["event"], event["userId"]) for event in gateway.events if event["event"] != "Parked"]
    assert others == [
        *((f"Waiting {number}", user) for number in range(3) for user in ("u-2", "u-11")),
        ("Mentions", "u-2"),
        ("Back Again", "u-1"),
    ]
    assert [event["userId"] for event in gateway.events if event["event"] == "Parked"] == ["u-2"]
    assert _balances(client)


def test_forget_works_in_memory_and_before_initialize(gateway: Gateway) -> None:
    """In the order of the calls; a later event of the user is a new one."""
    client = ServiceClient(data_directory=":memory:", data_plane_url=gateway.url, profile="server", sleep_timeout=3600)
    client.track("Early", user_id="u-1")
    client.track("Early", user_id="u-2")
    assert client.forget("u-1") == 0
    client.initialize(KEY)
    client.track("Later", user_id="u-1")
    assert client.stats().dropped == {"forgotten": 1}
    assert client.forget("u-2") == 1
    assert client.flush(60)
    client.shutdown(0.1)

    assert [(event["event"], event["userId"]) for event in gateway.events] == [("Later", "u-1")]


def test_forgetting_the_installations_user_resets_it(make, gateway: Gateway) -> None:
    """Later events do not have the ID or the traits."""
    client = make()
    client.identify("u-1", {"email": "u@mail.example"})
    assert client.forget("u-1") == 1
    client.track("Later")
    assert client.flush()

    (event,) = gateway.events
    assert "userId" not in event
    assert "email" not in event["context"]["traits"]


def test_an_event_that_is_refused_while_it_is_forgotten_is_not_parked(make, gateway: Gateway) -> None:
    """`forget` waits for a request that is under way."""
    entered, leave = threading.Event(), threading.Event()

    def rule(events: list[dict[str, Any]]) -> tuple[int, dict[str, str], bytes]:
        entered.set()
        assert leave.wait(60)
        return REFUSED

    gateway.rule = rule
    client = make(profile="server", flush_queue_size=1)
    client.track("Under Way", user_id="u-1")
    assert entered.wait(60)
    for _ in range(5):
        client.track("Waiting", user_id="u-1")
    forgetting = threading.Thread(target=client.forget, args=("u-1",), daemon=True)
    forgetting.start()
    leave.set()
    forgetting.join(60)
    assert client.flush()

    assert (client.stats().parked, client.stats().waiting) == (0, 0)
    assert _balances(client)


@pytest.mark.skipif(os.name != "posix", reason="needs journals")
@pytest.mark.parametrize("end", ["lives", "is killed"])
def test_events_in_another_process_are_forgotten(make, gateway: Gateway, tmp_path: Path, end: str) -> None:
    """Also those that it records while its own worker is stopped, whether it is killed or goes on."""
    gateway.rule = lambda events: DOWN
    client = make(profile="server", flush_queue_size=1)
    program = [sys.executable, "-c", OTHER, gateway.url, str(tmp_path / "data"), KEY]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin
        assert other.stdout
        try:
            assert other.stdout.readline() == "begun\n"
            other.stdin.write("\n")
            other.stdin.flush()
            assert other.stdout.readline() == "recorded\n"
            client.forget("u-1")
            gateway.rule = None
            if end == "lives":
                other.stdin.write("\n")
                other.stdin.flush()
                assert other.stdout.readline() == "True\n"
        finally:
            other.kill()
    until(lambda: [event["userId"] for event in gateway.events] == ["u-2"] or (client.flush(1) and False))
    until(lambda: _directory_contains(tmp_path / "data", b'"userId":"u-1"') == [])

    assert client.stats().waiting == 0
    assert _balances(client)


def test_an_order_to_forget_survives_a_crash(make, gateway: Gateway, tmp_path: Path) -> None:
    """A process that is stopped with events in its journal, killed a day later: they are not sent."""
    clock = [1_800_000_000.0]
    gateway.rule = lambda events: DOWN
    client = make(profile="server", clock=lambda: clock[0])
    journal = _journal_of_a_stopped_process(tmp_path / "data")
    clock[0] += 10
    assert client.forget("u-1") == 0
    clock[0] += DAY
    os.replace(journal, next(iter((tmp_path / "data").glob("*.journal"))).with_name("queue-3.1-dead.journal"))
    gateway.rule = None
    until(lambda: client.flush(1) and [event["userId"] for event in gateway.events] == ["u-2"])

    assert _balances(client)


def _journal_of_a_stopped_process(directory: Path) -> Path:
    """A journal outside the directory, as if its process held the lock on it."""
    from svctoolkit.sdk.queue.journal import Journal
    from svctoolkit.sdk.queue.location import fingerprint

    path = directory / "elsewhere"
    journal = Journal(str(path), fingerprint(KEY), "origin")
    for user in ("u-1", "u-2"):
        event = {"type": "track", "event": "Of A Stopped Process", "userId": user, "messageId": user}
        body = json.dumps(event, separators=(",", ":")).encode()
        assert journal.append(1_800_000_000.0, user, body, for_devices=False)
    journal.close()
    return path


def test_forget_says_when_it_could_not(make, tmp_path: Path) -> None:
    """While another program has locked the file, it raises, and a later call succeeds."""
    import sqlite3

    client = make(profile="server")
    client.track("event", user_id="u-1")
    client.stats()
    with sqlite3.connect(tmp_path / "data" / "queue-3.db", isolation_level=None, factory=Connection) as lock:
        lock.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="cannot be written now; nothing was removed, call it again"):
            client.forget("u-1")
        lock.execute("ROLLBACK")
    lock.close()

    assert client.forget("u-1") == 1


# Age


def test_old_events_are_dropped(make, gateway: Gateway) -> None:
    """Waiting and parked ones, counted from when they were recorded, not from their timestamp."""
    clock = [1_800_000_000.0]
    dropped: list[tuple[str, str]] = []
    client = make(
        profile="server",
        max_age=30 * DAY,
        clock=lambda: clock[0],
        on_drop=lambda event, reason: dropped.append((event["event"], reason)),
    )
    gateway.rule = lambda events: REFUSED
    client.track("Parked", user_id="u-1")
    clock[0] += 10 * DAY
    assert client.flush()
    gateway.rule = lambda events: DOWN
    client.track("Waiting", user_id="u-1")
    client.track("Import", user_id="u-1", timestamp=1_500_000_000)
    assert client.flush(0.05) is False
    clock[0] += 20 * DAY + 1
    assert client.flush(0.05) is False
    assert dropped == [("Parked", "too old")]
    client.track("Young", user_id="u-1")
    clock[0] += 10 * DAY
    gateway.rule = None
    assert client.flush()

    assert gateway.names == ["Young"]
    assert dropped[1:] == [("Waiting", "too old"), ("Import", "too old")]
    assert client.stats().dropped == {"too old": 3}
    assert _balances(client)


def test_the_age_limit_is_checked(make: Callable[..., ServiceClient]) -> None:
    """Seconds or a timedelta, above 0."""
    import datetime as dt

    from svctoolkit.errors import ConfigError
    from svctoolkit.sdk.base.settings import settings

    assert settings({"maxAge": dt.timedelta(days=30)}).max_age == 30 * DAY
    for wrong in (0, -1, "30 days", True, float("nan")):
        with pytest.raises(ConfigError, match="maxAge"):
            settings({"max_age": wrong})


def test_forget_can_be_awaited(make) -> None:
    """In a thread, so that the event loop goes on."""
    client = make(profile="server")
    client.track("event", user_id="u-1")

    assert asyncio.run(asyncio.wait_for(_forget(client), 60)) == 1


async def _forget(client: ServiceClient) -> int:
    return await asyncio.to_thread(client.forget, "u-1")
