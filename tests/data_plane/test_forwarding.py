"""Events of a source are forwarded to a real data plane: a destination like any other."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import HttpRequest, HttpResponse
from svctoolkit.delivery.faults import Errors, Faults
from svctoolkit.errors import InvalidWorkspace, UnsetVariables
from svctoolkit.secrets import Secret
from svctoolkit.server import Answer as PlaneAnswer
from svctoolkit.server import Backoff
from svctoolkit.server.announcement import banner
from svctoolkit.workspace import Forward
from tests.data_plane.conftest import basic
from tests.data_plane.receivers import Receiver
from tests.data_plane.test_plans import BAD, DROP, GOOD, UNPLANNED
from tests.data_plane.test_plans import workspace as planned_workspace

KEY = "forward:web"
FILE = """
sources:
  web:
    writeKey: web-key
    destinations: [hook]
    forward: {{url: "$(env:REAL_URL)", writeKey: "$(env:REAL_KEY)"{more}}}
  quiet: {{writeKey: quiet-key}}
  shop: {{type: Shopify, writeKey: shop-key, forward: {{url: "$(env:REAL_URL)", writeKey: "$(env:REAL_KEY)"}}}}
destinations: {{hook: {{type: WEBHOOK, config: {{webhookUrl: "https://hook.example/in"}}}}}}
"""
EVENT = {"type": "track", "event": "E", "userId": "u1", "messageId": "m1"}


@pytest.fixture
def real(workspace: Workspace) -> Iterator[DataPlane]:
    """Another data plane that plays the real one."""
    workspace.sources["web"].write_key = "r3al-k3y"
    with DataPlane(workspace) as plane:
        yield plane


def shop(url: str, more: str = "") -> Workspace:
    return Workspace.loads(FILE.format(more=more), environ={"REAL_KEY": "r3al-k3y", "REAL_URL": url})


def bench(url: str, more: str = "", **options: Any) -> DataPlane:
    return DataPlane(shop(url, more), listen=False, backoff=Backoff(scale=0.001), **options)


def events(count: int, *, users: int = 7, start: int = 0) -> list[dict[str, Any]]:
    return [{**EVENT, "messageId": f"m{n:05}", "userId": f"u{n % users}"} for n in range(start, start + count)]


def send(plane: DataPlane, batch: Sequence[dict[str, Any]] = (EVENT,), **headers: str) -> PlaneAnswer:
    body = json.dumps({"batch": batch}).encode()
    return plane.ingest("POST", "/v1/batch", headers={**basic("web-key"), **headers}, body=body)


def forward(plane: DataPlane) -> Any:
    return plane.ingest("GET", "/inspect/workspace").json["sources"][0]["forward"]


def fates(plane: DataPlane) -> list[tuple[str, str]]:
    return [(fate.message_id, fate.status) for fate in plane.fates if fate.destination == KEY]


def assert_order(ids: Sequence[str], *, users: int = 7) -> None:
    """The first arrivals of each user's events are in the order of their numbers."""
    for user in range(users):
        of_user = [n for n in map(int, (i[1:] for i in dict.fromkeys(ids))) if n % users == user]
        assert of_user == sorted(of_user)


def test_events_are_forwarded_as_they_arrived(real: DataPlane) -> None:
    """With the target's write key, whatever the delivery mode; other sources, and refused requests, are not."""
    with bench(real.url) as plane:
        event = {**EVENT, "integrations": {"All": False}, "odd": 1.50}
        statuses = [send(plane, [event])]
        body = json.dumps({"batch": [EVENT]}).encode()
        statuses.append(plane.ingest("POST", "/v1/batch", headers=basic("quiet-key"), body=body))
        statuses.append(send(plane, [{"type": "track", "event": "nobody"}]))
        plane.drain(60)
        received = real.received

        assert [answer.status for answer in statuses] == [200, 200, 400]
        assert [(r.message_id, r.run, r.event["odd"]) for r in received] == [("m1", "", 1.5)]
        assert fates(plane) == [("m1", "delivered")]
        assert forward(plane) == {
            "destination": KEY, "answer": "ours", "enabled": True, "sent": 1, "waiting": 0, "failed": 0, "problem": "",
        }  # fmt: skip


