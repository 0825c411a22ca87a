"""Events from this process take a way of their own, past the application: nobody can tell by what comes of them."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.server.web.in_process import call
from tests.data_plane.conftest import basic

EVENT = {"type": "track", "event": "E", "userId": "u1", "messageId": "m1"}
WHOLE = {"batch": [EVENT, {"type": "page", "anonymousId": "ä"}]}
REQUESTS: dict[str, tuple[str, dict[str, str], Any]] = {
    "a batch": ("/v1/batch", basic("web-key"), WHOLE),
    "one event": ("/v1/identify", basic("web-key"), EVENT),
    "a short type": ("/v1/t", basic("web-key"), EVENT),
    "an import": ("/v1/import", basic("web-key"), {"batch": []}),
    "an import of which some is bad": ("/v1/import", basic("web-key"), {"batch": [{"type": "track"}, EVENT]}),
    "a beacon": ("/beacon/v1/batch?writeKey=web-key", {}, WHOLE),
    "a run in a header": ("/v1/batch", {**basic("web-key"), "X-Svctoolkit-Run": "r1"}, WHOLE),
    "a run in the key": ("/v1/batch", basic("web-key~r2"), WHOLE),
    "a key in the body": ("/v1/batch", {}, {**WHOLE, "writeKey": "web-key"}),
    "another address": ("/v1/batch", {**basic("web-key"), "X-Forwarded-For": "10.1.2.3, 10.1.1.1"}, WHOLE),
    "what clients say of themselves": ("/rsaMetrics", basic("web-key"), {"a": 1}),
    "no key": ("/v1/batch", {}, WHOLE),
    "a wrong key": ("/v1/batch", basic("no-key"), WHOLE),
    "a source that is off": ("/v1/batch", basic("off-key"), WHOLE),
    "no events": ("/v1/batch", basic("web-key"), {"batch": []}),
    "nobody's event": ("/v1/batch", basic("web-key"), {"batch": [EVENT, {"type": "track"}]}),
    "no JSON": ("/v1/batch", basic("web-key"), b'{"batch": ['),
    "an empty body": ("/v1/batch", basic("web-key"), b""),
    "a number out of range": ("/v1/track", basic("web-key"), b'{"userId": "u1", "n": 1e999}'),
    "another path": ("/v1/nothing", basic("web-key"), WHOLE),
    "a page of another origin": ("/v1/batch", {**basic("web-key"), "Origin": "https://shop.example"}, WHOLE),
    "a packed body": ("/v1/batch", {**basic("web-key"), "Content-Encoding": "gzip"}, gzip.compress(b'{"batch": [')),
    "a body over the limit": ("/v1/batch", basic("web-key"), {"batch": [{**EVENT, "text": "x" * 4_100_000}]}),
}


def records(plane: DataPlane) -> dict[str, Any]:
    """All that is kept, without what is different each time."""
    plane.drain()
    fresh = ("receivedAt", "sentAt", "originalTimestamp", "timestamp", "messageId")
    return {
        "received": [
            (r.seq, r.source, r.run, r.repeats, {k: v for k, v in r.event.items() if k not in fresh})
            for r in plane.received
        ],
        "rejected": [(r.status, r.reason, r.body, r.position, r.source, r.run) for r in plane.rejected],
        "fates": [(f.seq, f.destination, f.status) for f in plane.fates],
        "requests": plane.ingest("GET", "/metrics").text.split("# HELP svctoolkit_http_request_seconds")[0],
    }


@pytest.mark.parametrize("name", REQUESTS)
def test_both_ways_come_to_the_same(name: str, workspace: Workspace) -> None:
    """The same answer to the letter, the same events, refusals, fates and counts."""
    path, headers, content = REQUESTS[name]
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    with DataPlane(workspace, listen=False) as direct, DataPlane(workspace, listen=False) as whole:
        answers = (
            direct.ingest("POST", path, headers=headers, body=body),
            asyncio.run(call(whole.asgi, "POST", path, headers, body)),
        )

        assert answers[0] == answers[1]
        assert records(direct) == records(whole)


@contextmanager
def restless() -> Iterator[None]:
    """Threads take turns at nearly every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_events_of_many_threads_lose_nothing(plane: DataPlane) -> None:
    """Whoever brings events routes them: each event is delivered once, and those of a user in their order."""

    def send(thread: int) -> None:
        for number in range(100):
            event = {**EVENT, "userId": f"u{thread}", "messageId": f"{thread}-{number}"}
            plane.send(event, source="quiet" if number % 5 else "web")

    with restless(), ThreadPoolExecutor(8) as threads:
        list(threads.map(send, range(8)))
        plane.drain(60)

    assert len(plane.received) == 800
    for destination in ("crm", "mail"):
        ids = [d.message_id for d in plane.delivered if d.destination == destination]
        assert len(ids) == 160
        for thread in range(8):
            assert [id for id in ids if id.startswith(f"{thread}-")] == [f"{thread}-{n}" for n in range(0, 100, 5)]
