"""The same answer has the same outcome in a data plane, in a replay and in the Test API: the type's judge decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from svctoolkit import DataPlane, Pipeline, Workspace, runner, simulations
from svctoolkit.delivery import Answer, Delivered, HttpRequest, HttpResponse, Transport
from svctoolkit.destinations import CATALOGUE, Context, Example, OutcomeExample
from svctoolkit.pipeline import Stages
from svctoolkit.pipeline.fates import Fate, pass_many
from svctoolkit.pipeline.judging import judge, judge_alone
from svctoolkit.pipeline.simulated import read_request
from svctoolkit.pytest_plugin import assert_delivered
from svctoolkit.replay import replay
from svctoolkit.server import Backoff
from svctoolkit.simulations import is_simulated
from svctoolkit.workspace import Calls
from tests.catalogue import batch_examples, examples, outcome_examples

SEND = Stages(send_to_destination=True)
JUDGING = [name for name in CATALOGUE if CATALOGUE[name].judges]
NOW = datetime.fromisoformat("2026-01-15T10:10:00+00:00")
CLEVERTAP = {"accountId": "A", "passcode": "P", "trackAnonymous": True, "region": "none"}
REFUSED = Answer(
    200, {"status": "fail", "unprocessed": [{"status": "fail", "code": 509, "error": "Event Name is incorrect"}]}
)
BOUGHT = {"type": "track", "event": "Bought", "userId": "u1", "messageId": "m1"}
#: types whose judge reads errors only: RudderStack takes every 2xx of theirs as success
ERRORS_ONLY = {
    "ALGOLIA",
    "AM",
    "AMAZON_AUDIENCE",
    "CRITEO_AUDIENCE",
    "INTERCOM",
    "INTERCOM_V2",
    "LINKEDIN_ADS",
    "REDDIT",
    "SNAPCHAT_CUSTOM_AUDIENCE",
}
STATUSES = (200, 201, 207, 301, 400, 401, 403, 404, 408, 409, 422, 429, 500, 503)
#: answers that any vendor, or a proxy before it, may give
BODIES: Sequence[Any] = (
    "",
    "Service Unavailable",
    "<html><body>Sorry</body></html>",
    {},
    [],
    {"error": {"code": 190, "message": "refused", "error_user_title": "Refused"}},
    {"errors": [{"code": "1", "message": "refused"}], "success": False},
    {"status": "error", "message": "refused"},
    [{"errorCode": "REFUSED", "message": "refused"}],
)


def workspace(name: str, example: Example, level: Any = "answers") -> Workspace:
    shop, config = Workspace("shop"), example.config
    secret = example.metadata.get("secret") or {"access_token": "t", "accessToken": "t", "developer_token": "d"}
    shop.account("main", secret=secret)
    uses: dict[str, Any] = {"account": "main"} if level == "answers" else {}
    shop.destination("d", name, config=config, simulate=level, **uses)
    shop.source("web", destinations=["d"])
    return shop


class Vendor:
    """A transport that answers look-ups as an example does, and every delivery with one answer.

    Without `answer`, `server` answers them.
    """

    def __init__(
        self, example: Example, answer: Answer | None, server: Callable[[HttpRequest], Answer | None] | None = None
    ) -> None:
        self.lookups = {(asked.method, asked.url.partition("?")[0].lower()): asked for asked in example.lookups}
        self.answer, self.server = answer, server

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        asked = self.lookups.get((request.method, request.url.partition("?")[0].lower()))
        if asked is not None:
            return Answer(asked.status, asked.body).response()
        answer = self.server(request) if self.server else self.answer
        return (answer or Answer()).response()


def at_plane(
    shop: Workspace, events: Sequence[dict[str, Any]], transport: Transport | None, attempts: int = 1
) -> list[Fate]:
    """The outcome of events that are sent together. They become what the gateway made of them, as recorded events."""
    few = Backoff(attempts=attempts, scale=0)
    with DataPlane(shop, listen=False, backoff=few, clock=lambda: NOW, transport=transport) as plane:
        plane.send([*events], source="web")
        plane.drain()
        fates, received = [*plane.fates], [*plane.received]
    for event, stored in zip(events, received, strict=True):
        event.update(stored.event)
    statuses: list[Any] = ["failed" if fate.status == "dead" else fate.status for fate in fates]
    return [Fate(status, fate.by, fate.reason) for status, fate in zip(statuses, fates, strict=True)]


def in_replay(shop: Workspace, event: dict[str, Any], transport: Transport | None) -> Fate:
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


def other_answers(name: str, count: int) -> list[Answer]:
    """A sample of the type's recorded answers and of any vendor's, with other statuses. Each type has its own seed."""
    bodies = [*BODIES, *(answer_of(example).body for example in outcome_examples(name))]
    pairs = [(status, body) for status in STATUSES for body in bodies]
    return [Answer(status, body, times=None) for status, body in Random(name).sample(pairs, count)]


SENDABLE = [name for name in CATALOGUE if sendable(name)]


@pytest.mark.parametrize("name", SENDABLE)
def test_plane_and_replay_judge_alike(name: str) -> None:
    """Every recorded answer of a type, and others, as the answer to one event."""
    example = sendable(name)
    assert example is not None
    shop = workspace(name, example)
    recorded = [answer_of(outcome) for outcome in outcome_examples(name)]
    for answer in [*recorded, *other_answers(name, 6 if name in JUDGING else 1)]:
        vendors = [Vendor(example, answer) for _ in range(2)]
        event = dict(example.event)
        (plane,), replayed = at_plane(shop, [event], vendors[0]), in_replay(shop, event, vendors[1])

        assert (answer, replayed) == (answer, plane)
        assert replayed.by in ("", "send_to_destination"), replayed


@pytest.mark.parametrize("name", JUDGING)
def test_recorded_answers_are_judged_by_their_type(name: str) -> None:
    """Also those of types that only get records: a status alone is never enough.

    The data plane calls `judge` with the jobs of a request, a replay `judge_alone` with each request of a job.
    """
    shop = workspace(name, examples(name)[0])
    to = Pipeline(shop).route(shop.destinations["d"])
    for example in outcome_examples(name):
        payload = {"endpoint": example.endpoint, "body": {"JSON": example.request}}
        answer = Delivered(example.status, example.answer, HttpRequest("POST", example.endpoint))
        metadata = [{"dontBatch": example.alone}] * example.jobs
        jobs = judge(to, payload, answer, [*range(example.jobs)], metadata).jobs
        wanted = example.each or [example.outcome] * example.jobs

        assert (example.name, [job.outcome for job in jobs]) == (example.name, wanted)
        if example.jobs == 1 and not example.alone:
            alone = judge_alone(to, payload, answer)
            assert (alone.outcome, alone.reason) == (jobs[0].outcome, jobs[0].message)


@pytest.mark.parametrize("name", JUDGING)
def test_one_job_is_judged_alike_with_any_answer(name: str) -> None:
    """Whether it is the only job of a request or the request one of a job's, also for types that only get records."""
    shop = workspace(name, examples(name)[0])
    to = Pipeline(shop).route(shop.destinations["d"])
    for endpoint in {example.endpoint for example in outcome_examples(name)}:
        payload = {"endpoint": endpoint, "body": {"JSON": {}}}
        for answer in other_answers(name, 60):
            delivered = Delivered(answer.status, answer.body, HttpRequest("POST", endpoint))
            judged, alone = judge(to, payload, delivered, (0,), ({},)), judge_alone(to, payload, delivered)

            wanted = judged.jobs[0].outcome, judged.jobs[0].message, judged.cause
            assert (alone.outcome, alone.reason, alone.cause) == wanted, answer
            assert alone.outcome == "delivered" or alone.reason, answer


