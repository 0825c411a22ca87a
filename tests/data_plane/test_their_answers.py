"""Clients get the answer of the data plane that their source forwards to: `answer: theirs`."""

from __future__ import annotations

import base64
import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.server import Backoff
from tests.data_plane.conftest import basic
from tests.data_plane.receivers import Receiver
from tests.data_plane.test_forwarding import EVENT, FILE, KEY, bench, events, fates, forward, send

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


@pytest.mark.parametrize("earlier", [1, 300])
def test_an_answer_counts_before_its_event_s_turn(earlier: int, tmp_path: Path) -> None:
    """An accepted event behind one in back-off is settled at once: a restart does not send it again.

    Also if it is in the store only, because many events wait.
    """
    file = FILE.format(more=THEIRS) + "dataPlane: {limits: {waiting: 200}}"
    ids, down = [f"m{number:05}" for number in range(earlier)], [True]

    def answers(_: int, batch: list[dict[str, Any]]) -> int:
        return 503 if down[0] and batch[0]["messageId"] in ids else 200

    with Receiver(answers) as receiver:
        workspace = Workspace.loads(file, environ={"REAL_KEY": "r3al-k3y", "REAL_URL": receiver.url})
        options: dict[str, Any] = {"listen": False, "store": tmp_path / "plane.db"}
        with DataPlane(workspace, backoff=Backoff(first=3600, jitter=0), **options) as plane:
            plane.script(KEY, Answer(close=True, times=1))  # no answer for the client; then the lane gets a 503
            send(plane, events(earlier, users=earlier))
            plane.wait(lambda: any(fate.attempts for fate in plane.fates if fate.destination == KEY), timeout=60)
            send(plane, [{**EVENT, "messageId": "x1", "userId": "u0"}, {**EVENT, "messageId": "x2", "userId": "u0"}])
            plane.wait(lambda: forward(plane)["waiting"] == earlier, timeout=60)
            found = fates(plane)[-2:]
        down[0] = False
        with DataPlane(workspace, **options) as plane:
            plane.drain(60)
            statuses = {status for _, status in fates(plane)}

        assert (found, statuses) == ([("x1", "delivered"), ("x2", "delivered")], {"delivered"})
        assert sorted(receiver.ids) == [*ids, "x1", "x2"]


def test_an_answer_counts_while_the_lane_is_busy() -> None:
    """The event of another user, whose turn it would be next, leaves the queue; later ones follow as usual."""
    with Receiver(lambda number, _: None if number == 1 else 200) as receiver, bench(receiver.url, THEIRS) as plane:
        plane.script(KEY, Answer(close=True, times=1))
        send(plane)
        receiver.wait(1)  # the lane's attempt, which hangs
        send(plane, [{**EVENT, "messageId": "m2", "userId": "u2"}])
        plane.wait(lambda: ("m2", "delivered") in fates(plane), timeout=60)
        found = fates(plane)
        receiver.released.set()
        plane.drain(60)
        send(plane, [{**EVENT, "messageId": "m3", "userId": "u2"}])
        plane.drain(60)

        assert found == [("m1", "pending"), ("m2", "delivered")]
        assert [status for _, status in fates(plane)] == ["delivered"] * 3
