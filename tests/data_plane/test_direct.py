"""Events from this process bypass the ASGI application; the results are the same as over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from svctoolkit import CATALOGUE, DataPlane, Workspace
from svctoolkit.delivery import HttpRequest, HttpResponse
from svctoolkit.destinations import DestinationType, Payload, Settings
from svctoolkit.errors import ToolkitError
from svctoolkit.events import Event
from svctoolkit.server.web.in_process import call
from tests.data_plane.conftest import basic
from tests.interrupts import ctrl_c_as_usual

EVENT = {"type": "track", "event": "E", "userId": "u1", "messageId": "m1"}
WHOLE = {"batch": [EVENT, {"type": "page", "anonymousId": "ä"}]}
REQUESTS: dict[str, tuple[str, dict[str, str], Any]] = {
    "a batch": ("/v1/batch", basic("web-key"), WHOLE),
    "one event": ("/v1/identify", basic("web-key"), EVENT),
    "a short type": ("/v1/t", basic("web-key"), EVENT),
    "an import": ("/v1/import", basic("web-key"), {"batch": []}),
    "an import with an invalid event": ("/v1/import", basic("web-key"), {"batch": [{"type": "track"}, EVENT]}),
    "a beacon": ("/beacon/v1/batch?writeKey=web-key", {}, WHOLE),
    "a run in a header": ("/v1/batch", {**basic("web-key"), "X-Svctoolkit-Run": "r1"}, WHOLE),
    "a run in the key": ("/v1/batch", basic("web-key~r2"), WHOLE),
    "a key in the body": ("/v1/batch", {}, {**WHOLE, "writeKey": "web-key"}),
    "another address": ("/v1/batch", {**basic("web-key"), "X-Forwarded-For": "10.1.2.3, 10.1.1.1"}, WHOLE),
    "metrics of a client": ("/rsaMetrics", basic("web-key"), {"a": 1}),
    "no key": ("/v1/batch", {}, WHOLE),
    "a wrong key": ("/v1/batch", basic("no-key"), WHOLE),
    "a source that is off": ("/v1/batch", basic("off-key"), WHOLE),
    "no events": ("/v1/batch", basic("web-key"), {"batch": []}),
    "an event without a user": ("/v1/batch", basic("web-key"), {"batch": [EVENT, {"type": "track"}]}),
    "no JSON": ("/v1/batch", basic("web-key"), b'{"batch": ['),
    "an empty body": ("/v1/batch", basic("web-key"), b""),
    "a number out of range": ("/v1/track", basic("web-key"), b'{"userId": "u1", "n": 1e999}'),
    "another path": ("/v1/nothing", basic("web-key"), WHOLE),
    "a page of another origin": ("/v1/batch", {**basic("web-key"), "Origin": "https://shop.example"}, WHOLE),
    "a packed body": ("/v1/batch", {**basic("web-key"), "Content-Encoding": "gzip"}, gzip.compress(b'{"batch": [')),
    "a body over the limit": ("/v1/batch", basic("web-key"), {"batch": [{**EVENT, "text": "x" * 4_100_000}]}),
}


def records(plane: DataPlane) -> dict[str, Any]:
    """All records, without the values that differ in every run."""
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
def test_events_from_this_process_give_the_same_results_as_over_http(name: str, workspace: Workspace) -> None:
    """The answers are equal to the letter, and so are events, refusals, fates and counts."""
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
    """Threads switch at nearly every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_events_of_many_threads_are_delivered_once_and_in_order(plane: DataPlane) -> None:
    """The thread that brings an event also routes it; no event is lost, and those of a user stay in order."""

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


