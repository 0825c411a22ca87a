"""What the page of a data plane requests: lines of events, destinations, transformations, runs and files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.displayed import render
from svctoolkit.server import Backoff

SECRET = "s3cr3t-k3y"


def fail(event: dict[str, Any]) -> dict[str, Any]:
    if event["userId"] == "u3":
        raise ValueError("no u3 here")
    return {**event, "seen": True}


@pytest.fixture
def busy() -> Iterator[DataPlane]:
    """Seven events and a refusal; at `crm`, which has a transformation, u3 fails and u1 is dead."""
    workspace = Workspace("shop")
    workspace.transformation("check", fail)
    headers = [{"from": "X-Key", "to": SECRET}]
    config = {"webhookUrl": "https://crm.example/in", "headers": headers}
    workspace.destination("crm", "WEBHOOK", config=config, transformation="check")
    workspace.destination("mail", "WEBHOOK", config={"webhookUrl": "https://mail.example/in"}, enabled=False)
    workspace.source("web", destinations=["crm", "mail"])
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=1, scale=0)) as plane:
        for number in range(1, 8):
            if number == 1:
                plane.script("crm", Answer(500), Answer(200))
            event = {"type": "track", "event": f"E{number}", "userId": f"u{number}", "messageId": f"m{number}"}
            plane.send({**event, "properties": {"key": SECRET}}, source="web", run="a" if number % 2 else "b")
            plane.drain()
        plane.send({"type": "track", "event": SECRET}, source="web", run="a")
        yield plane


def get(plane: DataPlane, path: str, status: int = 200) -> Any:
    answer = plane.ingest("GET", path)
    assert answer.status == status, answer.text
    return answer.json


def post(plane: DataPlane, path: str, body: Any) -> Any:
    headers = {"Authorization": f"Bearer {plane.token}"}
    return plane.ingest("POST", path, headers=headers, body=json.dumps(body).encode())


def names(page: dict[str, Any]) -> list[str]:
    return [line["name"] or line["refused"][:3] for line in page["items"]]


def test_pages_lead_back_and_forth(busy: DataPlane) -> None:
    """From the newest to the oldest by `older` and back by `newer`: every line once, newest first on each page."""
    back, pages, before = [], [], ""
    while True:
        page = get(busy, f"/inspect/arrivals?limit=3{before}")
        pages.append(names(page))
        if page["older"] is None:
            break
        before = f"&before={page['older']}"
    after = get(busy, "/inspect/arrivals?limit=1&text=E1")["newer"]
    while items := (page := get(busy, f"/inspect/arrivals?limit=3&after={after}"))["items"]:
        back.append(names(page))
        after = items[0]["seq"]

    assert pages == [["400", "E7", "E6"], ["E5", "E4", "E3"], ["E2", "E1"]]
    assert back == [["E4", "E3", "E2"], ["E7", "E6", "E5"], ["400"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("run=b", ["E6", "E4", "E2"]),
        ("name=E4", ["E4"]),
        ("user=u4", ["E4"]),
        ("text=M4", ["E4"]),
        ("status=dead", ["E1"]),
        ("status=failed&destination=crm", ["E3"]),
        ("status=rejected", ["400"]),
        ("violations=none", ["E7", "E6", "E5", "E4", "E3", "E2", "E1"]),
        ("violations=any", []),
        ("until=2020-01-01T00:00:00Z", []),
        ("since=2020-01-01T00:00:00Z&type=track&source=web&run=b", ["E6", "E4", "E2"]),
    ],
)
def test_every_filter_narrows_the_list(busy: DataPlane, query: str, found: list[str]) -> None:
    """Alone and combined."""
    assert names(get(busy, f"/inspect/arrivals?{query}")) == found


def test_records_can_be_listed_newest_first(busy: DataPlane) -> None:
    """`order=desc` begins with the newest; `before` is the next page. Fates of one event stay on one page."""
    first = get(busy, "/inspect/events?order=desc&limit=2")
    second = get(busy, f"/inspect/events?order=desc&limit=2&before={first['next']}")
    pages, after = [], 0
    while after is not None:
        page = get(busy, f"/inspect/fates?limit=3&after={after}")
        pages.append([(fate["number"], fate["destination"]) for fate in page["items"]])
        after = page["next"]

    assert [item["event"]["event"] for item in first["items"] + second["items"]] == ["E7", "E6", "E5", "E4"]
    assert [fate for page in pages for fate in page] == [(n, key) for n in range(1, 8) for key in ("crm", "mail")]
    assert all(len({number for number, _ in page}) == 2 for page in pages[:-1])


def test_destinations_show_counts_and_their_current_answer(busy: DataPlane) -> None:
    """Each lists its sources, whether it is enabled, the outcomes of its events, and the recorder's next answer."""
    body = {"answers": [{"status": 429, "headers": {"Retry-After": 2}, "times": 2}, {"close": True}], "run": "b"}
    post(busy, "/admin/recorder/crm", body)
    crm, mail = get(busy, "/inspect/destinations")["items"]
    of_b = get(busy, "/inspect/destinations?run=b")["items"][0]

    assert (crm["enabled"], crm["sources"], crm["transformation"]) == (True, ["web"], "check")
    assert crm["fates"] == {"dead": 1, "delivered": 5, "failed": 1}
    assert (mail["enabled"], mail["fates"]) == (False, {"filtered": 7})
    assert (crm["answers"][0]["status"], of_b["fates"]) == (200, {"delivered": 3})
    assert [(a["status"], a["times"], a["close"], a["headers"]) for a in of_b["answers"]] == [
        (429, 2, False, {"Retry-After": "2"}), (200, None, True, {}),
    ]  # fmt: skip


