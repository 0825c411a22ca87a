"""Two batches are sent in parallel: the events of one user stay in order, whatever happens to the other batch."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.base.transport import Request
from svctoolkit.sdk.queue.claims import Batch
from svctoolkit.sdk.sending.http import HttpTransport
from svctoolkit.sdk.sending.lanes import lanes

from .gateway import KEY, OK, Answer, Gateway, serving, until

IDS = ("", "a", "b", "c", "d")
#: anonymous ID and user ID; each of another user, or an event that has the IDs of two
USERS = st.tuples(st.sampled_from(IDS), st.sampled_from([id.upper() for id in IDS])).filter(any)
FAULTS: tuple[Answer | str, ...] = (
    (503, {}, b"x"),
    (429, {"Retry-After": "0"}, b""),
    "close",
    "lost",
    "cut",
    "refused",
)


def _ids(event: Mapping[str, Any]) -> set[str]:
    return {event.get("anonymousId", ""), event.get("userId", "")} - {""}


def _orders(events: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """By ID: the events that contain it, in order of first arrival."""
    orders: dict[str, dict[str, None]] = defaultdict(dict)
    for event in events:
        for id in _ids(event):
            orders[id][event["event"]] = None
    return {id: list(names) for id, names in orders.items()}


def _expected(users: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    events = [{"anonymousId": a, "userId": u, "event": str(place)} for place, (a, u) in enumerate(users)]
    return _orders(events)


def _track(client: ServiceClient, users: Sequence[tuple[str, str]]) -> None:
    for place, (anonymous, user) in enumerate(users):
        client.track(str(place), anonymous_id=anonymous or None, user_id=user or None)


def _offline(directory: Path, users: Sequence[tuple[str, str]]) -> None:
    """A client that is offline, with waiting events of these users."""
    client = ServiceClient(data_directory=directory, data_plane_url="http://127.0.0.1:9", track_lifecycle_events=False)
    client.initialize(KEY)
    _track(client, users)
    client.shutdown(0.0)


def _hold(gateway: Gateway, batch: Callable[[int, bytes], Answer | str | None]) -> None:
    """Let `batch` choose the answer, by number and body of the request; outside the gateway's lock."""
    numbers, normally = itertools.count(), gateway.batch

    def answer(body: bytes, headers: Mapping[str, str]) -> Answer | str:
        return batch(next(numbers), body) or normally(body, headers)

    gateway.batch = answer  # type: ignore[method-assign]


@given(st.lists(USERS, min_size=1, max_size=60), st.integers(1, 12))
def test_lanes_share_no_user(users: list[tuple[str, str]], size: int):
    """Every event is in one lane, in order, and no ID is in two lanes, even through third events.

    There are at most two lanes. They need no more requests than one lane would, or one more where a user has many
    events.
    """
    batch = Batch([(n, b"") for n in range(len(users))], "cloud", "t", ["\n".join(filter(None, ids)) for ids in users])
    ids_of, numbers, requests = [], [], 0
    for lane in lanes(batch, size, single=False):
        rows = list(lane.rows)
        requests += 1
        while not lane.is_done:
            lane.advance()
            assert 0 < len(lane.rows) <= size
            rows += lane.rows
            requests += 1
        assert rows == sorted(rows)
        ids_of.append({id for number, _ in rows for id in users[number] if id})
        numbers += [number for number, _ in rows]

    assert sorted(numbers) == list(range(len(users)))
    assert len(ids_of) <= 2
    assert len(ids_of) == 1 or ids_of[0].isdisjoint(ids_of[1])
    assert requests <= -(-len(users) // size) + 1


@pytest.mark.parametrize("users", [["a", "b", ""], []])
def test_events_without_known_ids_have_one_lane(users: list[str]):
    """Events of this machine's user, whose IDs are not in the event, and events without any ID."""
    batch = Batch([(1, b""), (2, b""), (3, b"")], "cloud", "t", users)

    (lane,) = lanes(batch, 1, single=False)
    assert (lane.number, lane.rows) == (0, batch.rows[:1])


def test_two_batches_are_sent_in_parallel(gateway: Gateway, make, tmp_path: Path):
    """Of different users: each request is answered only when both have arrived."""
    _offline(tmp_path / "data", [("", f"U{n % 8}") for n in range(40)])
    together = threading.Barrier(2, timeout=60)

    def meet(_: int, __: bytes) -> None:
        together.wait()

    _hold(gateway, meet)
    client = make(flush_queue_size=5)
    assert client.flush()

    assert _orders(gateway.events) == _expected([("", f"U{n % 8}") for n in range(40)])
    assert len(gateway.batches) == 8


@pytest.mark.parametrize("whose", ["the machine's", "one user's"])
def test_batches_of_one_user_are_sent_one_by_one(gateway: Gateway, make, whose: str):
    """There are never two in parallel."""
    under_way, most = set(), []
    client = make(flush_queue_size=5, data_plane_url="http://127.0.0.1:9")
    _track(client, [("", "" if whose == "the machine's" else "U")] * 40)
    client.shutdown(0.0)

    def watch(number: int, _: bytes) -> None:
        under_way.add(number)
        most.append(len(under_way))
        under_way.discard(number)

    _hold(gateway, watch)
    assert make(flush_queue_size=5).flush()

    assert max(most) == 1
    assert gateway.names == [str(n) for n in range(40)]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("place", range(8))
def test_a_fault_in_one_batch_keeps_the_order(gateway: Gateway, make, tmp_path: Path, fault, place: int):
    """Whichever of two parallel batches fails, each user's events arrive in order, and none is lost."""
    users = [("", f"U{n % 7}") for n in range(40)]
    _offline(tmp_path / "data", users)
    _fail(gateway, {place: fault})
    client = make(flush_queue_size=5)
    assert client.flush()

    assert _orders(gateway.events) == _expected(users)
    stats = client.stats()
    assert (stats.delivered, stats.waiting, stats.parked) == (40, 0, 0)


def _fail(gateway: Gateway, faults: Mapping[int, Answer | str]) -> None:
    """Reject the requests with these numbers; accept `lost` ones without telling the client."""

    def fail(number: int, body: bytes) -> Answer | str | None:
        fault = faults.get(number)
        if fault == "lost":
            gateway.batch(body, {})  # type: ignore[misc]
            return "close"
        if fault == "cut":
            return (200, {"Content-Length": "100"}, b"o")
        if fault == "refused":  # once only: the halves are accepted
            return (400, {}, b"no")
        return fault

    normally = gateway.batch
    _hold(gateway, fail)
    held = gateway.batch

    def batch(body: bytes, headers: Mapping[str, str]) -> Answer | str:
        if headers:
            return held(body, headers)
        return normally(body, {"authorization": _AUTHORIZATION})

    gateway.batch = batch  # type: ignore[method-assign]


_AUTHORIZATION = "Basic MlJkZW1vV3JpdGVLZXk6"


@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(USERS, min_size=1, max_size=50),
    st.dictionaries(st.integers(0, 12), st.sampled_from(FAULTS), max_size=8),
    st.integers(1, 6),
)
@example([("", "A")], {0: "lost", 1: "refused"}, 1)
def test_order_is_kept_whatever_fails(users: list[tuple[str, str]], faults: dict[int, Answer | str], size: int):
    """Any users, any faults, any batch size: each user's events arrive in the order of the calls."""
    with tempfile.TemporaryDirectory() as directory, serving() as gateway:
        _offline(Path(directory), users)
        _fail(gateway, faults)
        client = ServiceClient(
            data_directory=directory,
            data_plane_url=gateway.url,
            track_lifecycle_events=False,
            flush_queue_size=size,
            backoff=lambda _: 0.0,
        )
        client.initialize(KEY)
        assert client.flush(60)
        stats = client.stats()
        parked = set(client.frame()["event"]) if stats.parked else set()
        client.shutdown(0.2)

    expected = {
        id: rest for id, names in _expected(users).items() if (rest := [name for name in names if name not in parked])
    }
    # Accepted events whose answer was lost are sent again, and may be rejected then.
    assert _orders([event for event in gateway.events if event["event"] not in parked]) == expected
    assert stats.carried == stats.delivered + stats.parked


