"""The source configuration, device mode and its factories."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.errors import ConfigError
from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.factories import LoggingFactory, NdjsonFactory

from .gateway import KEY, Gateway, serving, until


class Spy:
    """A factory and integration in one that records its calls."""

    def __init__(self, display_name: str, fails: str = "") -> None:
        self.display_name, self.fails = display_name, fails
        self.events: list[str] = []
        self.calls: list[Any] = []

    def create(self, config, client):
        self.calls.append(("create", config))
        if self.fails == "create":
            raise RuntimeError("no SDK")
        return self

    def dump(self, event):
        if self.fails == "dump":
            raise RuntimeError("no network")
        self.events.append(event.get("event"))
        event.clear()

    def reset(self):
        self.calls.append("reset")

    def flush(self):
        self.calls.append("flush")


def _config(*destinations: dict, **source: Any) -> dict:
    return {"source": {"id": "s", "enabled": True, "destinations": list(destinations), **source}}


def _destination(name: str, enabled: bool = True, **config: Any) -> dict:
    return {"enabled": enabled, "config": config, "destinationDefinition": {"displayName": name}}


def test_factories_start_by_display_name(make, gateway: Gateway):
    """A factory starts with the configuration of the enabled destination that has exactly its display name."""
    gateway.config = _config(_destination("Amplitude", apiKey="k"), _destination("AppsFlyer", enabled=False))
    amplitude, flyer, spelt, own = Spy("Amplitude"), Spy("AppsFlyer"), Spy("amplitude"), Spy("")
    client = make(factories=[amplitude, flyer, spelt, own])
    client.track("one")
    assert client.flush()

    assert amplitude.calls[0] == ("create", {"apiKey": "k"})
    assert (amplitude.events, flyer.events, spelt.events, own.events) == (["one"], [], [], ["one"])
    assert gateway.names == ["one"]


def test_event_filters_apply_to_track_events(make, gateway: Gateway):
    """Allowlist and denylist match trimmed exact names; the data plane gets all events."""
    allow = _destination(
        "Allow", eventFilteringOption="whitelistedEvents", whitelistedEvents=[{"eventName": " A "}, {"eventName": ""}]
    )
    deny = _destination("Deny", eventFilteringOption="blacklistedEvents", blacklistedEvents=[{"eventName": "A"}])
    empty = _destination("Empty", eventFilteringOption="whitelistedEvents", whitelistedEvents=[])
    off = _destination("Off", eventFilteringOption="disable", whitelistedEvents=[{"eventName": "A"}])
    gateway.config = _config(allow, deny, empty, off)
    spies = [Spy(name) for name in ("Allow", "Deny", "Empty", "Off")]
    client = make(factories=spies)
    client.track("A")
    client.track("a")
    client.screen("S")
    assert client.flush()

    assert [spy.events for spy in spies] == [["A", "S"], ["a", "S"], ["S"], ["A", "a", "S"]]
    assert gateway.names == ["A", "a", "S"]


def test_integrations_choose_factories(make, gateway: Gateway):
    """`integrations` decides by display name, otherwise by `All`."""
    gateway.config = _config(_destination("One"), _destination("Two"))
    one, two, own = Spy("One"), Spy("Two"), Spy("")
    client = make(factories=[one, two, own])
    client.track("only one", {}, {"integrations": {"All": False, "One": True}})
    client.track("not one", {}, {"integrations": {"One": False}})
    assert client.flush()

    assert (one.events, two.events, own.events) == (["only one"], ["not one"], ["not one"])


def test_earlier_events_are_replayed_to_integrations(make, gateway: Gateway):
    """Events recorded before the factories were ready reach them later, once, and the data plane once."""
    gateway.config = (500, {}, b"")
    first = make(factories=[Spy("One")])
    first.track("early")
    assert first.flush()
    first.shutdown()
    gateway.config = _config(_destination("One"))
    spy = Spy("One")
    second = make(factories=[spy])
    second.track("late")
    assert second.flush()
    second.shutdown()
    third_spy = Spy("One")
    third = make(factories=[third_spy])
    third.initialize("2RdemoWriteKey").wait(60)
    third.flush()

    assert (spy.events, third_spy.events) == (["early", "late"], [])
    assert gateway.names == ["early", "late"]


@pytest.mark.parametrize("fails", ["create", "dump"])
def test_a_failing_integration_affects_no_other(make, gateway: Gateway, fails: str):
    """Its exceptions go to `on_error`; other integrations and the data plane get the event."""
    errors = []
    gateway.config = _config(_destination("Bad"), _destination("Good"))
    good = Spy("Good")
    client = make(factories=[Spy("Bad", fails), good], on_error=errors.append)
    client.track("one")
    client.track("two")
    assert client.flush()

    assert good.events == gateway.names == ["one", "two"]
    assert f"device mode, Bad: {fails} failed: RuntimeError: no" in str(errors[0])


def test_reset_and_flush_reach_integrations(make, gateway: Gateway):
    """The client's `reset` and `flush` are passed on."""
    spy = Spy("")
    client = make(factories=[spy])
    client.initialize("2RdemoWriteKey").wait(60)
    client.reset()
    client.flush()

    assert "reset" in spy.calls
    assert "flush" in spy.calls


