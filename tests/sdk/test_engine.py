"""How the parts of a client work together: without `flush`, after `shutdown`, in a forked child."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.sdk import Request, Response, ServiceClient

from .gateway import KEY, Gateway, until

Make = Callable[..., ServiceClient]


def forks(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that forks this process, which has threads."""
    quiet = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    return pytest.mark.skipif(os.name != "posix", reason="needs fork and signals")(quiet(test))


class Integration:
    """A factory with its integration that collects the names of its events."""

    display_name = ""

    def __init__(self) -> None:
        self.events: list[str] = []

    def create(self, _config: Any, _client: Any) -> Integration:
        return self

    def dump(self, event: dict[str, Any]) -> None:
        self.events.append(event["event"])

    def flush(self) -> None:
        pass

    def reset(self) -> None:
        pass


def test_a_full_batch_is_sent_without_a_flush(make: Make, gateway: Gateway) -> None:
    """Recording the last event of a batch wakes the worker."""
    client = make(flush_queue_size=2)
    client.track("first")
    client.track("second")

    until(lambda: gateway.names == ["first", "second"])


def test_an_event_after_shutdown_starts_the_worker_again(make: Make, gateway: Gateway) -> None:
    client = make(flush_queue_size=1)
    client.shutdown(30)
    client.track("late")

    until(lambda: gateway.names == ["late"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="lists open files in /proc")
def test_shutdown_closes_the_queue_file(make: Make, tmp_path: Path) -> None:
    """The process can move or delete the directory afterwards."""
    client = make()
    client.track("event")

    def open_files() -> list[str]:
        links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
        targets = [os.readlink(link) for link in links if os.path.islink(link)]
        return [target for target in targets if target.startswith(str(tmp_path))]

    assert open_files()
    client.shutdown(30)
    assert open_files() == []


def test_integrations_get_events_without_a_flush(make: Make) -> None:
    """Events recorded later, and events that waited while the client was closed."""
    integration = Integration()
    client = make(factories=[integration])
    client.track("one")
    until(lambda: integration.events == ["one"])
    client.track("two")

    until(lambda: integration.events == ["one", "two"])


def test_events_under_another_key_are_reported(make: Make, gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    """They stay in the file, and the warning says how to send them."""
    gateway.rule = lambda _: (503, {}, b"down")
    old = make("OLD")
    old.track("old")
    old.shutdown(30)
    make("NEW")

    assert "under another write key" in caplog.text
    assert 'adopt": [that key]' in caplog.text


def test_integrations_get_events_while_the_data_plane_is_down(make: Make, gateway: Gateway) -> None:
    """`flush` reports that the data plane does not have the events; device mode does not wait for it."""
    gateway.rule = lambda _: (503, {}, b"down")
    integration = Integration()
    client = make(factories=[integration])
    client.track("one")

    assert client.flush(0.2) is False
    until(lambda: integration.events == ["one"])


def test_flush_does_not_wait_for_an_integration_that_hangs(make: Make, gateway: Gateway) -> None:
    """Its timeout covers device mode, too. The data plane has the events."""
    begun, released, flushed = threading.Event(), threading.Event(), list[bool]()

    class Hanging(Integration):
        def dump(self, event: dict[str, Any]) -> None:
            begun.set()
            released.wait(120)

    client = make(factories=[Hanging()])
    client.track("one")
    assert begun.wait(60)
    thread = threading.Thread(target=lambda: flushed.append(client.flush(0.5)))
    thread.start()
    thread.join(60)
    released.set()

    assert len(flushed) == 1
    until(lambda: gateway.names == ["one"])


def test_an_integration_without_a_method_stops_no_other(make: Make) -> None:
    """Its missing method is reported; the thread continues with the others."""

    class Bare(Integration):
        flush = reset = None  # type: ignore[assignment]

    bare, whole = Bare(), Integration()
    client = make(factories=[bare, whole])
    client.track("one")
    until(lambda: bare.events == whole.events == ["one"])
    client.flush(30)
    client.reset()
    client.track("two")

    until(lambda: bare.events == whole.events == ["one", "two"])
    assert "Bare: reset failed: TypeError" in client.stats().last_error


def test_every_full_batch_is_sent_at_once(make: Make, gateway: Gateway) -> None:
    """The worker also looks once a second: 40 batches in a row would take longer than 30 s."""
    client = make(flush_queue_size=1)
    end = time.monotonic() + 60
    for number in range(40):
        client.track(f"event {number}")
        until(lambda: len(gateway.names) == number + 1, end - time.monotonic())  # noqa: B023 - called at once


def test_another_directory_has_its_own_queue(make: Make, tmp_path: Path) -> None:
    """Initializing again with another `dataDirectory` opens the file there."""
    client = make()
    client.initialize(KEY, {"dataDirectory": tmp_path / "other"})
    client.track("event")

    assert (tmp_path / "other" / "queue-3.db").exists()
    assert client.flush()


def test_a_client_that_cannot_start_threads_is_ready_and_delivers(make: Make, gateway: Gateway) -> None:
    """A process at its limits: `initialize` still returns, and `flush` sends in the calling thread."""
    threading.stack_size(1 << 46)  # no machine has that much
    try:
        client = ServiceClient(data_plane_url=gateway.url, data_directory=":memory:", track_lifecycle_events=False)
        ready = client.initialize(KEY)
    finally:
        threading.stack_size(0)

    assert ready.wait(60)
    client.track("event")
    assert client.flush(60)
    assert gateway.names == ["event"]
    client.shutdown(30)


def test_shutdown_ends_the_threads(make: Make) -> None:
    """Also that of device mode; other clients of the process keep theirs."""
    others = set(threading.enumerate())
    integration = Integration()
    client = make(factories=[integration])
    client.track("one")
    until(lambda: integration.events == ["one"])
    own = [t for t in threading.enumerate() if t not in others and t.name.startswith("svctoolkit-sdk")]
    client.shutdown(30)

    assert {thread.name for thread in own} == {"svctoolkit-sdk", "svctoolkit-sdk-device"}
    until(lambda: not any(thread.is_alive() for thread in own), 30)


def test_integrations_of_an_embedded_client_get_events_within_the_call() -> None:
    """Device mode has no thread there either."""

    class Plane:
        embedded = True

        def send(self, request: Request) -> Response:
            return Response(404 if request.method == "GET" else 200)

    integration = Integration()
    client = ServiceClient(transport=Plane(), factories=[integration], track_lifecycle_events=False)
    client.initialize(KEY)
    client.track("one")

    assert integration.events == ["one"]


def test_integrations_get_at_start_what_the_last_client_left(make: Make, gateway: Gateway) -> None:
    """Without a call, and without a configuration of the source, which the application's own factories do not need."""
    gateway.config = (404, {}, b"")

    class Configured(Integration):
        display_name = "Amplitude"

    first = make(factories=[Configured()])
    first.track("one")
    first.shutdown(30)
    integration = Integration()
    make(factories=[integration])

    until(lambda: integration.events == ["one"])


def test_a_session_goes_on_after_a_shutdown_that_did_not_wait(make: Make, gateway: Gateway) -> None:
    """The time of the last event is stored, although the worker was still sending an earlier one."""
    now = [1_000.0]
    sending, answering = threading.Event(), threading.Event()

    def answer_late(_: list[dict[str, Any]]) -> None:
        sending.set()
        answering.wait(60)

    gateway.rule = answer_late
    settings = {"clock": lambda: now[0], "track_lifecycle_events": True, "flush_queue_size": 1}
    first = make(**settings)
    assert sending.wait(60)
    now[0] += 200  # a session ends after 300 s without an event
    first.track("late")
    first.shutdown(0.1)
    now[0] += 200
    second = make(**settings)
    second.track("next")
    answering.set()

    until(lambda: {"late", "next"} <= set(gateway.names))
    assert len({event["context"]["sessionId"] for event in gateway.events}) == 1


@forks
def test_a_forked_child_has_its_own_threads(make: Make, gateway: Gateway, tmp_path: Path) -> None:
    """Its events reach data plane and integrations without a flush, and without its parent, which shares no file."""

    class Noting(Integration):
        def dump(self, event: dict[str, Any]) -> None:
            with (tmp_path / "noted").open("a") as file:
                file.write(f"{event['event']}\n")

    def noted() -> list[str]:
        return (tmp_path / "noted").read_text().split() if (tmp_path / "noted").exists() else []

    client = make(data_directory=":memory:", flush_queue_size=1, factories=[Noting()])
    client.track("parent")
    until(lambda: gateway.names == noted() == ["parent"])
    child = os.fork()
    if child == 0:
        try:
            client.track("child")
            signal.pause()
        finally:
            os._exit(0)
    try:
        until(lambda: gateway.names == noted() == ["parent", "child"])
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    client.track("later")

    until(lambda: gateway.names == noted() == ["parent", "child", "later"])


def succeeds_in_a_child(act: Callable[[], bool]) -> bool:
    """Whether `act` returns true in a forked child."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@forks
def test_a_forked_child_does_not_send_its_parents_events(make: Make, gateway: Gateway, tmp_path: Path) -> None:
    """Events that no file could take are in the memory of both processes. The parent sends them, once."""
    (tmp_path / "file").write_text("")
    client = make(data_directory=tmp_path / "file" / "data")
    client.track("parent")

    def send() -> bool:
        client.track("child")
        return client.flush(60)

    assert succeeds_in_a_child(send)
    assert gateway.names == ["child"]
    assert client.flush()
    assert gateway.names == ["child", "parent"]


@forks
def test_a_forked_child_opens_its_own_connection(make: Make, gateway: Gateway) -> None:
    """On its parent's connection, the requests of both would mix. The parent keeps that connection."""
    client = make()
    client.track("parent")
    assert client.flush()

    def send() -> bool:
        client.track("child")
        return client.flush(60)

    assert succeeds_in_a_child(send)
    client.track("later")
    assert client.flush()
    parent, child, later = gateway.ports[-3:]
    assert (parent == later, parent == child) == (True, False)


@forks
def test_a_child_forked_before_the_configuration_arrives_is_ready(make: Make, gateway: Gateway) -> None:
    """Nothing in the child waits for the answer to its parent's request."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = make(control_plane_url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        ready = client.initialize(KEY)

        assert not ready.wait(0)
        assert succeeds_in_a_child(lambda: ready.wait(30))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_flush_in_a_signal_handler_sends_what_the_handler_recorded(gateway: Gateway, tmp_path: Path) -> None:
    """Also if the signal interrupted another call, which must not be recorded in the middle of it."""
    sent: list[str] = []

    def handle(*_: object) -> None:
        client.track("in the handler")
        client.flush(60)
        sent.extend(gateway.names)

    def interrupt(event: dict[str, Any]) -> dict[str, Any]:
        if event["event"] == "interrupted":
            signal.raise_signal(signal.SIGUSR1)
        return event

    client = ServiceClient(
        data_plane_url=gateway.url, data_directory=tmp_path, track_lifecycle_events=False, before_send=interrupt
    )
    client.initialize(KEY)
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        client.track("interrupted")
    finally:
        signal.signal(signal.SIGUSR1, before)
    client.shutdown(30)

    assert sent == ["in the handler"]
    assert gateway.names == ["in the handler", "interrupted"]


def test_a_log_handler_that_fails_breaks_no_call(make, gateway: Gateway, monkeypatch: pytest.MonkeyPatch):
    """Neither in the application's thread nor in the worker's."""
    ended: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", ended.append)

    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("the log is closed")

    handler = Failing()
    logging.getLogger("svctoolkit.sdk").addHandler(handler)
    try:
        gateway.config = (404, {}, b"")  # a warning in the worker
        client = make(log_level="VERBOSE")
        client.track("one", {"unsupported": object()})
        assert client.flush()
    finally:
        logging.getLogger("svctoolkit.sdk").removeHandler(handler)

    assert gateway.names == ["one"]
    assert ended == []
