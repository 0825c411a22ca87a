"""The same answer has the same outcome in a data plane, in a replay and in the Test API: the type's judge decides."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from svctoolkit import DataPlane, Pipeline, Workspace, runner
from svctoolkit.delivery import Answer, Delivered, HttpRequest, HttpResponse
from svctoolkit.destinations import CATALOGUE, Context, Example, OutcomeExample
from svctoolkit.pipeline import Stages
from svctoolkit.pipeline.fates import Fate, pass_many
from svctoolkit.pipeline.judging import judge_each
from svctoolkit.replay import replay
from svctoolkit.server import Backoff
from svctoolkit.simulations import is_simulated
from tests.catalogue import examples, outcome_examples

SEND = Stages(send_to_destination=True)
JUDGING = [name for name in CATALOGUE if CATALOGUE[name].judges]
NOW = datetime.fromisoformat("2026-01-15T10:10:00+00:00")
CLEVERTAP = {"accountId": "A", "passcode": "P", "trackAnonymous": True, "region": "none"}
REFUSED = Answer(
    200, {"status": "fail", "unprocessed": [{"status": "fail", "code": 509, "error": "Event Name is incorrect"}]}
)
BOUGHT = {"type": "track", "event": "Bought", "userId": "u1", "messageId": "m1"}


def workspace(name: str, example: Example, level: Any = "answers") -> Workspace:
    shop, config = Workspace("shop"), example.config
    secret = example.metadata.get("secret") or {"access_token": "t", "accessToken": "t", "developer_token": "d"}
    shop.account("main", secret=secret)
    uses = {"account": "main"} if level == "answers" else {}
    shop.destination("d", name, config=config, simulate=level, **uses)
    shop.source("web", destinations=["d"])
    return shop


class Vendor:
    """A transport that answers look-ups as an example does, and every delivery with one answer."""

    def __init__(self, example: Example, answer: Answer) -> None:
        self.lookups = {(asked.method, asked.url.partition("?")[0].lower()): asked for asked in example.lookups}
        self.answer = answer

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        asked = self.lookups.get((request.method, request.url.partition("?")[0].lower()))
        if asked is not None:
            return Answer(asked.status, asked.body).response()
        return self.answer.response()


def at_plane(shop: Workspace, event: dict[str, Any], transport: Vendor | None) -> Fate:
    """The outcome without retries. The event becomes what the gateway made of it, as recorded events are."""
    once = Backoff(attempts=1, scale=0)
    with DataPlane(shop, listen=False, backoff=once, clock=lambda: NOW, transport=transport) as plane:
        plane.send(event, source="web")
        plane.drain()
        (fate,), (received,) = plane.fates, plane.received
    event.update(received.event)
    status: Any = "failed" if fate.status == "dead" else fate.status
    return Fate(status, fate.by, fate.reason)


def in_replay(shop: Workspace, event: dict[str, Any], transport: Vendor | None) -> Fate:
    pipeline = Pipeline(shop, transport=transport, context=Context(clock=lambda: NOW))
    to = pipeline.route(shop.destinations["d"])
    sender, context = pipeline.sender(to), pipeline.context_of(to)
    lookup = pipeline.lookup_of(to, "", event)
    context = context if lookup is None else replace(context, lookup=lookup)
    (passage,) = pass_many([event], to, SEND, sender, [context], shop.sources["web"], [None])
    return Fate(*passage.fate[:3])


def sendable(name: str) -> Example | None:
    """An example of an event that is sent; None for types that only get records of warehouse sources."""
    example = next((example for example in examples(name) if example.payloads), None)
    event = {"messageId": "m1", "anonymousId": "a1", **example.event} if example else {}
    return replace(example, event=event) if example else None


def answer_of(example: OutcomeExample) -> Answer:
    return Answer(example.status, "" if example.answer is None else example.answer, times=None)


@pytest.mark.parametrize("name", [name for name in JUDGING if sendable(name)])
def test_plane_and_replay_judge_alike(name: str) -> None:
    """Every recorded answer of the type, as the answer to one event."""
    example = sendable(name)
    assert example is not None
    shop = workspace(name, example)
    for outcome in outcome_examples(name):
        vendors = [Vendor(example, answer_of(outcome)) for _ in range(2)]
        event = dict(example.event)
        plane, replayed = at_plane(shop, event, vendors[0]), in_replay(shop, event, vendors[1])

        assert (outcome.name, replayed) == (outcome.name, plane)
        assert replayed.by in ("", "send_to_destination"), replayed


@pytest.mark.parametrize("name", JUDGING)
def test_recorded_answers_are_judged_by_their_type(name: str) -> None:
    """Also those of types that only get records: a status alone is never enough."""
    shop = workspace(name, examples(name)[0])
    to = Pipeline(shop).route(shop.destinations["d"])
    for example in outcome_examples(name):
        if example.jobs == 1 and not example.alone:
            payload = {"endpoint": example.endpoint, "body": {"JSON": example.request}}
            answer = Delivered(example.status, example.answer, HttpRequest("POST", example.endpoint))

            assert (example.name, judge_each(to, [payload], [answer])[0].outcome) == (example.name, example.outcome)


@pytest.mark.parametrize("name", [name for name in CATALOGUE if is_simulated(name)])
def test_plane_and_replay_judge_simulated_servers_alike(name: str) -> None:
    """Each example of the type, at its simulated server that refuses all that the vendor does."""
    for example in examples(name):
        event = {"messageId": "m1", "anonymousId": "a1", **example.event}
        if example.payloads and event["type"] != "record" and event["anonymousId"]:  # the gateway accepts it
            shop = workspace(name, example, "strict")
            plane, replayed = at_plane(shop, event, None), in_replay(shop, event, None)

            assert (example.name, replayed) == (example.name, plane)


@pytest.mark.parametrize(
    ("expected", "status"),
    [
        ("{send_to_destination: {status: 200}}", "failed"),
        ("{send_to_destination: {response: {status: fail}}}", "passed"),
        ("{dest_transform: {$length: 1}}", "failed"),
    ],
)
def test_a_suite_that_does_not_expect_the_refusal_fails(expected: str, status: str) -> None:
    """A status of success is none if the response refuses the event."""
    shop = workspace("CLEVERTAP", Example(name="", config=CLEVERTAP, event=BOUGHT))
    answer = f"recorder: {{d: {{status: 200, body: {json.dumps(REFUSED.body)}}}}}"
    step = f"destination: d, event: {json.dumps(BOUGHT)}, stages: {{send_to_destination: true}}"
    suite = runner.loads(f"scenarios:\n- {{name: a, {answer}, {step}, expect: {expected}}}\n", shop)
    with runner.open_planes(limit=60) as planes:
        (outcome,) = [n for n in runner.run(suite.scenarios, planes) if isinstance(n, runner.Outcome)]

    assert outcome.status == status, runner.explanation(outcome)


def test_every_front_door_calls_a_refusal_with_status_200_a_failure() -> None:
    """The replay, the Test API in process and over HTTP with its frame, and a suite that names no failure."""
    example = Example(name="", config=CLEVERTAP, event=BOUGHT)
    shop = workspace("CLEVERTAP", example)
    vendor = Vendor(example, REFUSED)
    result = Pipeline(shop, transport=vendor).test_destination("d", BOUGHT, stages=SEND)

    assert replay([BOUGHT], shop, stages=SEND, transport=vendor).counts == {"d": {"failed": 1}}
    assert not result.ok
    assert [(f.rule, f.error) for f in result.failures()] == [("CLEVERTAP.http-200.fail", "HTTP 200")]
    answer = f"recorder: {{d: {{status: 200, body: {json.dumps(REFUSED.body)}}}}}"
    step = f"destination: d, event: {json.dumps(BOUGHT)}, stages: {{send_to_destination: true}}"
    suite = f"scenarios:\n- {{name: a, {answer}, {step}, expect: {{dest_transform: {{$length: 1}}}}}}\n"
    with runner.open_planes(limit=60) as planes:
        notices = [*runner.run(runner.loads(suite, shop).scenarios, planes)]
    (outcome,) = [notice for notice in notices if isinstance(notice, runner.Outcome)]

    assert outcome.status == "failed"
    assert "the destination answered 200: Event Name is incorrect" in runner.explanation(outcome)