@pytest.mark.parametrize("held", [0, 1, 2, 3])
def test_a_kill_during_two_batches_keeps_the_order(gateway: Gateway, make, tmp_path: Path, held: int):
    """After kill -9, with one answer missing and the other received, the next process sends everything in order."""
    users = [("", f"U{n % 7}") for n in range(40)]
    _offline(tmp_path / "data", users)
    is_held, killed = threading.Event(), threading.Event()

    def hold(number: int, _: bytes) -> Answer | str | None:
        if number != held:
            return None
        is_held.set()
        assert killed.wait(60)
        return "close"

    _hold(gateway, hold)
    program = f"""
from svctoolkit.sdk import ServiceClient
client = ServiceClient(data_directory={str(tmp_path / "data")!r}, data_plane_url={gateway.url!r}, flush_queue_size=5)
client.initialize({KEY!r}, {{"trackLifecycleEvents": False}})
client.flush(60)"""
    child = subprocess.Popen([sys.executable, "-c", program])
    try:
        assert is_held.wait(60)
        until(lambda: len(gateway.batches) >= max(2, held + 1))
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    killed.set()
    assert make(flush_queue_size=5).flush(60)

    assert _orders(gateway.events) == _expected(users)


def test_unsent_claimed_events_are_not_overtaken(gateway: Gateway, make, monkeypatch: pytest.MonkeyPatch):
    """When a slow data plane leaves claimed events unsent, they are sent before later ones."""
    monkeypatch.setattr("svctoolkit.sdk.sending.worker.TIMEOUT", 0.05)
    client = make(flush_queue_size=2, data_plane_url="http://127.0.0.1:9")
    _track(client, [("", "")] * 60)
    client.shutdown(0.0)
    slow = threading.Event()

    def delay(number: int, _: bytes) -> None:
        slow.wait(0.0 if number < 9 else 0.02)

    _hold(gateway, delay)
    make(flush_queue_size=2)
    until(lambda: len(set(gateway.names)) >= 60)

    assert list(dict.fromkeys(gateway.names)) == [str(n) for n in range(60)]


def test_an_unread_answer_is_not_used_for_the_next_request(gateway: Gateway):
    """A request whose answer is never read does not leave it to the next one."""
    transport = HttpTransport()
    gateway.answers = [OK, (503, {}, b"later")]
    body = b'{"batch":[]}'
    transport.begin(Request("POST", f"{gateway.url}/v1/batch", {}, body))
    until(lambda: not gateway.answers[1:])

    assert transport.send(Request("POST", f"{gateway.url}/v1/batch", {}, body)).status == 503
    transport.close()