@pytest.mark.parametrize("name", JUDGING)
def test_each_judge_meets_refusals(name: str) -> None:
    """Recorded answers include one that is not 2xx, and a 2xx that refuses, or the type takes each 2xx as success."""
    recorded = outcome_examples(name)
    successful = [example for example in recorded if 200 <= example.status < 300]
    bodies = [*BODIES, *(example.answer for example in recorded)]

    assert len(successful) < len(recorded)
    if name not in ERRORS_ONLY:
        assert any({example.outcome, *example.each} != {"delivered"} for example in successful)
        return
    for status in (200, 202, 207):
        for body in bodies:
            outcome = CATALOGUE[name].outcome({"endpoint": ""}, [(status, {}, body)], jobs=[1, 2])
            assert (body, outcome.outcome, outcome.jobs) == (body, "delivered", ())


def batches_of(name: str) -> list[tuple[Example, list[dict[str, Any]]]]:
    """Events of a type that share one request, with their settings.

    If a batch has several, the last decides in the data plane, also for events that it does not carry.
    """
    found = []
    for batch in batch_examples(name):
        for shared in batch.results:
            if len(shared.payloads) == 1 and len(shared.jobs) > 1 and not {*shared.jobs} & {*batch.alone}:
                example = Example(
                    name="", config=batch.config, event={}, lookups=batch.lookups, metadata=batch.metadata
                )
                events = [{"anonymousId": f"a{job}", **batch.events[job - 1]} for job in shared.jobs]
                found.append((example, [{**event, "messageId": f"m{n}"} for n, event in enumerate(events)]))
    return found


