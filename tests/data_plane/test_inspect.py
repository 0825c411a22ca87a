"""Inspection: JSON, frames, waiting, the live stream, and who may use it."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.errors import StillWaiting, ToolkitError
from svctoolkit.server import Backoff
from svctoolkit.workspace import Person

EVENT = {"type": "track", "event": "E", "userId": "u1"}


def get(plane: DataPlane, path: str, **headers: str) -> Any:
    answer = plane.ingest("GET", path, headers=headers)
    assert answer.status == 200, answer.text
    return answer.json


@pytest.fixture
def busy(workspace: Workspace) -> Iterator[DataPlane]:
    """Three events, one refusal, one dead delivery."""
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=2, scale=0)) as plane:
        plane.script("mail", Answer(500), Answer(500), Answer(200))
        plane.send({**EVENT, "messageId": "m1"}, source="web")
        plane.drain()
        plane.send({"type": "identify", "userId": "u2", "messageId": "m2"}, source="web", run="r1")
        plane.send({"type": "page", "name": "Start", "anonymousId": "a3", "messageId": "m3"}, source="quiet")
        plane.send({"type": "track"}, source="web", run="r1")
        plane.drain()
        yield plane


@pytest.mark.parametrize("store", [None, "events.db"])
def test_a_stopped_data_plane_can_still_be_inspected(workspace: Workspace, tmp_path: Path, store: str | None) -> None:
    """After its `with` block, its records can be read; it accepts nothing new, and waiting returns at once."""
    with DataPlane(workspace, store=store and tmp_path / store) as plane:
        plane.send(EVENT, source="web")
        plane.drain()

    assert len(plane.received.frame()) == 1
    assert {fate.status for fate in plane.fates} == {"delivered"}
    with pytest.raises(ToolkitError, match="this data plane is stopped"):
        plane.send(EVENT, source="web")
    with pytest.raises(ToolkitError, match="this data plane is stopped"):
        plane.replay()
    with pytest.raises(StillWaiting):
        plane.wait(lambda: False, timeout=600)


def test_paging_includes_slow_deliveries(workspace: Workspace) -> None:
    """A slow request that started first is on a later page than a fast one that started after it."""
    with DataPlane(workspace, listen=False) as plane:
        plane.script("crm", Answer(200, delay=0.2))
        plane.send(EVENT, source="web")
        plane.wait(lambda: len(plane.delivered) == 1)
        first = get(plane, "/inspect/deliveries")
        plane.drain()
        after = first["items"][-1]["number"]
        second = get(plane, f"/inspect/deliveries?after={after}")

        assert [item["destination"] for item in first["items"] + second["items"]] == ["mail", "crm"]


def test_counts_of_all_runs_or_one(busy: DataPlane) -> None:
    """How many records there are of every kind, for all runs or one."""
    everything, run = get(busy, "/inspect/counts"), get(busy, "/inspect/counts?run=r1")

    assert everything == {
        "received": 3, "repeated": 0, "rejected": 1, "deliveries": 5, "delivered": 3, "filtered": 0, "dropped": 0,
        "failed": 0, "pending": 0, "dead": 1, "unmapped": 0, "checked": 0, "violated": 0, "dropped_by_plan": 0,
        "under_way": {},
    }  # fmt: skip
    assert (run["received"], run["rejected"], run["delivered"], run["dead"]) == (1, 1, 2, 0)


@pytest.mark.parametrize(
    ("kind", "query", "found"),
    [
        ("events", "", ["m1", "m2", "m3"]),
        ("events", "type=track", ["m1"]),
        ("events", "name=Start", ["m3"]),
        ("events", "user=u2", ["m2"]),
        ("events", "user=a3", ["m3"]),
        ("events", "source=quiet", ["m3"]),
        ("events", "run=r1", ["m2"]),
        ("events", "message_id=m1", ["m1"]),
        ("events", "since=2001-01-01", ["m1", "m2", "m3"]),
        ("events", "until=2001-01-01T00:00:00Z", []),
        ("events", "destination=crm", []),
        ("fates", "destination=mail", ["m1", "m2"]),
        ("fates", "status=dead", ["m1"]),
        ("fates", "run=r1&destination=crm", ["m2"]),
        ("dead", "", ["m1"]),
        ("dead", "destination=crm", []),
        ("deliveries", "status=500", ["m1", "m1"]),
        ("deliveries", "destination=crm&type=identify", ["m2"]),
        ("deliveries", "message_id=m2", ["m2", "m2"]),
        ("deliveries", "status=200&destination=crm", ["m1", "m2"]),
        ("fates", "message_id=m1", ["m1", "m1"]),
        ("fates", "status=200", []),
        ("events", "status=200", []),
        ("events", "message_id=m9", []),
    ],
)
def test_each_filter_narrows_the_list(busy: DataPlane, kind: str, query: str, found: list[str]) -> None:
    """A filter that a kind of record does not have matches nothing."""
    items = get(busy, f"/inspect/{kind}?{query}")["items"]

    assert [item.get("messageId") or item["event"]["messageId"] for item in items] == found


def test_refusals_show_their_reason(busy: DataPlane) -> None:
    """`/inspect/rejected` shows what was sent and why it was refused."""
    item = get(busy, "/inspect/rejected?run=r1")["items"][0]

    assert (item["status"], item["reason"]) == (400, "request neither has anonymousId nor userId")
    assert (item["position"], item["body"]) == (0, {"batch": [{"type": "track"}]})


def test_next_leads_through_all_pages(busy: DataPlane) -> None:
    """`next` leads from page to page, to the end."""
    pages, after = [], 0
    while after is not None:
        page = get(busy, f"/inspect/events?limit=1&after={after}")
        pages.append([item["event"]["messageId"] for item in page["items"]])
        after = page["next"]

    assert pages == [["m1"], ["m2"], ["m3"], []]


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/inspect/nothing", 404, "unknown kind 'nothing'"),
        ("/inspect/events?limt=5", 400, "unknown filter 'limt'"),
        ("/inspect/events?MEANINGS=1", 400, "unknown filter 'MEANINGS'"),
        ("/inspect/events?order=newest", 400, "order must be asc or desc"),
        ("/inspect/counts?source=web", 400, "unknown parameter 'source'"),
        ("/inspect/stream?rum=1", 400, "unknown parameter 'rum'. Did you mean 'run'?"),
        ("/inspect/arrivals?user_id=1", 400, "unknown parameter 'user_id'"),
        ("/inspect/arrivals?before=x", 400, "before must be a whole number"),
        ("/inspect/arrivals/12345", 404, "event 12345 is not in the store"),
        ("/inspect/events?limit=-5", 400, "limit must be a whole number"),
        ("/inspect/events?since=yesterday", 400, "since must be an ISO 8601 time"),
        ("/inspect/wait?recieved=5", 400, "unknown condition 'recieved'"),
        ("/inspect/wait?timeout=soon", 400, "timeout must be a number of seconds"),
        ("/inspect/wait?timeout=nan", 400, "timeout must be a number of seconds"),
    ],
)
def test_a_misspelt_parameter_is_an_error(plane: DataPlane, path: str, status: int, message: str) -> None:
    """It is not ignored."""
    answer = plane.ingest("GET", path)

    assert answer.status == status
    assert answer.json["message"].startswith(message)


def test_waiting_ends_when_the_counts_are_reached(plane: DataPlane) -> None:
    """Otherwise `/inspect/wait` answers 409 with the current counts."""
    waiting: list[Any] = []
    thread = threading.Thread(
        target=lambda: waiting.append(plane.ingest("GET", "/inspect/wait?received=3&delivered=6"))
    )
    thread.start()
    too_early = plane.ingest("GET", "/inspect/wait?received=3&timeout=0.02")
    plane.send([EVENT] * 3, source="web")
    thread.join()

    assert (waiting[0].status, waiting[0].json["delivered"]) == (200, 6)
    assert (too_early.status, too_early.json["counts"]["received"]) == (409, 0)
    assert get(plane, "/inspect/wait")["under_way"] == {}


def test_a_condition_may_depend_on_something_outside_the_data_plane(plane: DataPlane) -> None:
    """Such a condition is met without any change in the data plane."""
    asked = count()

    plane.wait(lambda: next(asked) > 2, 60)

    with pytest.raises(StillWaiting, match=r"false after 0\.15 s"):
        plane.wait(lambda: False, 0.15)


def test_wait_accepts_any_condition(plane: DataPlane) -> None:
    """In Python, too; a condition that does not become true is an error that describes the current state."""
    plane.send(EVENT, source="web")
    plane.wait(lambda: len(plane.delivered) == 2)

    with pytest.raises(StillWaiting, match=r"false after 0.01 s: nothing is under way"):
        plane.wait(lambda: len(plane.delivered) == 3, timeout=0.01)


def test_the_live_stream_sends_every_change(workspace: Workspace) -> None:
    """Server-sent events report every change from then on, of all runs or of one."""
    with DataPlane(workspace) as plane, httpx.stream("GET", f"{plane.url}/inspect/stream?run=r1", timeout=60) as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": connected"
        plane.send(EVENT, source="web")
        plane.send({**EVENT, "messageId": "m1"}, source="web", run="r1")
        plane.send({"type": "track"}, source="web", run="r1")
        seen: dict[str, Any] = {}
        fates: list[str] = []
        while not {"received", "rejected", "delivery", "fate"} <= seen.keys() or fates.count("delivered") < 2:
            line = next(lines)
            if line.startswith("event: "):
                seen[line[7:]] = json.loads(next(lines)[6:])
                fates += [seen["fate"]["status"]] if line == "event: fate" else []

    assert seen["received"]["messageId"] == "m1"
    assert seen["rejected"]["reason"] == "request neither has anonymousId nor userId"
    assert {change["run"] for change in seen.values()} == {"r1"}
    assert fates == ["delivered", "delivered"]  # nothing waits for a recorder
    assert all(change["at"].startswith("20") for change in seen.values())


def test_sequences_convert_to_frames(busy: DataPlane) -> None:
    """One row per record; nested objects become dotted columns."""
    events, fates, rejected = busy.received.frame(), busy.fates.frame(), busy.rejected.frame()
    deliveries = busy.deliveries.frame()

    assert list(events["event.messageId"]) == ["m1", "m2", "m3"]
    assert list(fates["status"]) == ["delivered", "dead", "delivered", "delivered"]
    assert list(rejected["reason"]) == ["request neither has anonymousId nor userId"]
    assert set(deliveries["request.method"]) == {"POST"}
    assert str(deliveries["status"].dtype) == "Int64"
    assert busy.of_run("nobody").received.frame().empty


def test_sequences_behave_like_lists(busy: DataPlane) -> None:
    """Index, slice, iteration, length, and a repr that does not list thousands of items."""
    received = busy.received

    assert (received[0].message_id, received[-1].message_id, len(received[1:])) == ("m1", "m3", 2)
    assert [r.message_id for r in reversed(received)] == ["m3", "m2", "m1"]
    assert "(3 records)" in repr(received)
    assert [(fate.message_id, fate.destination) for fate in busy.fates] == [
        ("m1", "crm"),
        ("m1", "mail"),
        ("m2", "crm"),
        ("m2", "mail"),
    ]
    assert [busy.fates[-place].destination for place in (1, 2, 3, 4)] == ["mail", "crm", "mail", "crm"]
    assert busy.fates[-4].message_id == "m1"
    with pytest.raises(IndexError, match="record 7 is out of range; there are 3"):
        received[7]
    with pytest.raises(IndexError):
        received[-4]


def test_secrets_are_masked(workspace: Workspace, plane: DataPlane) -> None:
    """Frames and JSON contain no secret of a configuration; the Python objects have what was sent."""
    workspace.destinations["crm"].config["headers"] = [{"from": "X-Key", "to": "s3cr3t-value"}]
    plane.send(EVENT, source="web")
    plane.drain()
    shown = plane.deliveries.frame().to_csv() + str(get(plane, "/inspect/deliveries")) + repr(plane.deliveries)

    assert "s3cr3t-value" not in shown
    assert "s3cr3t-value" in str(next(d.request.headers for d in plane.deliveries if d.destination == "crm"))


PRIVATE = ["/inspect/counts", "/inspect/events", "/inspect/wait", "/inspect/stream", "/metrics"]


@pytest.mark.parametrize("path", PRIVATE)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Host": "evil.example"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": ""},
    ],
)
def test_web_pages_cannot_inspect(plane: DataPlane, path: str, headers: dict[str, str]) -> None:
    """On loopback, programs need no credentials, but web pages and requests under another host name are refused."""
    answer = plane.ingest("GET", path, headers=headers)

    assert answer.status == 401
    assert b"received" not in answer.body


@pytest.mark.parametrize("path", PRIVATE)
def test_inspection_on_other_addresses_needs_credentials(workspace: Workspace, path: str) -> None:
    """Served to other machines: 401 without credentials; the data plane's token or a user's credentials give access."""
    workspace.users.append(Person.with_token("dev@example.com", "t0ken"))
    with DataPlane(workspace, host="0.0.0.0") as plane:
        nobody = httpx.get(f"{plane.url}{path}", timeout=60)
        if path == "/inspect/stream":
            assert nobody.status_code == 401
            return
        token = httpx.get(f"{plane.url}{path}", headers={"Authorization": f"Bearer {plane.token}"}, timeout=60)
        person = httpx.get(f"{plane.url}{path}", auth=("dev@example.com", "t0ken"), timeout=60)

        assert [a.status_code for a in (nobody, token, person)] == [401, 200, 200]


def test_since_and_until_select_a_period(workspace: Workspace) -> None:
    """`since` and `until` limit the times of the records."""
    now = [datetime(2024, 1, 1, tzinfo=UTC)]
    with DataPlane(workspace, listen=False, clock=lambda: now[0]) as plane:
        for n in range(3):
            plane.send({**EVENT, "messageId": f"m{n}"}, source="quiet")
            now[0] += timedelta(hours=1)
        items = get(plane, "/inspect/events?since=2024-01-01T01:00:00Z&until=2024-01-01T02:00:00Z")["items"]

        assert [item["event"]["messageId"] for item in items] == ["m1"]
        assert items[0]["at"] == "2024-01-01T01:00:00.000Z"


def _frames(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Kind and data of each named server-sent event."""
    frames = [dict(line.split(": ", 1) for line in frame.splitlines()) for frame in text.split("\n\n") if frame]
    return [(frame["event"], json.loads(frame["data"])) for frame in frames if "event" in frame]


