"""A destination type can define what answers mean, per request and for the account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from svctoolkit import CATALOGUE, DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.destinations import Delivery, DestinationType, Outcome, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.pipeline.fates import NOTHING_SENT
from svctoolkit.server import Backoff


class HarborSettings(Settings, frozen=True, kw_only=True):
    """No settings."""


def harbor(*, judges: bool) -> DestinationType:
    """A type with one request per item of `properties.at`; its judge reads the verdict from the answer's body."""
    kind = DestinationType("Harbor", HarborSettings)

    @kind.on("track")
    def send_visits(event: Event, settings: HarborSettings) -> list[Payload]:
        return [
            Payload(endpoint=f"https://harbor.example/{at}", headers={"x-at": at})
            for at in event.raw["properties"]["at"]
        ]

    if judges:

        @kind.judge
        def judge(delivery: Delivery) -> Outcome | None:
            body = delivery.reply.body
            return Outcome(**body) if body["outcome"] else None

    return kind


@pytest.fixture(params=[True], ids=["judges"])
def plane(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[DataPlane]:
    """The source `web` sends to `harbor` with an account, and `other` to `quay` without; both types judge answers."""
    monkeypatch.setattr(CATALOGUE, "_added", {"HARBOR": harbor(judges=request.param)})
    workspace = Workspace("shop")
    workspace.account("port", secret={"accessToken": "old"}, renewals=[{"accessToken": "new"}])
    workspace.destination("harbor", "HARBOR", account="port")
    workspace.destination("quay", "HARBOR")
    workspace.source("web", destinations=["harbor"])
    workspace.source("other", destinations=["quay"])
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0, attempts=3)) as plane:
        yield plane


def send(plane: DataPlane, *places: str, source: str = "web") -> list[tuple[str, int]]:
    """Send one event; return the targets of its requests and the answers."""
    plane.send({"type": "track", "event": "E", "userId": "u", "properties": {"at": places}}, source=source)
    plane.drain()
    return [(delivery.payload["headers"]["x-at"], delivery.status) for delivery in plane.deliveries]


def fate(plane: DataPlane) -> tuple[str, str, str, int, str]:
    [fate] = plane.fates
    return fate.status, fate.by, fate.reason, fate.attempts, fate.outcome


def test_an_answer_that_its_type_cannot_read_is_retried(plane: DataPlane) -> None:
    """As RudderStack does; in the end the reason says so and quotes the answer."""
    plane.script("harbor", Answer(200, {"outcome": "delivered"}), Answer(200, "odd", times=3))
    sent = send(plane, "a", "b")

    assert sent == [("a", 200), ("b", 200), ("b", 200), ("b", 200)]
    reason = "the destination's answer cannot be read: the destination answered 200: odd"
    assert fate(plane) == ("dead", "send_to_destination", reason, 3, "retry")


def test_a_failed_connection_is_not_judged(plane: DataPlane) -> None:
    """It is retried for its own reason, whatever the type reads in answers."""
    plane.script("harbor", Answer(close=True), Answer(200, {"outcome": "delivered", "message": "late"}))

    assert [status for _, status in send(plane, "a")][1:] == [200]
    assert fate(plane) == ("delivered", "", "late", 2, "delivered")


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({"outcome": "abort", "message": "no berth"}, 200, ("failed", "send_to_destination", "no berth", 1, "abort")),
        ({"outcome": "throttle"}, 200, ("dead", "send_to_destination", "", 3, "throttle")),
        ({"outcome": "retry"}, 400, ("dead", "send_to_destination", "", 3, "retry")),
        ({"outcome": "delivered"}, 400, ("delivered", "", "", 1, "delivered")),
        ({"outcome": ""}, 200, ("delivered", "", "", 1, "delivered")),
        ({"outcome": "", "message": "full"}, 400,
         ("failed", "send_to_destination", "the destination answered 400: full", 1, "abort")),
    ],
)  # fmt: skip
def test_a_type_judges_its_answers(
    plane: DataPlane, body: dict[str, Any], status: int, expected: tuple[str, str, str, int, str]
) -> None:
    """By its own rules, whatever the status; if it gives no verdict, the status decides."""
    plane.script("harbor", Answer(status, body))
    send(plane, "a")

    assert fate(plane) == expected


def test_a_faulty_judge_fails_only_its_event(plane: DataPlane) -> None:
    """An unforeseen exception is reported as a fault of svctoolkit with its text; the next event is delivered."""
    two = Answer(200, {"outcome": "delivered", "jobs": [{"outcome": "delivered"}, {"outcome": "delivered"}]})
    plane.script("harbor", two, Answer(200, {"outcome": "delivered"}))
    send(plane, "a")

    status, by, reason, _, outcome = fate(plane)
    assert (status, by, outcome) == ("failed", "svctoolkit", "")
    assert reason.startswith("this is a bug in svctoolkit: ")
    assert send(plane, "b")[-1] == ("b", 200)
    assert plane.fates[-1].status == "delivered"


@pytest.mark.parametrize("plane", [False], indirect=True, ids=["plain"])
def test_each_of_several_requests_is_delivered_once(plane: DataPlane) -> None:
    """Nothing is sent after one that must be retried; after a rejected one the others are sent, but the event fails."""
    plane.script("harbor", Answer(200), Answer(503), Answer(200), Answer(400, {"message": "no"}), Answer(200))

    assert send(plane, "a", "b", "c", "d") == [("a", 200), ("b", 503), ("b", 200), ("c", 400), ("d", 200)]
    assert fate(plane) == ("failed", "send_to_destination", "the destination answered 400: no", 2, "abort")


