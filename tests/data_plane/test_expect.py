"""Expectations of a run over HTTP, written as in suites, which wait for events."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.server import Backoff

EVENT = {"type": "track", "event": "Order", "userId": "u1", "properties": {"total": 20}}


@pytest.fixture
def plane(workspace: Workspace) -> Iterator[DataPlane]:
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=2, scale=0)) as made:
        yield made


def expect(plane: DataPlane, run: str, expected: Any, **more: Any) -> Any:
    body = {"run": run, "expect": expected, "timeout": 60, **more}
    return plane.ingest("POST", "/inspect/expect", body=json.dumps(body).encode())


def test_a_true_expectation_passes(plane: DataPlane) -> None:
    """Across destinations or for one, with matchers; events of other runs do not count."""
    plane.send(EVENT, source="web", run="a")
    plane.send({**EVENT, "event": "Other"}, source="web", run="b")
    crm = {"crm": [{"body": {"event": "Order", "properties": {"total": {"$gt": 10}}}}]}

    assert expect(plane, "a", {"delivered": crm, "attempts": {"crm": 1, "mail": 1}}).status == 200
    assert expect(plane, "b", {"delivered": {"method": "POST"}}, destination="mail").json["verdict"] == "passed"


def test_a_false_expectation_is_reported_as_in_suites(plane: DataPlane) -> None:
    """409 lists every difference, and the cause where events have not arrived."""
    plane.script("crm", Answer(500))
    plane.send(EVENT, source="web", run="a")
    answer = expect(plane, "a", {"delivered": {"crm": [{"body": {"event": "Ordr"}}], "mail": []}}, settle=0)

    assert (answer.status, answer.json["verdict"]) == (409, "failed")
    assert [d["path"] for d in answer.json["differences"]] == [["failed"], ["delivered", "crm"], ["delivered", "mail"]]
    assert answer.json["causes"][0].startswith("crm: dead after 2 attempts in send_to_destination")


def test_an_expectation_waits_for_later_events(plane: DataPlane) -> None:
    """The expectation comes first, then the events."""
    answers: list[Any] = []
    wanted = {"delivered": {"crm": {"$length": 2}}}
    asking = threading.Thread(target=lambda: answers.append(expect(plane, "a", wanted, received=2)))
    asking.start()
    for number in range(2):
        plane.send({**EVENT, "messageId": str(number)}, source="web", run="a")
    asking.join()

    assert answers[0].status == 200, answers[0].text


def test_a_false_expectation_fails_when_nothing_is_under_way(plane: DataPlane) -> None:
    """Not at its timeout. An attempt that waits for its time is under way, and other runs do not count."""
    plane.script("crm", Answer(503), Answer(200))
    plane.send(EVENT, source="web", run="a")
    wrong = {"delivered": {"crm": [{"body": {"event": "Ordr"}}]}, "attempts": {"crm": 2}}
    others = threading.Thread(target=lambda: [plane.send(EVENT, source="web", run="b") for _ in range(20)])
    others.start()
    answer = expect(plane, "a", wrong, timeout=300, settle=0.1)  # a test has 600 seconds
    others.join()

    assert (answer.status, answer.json["message"].startswith("after")) == (409, False)
    assert [d["path"] for d in answer.json["differences"]] == [["delivered", "crm", 0, "body", "event"]]


def test_no_events_at_all_do_not_meet_an_expectation(plane: DataPlane) -> None:
    """An empty destination counts only if events were received, unless `received: 0` allows none."""
    early = expect(plane, "a", {"delivered": {"crm": []}}, timeout=0.1)

    assert (early.status, early.json["differences"][0]["path"]) == (409, ["received"])
    assert expect(plane, "a", {"delivered": {"crm": []}}, received=0).status == 200


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"expect": {}}, "expect is empty"),
        ({"expect": {"delivred": []}}, "Did you mean 'delivered'"),
        ({"expect": {"delivered": [{"bdy": 1}]}}, "a request that was delivered has no member 'bdy'"),
        ({"expect": {"delivered": {"crm": [{"body": {"$regexx": 1}}]}}}, "unknown matcher"),
        ({"expect": {"delivered": []}, "timout": 1}, "timout"),
        ({"expect": {"delivered": []}, "timeout": 1e9}, "timeout"),
        ({}, "expect"),
    ],
)
def test_mistakes_in_an_expectation_are_reported(plane: DataPlane, body: Any, says: str) -> None:
    """With 400, before any waiting."""
    answer = plane.ingest("POST", "/inspect/expect", body=json.dumps(body).encode())

    assert answer.status == 400
    assert says in answer.json["message"]


def test_an_event_can_be_copied_as_a_scenario(plane: DataPlane) -> None:
    """In the form that `record` writes: the suite passes on the same workspace and has no personal data in it."""
    plane.send({**EVENT, "context": {"traits": {"email": "ada@shop.example"}}}, source="web")
    plane.drain()
    answer = plane.ingest("GET", "/inspect/scenario?seq=1")

    assert answer.headers["content-type"].startswith("application/yaml")
    assert "ada@" not in answer.text
    assert len(plane.received) == 1
    assert "name: track Order" in answer.text
    assert plane.ingest("GET", "/inspect/scenario?seq=9").status == 404
    assert plane.ingest("GET", "/inspect/scenario?seq=x").status == 400
