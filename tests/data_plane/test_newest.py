"""The live list: the newest events as one line each, details of one event, and change notifications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.server import Backoff


@pytest.fixture
def busy(workspace: Workspace) -> Iterator[DataPlane]:
    """`m1` is dead at `mail`, `m2` is delivered, `m3` has no destination, and one event is refused."""
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=2, scale=0)) as plane:
        plane.script("mail", Answer(500), Answer(500), Answer(200))
        plane.send({"type": "track", "event": "Signed Up", "userId": "u1", "messageId": "m1"}, source="web")
        plane.drain()
        plane.send({"type": "identify", "userId": "u2", "messageId": "m2"}, source="web", run="r1")
        plane.send({"type": "page", "name": "Start", "anonymousId": "a3", "messageId": "m3"}, source="quiet")
        plane.send({"type": "track"}, source="web", run="r1")
        plane.drain()
        yield plane


def test_newest_events_come_first_with_their_fates(busy: DataPlane) -> None:
    """Each event is one line with its fate at every destination; a refusal is in the list with its reason."""
    refused, page, identify, track = busy.newest()

    assert (track.type, track.name, track.user, track.fates) == (
        "track", "Signed Up", "u1", {"crm": "delivered", "mail": "dead"},
    )  # fmt: skip
    assert (identify.fates, page.user, page.fates) == ({"crm": "delivered", "mail": "delivered"}, "a3", {})
    assert refused.refused == "400 request neither has anonymousId nor userId"


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        ({"source": "quiet"}, ["page"]),
        ({"type": "identify"}, ["identify"]),
        ({"destination": "mail"}, ["identify", "track"]),
        ({"status": "dead"}, ["track"]),
        ({"status": "dead", "destination": "crm"}, []),
        ({"status": "rejected"}, [""]),
        ({"status": "rejected", "source": "quiet"}, []),
        ({"text": "sIGned"}, ["track"]),
        ({"text": "a3"}, ["page"]),
        ({"text": "m2"}, ["identify"]),
        ({"text": "NEITHER has"}, [""]),
        ({"text": "%"}, []),
        ({"limit": 2}, ["", "page"]),
    ],
)
def test_the_list_can_be_filtered(busy: DataPlane, chosen: dict[str, Any], found: list[str]) -> None:
    """By every filter, alone and combined; a text matches part of a name, a user or a message id in any case."""
    assert [arrival.type for arrival in busy.newest(**chosen)] == found


def test_the_list_of_one_run(busy: DataPlane) -> None:
    """It has only the events and refusals of that run."""
    assert [arrival.type for arrival in busy.of_run("r1").newest()] == ["", "identify"]


def test_details_of_one_event(busy: DataPlane) -> None:
    """The event, its fates with reasons, and every request made for it."""
    track = busy.newest(type="track")[0]

    found = busy.about(track.seq)

    assert found["events"][0]["event"]["event"] == "Signed Up"
    assert {fate["destination"]: fate["reason"] for fate in found["fates"]} == {
        "crm": "",
        "mail": "the destination answered 500",
    }
    assert [(made["destination"], made["status"]) for made in found["deliveries"] if made["destination"] == "mail"] == [
        ("mail", 500),
        ("mail", 500),
    ]
    assert found["rejected"] == []


def test_a_missing_event_has_empty_details(busy: DataPlane) -> None:
    """An event that was never received or is no longer kept is not an error."""
    assert set(map(len, busy.about(10_000).values())) == {0}


def test_secrets_are_masked() -> None:
    """A destination's secret is masked wherever it occurs in an event, a request or an answer."""
    workspace = Workspace("shop")
    headers = [{"from": "X-Key", "to": "s3cr3t-k3y"}]
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in", "headers": headers})
    workspace.source("web", destinations=["hook"])
    with DataPlane(workspace, listen=False) as plane:
        plane.send({"type": "track", "event": "has s3cr3t-k3y", "userId": "u"}, source="web")
        plane.drain()

        shown = repr([plane.newest(), plane.about(1)])

    assert "k3y" not in shown
    assert "has ••••" in shown
    assert "'x-key': '••••'" in shown.lower()


def test_totals_count_outcomes(busy: DataPlane) -> None:
    """Counts since the start: received, refused, and the outcomes per destination."""
    found = busy.totals()

    assert (found.received, found.rejected) == (3, 1)
    assert found.fates == {"crm": {"delivered": 2}, "mail": {"delivered": 1, "dead": 1}}


def test_totals_include_pending_events(workspace: Workspace) -> None:
    """An event that waits for its next attempt counts as pending."""
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=1000)) as plane:
        plane.script("mail", Answer(503))
        plane.send({"type": "track", "event": "E", "userId": "u1"}, source="web")
        plane.wait(lambda: plane.totals().fates["crm"] == {"delivered": 1})

        assert plane.totals().fates["mail"] == {"pending": 1}


def test_listeners_get_every_kind_of_change(workspace: Workspace) -> None:
    """Until they unsubscribe or the data plane ends."""
    told: list[str] = []
    with DataPlane(workspace, listen=False) as plane:
        plane.watch(lambda kind, _: told.append(kind))
        unwatch = plane.watch(lambda kind, _: told.append(f"2 {kind}"))
        plane.send({"type": "track"}, source="web")
        unwatch()
        plane.send({"type": "track", "event": "E", "userId": "u"}, source="web")
        plane.drain()

    assert [kind for kind in told if kind.startswith("2 ")] == ["2 rejected"]
    assert {"rejected", "received", "delivery", "fate"} < set(told)
    assert told[-1] == "end"
