"""Batching: which jobs share a request, and what an answer means for each of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import CATALOGUE
from svctoolkit.destinations import (
    Batch,
    Context,
    Delivery,
    DestinationType,
    JobOutcome,
    MappedJob,
    Merge,
    Outcome,
    Payload,
    Reply,
    Settings,
)
from svctoolkit.events import Event
from svctoolkit.mapping import Misfit


class HarborSettings(Settings, frozen=True, kw_only=True):
    key: str = ""


class Job(tuple[Any, ...]):
    """`(id, event, config)` with metadata."""

    metadata: Mapping[str, Any]

    def __new__(cls, id: Any, event: Mapping[str, Any], config: Mapping[str, Any], **metadata: Any) -> Job:
        job = super().__new__(cls, (id, event, config))
        job.metadata = metadata
        return job


def harbor(*merges: Merge, times: int = 1) -> DestinationType:
    """A type that sends a value from the event to the URL in it, `times` times."""
    destination = DestinationType("Harbor", HarborSettings, merges=merges)

    @destination.on("track")
    def send(event: Event, settings: HarborSettings) -> list[Payload]:
        if event.raw.get("event") == "bad":
            raise Misfit("event", "a good event", "bad")
        body = {"what": event.raw.get("event"), "key": settings.key}
        place = event.raw.get("place", "visits")
        return [Payload(endpoint=f"https://harbor.example/{place}", json=body) for _ in range(times)]

    return destination


def jobs(*names: str, **more: Any) -> list[Job]:
    return [Job(i, {"type": "track", "event": name, **more}, {"key": "k"}) for i, name in enumerate(names, 1)]


def shapes(destination: DestinationType, given_jobs: Sequence[Job]) -> list[tuple[list[Any], Any]]:
    """Each result as its jobs with the content of its requests, or its refusal."""
    return [
        (list(batch.jobs), batch.error or [payload["body"]["JSON"] for payload in batch.payloads])
        for batch in destination.batches(given_jobs)
    ]


def test_a_batch_function_is_asked_about_a_single_event() -> None:
    """It sees each event of a replay that only counts, unless it is registered as one that refuses none."""
    own, asked = harbor(), list[Any]()

    def batch(mapped: Sequence[MappedJob], settings: HarborSettings) -> Iterator[Batch]:
        asked.extend(job.id for job in mapped)
        yield from (Batch((job.id,), payloads=()) for job in mapped)  # nothing is sent

    def sends() -> bool:
        return own.prepare({"key": "k"}).sends_alone({"type": "track", "event": "A"}, Context())

    own.batch(batch)
    assert (sends(), len(asked)) == (False, 1)
    own.batch(batch, may_refuse=False)
    assert (sends(), len(asked)) == (True, 1)


def test_without_a_declaration_each_job_has_its_own_requests() -> None:
    """Without batches, results are not marked as batched, and a rejected event has its reason."""
    results = harbor().batches(jobs("A", "bad", "B"))

    assert sorted((batch.jobs, batch.error, batch.batched) for batch in results) == [
        ((1,), None, False),
        ((2,), "event: expected a good event, got 'bad'", False),
        ((3,), None, False),
    ]


def test_bodies_become_the_items_of_one_request() -> None:
    """Common fields are next to the list, once; the items are in the order of the jobs."""
    merge = Merge("batch", wraps=True, common=("key",), at="/visits", to="/batch")
    (batch,) = harbor(merge).batches(jobs("A", "B"))

    (payload,) = batch.payloads
    assert (batch.jobs, batch.batched, payload["endpoint"]) == ((1, 2), True, "https://harbor.example/batch")
    assert payload["body"]["JSON"] == {"key": "k", "batch": [{"what": "A"}, {"what": "B"}]}


def test_common_fields_may_be_repeated_in_the_items() -> None:
    """With `repeats` they are next to the list and in each item."""
    merge = Merge("batch", wraps=True, common=("key",), repeats=True)
    (batch,) = harbor(merge).batches(jobs("A", "B"))

    items = [{"what": "A", "key": "k"}, {"what": "B", "key": "k"}]
    assert batch.payloads[0]["body"]["JSON"] == {"key": "k", "batch": items}


def test_the_whole_body_may_be_the_list() -> None:
    """Without a field name the list is the body: an array."""
    (batch,) = harbor(Merge(wraps=True)).batches(jobs("A", "B"))

    items = json.loads(batch.payloads[0]["body"]["JSON_ARRAY"]["batch"])
    assert [item["what"] for item in items] == ["A", "B"]


@pytest.mark.parametrize(
    ("merge", "groups"),
    [
        (Merge("batch", wraps=True, limit=2), [[1, 2], [3, 4], [5]]),
        (Merge("batch", wraps=True, limit=5), [[1, 2, 3, 4, 5]]),
        (Merge("batch", wraps=True, size=60), [[1, 2], [3, 4], [5]]),
        (Merge("batch", wraps=True, at="/others"), [[1], [2], [3], [4], [5]]),
    ],
)
def test_limits_split_batches_but_no_job(merge: Merge, groups: list[list[int]]) -> None:
    """By items and by bytes; requests to other URLs stay unchanged."""
    assert [ids for ids, _ in shapes(harbor(merge), jobs("A", "B", "C", "D", "E"))] == groups


def test_all_requests_of_a_job_count() -> None:
    """Two requests of a job are two items: a limit of three has room for one such job."""
    results = shapes(harbor(Merge("batch", wraps=True, limit=3), times=2), jobs("A", "B"))

    assert [(ids, len(bodies[0]["batch"])) for ids, bodies in results] == [([1], 2), ([2], 2)]


def test_only_compatible_requests_are_merged() -> None:
    """Another URL, method, header or configuration means another request."""
    merge = Merge("batch", wraps=True)
    mixed = [*jobs("A", "B"), Job(3, {"type": "track", "event": "C", "place": "others"}, {"key": "k"})]
    other = Job(4, {"type": "track", "event": "D"}, {"key": "another"})

    assert [ids for ids, _ in shapes(harbor(merge), [*mixed, other])] == [[1, 2], [3], [4]]


@pytest.mark.parametrize(("honours", "groups"), [(True, [[1, 3], [2]]), (False, [[1, 2, 3]])])
def test_dont_batch_sends_a_job_alone(honours: bool, groups: list[list[int]]) -> None:
    """Where the type supports `dontBatch`; others merge it as usual."""
    marked = jobs("A", "B", "C")
    marked[1].metadata = {"dontBatch": True}
    results = shapes(harbor(Merge("batch", wraps=True, honours_alone=honours)), marked)

    assert sorted(ids for ids, _ in results) == groups


def test_an_invalid_configuration_rejects_all_its_jobs() -> None:
    """Jobs with another configuration are not affected."""
    wrong = [Job(i, {"type": "track", "event": "A"}, {"key": {"no": "text"}}) for i in (1, 2)]
    results = shapes(harbor(Merge("batch", wraps=True)), [*wrong, Job(3, {"type": "track", "event": "A"}, {})])

    assert [ids for ids, said in results if isinstance(said, str)] == [[1], [2]]
    assert [ids for ids, said in results if isinstance(said, list)] == [[3]]


@given(st.lists(st.sampled_from(["A", "B", "bad"]), max_size=30), st.integers(0, 5), st.integers(0, 200))
def test_every_job_is_in_exactly_one_result(names: list[str], limit: int, size: int) -> None:
    """For any limits: none is lost or repeated, and items are in the order of their jobs."""
    results = shapes(harbor(Merge("batch", wraps=True, limit=limit, size=size)), jobs(*names))

    assert sorted(id for ids, _ in results for id in ids) == list(range(1, len(names) + 1))
    for ids, said in results:
        if isinstance(said, list):
            assert [item["what"] for body in said for item in body["batch"]] == [names[id - 1] for id in ids]


def test_pinterest_sends_a_thousand_events_in_a_request() -> None:
    """A type of the catalogue: the shared request has the items of the single requests."""
    config = {"apiVersion": "newApi", "adAccountId": "a1", "conversionToken": "t", "appId": "1"}
    event = {"type": "track", "event": "Order Completed", "channel": "web", "messageId": "m", "userId": "u"}
    event |= {"context": {"traits": {"email": "a@b.example"}}, "timestamp": "2026-01-15T10:00:00Z"}
    pinterest = CATALOGUE["PINTEREST_TAG"]
    (item,) = pinterest.payloads(event, config)
    results = pinterest.batches([Job(i, event, config) for i in range(1001)])

    assert [len(batch.jobs) for batch in results] == [1000, 1]
    assert results[0].payloads[0]["body"]["JSON"]["data"][0] == item["body"]["JSON"]


# --- answers


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *((status, "delivered") for status in (200, 201, 204, 299)),
        *((status, "retry") for status in (0, 100, 408, 500, 502, 503, 599)),
        (429, "throttle"),
        *((status, "abort") for status in (300, 301, 400, 401, 403, 404, 409, 499)),
    ],
)
def test_the_status_decides_by_default(status: int, outcome: str) -> None:
    """For a type that does not judge its answers."""
    assert harbor().outcome({}, [(status, {}, None)]).outcome == outcome


def test_a_type_judges_its_answers() -> None:
    """A judge gives the outcome of each job; without a verdict, the status decides."""
    destination = harbor()

    @destination.judge
    def judge(delivery: Delivery) -> Outcome | None:
        failed = (delivery.reply.body or {}).get("failed")
        return delivery.each(dict.fromkeys(failed, "refused")) if failed else None

    some = destination.outcome({}, [(200, {}, {"failed": [1]})], jobs=[7, 8])
    every = destination.outcome({}, [(200, {}, {"failed": [0, 1]})], jobs=[7, 8])

    assert some == Outcome("delivered", "", (JobOutcome("delivered"), JobOutcome("abort", "refused")))
    assert every.outcome == "abort"
    assert destination.outcome({}, [(503, {}, None)], jobs=[7, 8]).outcome == "retry"


def test_a_failed_batch_is_retried_as_single_jobs() -> None:
    """A job that was already alone is aborted."""
    reply = [Reply(400, {}, None)]

    assert Delivery({}, reply, [1, 2], [{}, {}]).apart("no") == Outcome(
        "retry", "no", (JobOutcome("retry", "no", alone=True), JobOutcome("retry", "no", alone=True))
    )
    assert Delivery({}, reply, [1], [{}]).apart("no").outcome == "abort"
    assert Delivery({}, reply, [1, 2], [{"dontBatch": True}, {"dontBatch": True}]).apart("no").outcome == "abort"
