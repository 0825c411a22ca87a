"""Answers of the recorder that depend on the request, with the words of suites."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from svctoolkit import DataPlane
from svctoolkit.delivery import Answer, HttpRequest, Recorder
from svctoolkit.delivery.recorder.script import MOST_CONDITIONS
from svctoolkit.errors import ToolkitError, UsageError
from tests.data_plane.test_control import admin
from tests.test_runner_send import outcomes

PAID = {"type": "track", "event": "Paid", "userId": "u1"}
SEEN = {"type": "track", "event": "Seen", "userId": "u1"}
ON_PAID = {"method": "POST", "path": {"$ends": "/in"}, "body": {"event": {"$regex": "^Pa"}}}


def sent(recorder: Recorder, body: Any, path: str = "in") -> int:
    content = {"content-type": "application/json"}
    request = HttpRequest("POST", f"https://crm.example/{path}?v=2", content, json.dumps(body).encode())
    return recorder.exchange(request, timeout=1, destination="crm").status


def test_only_matching_requests_get_an_answer_with_a_condition(plane: DataPlane) -> None:
    """Others get the answers without a condition, and then the default."""
    plane.script("crm", Answer(402, when=ON_PAID))
    plane.send([SEEN, PAID, SEEN], source="web")
    plane.drain()

    assert [d.status for d in plane.deliveries if d.destination == "crm" and d.attempt == 1] == [200, 402, 200]


def test_answers_with_the_same_condition_are_a_sequence() -> None:
    """Each is used once, the last one from then on; answers without a condition are another sequence."""
    recorder = Recorder()
    slow = {"path": "/slow"}
    recorder.script("crm", Answer(503, when=slow), Answer(429), Answer(201, when=slow), Answer(200))

    assert [sent(recorder, {}, path) for path in ("slow", "in", "slow", "slow", "in")] == [503, 429, 201, 201, 200]


@pytest.mark.parametrize(
    ("when", "is_met"),
    [
        ({"query": {"v": "2"}}, True),
        ({"headers": {"Content-Type": {"$starts": "application/"}}}, True),
        ({"url": {"$regex": "^https://crm"}}, True),
        ({"body": {"items": {"$contains": {"sku": "A"}}}}, True),
        ({"body": {"items": {"$length": 3}}}, False),
        ({"body": {"total": {"$gt": 9}}, "method": "PUT"}, False),
    ],
)
def test_conditions_are_expectations(when: dict[str, Any], is_met: bool) -> None:
    """They see a request as `delivered` of a suite does."""
    recorder = Recorder()
    recorder.script("crm", Answer(418, when=when))

    assert sent(recorder, {"items": [{"sku": "A"}, {"sku": "B"}], "total": 10}) == (418 if is_met else 200)


@pytest.mark.parametrize(
    ("when", "problem"),
    [
        ({}, "when: must be an object with some of method, url, path, query, headers, body"),
        ({"bdy": {}}, "when.bdy: a request has no member 'bdy'. Did you mean 'body'?"),
        ({"body": {"a": {"$regex": "("}}}, "when.body.a.$regex: $regex must be a valid pattern"),
        ({"body": {"$snapshot": "x"}}, "when.body.$snapshot: $snapshot is only for expectations"),
    ],
)
def test_mistakes_are_reported_with_their_place(plane: DataPlane, when: dict[str, Any], problem: str) -> None:
    """In Python and over HTTP."""
    with pytest.raises(UsageError) as error:
        plane.script("crm", Answer(503, when=when))
    refused = admin(plane, "recorder/crm", {"answers": [{"status": 503, "when": when}]})

    assert str(error.value).startswith(problem)
    assert refused.status == 400
    assert problem in json.loads(refused.body)["message"]


def test_conditions_over_http(plane: DataPlane) -> None:
    """They are shown with the next answers of a destination."""
    set_ = admin(plane, "recorder/crm", {"answers": [{"status": 402, "when": ON_PAID, "times": 2}], "run": "a"})
    plane.send([PAID, SEEN], source="web", run="a")
    plane.drain()
    states = json.loads(plane.ingest("GET", "/inspect/destinations?run=a").body)

    assert set_.status == 200
    assert [d.status for d in plane.deliveries if d.destination == "crm" and d.attempt == 1] == [402, 200]
    assert [answer["when"] for answer in states["items"][0]["answers"]] == [ON_PAID]


def test_patterns_are_limited_together() -> None:
    """However many conditions with slow patterns a script has, a request is answered in bounded time."""
    recorder = Recorder()
    slow = [Answer(500, when={"body": {"text": {"$regex": f"^(a|aa)+$|x{n}"}}}) for n in range(40)]
    recorder.script("crm", *slow)
    began = process_time()

    assert sent(recorder, {"text": "a" * 200 + "!"}) == 200
    assert process_time() - began < 10


def test_the_number_of_conditions_is_limited() -> None:
    """A script with more is rejected."""
    with pytest.raises(UsageError, match=f"may have {MOST_CONDITIONS} conditions, not 101"):
        Recorder().script("crm", *(Answer(when={"path": f"/{n}"}) for n in range(MOST_CONDITIONS + 1)))


SUITE = """\
destinations:
  crm: {type: WEBHOOK, config: {webhookUrl: https://crm.example/in}}
sources:
  web: {destinations: [crm]}
scenarios:
  - name: a payment is refused
    recorder:
      crm:
        - {status: 402, when: {body: {event: %s}}}
    source: web
    send: [{type: track, event: Seen, userId: u1}, {type: track, event: Paid, userId: u1}]
    expect:
      delivered: [{body: {event: Seen}}]
      failed: [{status: 402}]
"""


def test_conditions_in_a_suite(tmp_path: Path) -> None:
    """An answer that no request got fails the scenario, and a mistake has its place in the file."""
    path = tmp_path / "s.suite.yaml"
    path.write_text(SUITE % "Paid")
    (good,) = outcomes(path)
    both = (SUITE % "Piad").replace("      failed: [{status: 402}]\n", "")
    path.write_text(both.replace("[{body: {event: Seen}}]", "{$length: 2}"))
    (idle,) = outcomes(path)
    path.write_text(SUITE % "{$regexx: P}")
    with pytest.raises(ToolkitError) as error:
        outcomes(path)

    assert (good.status, [str(difference) for difference in good.differences]) == ("passed", [])
    assert [str(d) for d in idle.differences] == ["recorder: no request to crm got response 1 of 1"]
    assert "s.suite.yaml:9:47: unknown matcher '$regexx'. Did you mean $regex?" in str(error.value)