@pytest.mark.parametrize("plane", [False], indirect=True, ids=["plain"])
def test_an_event_without_requests_is_filtered(plane: DataPlane) -> None:
    """It has the reason, and nothing is sent."""
    assert send(plane) == []
    assert fate(plane) == ("filtered", "dest_transform", NOTHING_SENT, 1, "")


@pytest.mark.parametrize(("auth", "renewed", "active"), [
    ("REFRESH_TOKEN", 1, True), ("AUTH_STATUS_INACTIVE", 0, False), ("", 0, True),
])  # fmt: skip
@pytest.mark.parametrize("source", ["web", "other"])
def test_an_answer_may_change_the_state_of_the_account(
    plane: DataPlane, source: str, auth: str, renewed: int, active: bool
) -> None:
    """Its token is renewed, or it is disabled; a destination without an account ignores such answers."""
    answer = Answer(200, {"outcome": "abort", "message": "who?", "auth": auth})
    plane.script("harbor" if source == "web" else "quay", answer)
    send(plane, "a", source=source)

    account = plane.workspace.account("port")
    assert fate(plane) == ("failed", "send_to_destination", "who?", 1, "abort")
    expected = (renewed, active) if source == "web" else (0, True)
    assert (account.renewed, account.active) == expected


HOOK = {"webhookUrl": "https://hook.example/in", "webhookMethod": "POST"}


@pytest.fixture
def hook() -> Iterator[DataPlane]:
    """The source `web` sends to a webhook."""
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config=HOOK)
    workspace.source("web", destinations=["hook"])
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0, attempts=1)) as plane:
        yield plane


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("no\nberth", ": no\nberth"),
        ("x" * 300, ": " + "x" * 200),
        ({"error": "no berth", "message": "other"}, ": no berth"),
        ({"error": {"message": "no berth"}}, ": no berth"),
        ({"error": {"code": 7}}, ""),
        ({"error": 7}, ""),
        ({"message": "no berth"}, ": no berth"),
        (["no berth"], ""),
    ],
)
def test_a_refusal_quotes_the_destination(hook: DataPlane, body: Any, says: str) -> None:
    """The beginning of the answer's text, or of the usual message fields of its JSON."""
    hook.script("hook", Answer(400, body))
    hook.send({"type": "track", "event": "E", "userId": "u"}, source="web")
    hook.drain()

    assert fate(hook) == ("failed", "send_to_destination", f"the destination answered 400{says}", 1, "abort")


def test_an_exchange_is_kept_unchanged(hook: DataPlane) -> None:
    """The payload, the request with its body, the answer with its headers; for a failed connection, the reason."""
    hook.script("hook", Answer(200, {"id": 7}, headers={"x-berth": "4"}), Answer(close=True))
    for name in ("A", "B"):
        hook.send({"type": "track", "event": name, "userId": "u", "messageId": name}, source="web")
        hook.drain()
    first, second = hook.deliveries

    request = first.request
    assert (first.attempt, first.status, first.response, first.headers["x-berth"]) == (1, 200, {"id": 7}, "4")
    assert (request.method, request.url) == ("POST", HOOK["webhookUrl"])
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == first.payload["body"]["JSON"]
    assert first.payload["body"]["JSON"]["event"] == "A"
    assert (first.error, second.status, bool(second.error)) == ("", 500, True)
    assert (hook.fates[1].status, hook.fates[1].reason) == ("dead", second.error)


BRAZE = {"restApiKey": "k-1", "dataCenter": "EU-01", "appKey": "a-1"}


@pytest.mark.parametrize(
    ("answers", "fates"),
    [
        ([201, 201], {"delivered"}),
        ([400], {"failed"}),
        ([201, 400], {"failed"}),
        ([201, 503, 201, 201], {"delivered"}),
    ],
)
def test_events_that_share_several_requests_need_all_of_them(answers: list[int], fates: set[str]) -> None:
    """The first rejected request ends the call's batch; one that is retried takes the others with it."""
    workspace = Workspace("shop")
    workspace.destination("crm", "BRAZE", config=BRAZE)
    workspace.source("web", destinations=["crm"])
    events: list[dict[str, Any]] = [
        {"type": "track", "event": "E", "userId": "a", "messageId": "track"},
        {"type": "alias", "userId": "b", "previousId": "c", "messageId": "alias"},
    ]
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0)) as plane:
        plane.script("crm", *map(Answer, answers))
        plane.send(events, source="web")
        plane.drain()

        assert [delivery.status for delivery in plane.deliveries] == answers
        assert {fate.status for fate in plane.fates} == fates


def test_warehouse_rows_are_exchanges_without_a_request(hook: DataPlane) -> None:
    """Each loaded row is listed with its event: target, content, and that it was accepted."""
    hook.workspace.destination("wh", "POSTGRES", config={"password": "s3cret-password"})
    hook.workspace.source("shop", destinations=["wh"])
    hook.send({"type": "track", "event": "E", "userId": "u", "messageId": "m1"}, source="shop")
    hook.drain()

    rows = [(d.status, d.attempt, d.part, d.request.method, d.request.url, d.events) for d in hook.deliveries]
    assert rows == [(200, 1, n, "LOAD", f"wh/{table}", ("m1",)) for n, table in enumerate(("tracks", "e"))]
    assert [d.response for d in hook.deliveries] == [{"table": table, "staged": 1} for table in ("tracks", "e")]
    assert [d.payload["table"] for d in hook.deliveries] == ["tracks", "e"]
    assert {(d.error, d.milliseconds, len(d.headers)) for d in hook.deliveries} == {("", 0.0, 0)}
    assert fate(hook) == ("delivered", "", "", 1, "delivered")