def test_transformations_show_their_last_error(busy: DataPlane) -> None:
    """The error is listed with the event that caused it."""
    (found,) = get(busy, "/inspect/transformations")["items"]

    assert (found["key"], found["destinations"], found["errors"]) == ("check", ["crm"], 1)
    assert (found["last"]["seq"], found["last"]["destination"]) == (3, "crm")
    assert "no u3 here" in found["last"]["reason"]


ENRICH = """
export function transformEvent(event) {
  event.items = event.items.map((item) => ({
    id: item.id,
    cents: item.price * 100,
  }));
  return event;
}
"""


@pytest.mark.parametrize("stored", [False, True])
def test_values_that_code_loses_without_an_error_are_counted(tmp_path: Path, *, stored: bool) -> None:
    """Of delivered events, with the line that writes them; each fate has its own, and the timeline shows them."""
    (tmp_path / "enrich.js").write_text(ENRICH)
    workspace = Workspace("shop")
    workspace.transformation("enrich", file=tmp_path / "enrich.js")
    for key in ("crm", "mail"):
        config = {"webhookUrl": f"https://{key}.example/in"}
        workspace.destination(key, "WEBHOOK", config=config, transformation="enrich" if key == "crm" else None)
    workspace.source("web", destinations=["crm", "mail"])
    with DataPlane(workspace, listen=False, store=tmp_path / "plane.db" if stored else None) as plane:
        for number in range(1, 5):
            items = [{"id": 1, "price": 2}, {"id": 2}, {"id": 3}][: 1 if number == 1 else 3]
            plane.send({"type": "track", "event": "Order", "userId": "u1", "items": items}, source="web")
        plane.drain()
        (state,) = get(plane, "/inspect/transformations")["items"]
        fates = [fate for fate in plane.fates if fate.destination == "crm"]
        whole, about = get(plane, "/inspect/arrivals/1"), get(plane, "/inspect/arrivals/2")
        page = plane.ingest("GET", "/console/events/2").text
        rows = get(plane, "/inspect/arrivals")["items"]

    at = f"{tmp_path / 'enrich.js'}:5"
    text = f"delivered, but 3 lost items.*.cents ({at}: NaN becomes null)"
    assert state["losses"] == [
        {"destination": "crm", "path": "items.*.cents", "value": "NaN", "becomes": "null", "events": 3, "seq": 2,
         "at": at, "text": text},
    ]  # fmt: skip
    lost = [{"path": f"items.{n}.cents", "value": "NaN", "becomes": "null", "output": 0} for n in (1, 2)]
    assert [fate.losses for fate in fates] == [None, lost, lost, lost]
    assert [fate.get("losses") for fate in about["fates"]] == [lost, None]
    assert all("losses" not in fate for fate in whole["fates"])
    assert "items.2.cents: the user code returns NaN, which becomes null" in page
    assert "items.2.cents: the user code returns NaN, which becomes null" in render(fates[1])
    assert [row["lost"] for row in rows] == [["crm"], ["crm"], ["crm"], []]


def test_runs_are_listed_newest_first(busy: DataPlane) -> None:
    """Each with its own counts only."""
    found = get(busy, "/inspect/runs")["items"]

    assert [(run["run"], run["received"]) for run in found] == [("a", 4), ("b", 3)]
    assert found[0]["first"] <= found[1]["first"] <= found[1]["last"] <= found[0]["last"]


