"""Weaknesses of today's Python SDKs that no other test here excludes.

Elsewhere: loss at a crash, in a forked child or at the end of the program (test_durability); a whole batch lost to 401,
404 or 413, 202 treated as a failure, an error body without `code`, no Retry-After, endless flush (test_answers); the
caller's dicts changed, no opt-out, no state, no asyncio, no types (test_calls).
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

from svctoolkit.sdk import Response, ServiceClient

from .gateway import KEY, Gateway, serving, until

ROOT = Path(__file__).parents[2]


def test_a_proxy_is_used(make, gateway: Gateway, monkeypatch: pytest.MonkeyPatch):
    """HTTP_PROXY is respected, and so is NO_PROXY."""
    with serving() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        client = make(data_plane_url="http://plane.example:8080")
        client.track("one")
        client.flush()
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        direct = make(data_directory=":memory:")
        direct.track("two")
        direct.flush()

        assert f"http://plane.example:8080{'/v1/batch'}" in proxy.paths()
        assert gateway.names == ["two"]


def test_importing_reads_no_env_file(tmp_path: Path):
    """A `.env` in the current directory changes nothing."""
    (tmp_path / ".env").write_text("SVCTOOLKIT_DATA_PLANE_URL=http://wrong.example\n")
    program = "from svctoolkit.sdk.base.settings import settings; print(settings().data_plane_url)"
    shown = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert shown.stdout.strip() == "http://127.0.0.1:8091"


def test_a_retry_sends_the_same_events(make, gateway: Gateway):
    """Only `sentAt` changes."""
    gateway.answers = [(500, {}, b""), (500, {}, b"")]
    client = make()
    client.track("one", {"text": 'ü 😀 " \\ \n', "number": 1e22})
    assert client.flush()

    sent = [{k: v for k, v in event.items() if k != "sentAt"} for batch in gateway.batches for event in batch]
    assert len(sent) == 3
    assert sent[0] == sent[1] == sent[2]


def test_delivered_events_are_not_sent_again(make, gateway: Gateway):
    """When one part of a batch is delivered and a later part fails, only the rest is retried."""
    refused = {"3"}
    client = make()
    for number in range(8):
        client.track(str(number))

    def rule(events: list[dict]) -> tuple | None:
        names = {event["event"] for event in events}
        if refused & names:
            return (400, {}, b"no")
        return (500, {}, b"") if "7" in names and len(gateway.batches) < 8 else None

    gateway.rule = rule
    assert client.flush()

    assert sorted(gateway.names) == ["0", "1", "2", "4", "5", "6", "7"]
    assert client.stats().parked == 1


def test_a_full_queue_drops_the_oldest_event(make):
    """The newest is kept, and the drop is reported."""
    client = make(db_threshold_count=1, data_plane_url="http://127.0.0.1:9")
    client.track("old")

    def only_new() -> bool:  # an event that is being sent cannot be dropped
        client.track("new")
        return list(client.frame()["event"]) == ["new"]

    until(only_new)
    assert set(client.stats().dropped) == {"queue full"}


def test_every_client_flushes_at_shutdown_even_without_a_thread(gateway: Gateway, tmp_path: Path):
    """`shutdown` works in every mode, twice, and before `initialize`."""

    class Plane:
        embedded = True

        def send(self, request):
            return Response(200, {}, b"{}")

    embedded = ServiceClient(transport=Plane())
    assert embedded.shutdown()
    embedded.initialize(KEY)
    embedded.track("one")

    assert embedded.shutdown()
    assert embedded.shutdown()
    assert embedded.stats().delivered == 3


def test_a_frame_shows_the_queue(make):
    """`frame` has one typed row per event, and the same columns when it is empty."""
    client = make(data_plane_url="http://127.0.0.1:9")
    empty = client.frame()
    client.identify("u1")
    client.track("one", {"n": 1})
    frame = client.frame()

    assert len(empty) == 0
    assert list(empty.columns) == list(frame.columns)
    assert list(frame["type"]) == ["identify", "track"]
    assert list(frame["state"]) == ["waiting", "waiting"]
    assert str(frame["stored_at"].dt.tz) == "UTC"
    assert frame["payload"][1]["properties"] == {"n": 1}
    assert frame["bytes"][1] == len(json.dumps(frame["payload"][1], ensure_ascii=False, separators=(",", ":")).encode())


def test_a_proxy_gets_its_credentials(make, gateway: Gateway, monkeypatch: pytest.MonkeyPatch):
    """User and password of the proxy's URL are sent with each request, and appear nowhere else."""
    monkeypatch.setenv("HTTP_PROXY", f"http://us%40er:pa%3Ass@127.0.0.1:{gateway.port}")
    monkeypatch.setenv("http_proxy", f"http://us%40er:pa%3Ass@127.0.0.1:{gateway.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    client = make(data_plane_url="http://plane.example")
    client.track("one")
    client.flush()

    headers = [headers for path, headers, _ in gateway.requests if path.startswith("http://plane.example/")]
    assert headers
    assert {base64.b64decode(h["proxy-authorization"].removeprefix("Basic ")) for h in headers} == {b"us@er:pa:ss"}
    assert "pa:ss" not in client.diagnose() + client.stats().last_error
