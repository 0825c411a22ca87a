"""How the parts of a client work together: without `flush`, after `shutdown`, in a forked child."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.sdk import ServiceClient

from .gateway import Gateway, until

Make = Callable[..., ServiceClient]


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