SHARING = [name for name in JUDGING if batches_of(name)]


@pytest.mark.parametrize("name", SHARING)
def test_plane_and_replay_judge_shared_requests_alike(name: str) -> None:
    """Answers that mean the same for all events of a request mean that for an event alone, too."""
    example, events = batches_of(name)[0]
    shop = workspace(name, example)
    recorded = [answer_of(outcome) for outcome in outcome_examples(name)]
    compared = 0
    for answer in [*recorded, *other_answers(name, 3)]:
        own = [dict(event) for event in events]
        plane = at_plane(shop, own, Vendor(example, answer), attempts=3)  # some send refused events again, alone
        if len(set(plane)) == 1:
            replayed = [in_replay(shop, event, Vendor(example, answer)) for event in own]
            assert (answer, replayed) == (answer, plane)
            compared += 1

    assert compared > 2


@pytest.mark.parametrize("name", [name for name in SHARING if CATALOGUE[name].answers_items])
def test_plane_and_replay_judge_a_refused_event_of_a_request_alike(name: str) -> None:
    """The vendor refuses one event of a request: only that fails, for the reason that it has when it is sent alone."""
    found = []
    for example, events in batches_of(name):
        shop = workspace(name, example)
        server = Pipeline(shop).route(shop.destinations["d"]).answer
        own = [dict(event) for event in events]
        plane = at_plane(shop, own, Vendor(example, None, partial(server, failed=(1,))))
        for event, fate in zip(own, plane, strict=True):
            refused = (0,) if fate.status == "failed" else ()
            alone = Vendor(example, None, partial(server, failed=refused))
            assert in_replay(shop, event, alone) == fate
        found.append(sorted(fate.status for fate in plane))

    assert ["delivered", "failed"] in found, found


@pytest.mark.parametrize("name", [name for name in CATALOGUE if is_simulated(name)])
def test_plane_and_replay_judge_simulated_servers_alike(name: str) -> None:
    """Each example of the type, at its simulated server that refuses all that the vendor does."""
    for example in examples(name):
        event = {"messageId": "m1", "anonymousId": "a1", **example.event}
        if example.payloads and event["type"] != "record" and event["anonymousId"]:  # the gateway accepts it
            shop = workspace(name, example, "strict")
            (plane,), replayed = at_plane(shop, [event], None), in_replay(shop, event, None)

            assert (example.name, replayed) == (example.name, plane)


class FirstFails:
    """A transport to a simulated server that a proxy keeps the first request from."""

    def __init__(self, example: Example, status: int) -> None:
        self.server = simulations.open("KLAVIYO", example.config, now=NOW.isoformat())
        self.status, self.sent = status, list[str]()

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        self.sent.append(request.url)
        response = self.server.respond(read_request(request)) if len(self.sent) > 1 else None
        if response is None:
            return Answer(self.status, {}).response()
        return Answer(response.status, response.body, dict(response.headers)).response()


