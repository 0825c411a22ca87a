"""Stored events become batches for another data plane, which makes the same events of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svctoolkit.delivery import HttpResponse
from svctoolkit.server.batches import (
    MAX_BYTES,
    StoredEvent,
    batches,
    body_of,
    by_source,
    halves,
    judge,
    request_of,
    stored_events,
)
from svctoolkit.server.store.block import Block

RECEIVED = datetime(2026, 11, 26, 12, 0, 0, 250_000, tzinfo=UTC)
#: members whose value depends on when, or by whom, an event was sent
MOVED = {"receivedAt", "sentAt"}


def block(
    body: bytes | dict[str, Any], *, at: datetime = RECEIVED, ids: int = 0, kind: str = "", ip: str = ""
) -> Block:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    names = tuple(f"given-{number}" for number in range(ids))
    return Block(7, 0, "web", "", at.timestamp(), (), kind, ip, names, content)


def again(original: Block, after: timedelta) -> list[dict[str, Any]]:
    """The events that another data plane makes of a block's, which are sent and received `after` a time."""
    now = RECEIVED + after
    return block(body_of(stored_events(original), now), at=now, ip="10.0.0.99").events


def without_moved(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in event.items() if name not in MOVED} for event in events]


TIMES = st.sampled_from(
    (None, 5, "", "soon", "2026-11-26T11:59:58.000Z", "2026-11-26T13:00:00+01:00", "2031-01-01", "0001-01-01",
     "9999-12-31T23:59:59.999Z")
)  # fmt: skip
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "messageId": st.sampled_from(("m1", " m2 ", "", 7, None)),
        "type": st.sampled_from(("track", "identify", 3, "")),
        "userId": st.sampled_from(("u1", 12.50, "\ud800", None)),
        "originalTimestamp": TIMES,
        "sentAt": TIMES,
        "timestamp": TIMES,
        "request_ip": st.sampled_from(("192.0.2.1", "", None)),
        "properties": st.just({"price": 1.10, "id": 12345678901234567890, "\udfff": ["\ud83d", {}]}),
    },
)


@given(st.lists(EVENTS, min_size=1, max_size=3), st.sampled_from((0, 1, 90_000, 86_400 * 40_000)))
@example([{"originalTimestamp": "2026-11-26T11:00:00Z", "sentAt": "2026-11-26T11:00:05Z"}], 3600)
def test_the_receiver_makes_the_same_events(events: list[dict[str, Any]], seconds: int) -> None:
    """Ids, types, addresses, times and content are those of the store, whatever the client sent and however late."""
    original = block({"batch": events, "sentAt": "2026-11-26T11:59:59Z"}, ids=len(events), ip="192.0.2.77")

    assert without_moved(again(original, timedelta(seconds=seconds))) == without_moved(original.events)


@given(EVENTS)
def test_a_single_event_gets_its_type_and_loses_its_key(event: dict[str, Any]) -> None:
    """The type of `/v1/track` is in the path, and the write key may be in the body."""
    original = block({**event, "writeKey": "web-key"}, ids=1, kind="track", ip="192.0.2.77")

    sent = again(original, timedelta(hours=2))

    assert without_moved(sent) == without_moved(original.events)
    assert sent[0]["type"] == "track"
    assert b"web-key" not in body_of(stored_events(original), RECEIVED)


def test_sent_at_moves_with_the_delay() -> None:
    """A receiver that computes the time from `originalTimestamp` and `sentAt` gets the same."""
    times = {"originalTimestamp": "2026-11-26T08:00:00.000Z", "sentAt": "2026-11-26T08:00:30.000Z"}
    original = block({"batch": [{"userId": "u1", "messageId": "m1", **times}]})

    event = again(original, timedelta(days=3))[0]

    waited = datetime.fromisoformat(event["sentAt"]) - datetime.fromisoformat(event["originalTimestamp"])
    assert RECEIVED + timedelta(days=3) - waited == datetime.fromisoformat(original.events[0]["timestamp"])


def test_content_is_sent_as_it_arrived() -> None:
    """Numbers and texts keep their spelling; each name is there once, or parsers would disagree which one counts."""
    body = rb'{"batch": [{"userId":"u1","a":1.10,"b":1E3,"c":"\u00e9","sentAt":"x","d":[ 1 ],"d":2}]}'
    sent = body_of(stored_events(block(body, ids=1)), RECEIVED)

    assert rb'"a":1.10,"b":1E3,"c":"\u00e9"' in sent
    assert (sent.count(b'"sentAt"'), sent.count(b'"d"')) == (1, 1)


