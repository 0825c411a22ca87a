"""SdkPlayground without a browser: calls, the queue, offline mode, and received events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.widgets import SdkPlayground
from tests.notebooks.controls import click, control, fill, grid, saved, shown, words

NEWEST = "Newest events (UTC); select one for details"


@pytest.fixture
def playground() -> Iterator[SdkPlayground]:
    """A playground with its own data plane, without lifecycle events among those of the test."""
    made = SdkPlayground(configuration={"track_lifecycle_events": False, "sleep_timeout": 1})
    yield made
    made.close()


def text(playground: SdkPlayground) -> str:
    """Its text, on one line."""
    assert playground.wait()
    return words(shown(playground))


def received(playground: SdkPlayground) -> list[Any]:
    """The events of the data plane, once everything has been sent."""
    assert playground.client.flush()
    playground.plane.drain()
    return [record.event for record in playground.plane.received]


CALLS = {
    "identify": ("User ID", "u-9", "Traits (JSON)", {"plan": "pro"}),
    "track": ("Event name", "Paid", "Track properties (JSON)", {"revenue": 3}),
    "screen": ("Screen name", "Start", "Screen properties (JSON)", {"dark": True}),
    "group": ("Group ID", "g-9", "Group traits (JSON)", {"size": 4}),
}


@pytest.mark.parametrize("call", CALLS)
def test_buttons_make_calls_with_their_json(playground: SdkPlayground, call: str) -> None:
    """Each button makes its call with the text and the JSON next to it, and the event arrives."""
    label, value, content_label, content = CALLS[call]
    fill(playground, label, value)
    fill(playground, content_label, repr(content).replace("'", '"').replace("True", "true"))

    click(playground, call)

    (event,) = received(playground)
    assert event["type"] == call
    assert value in (event.get("userId"), event.get("event"), event.get("groupId"))
    found = event.get("properties") or event.get("traits") or event["context"]["traits"]
    assert content.items() <= found.items()


def test_identity_calls_change_later_events(playground: SdkPlayground) -> None:
    """Alias, reset and the IDs."""
    fill(playground, "Anonymous ID", "visitor-1")
    fill(playground, "Device token", "push-9")
    fill(playground, "Advertising ID", "ad-9")
    for call in ("put_anonymous_id", "put_device_token", "put_advertising_id", "identify", "alias", "reset", "track"):
        click(playground, call)

    identify, alias, track = received(playground)
    assert (identify["userId"], alias["userId"], alias["previousId"]) == ("u-1", "u-2", "u-1")
    assert (track.get("userId", ""), track["anonymousId"]) == ("", "visitor-1")
    assert (track["context"]["device"]["token"], track["context"]["device"]["advertisingId"]) == ("push-9", "ad-9")


def test_lifecycle_calls_record_events() -> None:
    """Background and foreground record what a phone would."""
    playground = SdkPlayground()
    click(playground, "background")
    click(playground, "foreground")
    names = [event["event"] for event in received(playground)]
    playground.close()

    assert names == ["Application Installed", "Application Opened", "Application Backgrounded", "Application Opened"]


def test_options_apply_to_every_event(playground: SdkPlayground) -> None:
    """Until they are removed."""
    fill(playground, "Options of the calls (JSON)", '{"integrations": {"All": false}}')
    click(playground, "track")
    fill(playground, "Options of the calls (JSON)", "")
    click(playground, "track")

    assert [event["integrations"] for event in received(playground)] == [{"All": False}, {"All": True}]


def test_offline_events_wait_and_are_sent_later(playground: SdkPlayground) -> None:
    """The queue shows them; back online they are sent at once."""
    control(playground, "Offline").value = True
    click(playground, "identify")
    click(playground, "track")

    said = text(playground)
    assert "2 recorded 2 waiting 0 delivered" in said
    assert "waiting track Order Completed u-1" in said
    assert playground.plane.totals().received == 0

    control(playground, "Offline").value = False

    assert playground.wait()
    playground.plane.wait(lambda: playground.plane.totals().received == 2)
    assert "2 recorded 0 waiting ✓ 2 delivered" in text(playground)
    assert "The queue is empty." in text(playground)
    assert "track Order Completed u-1 ✓ hook" in " ".join(_list(playground))


def _list(playground: SdkPlayground) -> list[str]:
    playground.plane.drain()
    assert playground.wait()
    return [" ".join(" ".join(row[2:]).split()) for row in grid(playground, NEWEST).page["cells"]]


def test_a_flush_without_a_connection_fails(playground: SdkPlayground) -> None:
    """It ends after some seconds and says that the events stay."""
    control(playground, "Offline").value = True
    click(playground, "track")

    click(playground, "flush")

    said = text(playground)
    assert "Some events could not be sent and stay in the queue." in said
    assert "the playground is offline" in said
    assert not control(playground, "flush").disabled


def test_opting_out_stops_recording(playground: SdkPlayground) -> None:
    """It says how many events were dropped and why."""
    control(playground, "Opted out").value = True
    click(playground, "track")
    assert "1 recorded 0 waiting 0 delivered ⚠ 1 dropped: opted out" in text(playground)

    control(playground, "Opted out").value = False
    click(playground, "track")

    assert len(received(playground)) == 1


def test_events_are_sent_automatically(playground: SdkPlayground) -> None:
    """Without a flush, the client sends after `sleep_timeout`, and the explorer shows it."""
    click(playground, "track")

    playground.plane.wait(lambda: playground.plane.totals().received == 1)

    assert "track Order Completed" in " ".join(_list(playground))


@pytest.mark.parametrize(
    ("label", "value", "button", "said"),
    [
        ("Track properties (JSON)", '{"a": }', "track", "invalid JSON in the track properties: line 1, column 7"),
        ("Track properties (JSON)", "[1]", "track", "the track properties must be a JSON object"),
        ("Event name", " ", "track", "track: name must not be empty"),
        ("New ID", "", "alias", "alias: newId must not be empty"),
        ("Options of the calls (JSON)", '{"integration": {}}', "identify", "Did you mean 'integrations'"),
        ("Options of the calls (JSON)", "{", "identify", "invalid JSON in the options: line 1, column 2"),
    ],
)
def test_wrong_input_is_a_message(playground: SdkPlayground, label: str, value: str, button: str, said: str) -> None:
    """Nothing is recorded."""
    fill(playground, label, value)

    click(playground, button)

    assert said in text(playground)
    assert "0 recorded" in text(playground)


def test_a_valid_call_removes_the_message(playground: SdkPlayground) -> None:
    """The mistake is not shown any more after the next valid call."""
    fill(playground, "New ID", "")
    click(playground, "alias")
    assert "newId must not be empty" in text(playground)

    click(playground, "track")

    assert "newId must not be empty" not in text(playground)


def test_the_calls_can_be_copied_as_python(playground: SdkPlayground) -> None:
    """The code contains all calls so far."""
    fill(playground, "Track properties (JSON)", '{"vip": true}')
    click(playground, "track")
    click(playground, "reset")
    control(playground, "Opted out").value = True

    said = text(playground)

    assert "client.track('Order Completed', {'vip': True}) client.reset() client.opt_out(True)" in said


def test_calls_from_other_cells_are_shown(playground: SdkPlayground) -> None:
    """Its client can be used elsewhere; what it records is shown, too."""
    playground.client.track("From a cell")
    playground.client.flush()
    playground.plane.drain()

    assert "1 delivered" in text(playground)


def test_an_existing_data_plane_can_be_used() -> None:
    """It uses the given source, and leaves the data plane running when it is closed."""
    workspace = Workspace("shop")
    workspace.source("web", destinations=[])
    workspace.source("app", destinations=[])
    with DataPlane(workspace, listen=False) as plane:
        playground = SdkPlayground(plane, source="app")
        click(playground, "track")
        playground.close()
        plane.send({"type": "track", "event": "After", "userId": "u"}, source="web")

        assert {record.source for record in plane.received[:-1]} == {"app"}
        assert plane.received[-1].name == "After"


def test_invalid_arguments_are_errors() -> None:
    """A workspace without sources, an unknown source, an unknown setting and a transport."""
    with DataPlane(Workspace("empty"), listen=False) as plane:
        with pytest.raises(ConfigError, match="has no source"):
            SdkPlayground(plane)
        with pytest.raises(UnknownName, match="unknown source 'ap'"):
            SdkPlayground(plane, source="ap")
    with pytest.raises(ConfigError, match="Did you mean 'sleep_timeout'"):
        SdkPlayground(configuration={"sleep_timeouts": 1})
    with pytest.raises(ConfigError, match="`transport` cannot be set"):
        SdkPlayground(configuration={"transport": None})


def test_no_secret_is_shown_or_saved() -> None:
    """Neither the client's write key nor a secret in an event."""
    workspace = Workspace("shop")
    headers = [{"from": "X-Key", "to": "s3cr3t-k3y"}]
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/", "headers": headers})
    workspace.source("app", write_key="wr1te-k3y", destinations=["hook"])
    with DataPlane(workspace, listen=False) as plane:
        playground = SdkPlayground(plane)
        playground.client.track("s3cr3t-k3y")
        assert "s3cr3t" not in text(playground)
        assert len(received(playground)) == 3
        assert "track s3cr3t" not in text(playground)

        kept = saved(playground)
        playground.close()

    assert "••••" in kept
    assert "k3y" not in kept


def test_other_displays_of_the_playground(playground: SdkPlayground) -> None:
    """A saved notebook shows counts, queue and received events; a terminal one line."""
    click(playground, "track")
    assert len(received(playground)) == 1
    assert "The queue is empty." in text(playground)

    bundle = playground._repr_mimebundle_()

    assert "1 recorded 0 waiting ✓ 1 delivered ℹ Note: The queue is empty." in words(bundle["text/html"])
    assert bundle["text/plain"] == "<SdkPlayground: 1 recorded, 0 waiting, 1 delivered>"
