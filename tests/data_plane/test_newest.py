"""Looking on while events come in: the newest ones in a line each, everything about one, and being told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.server import Backoff


@pytest.fixture
def busy(workspace: Workspace) -> Iterator[DataPlane]:
    """`m1` is dead at `mail`, `m2` delivered, `m3` goes nowhere, and one event is refused."""
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=2, scale=0)) as plane:
        plane.script("mail", Answer(500), Answer(500), Answer(200))
        plane.send({"type": "track", "event": "Signed Up", "userId": "u1", "messageId": "m1"}, source="web")
        plane.drain()
        plane.send({"type": "identify", "userId": "u2", "messageId": "m2"}, source="web", run="r1")
        plane.send({"type": "page", "name": "Start", "anonymousId": "a3", "messageId": "m3"}, source="quiet")
        plane.send({"type": "track"}, source="web", run="r1")
        plane.drain()
        yield plane


def test_newest_first_with_fates(busy: DataPlane) -> None:
    """Each event is one line with its fate at every destination; a refusal stands among them with its reason."""
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
def test_newest_chooses(busy: DataPlane, chosen: dict[str, Any], found: list[str]) -> None:
    """Every filter, alone and together; a text is part of a name, a user or a message id, in any case."""
    assert [arrival.type for arrival in busy.newest(**chosen)] == found


def test_newest_of_a_run(busy: DataPlane) -> None:
    """The view of a run has that run's events and refusals only."""
    assert [arrival.type for arrival in busy.of_run("r1").newest()] == ["", "identify"]


def test_everything_about_one(busy: DataPlane) -> None:
    """The event, its fates with reasons, and every request that was made for it."""
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


def test_nothing_about_what_is_not_there(busy: DataPlane) -> None:
    """An event that is not kept (any more) has nothing to show, and that is no error."""
    assert set(map(len, busy.about(10_000).values())) == {0}


def test_secrets_are_masked() -> None:
    """A destination's secret is masked where it stands in an event, in a request and in an answer."""
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


def test_totals(busy: DataPlane) -> None:
    """Counts since the start: received, refused, and by destination what became of the events."""
    found = busy.totals()

    assert (found.received, found.rejected) == (3, 1)
    assert found.fates == {"crm": {"delivered": 2}, "mail": {"delivered": 1, "dead": 1}}


def test_totals_of_what_is_pending(workspace: Workspace) -> None:
    """An event that waits for its next attempt is pending, and counts as such."""
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=1000)) as plane:
        plane.script("mail", Answer(503))
        plane.send({"type": "track", "event": "E", "userId": "u1"}, source="web")
        plane.wait(lambda: plane.totals().fates["crm"] == {"delivered": 1})

        assert plane.totals().fates["mail"] == {"pending": 1}


def test_watching(workspace: Workspace) -> None:
    """Who watches is told of every kind of change, until they do not want to be told any more, or the end."""
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