def test_a_changed_workspace_file_is_reported(tmp_path: Path) -> None:
    """Whether it was read again, and if not, which mistakes it has."""
    file = tmp_path / "workspace.yaml"
    file.write_text("sources: {web: {destinations: []}}")
    with DataPlane(file, listen=False) as plane:
        before = get(plane, "/inspect/workspace")["reload"]
        file.write_text("sources: {web: {destinations: []}, app: {destinations: []}}")
        plane.wait(lambda: "app" in plane.workspace.sources)
        read = get(plane, "/inspect/workspace")
        file.write_text("sources: [")
        while not (broken := get(plane, "/inspect/workspace")["reload"])["problem"]:
            pass

    assert (before["at"], before["problem"]) == ("", "")
    assert [source["key"] for source in read["sources"]] == ["web", "app"]
    assert "workspace.yaml:1" in broken["problem"]


def test_events_and_requests_can_be_downloaded(busy: DataPlane) -> None:
    """Events as NDJSON, which `record` reads; requests as HAR. Both can be filtered, and secrets are masked."""
    events = busy.ingest("GET", "/inspect/export/events.ndjson?run=b")
    archive = busy.ingest("GET", "/inspect/export/requests.har")
    one = busy.ingest("GET", "/inspect/export/requests.har?seq=1").json["log"]["entries"]

    assert [json.loads(line)["event"]["event"] for line in events.text.splitlines()] == ["E2", "E4", "E6"]
    assert events.headers["content-disposition"] == 'attachment; filename="events.ndjson"'
    entries = archive.json["log"]["entries"]
    assert [entry["response"]["status"] for entry in entries] == [500, 200, 200, 200, 200, 200]
    assert {entry["request"]["url"] for entry in entries} == {"https://crm.example/in"}
    assert json.loads(entries[1]["request"]["postData"]["text"])["event"] == "E2"
    assert [entry["response"]["status"] for entry in one] == [500]
    assert SECRET not in events.text + archive.text


def test_the_timeline_of_an_event_as_html(busy: DataPlane) -> None:
    """Escaped, with secrets masked and without inline styles or scripts; each stage shows what it changed."""
    hostile = {"type": "track", "event": "<img src=x onerror=alert(1)>", "userId": "u1", "properties": {"k": SECRET}}
    busy.send(hostile, source="web")
    busy.drain()
    seq = get(busy, "/inspect/arrivals?limit=1")["items"][0]["seq"]
    page = busy.ingest("GET", f"/console/events/{seq}")
    dead, failed = (busy.ingest("GET", f"/console/events/{n}").text for n in (1, 3))
    lineage = busy.ingest("GET", f"/console/events/{seq}/lineage/crm")

    for html in (page.text, dead, failed, lineage.text):
        assert not any(bad in html for bad in ("<style", "style=", "<script", "<img", SECRET))
    assert "user_transform changed" in page.text
    assert "&lt;img src=x" in page.text
    assert "dead" in dead
    assert "no u3 here" in failed
    assert "the user&#x27;s code" in lineage.text or "properties" in lineage.text
    assert "default-src &#x27;none&#x27;" in page.headers["content-security-policy"].replace("'", "&#x27;")


@pytest.mark.parametrize(
    "path",
    ["/console/events/99999", "/console/events/99999/lineage/crm", "/console/nothing.js", "/console/..%2froutes.py"],
)
def test_unknown_addresses_of_the_page_are_404(busy: DataPlane, path: str) -> None:
    """Only files of the page are served."""
    assert busy.ingest("GET", path).status == 404


def test_the_attempts_of_an_event_are_on_a_time_line(workspace: Workspace) -> None:
    """If it was retried, or will be; each attempt with its time and result."""
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=3, scale=0)) as plane:
        plane.script("crm", Answer(503), Answer(429), Answer(200))
        for user in ("u", "v"):
            plane.send({"type": "track", "event": "E", "userId": user}, source="web")
            plane.drain()
        retried, once = (plane.ingest("GET", f"/console/events/{n}").text for n in (1, 2))

    assert "crm 3 attempts, the last after" in retried
    assert ": 503, took" in retried
    assert "Attempts: " not in once


