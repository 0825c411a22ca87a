"""Looking inside: JSON, frames, waiting, the live stream; and who may."""

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
def test_a_stopped_data_plane_can_still_be_looked_at(workspace: Workspace, tmp_path: Path, store: str | None) -> None:
    """After its `with` block what it had is there to read; it takes nothing new, and nobody waits for it."""
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


def test_paging_misses_no_delivery_that_took_long(workspace: Workspace) -> None:
    """A slow request that was made first comes on a later page than a fast one that was made after it."""
    with DataPlane(workspace, listen=False) as plane:
        plane.script("crm", Answer(200, delay=0.2))
        plane.send(EVENT, source="web")
        plane.wait(lambda: len(plane.delivered) == 1)
        first = get(plane, "/inspect/deliveries")
        plane.drain()
        after = first["items"][-1]["number"]
        second = get(plane, f"/inspect/deliveries?after={after}")

        assert [item["destination"] for item in first["items"] + second["items"]] == ["mail", "crm"]


def test_counts(busy: DataPlane) -> None:
    """How many of everything, of all runs or of one."""
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
def test_filters(busy: DataPlane, kind: str, query: str, found: list[str]) -> None:
    """Each filter narrows the list; one that a kind does not have leaves nothing."""
    items = get(busy, f"/inspect/{kind}?{query}")["items"]

    assert [item.get("messageId") or item["event"]["messageId"] for item in items] == found


def test_refusals_have_their_reason(busy: DataPlane) -> None:
    """`/inspect/rejected` shows what was sent and why it was refused."""
    item = get(busy, "/inspect/rejected?run=r1")["items"][0]

    assert (item["status"], item["reason"]) == (400, "request neither has anonymousId nor userId")
    assert (item["position"], item["body"]) == (0, {"batch": [{"type": "track"}]})


def test_paging(busy: DataPlane) -> None:
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
def test_mistakes_are_told(plane: DataPlane, path: str, status: int, message: str) -> None:
    """A misspelt parameter is an error, not ignored."""
    answer = plane.ingest("GET", path)

    assert answer.status == status
    assert answer.json["message"].startswith(message)


def test_waiting(plane: DataPlane) -> None:
    """`/inspect/wait` answers when the counts are reached, or 409 with what there is."""
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


def test_waiting_for_what_is_no_change_of_the_plane(plane: DataPlane) -> None:
    """A condition may look at something else, which no change of the plane goes with."""
    asked = count()

    plane.wait(lambda: next(asked) > 2, 60)

    with pytest.raises(StillWaiting, match=r"false after 0\.15 s"):
        plane.wait(lambda: False, 0.15)


def test_waiting_in_python(plane: DataPlane) -> None:
    """`wait` takes any condition; a condition that does not come true is an error that says how things stand."""
    plane.send(EVENT, source="web")
    plane.wait(lambda: len(plane.delivered) == 2)

    with pytest.raises(StillWaiting, match=r"false after 0.01 s: nothing is under way"):
        plane.wait(lambda: len(plane.delivered) == 3, timeout=0.01)


def test_the_live_stream(workspace: Workspace) -> None:
    """Server-sent events tell of everything that happens from then on, of all runs or of one."""
    with DataPlane(workspace) as plane, httpx.stream("GET", f"{plane.url}/inspect/stream?run=r1", timeout=10) as stream:
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
    assert fates == ["pending", "pending", "delivered", "delivered"]
    assert all(change["at"].startswith("20") for change in seen.values())


def test_frames(busy: DataPlane) -> None:
    """Every sequence is a DataFrame too: one row per record, objects in dotted columns."""
    events, fates, rejected = busy.received.frame(), busy.fates.frame(), busy.rejected.frame()
    deliveries = busy.deliveries.frame()

    assert list(events["event.messageId"]) == ["m1", "m2", "m3"]
    assert list(fates["status"]) == ["delivered", "dead", "delivered", "delivered"]
    assert list(rejected["reason"]) == ["request neither has anonymousId nor userId"]
    assert set(deliveries["request.method"]) == {"POST"}
    assert str(deliveries["status"].dtype) == "Int64"
    assert busy.of_run("nobody").received.frame().empty


