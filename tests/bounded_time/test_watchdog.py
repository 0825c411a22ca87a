"""An event whose mapping takes too long is dead; all other events, and all other clients, go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.destinations import CATALOGUE, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event, track

BUDGET = "dataPlane: {limits: {mapping: 0.2}}\n"
own = DestinationType("Slow harbor", Settings)
#: Set after each test: a thread that never ends would slow down all tests after it.
RELEASED = threading.Event()
API = Endpoint("https://harbor.example")


@own.on("track")
def send_track(event: Event, settings: Settings) -> Payload:
    """Does not return for one event until the test is over, not even if interrupted; sleeps for another."""
    while event.name == "Endless":
        pass
    while event.name == "Stubborn" and not RELEASED.is_set():
        try:
            while not RELEASED.is_set():
                pass
        except BaseException:  # noqa: BLE001 - as stubborn code does
            continue
    if event.name == "Asleep":
        RELEASED.wait(3600)
    return API.post(settings, "events", {"name": event.name})


@pytest.fixture
def slow_type() -> Iterator[None]:
    CATALOGUE.add("SLOW_HARBOR", own)
    RELEASED.clear()
    yield
    RELEASED.set()
    CATALOGUE._added.pop("SLOW_HARBOR")  # other tests of this process look at every type
    for thread in threading.enumerate():
        if thread.name == "svctoolkit dest_transform":
            thread.join(60)


def _plane(text: str) -> DataPlane:
    return DataPlane(Workspace.loads(BUDGET + text))


HARBOR = """
destinations: {harbor: {type: SLOW_HARBOR}, hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example"}}}
sources: {web: {destinations: [harbor, hook]}}
"""


def _fates(plane: DataPlane, destination: str) -> dict[str, tuple[str, str, str]]:
    return {f.name: (f.status, f.by, f.reason) for f in plane.fates if f.destination == destination}


def test_an_endless_mapping_is_dead(slow_type: None) -> None:
    """The event is dead with destination, stage and limit named; those before and after it are delivered."""
    with _plane(HARBOR) as plane:
        names = ["Before", "Endless", "After"]
        plane.send([track(name, user_id="u", message_id=name) for name in names], source="web")
        plane.drain(120)

        fates = _fates(plane, "harbor")
        assert {name: fate[0] for name, fate in fates.items()} == {
            "Before": "delivered", "Endless": "dead", "After": "delivered",
        }  # fmt: skip
        _, by, reason = fates["Endless"]
        assert by == "dest_transform"
        assert "dest_transform at harbor took more than 0.2 s, the limit `mapping` of this data plane" in reason
        assert {fate[0] for fate in _fates(plane, "hook").values()} == {"delivered"}


def test_a_mapping_that_sleeps_is_dead(slow_type: None) -> None:
    """Code that waits uses no processor time; it has fifteen times the budget."""
    with _plane(HARBOR) as plane:
        plane.send(track("Asleep", user_id="u"), source="web")
        plane.drain(120)

        assert _fates(plane, "harbor")["Asleep"][0] == "dead"


def test_an_endless_python_transformation_is_dead() -> None:
    """A Python function that is used as a transformation has the same budget."""
    workspace = Workspace.loads(BUDGET)

    def transform(event: dict[str, Any]) -> dict[str, Any]:
        while event["event"] == "Endless":
            pass
        return event

    workspace.transformation("own", transform)
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"}, transformation="own")
    workspace.source("web", destinations=["hook"])
    with DataPlane(workspace) as plane:
        plane.send([track("Endless", user_id="u"), track("Next", user_id="v")], source="web")
        plane.drain(120)

        fates = _fates(plane, "hook")
        assert fates["Endless"][:2] == ("dead", "user_transform")
        assert fates["Next"][0] == "delivered"


def test_a_large_event_is_mapped_within_its_budget() -> None:
    """Built-in mappings are linear: an event of 2 MB is delivered, in a thread of its own."""
    text = HARBOR.replace("SLOW_HARBOR", "WEBHOOK, config: {webhookUrl: 'https://harbor.example'}").replace("0.2", "30")
    with DataPlane(Workspace.loads(text)) as plane:
        plane.send(track("Large", user_id="u", properties={"n": "1" * 2_000_000}), source="web")
        plane.drain(120)

        assert _fates(plane, "hook")["Large"][0] == "delivered"


@pytest.mark.slow
def test_threads_that_cannot_be_ended_are_limited(slow_type: None) -> None:
    """Code that catches everything keeps its thread. After eight, events that need one are dead at once, and the
    others are still delivered; `/health` is answered meanwhile.
    """
    with _plane(HARBOR) as plane:
        events = [track("Stubborn", user_id=f"u{number}", message_id=f"m{number}") for number in range(30)]
        for event in events:
            plane.send(event, source="web")
        plane.drain(300)

        fates = [f for f in plane.fates if f.destination == "harbor"]
        assert [f.status for f in fates] == ["dead"] * 30
        assert any("was not started: 8 earlier ones are still running" in f.reason for f in fates)
        stubborn = [thread for thread in threading.enumerate() if thread.name == "svctoolkit dest_transform"]
        assert len(stubborn) <= 8 + plane.workspace.delivery.concurrency
        assert httpx.get(f"{plane.url}/health", timeout=120).status_code == 200
        assert {f.status for f in plane.fates if f.destination == "hook"} == {"delivered"}
