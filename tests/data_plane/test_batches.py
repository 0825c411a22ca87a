"""Events that share requests: calls, batches, and the outcome for each event."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.errors import StillWaiting
from svctoolkit.server import Backoff
from svctoolkit.workspace import Calls, Throttle

CONFIG = {
    "BRAZE": {"restApiKey": "k-1", "dataCenter": "EU-01", "appKey": "a-1"},
    "MP": {"token": "t-1", "apiSecret": "s-1", "dataResidency": "us", "identityMergeApi": "simplified"},
    "AM": {"apiKey": "k-1"},
    "ALGOLIA": {
        "apiKey": "k-1",
        "applicationId": "app",
        "eventTypeSettings": [{"from": "Product Viewed", "to": "view"}],
    },
    "BLOOMREACH": {
        "apiKey": "k-1",
        "apiSecret": "s-1",
        "apiBaseUrl": "https://api.bloomreach.example",
        "projectToken": "p",
        "hardID": "registered",
        "softID": "cookie",
    },
}


@pytest.fixture
def workspace() -> Workspace:
    """The source `web` sends to `crm`, a BRAZE destination."""
    return shop("BRAZE")


def shop(type: str) -> Workspace:
    workspace = Workspace("shop")
    workspace.destination("crm", type, config=CONFIG[type])
    workspace.source("web", write_key="web-key", destinations=["crm"])
    return workspace


@pytest.fixture
def plane(workspace: Workspace) -> Iterator[DataPlane]:
    with opened(workspace) as plane:
        yield plane


def opened(workspace: Workspace, **settings: Any) -> DataPlane:
    return DataPlane(workspace, listen=False, **{"backoff": Backoff(scale=0), **settings})


def event(number: int, user: str = "", **members: Any) -> dict[str, Any]:
    name = {"type": "track", "event": "Product Viewed", "properties": {"n": number}}
    return {**name, "userId": user or f"u{number}", "messageId": f"m{number:03}", **members}


def test_twenty_events_are_one_request(plane: DataPlane) -> None:
    """A delivery lists its events in order; each fate names its delivery and its position in it."""
    plane.send([event(n) for n in range(20)], source="web")
    plane.drain()

    delivery, *others = plane.delivered
    ids = tuple(f"m{n:03}" for n in range(20))
    assert others == []
    assert delivery.events == ids
    assert [item["properties"]["n"] for item in delivery.payload["body"]["JSON"]["events"]] == sorted(
        range(20), key=str
    )  # as Braze does, by user
    assert [(f.status, f.outcome, f.delivery, f.place) for f in plane.fates] == [
        ("delivered", "delivered", delivery.number, place) for place in range(20)
    ]
    assert [r.events for r in plane.recorder.requests] == [ids]


def test_a_call_has_at_most_twenty_jobs_by_default(plane: DataPlane) -> None:
    """Events accepted together are split at the limit of a call, however fast the machine is."""
    plane.send([event(n) for n in range(50)], source="web")
    plane.drain()

    assert [len(d.events) for d in plane.delivered] == [20, 20, 10]


@pytest.mark.parametrize(("batch", "sizes"), [(Calls(jobs=50), [50]), (Calls(jobs=7), [7, 7, 7, 7, 7, 7, 7, 1])])
def test_the_size_of_a_call_is_a_setting(workspace: Workspace, batch: Calls, sizes: list[int]) -> None:
    """`delivery: {batch: {jobs: N}}` sets it."""
    workspace.delivery.batch = batch
    with opened(workspace) as plane:
        plane.send([event(n) for n in range(50)], source="web")
        plane.drain()

        assert [len(d.events) for d in plane.delivered] == sizes


def test_without_batches_each_event_has_its_own_request(workspace: Workspace) -> None:
    """`delivery: {batch: off}` turns batches off."""
    loaded = Workspace.loads(workspace.dumps() + "\ndelivery: {batch: off}\n", environ={"CRM_REST_API_KEY": "k-1"})
    with opened(loaded) as plane:
        plane.send([event(n) for n in range(5)], source="web")
        plane.drain()

        assert sorted(d.events for d in plane.delivered) == [(f"m{n:03}",) for n in range(5)]


def test_drain_sends_events_that_wait_for_a_full_batch(workspace: Workspace) -> None:
    """With `wait`, events that come one by one share a request, which is sent when it is full or `drain` is called."""
    workspace.delivery.batch = Calls(jobs=3, wait=3600)
    with opened(workspace, backoff=Backoff()) as plane:
        for number in range(4):
            plane.send(event(number), source="web")
        plane.wait(lambda: plane.delivered)
        sizes = [len(d.events) for d in plane.delivered]
        with pytest.raises(StillWaiting):
            plane.wait(lambda: len(plane.delivered) > 1, 0.1)
        plane.drain()

        assert (sizes, [len(d.events) for d in plane.delivered]) == ([3], [3, 1])


def test_a_batch_is_sent_after_its_waiting_time(workspace: Workspace) -> None:
    """After `wait` seconds an incomplete batch is sent, too. Advancing the clock counts."""
    workspace.delivery.batch = Calls(wait=60)
    with opened(workspace, backoff=Backoff()) as plane:
        plane.send(event(1), source="web")
        plane.advance(59)
        before = len(plane.deliveries)
        plane.advance(2)

        assert (before, len(plane.deliveries)) == (0, 1)


def test_runs_never_share_a_request(workspace: Workspace) -> None:
    """Tests that share a data plane have separate requests, and waiting for one run does not hurry another."""
    workspace.delivery.batch = Calls(wait=float("inf"))
    with opened(workspace) as plane:
        for number in range(6):
            plane.send(event(number), source="web", run="ab"[number % 2])
        plane.drain(run="a")
        of_b = len(plane.of_run("b").deliveries)
        plane.send(event(7), source="web", run="b")
        plane.drain(run="b")

        assert of_b == 0
        assert [d.events for d in plane.of_run("a").delivered] == [("m000", "m002", "m004")]
        assert [d.events for d in plane.of_run("b").delivered] == [("m001", "m003", "m005", "m007")]


def test_a_failed_batch_counts_one_attempt_per_user(workspace: Workspace) -> None:
    """When a batch fails, one event of each user counts the attempt and the others wait; then the batch is retried."""
    with opened(workspace, backoff=Backoff(first=60, jitter=0)) as plane:
        plane.script("crm", Answer(503, {"message": "busy"}), Answer(201, {"message": "success"}))
        plane.send([event(0, "a"), event(1, "b"), event(2, "a")], source="web")
        plane.wait(lambda: len(plane.deliveries) == 1)
        plane.advance(0)
        failed = [(f.status, f.attempts, f.outcome, f.place) for f in plane.fates]
        plane.advance(61)

        # Braze's batches are built per user
        assert failed == [("pending", 1, "retry", 0), ("pending", 1, "retry", 2), ("pending", 0, "retry", 1)]
        assert [d.events for d in plane.deliveries] == [("m000", "m002", "m001")] * 2
        assert [(f.status, f.attempts) for f in plane.fates] == [("delivered", 2), ("delivered", 2), ("delivered", 1)]


def test_a_failed_batch_holds_back_all_its_users() -> None:
    """After a failed request, the call sends nothing more for the users in that request; other users continue."""
    workspace = shop("MP")
    with opened(workspace, backoff=Backoff(first=60, jitter=0)) as plane:
        plane.script("crm", Answer(500), Answer(200))
        first = [event(0, "a"), event(1, "b")]
        people = [{"type": "identify", "userId": user, "traits": {"n": 1}, "messageId": f"i-{user}"} for user in "bc"]
        plane.send([*first, *people], source="web")
        plane.wait(lambda: len(plane.deliveries) >= 1)
        plane.advance(0)
        sent = [d.events for d in plane.deliveries]
        plane.advance(61)

        assert sent[0] == ("m000", "m001")
        assert all("i-b" not in events for events in sent)
        assert {f.status for f in plane.fates} == {"delivered"}


def test_an_aborted_batch_is_retried_one_by_one() -> None:
    """Rejected Amplitude batches are split (`dontBatch`), so one bad event does not fail the others."""
    with opened(shop("AM")) as plane:
        plane.script("crm", Answer(400, {"error": "bad"}), Answer(200), Answer(400, {"error": "bad"}), Answer(200))
        plane.send([event(n, "a") for n in range(3)], source="web")
        plane.drain()

        assert [len(d.events) for d in plane.deliveries] == [3, 1, 1, 1]
        assert [f.status for f in plane.fates] == ["delivered", "failed", "delivered"]
        assert plane.fates[1].outcome == "abort"


def test_jobs_of_one_batch_have_separate_outcomes() -> None:
    """Bloomreach answers 200 with a result per command: rejected commands fail, the others are delivered."""
    with opened(shop("BLOOMREACH")) as plane:
        results = [{"success": True}, {"success": False, "errors": ["no"]}, {"success": True}]
        plane.script("crm", Answer(200, {"success": True, "results": results}))
        plane.send([event(n) for n in range(3)], source="web")
        plane.drain()

        assert [(f.status, f.outcome, f.place) for f in plane.fates] == [
            ("delivered", "delivered", 0),
            ("failed", "abort", 1),
            ("delivered", "delivered", 2),
        ]
        assert len(plane.deliveries) == 1


def test_an_event_that_the_mapping_rejects_leaves_the_others_together(plane: DataPlane) -> None:
    """The rejected event is an aborted job without a request."""
    plane.send([event(0), event(1, type="alias"), event(2)], source="web")
    plane.drain()

    assert [d.events for d in plane.deliveries] == [("m000", "m002")]
    assert [f.status for f in plane.fates] == ["delivered", "failed", "delivered"]
    assert (plane.fates[1].by, plane.fates[1].delivery) == ("dest_transform", None)


def test_a_throttle_limits_the_jobs_of_each_window(workspace: Workspace) -> None:
    """`delivery: {throttle: {crm: {limit: 3, seconds: 20}}}`: no window has more jobs.

    Advancing the clock starts the next.
    """
    workspace.delivery.throttle = {"crm": Throttle(3, 20)}
    with opened(workspace, backoff=Backoff()) as plane:
        plane.send([event(n) for n in range(7)], source="web")
        plane.wait(lambda: plane.deliveries)
        sizes = []
        for seconds in (0, 19, 2, 21):
            plane.advance(seconds)
            sizes.append(sum(len(d.events) for d in plane.delivered))

        assert sizes == [3, 3, 6, 7]


def test_an_adaptive_throttle_follows_429_answers() -> None:
    """A window with a 429 makes the next one smaller, each quiet one larger again, but never larger than the limit."""
    workspace = Workspace("shop")
    hook = workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    workspace.delivery.throttle = {"hook": Throttle(10, 20, adaptive=True)}
    reloaded = Workspace.loads(workspace.dumps()).delivery.throttle
    workspace.source("web", destinations=[hook.key])
    with opened(workspace, backoff=Backoff(first=1000, jitter=0)) as plane:
        plane.script("hook", Answer(429, times=1), Answer(200))
        plane.send([event(n) for n in range(60)], source="web")
        plane.wait(lambda: len(plane.deliveries) == 10)
        sizes = []
        for _ in range(5):
            before = len(plane.deliveries)
            plane.advance(21)
            sizes.append(len(plane.deliveries) - before)

    assert sizes == [7, 8, 9, 10, 10]
    assert reloaded == workspace.delivery.throttle


def test_jobs_put_back_do_not_use_up_the_throttle_window() -> None:
    """Jobs put back after a slow answer were not sent, so the window still has room for them."""
    workspace = Workspace("shop")
    hook = workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    workspace.delivery.throttle = {"hook": Throttle(10, 3600)}
    workspace.source("web", destinations=[hook.key])
    with opened(workspace) as plane:
        plane.script("hook", Answer(200, times=3), Answer(200, delay=0.1, times=1), Answer(200))
        plane.send([event(n) for n in range(12)], source="web")

        plane.wait(lambda: len(plane.deliveries) == 10)


def test_a_look_up_that_fails_temporarily_is_retried(workspace: Workspace) -> None:
    """For a router type, the event waits and is delivered later; a permanently rejected look-up fails at once."""
    config = {"email": "agent@acme.example", "apiToken": "s3cr3t", "domain": "acme"}
    workspace.destination("desk", "ZENDESK", config=config)
    workspace.source("app", destinations=["desk"])
    user = {
        "type": "identify",
        "userId": "u1",
        "traits": {"email": "mira@mail.example", "name": "Mira", "plan": "plus"},
    }
    place = "https://acme.zendesk.com/api/v2/user_fields.json"
    with opened(workspace) as plane:
        plane.recorder.answer(place, Answer(503, times=2), Answer(200, {"user_fields": [{"key": "plan"}]}))
        plane.send(user, source="app")
        plane.drain()
        plane.recorder.answer(place, Answer(403))
        plane.send(user, source="app")
        plane.drain()
        patient, refused = plane.fates

        assert (patient.status, patient.attempts) == ("delivered", 3)
        assert (refused.status, refused.by, refused.attempts) == ("failed", "dest_transform", 1)
        assert "403" in refused.reason


def test_a_restart_keeps_what_is_known_about_a_job(tmp_path: Path) -> None:
    """The store has its attempts, the time of the first one, and whether the job must be sent alone."""
    workspace, store = shop("AM"), tmp_path / "plane.db"
    with opened(workspace, store=store, backoff=Backoff(first=3600)) as plane:
        plane.script("crm", Answer(400, {"error": "bad"}))
        plane.send([event(n, "a") for n in range(3)], source="web")
        plane.wait(lambda: plane.deliveries and plane.fates[0].attempts == 1)
    with opened(workspace, store=store) as plane:
        plane.drain()

        assert [d.events for d in plane.deliveries] == [("m000", "m001", "m002"), ("m000",), ("m001",), ("m002",)]
        assert [(f.status, f.attempts) for f in plane.fates] == [("delivered", 2), ("delivered", 1), ("delivered", 1)]


def test_expired_tokens_are_renewed() -> None:
    """A destination with OAuth delivers with its account; an expired token is replaced and the event retried."""
    workspace = Workspace("shop")
    workspace.account("ads", secret={"accessToken": "old-token"}, renewals=[{"accessToken": "new-token"}])
    workspace.destination("crm", "REDDIT", config={"accountId": "t2_1", "version": "v2"}, account="ads")
    workspace.source("web", write_key="web-key", destinations=["crm"])
    with opened(workspace) as plane:
        plane.script("crm", Answer(401, "Authorization Required"), Answer(200))
        plane.send(event(1, context={"traits": {"email": "a@b.example"}}), source="web")
        plane.drain()

        tokens = [r.request.headers.get("Authorization") for r in plane.recorder.requests]
        assert tokens == ["Bearer old-token", "Bearer new-token"]
        assert [f.status for f in plane.fates] == ["delivered"]
        assert "old-token" not in plane.deliveries.frame().to_csv()