def test_events_of_runs_are_not_forwarded() -> None:
    """Runs are those of tests: suites, with `--base-url` too, never reach a real data plane, nor wait for one."""
    with Receiver() as receiver, bench(receiver.url) as plane:
        send(plane, **{"X-Svctoolkit-Run": "mine"})
        plane.drain(60)

        assert (receiver.requests, fates(plane)) == (0, [])
        assert [delivery.destination for delivery in plane.of_run("mine").delivered] == ["hook"]


def test_pixels_beacons_and_webhooks_arrive_as_their_events() -> None:
    """The receiver gets `/v1/batch` with what is stored here, whatever the client sent."""
    with Receiver() as receiver, bench(receiver.url) as plane:
        plane.ingest("GET", "/pixel/v1/track?writeKey=web-key&event=Seen&userId=u1")
        plane.ingest("POST", "/beacon/v1/batch?writeKey=web-key", body=json.dumps({"batch": [EVENT]}).encode())
        plane.send_webhook("shop", {"id": 1, "email": "a@example.com"}, topic="customers_create")
        plane.drain(60)
        arrived = [event for batch in receiver.batches for event in batch]

        assert set(receiver.paths) == {"/v1/batch"}
        assert {event["type"] for event in arrived} == {"track", "identify"}
        assert {event.get("event") for event in arrived} == {"Seen", "E", None}
        assert all(event["messageId"] and "writeKey" not in event for event in arrived)
        assert receiver.logins == {basic("r3al-k3y")["Authorization"]}


def test_a_receiver_with_faults_gets_everything_once_and_in_order() -> None:
    """A 503 to every tenth request loses, repeats and reorders nothing."""
    failed: list[int] = []

    def answers(number: int, _: object) -> int:
        if number % 10 == 0:
            failed.append(number)
        return 503 if number % 10 == 0 else 200

    sent = events(2000)
    with Receiver(answers) as receiver, bench(receiver.url) as plane:
        plane.enable(destination=KEY, enabled=False)
        for start in range(0, 2000, 100):
            send(plane, sent[start : start + 100])
        plane.enable(destination=KEY)
        plane.drain(120)

        assert len(failed) >= 2  # a call has 100 events
        assert sorted(receiver.ids) == [event["messageId"] for event in sent]
        assert_order(receiver.ids)
        assert plane.fate_counts()[KEY, "delivered"] == 2000


PROGRAM = textwrap.dedent(
    """
    import sys
    from svctoolkit import DataPlane, Workspace
    from svctoolkit.server import Backoff
    text, store = sys.argv[1:]
    plane = DataPlane(Workspace.loads(text), listen=False, store=store, backoff=Backoff(scale=0.001))
    for line in sys.stdin:
        answer = plane.ingest("POST", "/v1/batch", headers={"Authorization": "Basic d2ViLWtleTo="}, body=line.encode())
        print(answer.status, flush=True)
    """
)