@pytest.mark.parametrize("status", [400, 429, 503])
@pytest.mark.parametrize("times", [1, 2])
def test_a_replay_stops_where_the_data_plane_does(status: int, times: int) -> None:
    """After a request that decides, no other request of the event changes what the server holds.

    An event that the user's code has returned a second time is sent after a refusal, but not after a failure that is
    tried again.
    """
    example = next(example for example in examples("KLAVIYO") if len(example.payloads) == 2)
    shop = workspace("KLAVIYO", example)
    shop.transformation("repeat", lambda event: [event] * times)
    shop.destinations["d"].transformation = "repeat"
    shop.delivery.batch = Calls(jobs=1)  # equal events would share the requests
    plane, replayed = FirstFails(example, status), FirstFails(example, status)
    event = {"messageId": "m1", "anonymousId": "a1", **example.event}
    fates = at_plane(shop, [event], plane), [in_replay(shop, event, replayed)]
    again = times == 2 and status == 400

    assert fates[0] == fates[1]
    assert replayed.sent == plane.sent
    assert len(plane.sent) == (3 if again else 1)
    assert replayed.server.held() == plane.server.held()
    assert any(plane.server.held().values()) == again


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


def crm() -> Workspace:
    return workspace("CLEVERTAP", Example(name="", config=CLEVERTAP, event=BOUGHT))


def test_what_the_destination_refuses_is_not_delivered() -> None:
    """`delivered` is decided by the judge, not by the status: in the data plane, `/inspect` and pytest's helpers."""
    with DataPlane(crm(), listen=False) as plane:
        plane.script("d", Answer(200, REFUSED.body, times=1))
        plane.send([BOUGHT, {**BOUGHT, "userId": "u2", "messageId": "m2"}], source="web")
        plane.drain()
        plane.send({**BOUGHT, "userId": "u3", "messageId": "m3"}, source="web")
        plane.drain()

        assert [(d.events, d.status, d.accepted) for d in plane.deliveries] == [
            (("m1", "m2"), 200, 0),
            (("m3",), 200, 1),
        ]
        assert [d.events for d in plane.delivered] == [("m3",)]
        assert_delivered(plane, {"events": ["m3"]}, failed="any")
        body = {"received": 3, "settle": 0, "expect": {"delivered": {"d": [{"events": ["m3"]}]}, "failed": [{}, {}]}}
        answer = plane.ingest("POST", "/inspect/expect", body=json.dumps(body).encode())
        assert answer.status == 200, answer.body


def test_a_request_is_delivered_if_one_of_its_events_is() -> None:
    """The other events of the request have failed. `accepted` counts those that have not, whatever the status."""
    example, events = batches_of("CUSTOMERIO")[0]
    with DataPlane(workspace("CUSTOMERIO", example), listen=False, clock=lambda: NOW) as plane:
        plane.script("d", Answer.partial(failed=[1]))
        plane.send(events, source="web")
        plane.drain()

        assert [(d.accepted, len(d.events)) for d in plane.delivered] == [(1, 2)]
        assert sorted(fate.status for fate in plane.fates) == ["delivered", "failed"]


@pytest.mark.parametrize(
    ("expected", "status"),
    [
        ("{delivered: [{}]}", "failed"),
        ("{delivered: []}", "failed"),  # the failure is not expected
        ("{delivered: [], failed: [{error: {$contains: Event Name is incorrect}, status: 200}]}", "passed"),
        ("{attempts: [{status: 200, response: {status: fail}}], failed: [{}], delivered: []}", "passed"),
    ],
)
def test_a_suite_knows_what_is_delivered(expected: str, status: str) -> None:
    answer = f"recorder: {{d: {{status: 200, body: {json.dumps(REFUSED.body)}}}}}"
    step = f"source: web, send: {json.dumps(BOUGHT)}, expect: {expected}"
    suite = runner.loads(f"scenarios:\n- {{name: a, {answer}, {step}}}\n", crm())
    with runner.open_planes(limit=60) as planes:
        (outcome,) = [n for n in runner.run(suite.scenarios, planes) if isinstance(n, runner.Outcome)]

    assert outcome.status == status, runner.explanation(outcome)