def test_sequences_behave_as_sequences(busy: DataPlane) -> None:
    """Index, slice, iteration, length, and a repr that does not list thousands."""
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
    """Frames and JSON show no secret of a configuration; the Python objects have what was sent."""
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
def test_web_pages_cannot_look(plane: DataPlane, path: str, headers: dict[str, str]) -> None:
    """On loopback programs may look without credentials, but no web page, and nobody through another name."""
    answer = plane.ingest("GET", path, headers=headers)

    assert answer.status == 401
    assert b"received" not in answer.body


@pytest.mark.parametrize("path", PRIVATE)
def test_on_other_addresses_looking_needs_credentials(workspace: Workspace, path: str) -> None:
    """Served to other machines: 401 without credentials; the data plane's token and people's credentials open it."""
    workspace.users.append(Person.with_token("dev@example.com", "t0ken"))
    with DataPlane(workspace, host="0.0.0.0") as plane:
        nobody = httpx.get(f"{plane.url}{path}")
        if path == "/inspect/stream":
            assert nobody.status_code == 401
            return
        token = httpx.get(f"{plane.url}{path}", headers={"Authorization": f"Bearer {plane.token}"})
        person = httpx.get(f"{plane.url}{path}", auth=("dev@example.com", "t0ken"))

        assert [a.status_code for a in (nobody, token, person)] == [401, 200, 200]


def test_times_are_kept(workspace: Workspace) -> None:
    """`since` and `until` cut out a part of time."""
    now = [datetime(2024, 1, 1, tzinfo=UTC)]
    with DataPlane(workspace, listen=False, clock=lambda: now[0]) as plane:
        for n in range(3):
            plane.send({**EVENT, "messageId": f"m{n}"}, source="quiet")
            now[0] += timedelta(hours=1)
        items = get(plane, "/inspect/events?since=2024-01-01T01:00:00Z&until=2024-01-01T02:00:00Z")["items"]

        assert [item["event"]["messageId"] for item in items] == ["m1"]
        assert items[0]["at"] == "2024-01-01T01:00:00.000Z"


def _frames(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Kind and data of each server-sent event that has a name."""
    frames = [dict(line.split(": ", 1) for line in frame.splitlines()) for frame in text.split("\n\n") if frame]
    return [(frame["event"], json.loads(frame["data"])) for frame in frames if "event" in frame]


def _stream(plane: DataPlane, query: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", plane.port))
    connection.sendall(f"GET /inspect/stream{query} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
    assert connection.recv(20).startswith(b"HTTP/1.1 200")
    return connection


def _rest(connection: socket.socket) -> str:
    """What comes until the end."""
    with connection, connection.makefile("rb") as lines:
        return lines.read().decode().partition(": connected\n\n")[2]


def test_who_does_not_read_the_stream_is_told_what_is_gone(workspace: Workspace) -> None:
    """Ingestion goes on; what does not fit is counted in an event `missed`, with the numbers around the gap."""
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


def test_the_stream_goes_on_where_it_was_left(workspace: Workspace) -> None:
    """`after` and `Last-Event-ID` give the number of the last change that a reader has seen."""
    with DataPlane(workspace) as plane:
        plane.send([{**EVENT, "userId": f"u{n}"} for n in range(5)], source="quiet")
        plane.drain()
        by_query = _stream(plane, "?after=2")
        with httpx.stream("GET", f"{plane.url}/inspect/stream", headers={"Last-Event-ID": "4"}) as stream:
            by_header = "".join(itertools.islice(stream.iter_text(), 2))
        plane.stop()

        assert [data["userId"] for _, data in _frames(_rest(by_query))] == ["u2", "u3", "u4"]
        assert "u4" in by_header
        assert "u3" not in by_header


def test_a_closed_stream_is_gone_at_once(workspace: Workspace) -> None:
    """Also one that nobody has read: nothing is sent to it any more, and nothing is kept for it."""
    with DataPlane(workspace) as plane:
        streams = [_stream(plane) for _ in range(5)]
        plane.send([EVENT] * 2000, source="quiet")
        while_open = plane.ingest("GET", "/metrics").text
        for connection in streams:
            connection.close()

        deadline = time.monotonic() + 10
        while "svctoolkit_streams 0\n" not in plane.ingest("GET", "/metrics").text:
            assert time.monotonic() < deadline
        assert "svctoolkit_streams 5\n" in while_open


def test_changes_are_enough_for_a_list(workspace: Workspace) -> None:
    """A change says what the event is and what became of it, with the attempts so far: nothing must be asked again."""
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