def test_a_kill_loses_nothing_and_repeats_at_most_one_call(tmp_path: Path) -> None:
    """The receiver takes the fourth call and does not answer; then the data plane is killed, and started again."""
    sent, store = events(1000), tmp_path / "plane.db"

    def answers(number: int, _: object) -> int | None:
        return None if number == 4 else 200

    with Receiver(answers) as receiver:
        text = FILE.format(more="").replace("$(env:REAL_URL)", receiver.url).replace("$(env:REAL_KEY)", "r3al-k3y")
        command = [sys.executable, "-c", PROGRAM, text, str(store)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for start in range(0, 1000, 100):
                process.stdin.write(json.dumps({"batch": sent[start : start + 100]}) + "\n")
                process.stdin.flush()
                assert process.stdout.readline() == "200\n"
            receiver.wait(4)
            process.kill()
        before, unanswered = receiver.ids, {event["messageId"] for event in receiver.batches[3]}
        with DataPlane(Workspace.loads(text), listen=False, store=store, backoff=Backoff(scale=0.001)) as plane:
            plane.drain(120)
            counts = plane.fate_counts()

        after = receiver.ids[len(before) :]
        assert len(before) < 1000
        assert {*before, *after} == {event["messageId"] for event in sent}
        assert {*before} & {*after} <= unanswered
        assert len(after) == len({*after})
        assert_order(receiver.ids)
        assert counts[KEY, "delivered"] == 1000


def test_a_request_begins_when_the_results_of_the_last_one_are_on_disk(tmp_path: Path) -> None:
    """That is why a kill repeats at most one, however small they are."""
    store = tmp_path / "plane.db"
    seen: list[tuple[int, int]] = []  # per request: events that arrived before, and those that are on disk

    def answers(_: int, __: object) -> int:
        query = "select count(*) from fates where destination = ? and status = 'delivered'"
        with closing(sqlite3.connect(store)) as kept:
            seen.append((len(receiver.ids), kept.execute(query, (KEY,)).fetchone()[0]))
        return 200

    with Receiver(answers) as receiver, bench(receiver.url, store=store) as plane:
        for number, event in enumerate(events(20), 1):
            send(plane, [event])
            receiver.wait(number)
        plane.drain(60)

    assert seen == [(n, n) for n in range(20)]


def test_tracking_plans_do_not_change_what_is_forwarded() -> None:
    """An event that the plan drops here is forwarded without marks: the other data plane has its own plans."""
    with Receiver() as receiver:
        planned = planned_workspace(DROP)
        planned.sources["web"].forward = Forward(receiver.url, Secret("r3al-k3y"))
        with DataPlane(planned, listen=False) as plane:
            plane.send([GOOD, BAD, UNPLANNED], source="web")
            plane.drain(60)
            arrived = {event["messageId"]: event for batch in receiver.batches for event in batch}

            assert [message_id for message_id, _ in fates(plane)] == ["good", "bad", "unplanned"]
            assert arrived.keys() == {"good", "bad", "unplanned"}
            assert arrived["bad"]["properties"] == BAD["properties"]
            assert all("violation" not in json.dumps(event).lower() for event in arrived.values())
            assert plane.fate_counts()["a", "dropped"] == 2


def test_a_paused_forward_keeps_its_events(tmp_path: Path) -> None:
    """Across a restart, too; other destinations are not affected, and `drain` does not wait for it."""
    with Receiver() as receiver:
        with bench(receiver.url, ", enabled: false", store=tmp_path / "plane.db") as plane:
            send(plane)
            plane.drain(60)
            delivered = [delivery.destination for delivery in plane.delivered]
            paused = forward(plane)
        with bench(receiver.url, ", enabled: false", store=tmp_path / "plane.db") as plane:
            plane.drain(60)
            requests = receiver.requests
            plane.ingest("POST", f"/admin/destinations/{KEY}", headers=token(plane), body=b'{"enabled": true}')
            plane.drain(60)

            assert delivered == ["hook"]
            assert (paused["enabled"], paused["waiting"], requests) == (False, 1, 0)
            assert (receiver.ids, fates(plane)) == (["m1"], [("m1", "delivered")])


def token(plane: DataPlane) -> dict[str, str]:
    return {"Authorization": f"Bearer {plane.token}", "content-type": "application/json"}


def test_scripted_answers_and_faults_come_before_the_network() -> None:
    """As at any destination: a 503, then delivered; then a fault profile."""
    with Receiver() as receiver, bench(receiver.url) as plane:
        script = b'{"answers": [{"status": 503, "times": 1}]}'
        scripted = plane.ingest("POST", f"/admin/recorder/{KEY}", headers=token(plane), body=script)
        send(plane)
        plane.drain(60)
        attempts = [(d.attempt, d.status) for d in plane.deliveries if d.destination == KEY]
        requests = receiver.requests
        plane.set_faults(Faults(errors=Errors(share=1.0, statuses=[500])), destination=KEY)
        send(plane, [{**EVENT, "messageId": "m2"}])
        plane.wait(lambda: ("m2", "dead") in fates(plane), timeout=60)
        plane.set_faults(None, destination=KEY)
        replayed = plane.replay(KEY)
        plane.drain(60)

        assert (scripted.status, attempts, requests) == (200, [(1, 503), (2, 200)], 1)
        assert (replayed, receiver.ids) == (1, ["m1", "m2"])
        assert fates(plane) == [("m1", "delivered"), ("m2", "delivered")]


def test_the_workspace_file_may_name_faults_and_rates_for_it() -> None:
    """By its key, like those of a destination; the name of an unknown source is an error."""
    more = """
faults: {profiles: {flaky: {errors: {share: 1, statuses: [429]}}}, destinations: {"forward:web": flaky}}
delivery: {throttle: {"forward:web": {limit: 5, seconds: 0.01}}}
"""
    environ = {"REAL_KEY": "r3al-k3y", "REAL_URL": "https://real.example"}
    with DataPlane(
        Workspace.loads(FILE.format(more="") + more, environ=environ), listen=False, backoff=Backoff(scale=0.001)
    ) as plane:
        send(plane, events(20))
        plane.drain(60)
        carried = [len(d.events) for d in plane.deliveries if d.destination == KEY]

        assert {status for _, status in fates(plane)} == {"dead"}
        assert max(carried) <= 5
    with pytest.raises(InvalidWorkspace, match="unknown destination 'forward:wob'"):
        Workspace.loads(FILE.format(more="") + more.replace("forward:web", "forward:wob"), environ=environ)


def test_a_bad_event_is_refused_alone() -> None:
    """The batch is halved until it is; the others arrive in their order, each once."""

    def answers(_: int, batch: list[dict[str, Any]]) -> int:
        return 400 if any(event["messageId"] == "m00013" for event in batch) else 200

    sent = events(40)
    with Receiver(answers, text='{"message": "no"}') as receiver, bench(receiver.url) as plane:
        plane.enable(destination=KEY, enabled=False)
        send(plane, sent)
        plane.enable(destination=KEY)
        plane.drain(60)
        bad = [fate for fate in plane.fates if fate.destination == KEY and fate.status != "delivered"]

        assert receiver.ids == [event["messageId"] for event in sent if event["messageId"] != "m00013"]
        assert [(fate.message_id, fate.status, fate.attempts) for fate in bad] == [("m00013", "failed", 1)]
        assert bad[0].reason == 'the data plane answered 400 {"message": "no"}'
        assert forward(plane)["failed"] == 1


def test_failures_are_shown_and_do_not_affect_the_client() -> None:
    """`/inspect` says how many events wait, and why; other destinations have theirs."""
    with bench("http://127.0.0.1:9") as plane:
        plane.workspace.delivery.backoff = {}
        answer = send(plane)
        plane.wait(lambda: forward(plane)["problem"] or forward(plane)["failed"], timeout=60)
        plane.drain(60)
        reasons = [fate.reason for fate in plane.fates if fate.destination == KEY]

        assert (answer.status, len(plane.received), fates(plane)) == (200, 1, [("m1", "dead")])
        assert "127.0.0.1:9" in reasons[0]
        assert [delivery.destination for delivery in plane.delivered] == ["hook"]


def test_forwarding_follows_the_network_policy() -> None:
    """Addresses where clouds hand out credentials are never called."""
    with bench("http://169.254.169.254") as plane:
        send(plane)
        plane.drain(60)

        assert "169.254.169.254" in next(fate.reason for fate in plane.fates if fate.destination == KEY)


def test_redirects_are_not_followed() -> None:
    """Neither events nor the write key go to a host that the workspace does not name."""
    with (
        Receiver() as other,
        Receiver(lambda *_: 308, location=f"{other.url}/v1/batch") as receiver,
        bench(receiver.url) as plane,
    ):
        send(plane)
        plane.drain(60)

        assert (receiver.requests > 0, other.requests, fates(plane)) == (True, 0, [("m1", "dead")])
        assert "308" in next(fate.reason for fate in plane.fates if fate.destination == KEY)


def test_a_receiver_that_hangs_blocks_nothing_else(tmp_path: Path) -> None:
    """Inspection and other destinations go on, and it can be stopped; the event waits for the next start."""
    with Receiver(lambda number, _: None if number == 1 else 200) as receiver:
        with bench(receiver.url, store=tmp_path / "plane.db") as plane:
            send(plane)
            plane.wait(lambda: receiver.requests == 1 and plane.delivered, timeout=60)
            counts = plane.ingest("GET", "/inspect/counts").status
            waiting = forward(plane)["waiting"]
            plane.stop(timeout=0.1)
        with bench(receiver.url, store=tmp_path / "plane.db") as plane:
            plane.drain(60)

            assert (counts, waiting) == (200, 1)
            assert (receiver.ids, fates(plane)) == (["m1", "m1"], [("m1", "delivered")])


@pytest.mark.parametrize("store", [None, "plane.db"])
def test_no_secret_shows(tmp_path: Path, store: str | None) -> None:
    """Neither the write key nor the URL, in fates, deliveries, other records, exports and the page."""
    file = tmp_path / store if store else None
    text = '{"message": "key r3al-k3y is bad"}'
    with Receiver(lambda *_: 400, text=text) as receiver, bench(receiver.url, store=file) as plane:
        send(plane)
        plane.drain(60)
        pages = ["inspect/fates", "inspect/deliveries", "inspect/workspace", "inspect/destinations"]
        shown = "".join(plane.ingest("GET", f"/{page}").text for page in [*pages, "inspect/events/1"])
        shown += plane.ingest("GET", "/console/events/1").text
        shown += repr([*plane.fates, *plane.deliveries]) + plane.workspace.dumps()
        if store:
            shown += b"".join(each.read_bytes() for each in tmp_path.iterdir()).decode("latin-1")

        assert "r3al-k3y" not in shown
        assert basic("r3al-k3y")["Authorization"].removeprefix("Basic ") not in shown
        assert receiver.url not in shown
        assert "is bad" in shown


def test_repeats_are_not_forwarded() -> None:
    """As at any destination."""
    with Receiver() as receiver, bench(receiver.url) as plane:
        send(plane)
        send(plane)
        plane.drain(60)

        assert receiver.ids == ["m1"]
        assert fates(plane) == [("m1", "delivered"), ("m1", "filtered")]


def test_the_page_shows_what_was_sent_and_no_mapping() -> None:
    """A forwarded event has no stages but the last one, and its request."""
    with Receiver() as receiver, bench(receiver.url) as plane:
        send(plane)
        plane.drain(60)
        page = plane.ingest("GET", "/console/events/1").text
        shown = page[page.index(f'data-destination="{KEY}"') : page.index('data-destination="hook"')]
        listed = plane.ingest("GET", "/inspect/destinations").json["items"]

        assert "send_to_destination" in shown
        assert "batch" in shown
        assert "dest_transform" not in shown
        assert "dest_transform" in page
        assert [(item["key"], item["type"], item["sources"], item["fates"]) for item in listed[1:]] == [
            (KEY, "FORWARD", ["web"], {"delivered": 1}),
            ("forward:shop", "FORWARD", ["shop"], {}),
        ]
        assert "every destination; a real data plane also gets the events of web, shop" in banner(plane)


def test_policies_are_about_payloads_made_here() -> None:
    """The other data plane changes what it gets before it sends it on: there, other policies apply."""
    with Receiver() as receiver, bench(receiver.url) as plane:
        plane.workspace.policies = [{"name": "hosts", "hosts": ["hook.example"]}]
        send(plane)
        plane.drain(60)
        states = plane.ingest("GET", "/inspect/policies").json

        assert (states["events"], [state["breaches"] for state in states["items"]]) == (1, [0])
        assert plane.breaches() == []


def test_events_wait_on_a_machine_without_the_secrets(tmp_path: Path) -> None:
    """A restart without them must not lose what waits; without the source, the events have failed."""
    text, store = FILE.format(more=""), tmp_path / "plane.db"
    with Receiver() as receiver:
        with bench(receiver.url, ", enabled: false", store=store) as plane:
            send(plane)
        with pytest.warns(UnsetVariables):
            bare = Workspace.loads(text, environ={})
        with DataPlane(bare, listen=False, store=store) as plane:
            plane.drain(60)
            waiting = fates(plane)
        with bench(receiver.url, store=store) as plane:
            plane.drain(60)
            sent = fates(plane)
            plane.enable(destination=KEY, enabled=False)
            send(plane, [{**EVENT, "messageId": "m2"}])
            plane.drain(60)
            del plane.workspace.sources["web"]
            plane.drain(60)

            assert (waiting, sent, receiver.ids) == ([("m1", "pending")], [("m1", "delivered")], ["m1"])
            assert fates(plane) == [("m1", "delivered"), ("m2", "failed")]


USERS = ("a", "b", "c")


@settings(max_examples=30, deadline=None)
@given(
    sent=st.lists(st.lists(st.sampled_from(USERS), min_size=1, max_size=8), min_size=1, max_size=8),
    statuses=st.lists(st.sampled_from([200, 200, 503, 429, 500]), max_size=20),
    bad=st.sets(st.integers(0, 63), max_size=4),
)
def test_order_holds_whatever_the_receiver_answers(sent: list[list[str]], statuses: list[int], bad: set[int]) -> None:
    """Every event arrives once, in the order of its user, except those that the receiver refuses."""
    arrived: list[int] = []
    answers = iter(statuses)

    def receive(request: HttpRequest, *, timeout: float) -> HttpResponse:
        status = next(answers, 200)
        if status == 200:
            numbers = [int(event["messageId"]) for event in json.loads(request.body)["batch"]]
            if bad.intersection(numbers):
                return HttpResponse(400, {}, b"")
            arrived.extend(numbers)
        return HttpResponse(status, {}, b"")

    workspace = shop("https://real.example")
    workspace.sources["web"].connections.clear()
    options: dict[str, Any] = {"advance_clock": lambda _: None, "backoff": Backoff(attempts=99)}
    with DataPlane(workspace, listen=False, transport=receive, **options) as plane:
        owners: list[str] = []
        for batch in sent:
            numbered = [{**EVENT, "userId": user, "messageId": str(len(owners) + n)} for n, user in enumerate(batch)]
            owners += batch
            send(plane, numbered)
        plane.drain(60)
        refused = {int(fate.message_id) for fate in plane.fates if fate.status == "failed"}

    assert sorted(arrived) == [n for n in range(len(owners)) if n not in bad]
    assert refused == bad & {*range(len(owners))}
    for user in USERS:
        of_user = [n for n in arrived if owners[n] == user]
        assert of_user == sorted(of_user)


def test_settings_are_saved_with_references() -> None:
    """The saved workspace has the references to key and URL, not their values."""
    text = shop("https://plane.example", ", answer: theirs, enabled: false").dumps()
    environ = {"REAL_KEY": "r3al-k3y", "REAL_URL": "https://p.example"}
    again = Workspace.loads(text, environ=environ).sources["web"].forward

    assert "$(env:REAL_KEY)" in text
    assert "plane.example" not in text
    assert again is not None
    assert (str(again.write_key.reveal()), again.answer, again.enabled) == ("r3al-k3y", "theirs", False)


def test_a_destination_may_not_have_the_key_of_a_forward() -> None:
    workspace = shop("https://plane.example")
    workspace.destination(KEY, "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})

    assert [(problem.where, "forward" in problem.message) for problem in workspace.problems()] == [
        (f"destinations.{KEY}", True)
    ]