def test_stored_events_know_what_they_are() -> None:
    """For a selection: the id given at ingest, the type, the name, and the number in the store."""
    body = {"batch": [{"type": "track", "event": "Paid"}, {"type": "page", "name": "Start"}, {"type": "identify"}]}

    found = stored_events(block(body, ids=3))

    assert [(event.seq, event.message_id, event.type, event.name) for event in found] == [
        (7, "given-0", "track", "Paid"),
        (8, "given-1", "page", "Start"),
        (9, "given-2", "identify", ""),
    ]


def events(sizes: list[int], sources: str = "") -> list[StoredEvent]:
    keys = sources or "w" * len(sizes)
    return [
        StoredEvent(number, source, f"m{number}", "track", "E", RECEIVED, RECEIVED, b'{"a":"' + b"x" * size + b'"}')
        for number, (size, source) in enumerate(zip(sizes, keys, strict=True))
    ]


@given(
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from("ab")), max_size=40), st.integers(1, 10),
    st.integers(100, 1000),
)  # fmt: skip
def test_batches_respect_the_limits(items: list[tuple[int, str]], count: int, size: int) -> None:
    """All events in their order; only a single event may exceed the bytes. A batch has one source."""
    given_events = events([size for size, _ in items], "".join(source for _, source in items))

    made = list(batches(given_events, max_events=count, max_bytes=size))

    assert [event for batch in made for event in batch] == given_events
    for batch in made:
        assert len({event.source for event in batch}) == 1
        assert len(batch) <= count
        assert len(batch) == 1 or len(body_of(batch, RECEIVED)) <= size


@given(
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from("ab")), max_size=40), st.integers(1, 10),
    st.integers(100, 1000),
)  # fmt: skip
def test_windows_keep_the_order_of_a_source(items: list[tuple[int, str]], window: int, size: int) -> None:
    """No event is overtaken by one that is a window later."""
    given_events = events([size for size, _ in items], "".join(source for _, source in items))

    made = list(by_source(given_events, window, size))

    assert sorted(made) == sorted(given_events)
    for source in "ab":
        assert [event for event in made if event.source == source] == [e for e in given_events if e.source == source]
    assert all(abs(place - event.seq) < window for place, event in enumerate(made))


def test_halving_isolates_one_event_in_order() -> None:
    """Sending the first half before the second one keeps the order, down to single events."""
    waiting, seen = [events([1] * 100)], []
    while waiting:
        batch = waiting.pop()
        if len(batch) == 1:
            seen += batch
        else:
            waiting += reversed([list(half) for half in halves(batch)])

    assert seen == events([1] * 100)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"ok", "accepted"),
        (200, b"<!DOCTYPE html><p>Log in", "stop"),
        (302, b"", "stop"),
        (400, b"request neither has anonymousId nor userId\n", "refused"),
        (400, b"<html>The plain HTTP request was sent to HTTPS port", "stop"),
        (401, b"invalid write key\n", "stop"),
        (404, b"source is disabled\n", "stop"),
        (408, b"", "retry"),
        (413, b"<html>413 Request Entity Too Large", "refused"),
        (429, b"", "retry"),
        (500, b"", "retry"),
        (503, b"<html>503 Service Unavailable", "retry"),
    ],
)
def test_answers(status: int, body: bytes, kind: str) -> None:
    """Only a data plane's 2xx accepts; what concerns every batch stops, the rest is retried or halved."""
    assert judge(HttpResponse(status, {}, body), 0.0, str).kind == kind


def test_answers_have_a_reason_and_a_pause() -> None:
    """The reason quotes the data plane; `Retry-After` is in seconds, also for dates."""
    wrong = judge(HttpResponse(401, {}, b"invalid write key\n"), 0.0, str)
    later = judge(HttpResponse(429, {"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}), 15.0, str)
    moved = judge(HttpResponse(301, {"location": "https://other.example/v1/batch"}), 0.0, str)

    assert wrong.reason == "401 invalid write key"
    assert (later.retry_after, later.throttled) == (45.0, True)
    assert moved.reason == "301 to https://other.example/v1/batch"


def test_the_request_is_that_of_a_client() -> None:
    """The path follows the address, with or without its slash; the key is the user name of Basic authentication."""
    request = request_of("https://plane.example/eu/", "key", b"{}")

    assert (request.method, request.url) == ("POST", "https://plane.example/eu/v1/batch")
    assert request.headers["Authorization"] == "Basic a2V5Og=="
    assert MAX_BYTES == 4_096_000