def _stream(plane: DataPlane, query: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", plane.port))
    connection.sendall(f"GET /inspect/stream{query} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
    assert connection.recv(20).startswith(b"HTTP/1.1 200")
    return connection


def _rest(connection: socket.socket) -> str:
    """The lines until the end of the stream."""
    with connection, connection.makefile("rb") as lines:
        return lines.read().decode().partition(": connected\n\n")[2]


def test_a_slow_reader_of_the_stream_learns_what_it_missed(workspace: Workspace) -> None:
    """Ingestion continues; dropped changes are counted in an event `missed`, with the numbers around the gap."""
    with DataPlane(workspace) as plane:
        connection = _stream(plane)
        for _ in range(60):
            plane.send([EVENT] * 1000, source="quiet")
        plane.drain()
        with ThreadPoolExecutor(1) as pool:
            rest = pool.submit(_rest, connection)
            plane.send(EVENT, source="quiet", run="last")
            plane.drain()
            plane.stop()
    changes = _frames(rest.result())
    seqs = [data["seq"] for kind, data in changes if kind == "received"]
    missed = [(position, data) for position, (kind, data) in enumerate(changes) if kind == "missed"]

    assert len(missed) == 1
    position, gap = missed[0]
    assert (gap["after"], gap["before"]) == (seqs[position - 1], seqs[position])
    assert gap["count"] == gap["before"] - gap["after"] - 1 > 10_000
    assert seqs == [*range(1, gap["after"] + 1), *range(gap["before"], 60_002)]


def test_the_stream_resumes_after_a_given_number(workspace: Workspace) -> None:
    """`after` and `Last-Event-ID` name the last change that a reader has seen."""
    with DataPlane(workspace) as plane:
        plane.send([{**EVENT, "userId": f"u{n}"} for n in range(5)], source="quiet")
        plane.drain()
        by_query = _stream(plane, "?after=2")
        with httpx.stream("GET", f"{plane.url}/inspect/stream", headers={"Last-Event-ID": "4"}, timeout=60) as stream:
            by_header = "".join(itertools.islice(stream.iter_text(), 2))
        plane.stop()

        assert [data["userId"] for _, data in _frames(_rest(by_query))] == ["u2", "u3", "u4"]
        assert "u4" in by_header
        assert "u3" not in by_header


def test_a_reader_from_before_a_restart_gets_all_changes_since(workspace: Workspace) -> None:
    """Its number is larger than the last one; waiting for that would leave the page empty."""
    with DataPlane(workspace) as plane:
        plane.send([{**EVENT, "userId": f"u{n}"} for n in range(3)], source="quiet")
        plane.drain()
        reader = _stream(plane, "?after=5000")
        plane.send({**EVENT, "userId": "later"}, source="quiet")
        plane.drain()
        plane.stop()
    (kind, gap), *changes = _frames(_rest(reader))

    assert (kind, gap) == ("missed", {"count": None, "after": 5000, "before": 1})
    assert [data["userId"] for _, data in changes] == ["u0", "u1", "u2", "later"]


def test_a_closed_stream_is_released_at_once(workspace: Workspace) -> None:
    """Even one that was never read: nothing more is sent to it or kept for it."""
    with DataPlane(workspace) as plane:
        streams = [_stream(plane) for _ in range(5)]
        plane.send([EVENT] * 2000, source="quiet")
        while_open = plane.ingest("GET", "/metrics").text
        for connection in streams:
            connection.close()

        deadline = time.monotonic() + 60
        while "svctoolkit_streams 0\n" not in plane.ingest("GET", "/metrics").text:
            assert time.monotonic() < deadline
        assert "svctoolkit_streams 5\n" in while_open


def test_a_list_can_be_built_from_changes_alone(workspace: Workspace) -> None:
    """A change has the event, its outcome and the attempts so far; no further request is needed."""
    changes: list[tuple[str, dict[str, Any]]] = []
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=2, scale=0)) as plane:
        plane.watch(lambda kind, found: changes.extend((kind, dict(change)) for change in found))
        plane.script("crm", Answer(500))
        plane.send({**EVENT, "messageId": "m1"}, source="web", run="r")
        plane.drain()

    of_crm = [change for kind, change in changes if kind == "fate" and change["destination"] == "crm"]
    times = [change.pop("at") for change in of_crm]
    common = {"seq": 1, "destination": "crm", "run": "r", "type": "track", "name": "E", "user": "u1"}
    reason = {"by": "send_to_destination", "reason": "the destination answered 500", "rule": "WEBHOOK.http-500"}
    assert times[0] is None
    assert times[1] <= times[2]
    assert of_crm == [
        {**common, "by": "", "reason": "", "rule": "", "status": "pending", "attempts": 0},
        {**common, **reason, "status": "pending", "attempts": 1},
        {**common, **reason, "status": "dead", "attempts": 2},
    ]
    sent = next(c for kind, c in changes if kind == "delivery" and c["destination"] == "mail")
    assert (sent["status"], sent["type"], sent["name"], sent["user"], sent["attempt"]) == (200, "track", "E", "u1", 1)