def test_ctrl_c_while_an_event_is_accepted_takes_effect_afterwards(workspace: Workspace) -> None:
    """A stored event is also routed, or it would stay pending forever.

    A listener that never returns can be interrupted.
    """
    presses = 0

    def press(kind: str, _: Any) -> None:
        nonlocal presses
        if kind == "received" and threading.current_thread() is threading.main_thread():
            presses += 1
            signal.raise_signal(signal.SIGINT)

    def never_end(kind: str, _: Any) -> None:
        while threading.current_thread() is threading.main_thread():
            press("received", _)

    def send_until_interrupted(name: str) -> None:
        # The first events may trigger the router itself, which looks for events left by the last run.
        for number in range(10_000):
            plane.send({**EVENT, "messageId": f"{name}-{number}"}, source="web")

    with ctrl_c_as_usual(), DataPlane(workspace, listen=False) as plane:
        unwatch = plane.watch(press)
        with pytest.raises(KeyboardInterrupt):
            send_until_interrupted("a")
        plane.drain()
        assert presses == 1
        assert {fate.status for fate in plane.fates} == {"delivered"}

        unwatch()
        unwatch = plane.watch(never_end)
        with pytest.raises(KeyboardInterrupt):
            send_until_interrupted("b")
        assert presses == 3
        unwatch()


@pytest.mark.parametrize("error", [asyncio.CancelledError("late"), GeneratorExit(), pytest.fail.Exception("oh no")])
def test_any_exception_of_user_code_fails_only_its_event(
    workspace: Workspace, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a transformation or a mapping, even if it ends a thread: the lane continues, and waiting callers see it."""
    monkeypatch.setattr(CATALOGUE, "_added", {})

    def transform(event: dict[str, Any]) -> dict[str, Any]:
        if event["messageId"] == "m1":
            raise error
        return event

    def send(event: Event, settings: Settings) -> Payload:
        transform({"messageId": event.id})
        return Payload(endpoint="https://quay.example")

    CATALOGUE.add("QUAY", DestinationType("Quay", Settings))
    CATALOGUE["QUAY"].on("track")(send)
    workspace.transformation("broken", transform)
    workspace.destination("late", "WEBHOOK", config={"webhookUrl": "https://late.example"}, transformation="broken")
    workspace.destination("quay", "QUAY")
    workspace.source("app", write_key="app-key", destinations=["late", "quay"])
    with DataPlane(workspace, listen=False) as plane:
        plane.send([EVENT, {**EVENT, "messageId": "m2"}], source="app")
        plane.drain()

        fates = {(fate.destination, fate.message_id): fate for fate in plane.fates}
    assert [fates[key, "m2"].status for key in ("late", "quay")] == ["delivered", "delivered"]
    late, quay = fates["late", "m1"], fates["quay", "m1"]
    assert late.reason.startswith(f"{type(error).__name__}: ")
    assert quay.reason.startswith(f"the Quay mapping failed on this event: {type(error).__name__}: ")


def test_ctrl_c_while_a_data_plane_stops_takes_effect_afterwards(workspace: Workspace) -> None:
    """Otherwise some parts would keep running, because a second `stop` does nothing."""
    main_thread, under_way, threads = threading.get_ident(), threading.Event(), set[threading.Thread]()

    def press_while_stopping(_: HttpRequest, **__: Any) -> HttpResponse:
        under_way.set()
        for thread in threads:
            if thread.name == "svctoolkit data plane":
                thread.join()  # one of the parts that stop first; `stop` then waits for the lanes
        signal.pthread_kill(main_thread, signal.SIGINT)
        return HttpResponse(200)

    workspace.source("one", destinations=["crm"])
    others = set(threading.enumerate())
    plane = DataPlane(workspace, listen=False, transport=press_while_stopping)
    threads |= {*threading.enumerate()} - others
    plane.send(EVENT, source="one")
    under_way.wait()
    with ctrl_c_as_usual(), pytest.raises(KeyboardInterrupt):
        plane.stop()

    with pytest.raises(ToolkitError, match="stopped"):
        plane.send(EVENT, source="web")
    for thread in {*threading.enumerate()} - others:
        if thread.name in ("svctoolkit data plane", "svctoolkit router", "svctoolkit to crm"):
            thread.join(60)
            assert not thread.is_alive()
