"""Clients get the answer of the data plane that their source forwards to: `answer: theirs`."""

from __future__ import annotations

import base64
import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane
from svctoolkit.delivery import Answer
from tests.data_plane.conftest import basic
from tests.data_plane.receivers import Receiver
from tests.data_plane.test_forwarding import EVENT, KEY, bench, fates, forward, send

THEIRS = ", answer: theirs"


def test_an_accepted_request_is_not_sent_again(tmp_path: Path) -> None:
    """The receiver gets it once, unchanged; its events are delivered there, and at the other destinations."""
    with Receiver(text='{"ok": 1}') as receiver:
        with bench(receiver.url, THEIRS, store=tmp_path / "plane.db") as plane:
            zipped = gzip.compress(json.dumps({"batch": [EVENT, {**EVENT, "messageId": "m2"}]}).encode())
            headers = {**basic("web-key"), "Content-Encoding": "gzip"}
            answer = plane.ingest("POST", "/v1/batch?x=1", headers=headers, body=zipped)
            plane.drain(60)
            deliveries = [(d.destination, d.status) for d in plane.deliveries]
            found = fates(plane)
        with bench(receiver.url, THEIRS, store=tmp_path / "plane.db") as plane:
            plane.drain(60)

        assert (answer.status, answer.json) == (200, {"ok": 1})
        assert (receiver.ids, receiver.paths, receiver.requests) == (["m1", "m2"], ["/v1/batch?x=1"], 1)
        assert found == [("m1", "delivered"), ("m2", "delivered")]
        assert sorted(deliveries) == [(KEY, 200), ("hook", 200), ("hook", 200)]


@pytest.mark.parametrize("status", [401, 404, 429, 503])
def test_a_refusal_is_the_client_s_to_repeat(status: int) -> None:
    """The client gets it and knows; the events are not sent by the lane, too. A repeat by the client is."""
    with Receiver(lambda number, _: status if number == 1 else 200) as receiver, bench(receiver.url, THEIRS) as plane:
        first = send(plane)
        plane.drain(60)
        requests, found = receiver.requests, fates(plane)
        second = send(plane)
        plane.drain(60)

        assert (first.status, second.status, requests, receiver.ids) == (status, 200, 1, ["m1"])
        assert found == [("m1", "failed")]
        assert fates(plane) == [("m1", "failed"), ("m1", "delivered")]
        assert base64.b64encode(b"r3al-k3y:").decode() not in first.text


def test_without_an_answer_the_events_are_sent_later() -> None:
    """The client gets ours; a closed connection, and a plane that is full of waiting clients, are no answers."""
    with Receiver() as receiver, bench(receiver.url, THEIRS) as plane:
        plane.script(KEY, Answer(close=True, times=1))
        answer = send(plane)
        plane.drain(60)

        assert (answer.status, answer.text) == (200, "ok")
        assert (receiver.ids, receiver.requests, fates(plane)) == (["m1"], 1, [("m1", "delivered")])


def test_a_paused_forward_is_not_asked() -> None:
    with Receiver(lambda *_: 404) as receiver, bench(receiver.url, f"{THEIRS}, enabled: false") as plane:
        answer = send(plane)
        plane.drain(60)

        assert (answer.status, receiver.requests, forward(plane)["waiting"]) == (200, 0, 1)


def test_the_clients_of_runs_get_our_answer() -> None:
    """Runs are those of tests, which must not reach a real data plane."""
    with Receiver(lambda *_: 404) as receiver, bench(receiver.url, THEIRS) as plane:
        answer = send(plane, **{"X-Svctoolkit-Run": "mine"})
        plane.drain(60)

        assert (answer.status, receiver.requests) == (200, 0)


def test_requests_that_are_refused_here_are_asked_for_there() -> None:
    """The client gets the other data plane's answer to the same request; nothing waits for it."""
    with Receiver(lambda *_: 418) as receiver, bench(receiver.url, THEIRS) as plane:
        answer = send(plane, [{"type": "track"}])
        plane.drain(60)

        assert (answer.status, receiver.requests, len(plane.rejected), fates(plane)) == (418, 1, 1, [])


def test_a_receiver_that_hangs_leaves_inspection_alone() -> None:
    """While 40 clients wait for it, `/inspect` answers; stopping gives the clients our answer."""
    with Receiver(lambda *_: None) as receiver, bench(receiver.url, THEIRS) as plane, ThreadPoolExecutor(40) as pool:
        batches: list[list[dict[str, Any]]] = [[{**EVENT, "messageId": f"m{number}"}] for number in range(40)]
        answers = [pool.submit(send, plane, batch) for batch in batches]
        # All have arrived: 32 wait, and the other ones have our answer.
        plane.wait(lambda: receiver.requests >= 32 and sum(answer.done() for answer in answers) >= 8, timeout=60)
        counts = plane.ingest("GET", "/inspect/counts").status
        delivered = len(plane.delivered)
        were_waiting = any(not answer.done() for answer in answers)
        plane.stop(timeout=0.1)

        assert (counts, were_waiting, delivered) == (200, True, 40)
        assert {answer.result().status for answer in answers} == {200}


def test_suites_never_forward() -> None:
    """Events of tests must not reach a real data plane."""
    from svctoolkit.runner.planes.recording import recording_workspace

    with Receiver() as receiver:
        workspace = recording_workspace(bench_workspace(receiver.url))
        with DataPlane(workspace, listen=False) as plane:
            send(plane)
            plane.drain(60)

        assert (receiver.requests, [source.forward for source in workspace.sources.values()]) == (0, [None] * 3)


def bench_workspace(url: str) -> Any:
    from tests.data_plane.test_forwarding import shop

    return shop(url, THEIRS)