def test_latency_by_stage(busy: DataPlane) -> None:
    """Of each destination, from what the store has: as rows, a frame, text and a picture on the page."""
    found = busy.latencies()
    page = busy.ingest("GET", "/console/latency")

    assert [(row.destination, row.stage, row.requests) for row in found.rows] == [
        ("crm", "until the first request", 6),
        ("crm", "request", 6),
    ]
    assert list(found.frame().columns) == ["destination", "stage", "requests", "median", "p95", "longest"]
    assert repr(found).startswith("crm  until the first request: median ")
    assert "Latency by stage: 2 rows; slowest crm, " in page.text
    assert busy.of_run("nothing").latencies().rows == []
    assert "no requests yet" in busy.ingest("GET", "/console/latency?run=nothing").text


def test_failures_by_day(workspace: Workspace) -> None:
    """By destination and cause, with the workspace's releases; a table if all failed on one day."""
    workspace.releases = {"2.4.0": "2026-05-18"}
    passed = [0.0]
    with DataPlane(
        workspace,
        listen=False,
        clock=lambda: datetime(2026, 5, 17, 12, tzinfo=UTC) + timedelta(seconds=sum(passed)),
        advance_clock=passed.append,
    ) as plane:
        empty = plane.ingest("GET", "/console/failures").text
        plane.script("crm", Answer(400))
        for day in range(2):
            plane.send({"type": "track", "event": "E", "userId": "u"}, source="web")
            plane.drain()
            if day == 0:
                single = plane.ingest("GET", "/console/failures").text
                plane.advance(86_400)
        several = plane.ingest("GET", "/console/failures").text
        other = plane.ingest("GET", "/console/failures?run=nothing").text

    assert "no failures" in empty
    assert "no failures" in other
    assert "2026-05-17" in single
    assert "<svg" not in single
    assert "Failures by day" in several
    assert "crm: " in several
    assert "2.4.0" in several
    assert "<svg" in several


def test_the_page_is_protected(busy: DataPlane) -> None:
    """Pages of other origins get nothing: neither by `Origin` nor through a host name that points here."""
    for path in ("arrivals", "arrivals/1", "destinations", "runs", "workspace", "transformations", "policies",
                 "export/requests.har", "export/events.ndjson"):  # fmt: skip
        assert busy.ingest("GET", f"/inspect/{path}", headers={"Origin": "https://evil.example"}).status == 401
    assert busy.ingest("GET", "/console/events/1", headers={"Host": "evil.example"}).status == 401
    assert busy.ingest("GET", "/console/events/1/lineage/crm", headers={"Host": "evil.example"}).status == 401
    for path in ("latency", "failures"):
        assert busy.ingest("GET", f"/console/{path}", headers={"Host": "evil.example"}).status == 401


def test_time_can_be_advanced(workspace: Workspace) -> None:
    """`advance` triggers the retries that are due by then, and later records have later times."""
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=3, first=3600, jitter=False)) as plane:
        plane.script("crm", Answer(500, times=2), Answer(200))
        plane.send({"type": "track", "event": "E", "userId": "u"}, source="web")
        plane.wait(lambda: len(plane.deliveries) == 2)
        before = get(plane, "/inspect/workspace")["now"]
        after = post(plane, "/admin/clock", {"advance": 86400}).json["now"]
        later = get(plane, "/inspect/workspace")["now"]

        assert [d.status for d in plane.deliveries if d.destination == "crm"] == [500, 500, 200]
        assert before[:13] < after[:13] == later[:13]
        assert post(plane, "/admin/clock", {"advance": -1}).status == 400


def test_an_event_can_be_sent_again(busy: DataPlane) -> None:
    """As a new event with its secrets, for the same source and run, or edited."""
    again = post(busy, "/admin/send", {"seq": 2})
    other = post(busy, "/admin/send", {"source": "web", "batch": [{"type": "page", "userId": "u"}], "run": "c"})
    bad = post(busy, "/admin/send", {"source": "web", "batch": [{"type": "page"}]})
    busy.drain()
    *_, second, third = busy.received

    assert [answer.json["status"] for answer in (again, other, bad)] == [200, 200, 400]
    assert (second.name, second.source, second.run, second.repeats) == ("E2", "web", "b", None)
    assert second.message_id != "m2"
    assert second.event["properties"] == {"key": SECRET}
    assert (third.type, third.run) == ("page", "c")


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 400), ({"seq": 1, "batch": [{}]}, 400), ({"seq": 999}, 404), ({"source": "x", "batch": [{}]}, 404)],
)
def test_mistakes_in_sending_are_reported(busy: DataPlane, body: Any, status: int) -> None:
    """Nothing is sent then."""
    before = len(busy.received)

    assert post(busy, "/admin/send", body).status == status
    assert len(busy.received) == before