def test_the_included_factories(make, gateway: Gateway, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """The logging factory logs type and name with the event attached; the NDJSON one writes a line per event."""
    caplog.set_level(logging.INFO, "shop.events")
    gateway.config = _config(_destination("Log"))
    client = make(
        factories=[LoggingFactory("Log", logger="shop.events"), NdjsonFactory(tmp_path / "out/events.ndjson")]
    )
    client.track("Örder", {"n": 1})
    client.identify("u1")
    assert client.flush()

    lines = [json.loads(line) for line in (tmp_path / "out/events.ndjson").read_text("utf-8").splitlines()]
    assert [r.getMessage() for r in caplog.records] == ["track Örder", "identify identify"]
    assert caplog.records[0].event["properties"] == {"n": 1}  # type: ignore[attr-defined]
    assert [line["messageId"] for line in lines] == [event["messageId"] for event in gateway.events]


def test_an_unusable_ndjson_file_is_reported(make, gateway: Gateway, tmp_path: Path):
    """The client continues without it."""
    errors = []
    client = make(factories=[NdjsonFactory(tmp_path)], on_error=errors.append)
    client.track("one")
    assert client.flush()

    assert gateway.names == ["one"]
    assert "NdjsonFactory: create failed: IsADirectoryError" in str(errors[0])


def test_a_disabled_source_keeps_its_events(make, gateway: Gateway):
    """`enabled: false` in the source configuration: events are stored, not sent.

    Once enabled, `flush` delivers them.
    """
    gateway.config = _config(enabled=False)
    client = make()
    client.track("one")

    assert not client.flush()
    assert client.stats().paused == "the source is disabled"
    assert gateway.batches == []
    gateway.config = _config()
    assert client.flush()
    assert gateway.names == ["one"]


def test_the_configuration_is_refreshed(make, gateway: Gateway):
    """After configRefreshInterval hours it is fetched again and applied."""
    now = [1_800_000_000.0]
    client = make(clock=lambda: now[0])
    client.initialize("2RdemoWriteKey").wait(60)
    fetched = gateway.paths().count("/sourceConfig")
    gateway.config = _config(enabled=False)
    client.track("one")
    assert client.flush()
    now[0] += 2 * 3600 + 1
    until(lambda: client.stats().paused)

    assert gateway.paths().count("/sourceConfig") == fetched + 1
    assert gateway.requests[0][0].startswith("/sourceConfig?p=python&v=")


def test_the_configuration_is_cached(make, gateway: Gateway):
    """Offline, the last copy is used."""
    gateway.config = _config(_destination("One", apiKey="k"))
    make(factories=[Spy("One")]).initialize("2RdemoWriteKey").wait(60)
    spy = Spy("One")
    client = make(factories=[spy], control_plane_url="http://127.0.0.1:9")
    client.track("one")
    assert client.flush()

    assert spy.calls[0] == ("create", {"apiKey": "k"})


@pytest.mark.parametrize("region", ["US", "EU"])
def test_data_residency_chooses_the_data_plane(make, gateway: Gateway, region: str):
    """The source's data plane of the region replaces the configured one; without one, the US one does."""
    with serving() as us:
        gateway.config = _config(
            dataplanes={
                "US": [{"url": us.url, "default": True}],
                "EU": [{"url": "http://127.0.0.1:9", "default": False}],
            }
        )
        client = make(data_residency=region)
        client.track("one")
        assert client.flush()

        assert us.names == ["one"]
        assert gateway.names == []


@pytest.mark.parametrize(
    "config",
    [
        [],
        "text",
        {"source": 5},
        {"source": {"destinations": 5, "dataplanes": [1]}},
        {"source": {"dataplanes": {"US": [{"url": "http://[::1", "default": True}]}}},
        (200, {}, b"<html>"),
        (200, {}, b"[" * 100_000),
    ],
)
def test_an_odd_configuration_does_no_harm(make, gateway: Gateway, config):
    """Whatever the control plane answers, events are delivered."""
    gateway.config = config
    client = make(factories=[Spy("One")])
    client.track("one")
    assert client.flush()

    assert gateway.names == ["one"]


def test_a_key_unknown_to_the_control_plane_pauses_sending(make, gateway: Gateway):
    """ "Invalid write key" from the control plane: nothing is sent, everything is kept."""
    gateway.config = (400, {}, b'{"message":"Invalid write key"}')
    client = make()
    client.track("one")

    assert not client.flush()
    assert gateway.batches == []
    assert client.stats().waiting == 1


class Slow(Spy):
    """An integration that takes no further event before it is `released`."""

    def __init__(self, name):
        super().__init__(name)
        self.released = threading.Event()

    def dump(self, event):
        self.calls.append("dump")
        self.released.wait(60)


def test_a_slow_integration_delays_nothing_else(make, gateway: Gateway):
    """While device mode does not return, the data plane has all events, and no call waits."""
    slow = Slow("")
    client = make(factories=[slow], flush_queue_size=1)
    for call in [lambda: client.track("one")] * 5 + [client.reset, lambda: client.track("last"), client.stats]:
        call()
    until(lambda: len(gateway.names) == 6)

    until(lambda: "dump" in slow.calls)
    assert slow.calls.count("dump") == 1
    assert client.stats().dropped == {}
    slow.released.set()
    client.flush(60)
    assert slow.calls[1:] == [*["dump"] * 5, "reset", "dump", "flush"]


def test_a_custom_factory_needs_no_source_configuration(make, gateway: Gateway):
    """Without a display name it starts at once, even if the control plane never answers."""
    gateway.config = (500, {}, b"")
    own, named = Spy(""), Spy("Amplitude")
    client = make(factories=[own], data_plane_url="http://127.0.0.1:9")
    client.track("one")
    until(lambda: own.events == ["one"])
    other = make(factories=[own, named])
    other.track("two")
    other.flush()

    assert named.calls == []


def test_device_mode_skips_events_when_it_is_too_slow(make):
    """More than dbThresholdCount behind, it continues with newer events and counts the skipped ones."""
    client = make(factories=[Spy("Amplitude")], db_threshold_count=10, data_plane_url="http://127.0.0.1:9")
    for number in range(13):
        client.track(str(number))

    assert client.stats().missed == 3
    assert client.stats().dropped == {"queue full": 3}
    assert list(client.frame()["state"]) == ["waiting"] * 10 + ["device"] * 10


def test_a_factory_without_a_name_is_rejected():
    """When the client is created, not later as an internal error."""

    class Nameless:
        def create(self, config, client):
            raise AssertionError

    with pytest.raises(ConfigError, match=r"each needs a display_name \(a string\); Nameless does not have one"):
        ServiceClient(factories=[Nameless()])


def test_nothing_is_recorded_after_opting_out_before_initialize(gateway: Gateway, tmp_path: Path):
    """`track`, `optOut(True)`, `initialize`: the earlier event is sent, but no start of the application is recorded."""
    client = ServiceClient(data_directory=tmp_path, data_plane_url=gateway.url, application_version="1")
    client.track("before")
    client.opt_out(True)
    client.initialize(KEY)
    client.track("after")
    client.flush()
    client.shutdown()

    assert gateway.names == ["before"]


def test_initialize_reports_why_nothing_can_be_sent(make, gateway: Gateway):
    """`initialize().wait()` is False with a refused key or a disabled source, and `problem` gives the reason."""
    client = ServiceClient(data_plane_url=gateway.url)
    ready = client.initialize(KEY)
    assert ready.wait(60)
    assert ready.problem == ""
    gateway.config = (400, {}, b'{"message":"Invalid write key"}')
    refused = client.initialize("WRONG")
    assert not refused.wait(60)
    assert "the write key was refused" in refused.problem
    gateway.config = _config(enabled=False)
    disabled = client.initialize(KEY)
    assert not disabled.wait(60)
    assert "the source is disabled" in disabled.problem
    client.shutdown(0.1)
