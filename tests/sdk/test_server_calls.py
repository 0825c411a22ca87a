"""Features for servers: details per call, switches, properties of every event, and a hook before storing."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from svctoolkit.errors import InvalidCall
from svctoolkit.sdk import ServiceClient

from .gateway import KEY, Gateway

DETAILS = {
    "timestamp": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
    "message_id": "m-1",
    "context": {"ip": "203.0.113.9", "app": {"name": "backoffice"}},
    "integrations": {"All": False, "Webhook": True},
    "anonymous_id": "a-1",
}


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("identify", ("u-1",)),
        ("track", ("Paid",)),
        ("group", ("g-1",)),
        ("screen", ("Home",)),
        ("page", ("Home",)),
        ("alias", ("u-2",)),
    ],
)
def test_every_call_accepts_details(make, gateway: Gateway, call: str, arguments: tuple):
    """Time, ID, context, user and integrations of one event; the call returns its messageId."""
    client = make(application_name="shop", application_version="2")
    user = {} if call == "identify" else {"user_id": "u-9"}
    id = getattr(client, call)(*arguments, **DETAILS, **user)
    assert client.flush()

    (event,) = gateway.events
    assert id == event["messageId"] == "m-1"
    assert event["originalTimestamp"] == "2026-01-02T03:04:05.000Z"
    assert event["anonymousId"] == "a-1"
    assert event["userId"] == {"identify": "u-1", "alias": "u-2"}.get(call, "u-9")
    assert event.get("previousId") == ("u-9" if call == "alias" else None)
    assert event["integrations"] == {"All": False, "Webhook": True}
    assert event["context"]["ip"] == "203.0.113.9"
    assert event["context"]["app"] == {"name": "backoffice", "version": "2"}


def test_an_event_of_a_named_user_has_no_anonymous_id(make, gateway: Gateway):
    """With only `user_id`, the installation's anonymous ID would merge all users into one."""
    client = make()
    client.identify("admin", {"role": "root"})
    client.track("Paid", {"revenue": 1}, user_id="u-1")
    client.track("Own")
    assert client.flush()

    paid, own = gateway.events[1:]
    assert (paid["userId"], paid["channel"]) == ("u-1", "server")
    assert "anonymousId" not in paid
    assert not {"device", "os", "userAgent", "locale", "timezone", "sessionId"} & paid["context"].keys()
    assert paid["context"]["traits"] == {"userId": "u-1", "id": "u-1"}
    assert (own["userId"], own["channel"]) == ("admin", "mobile")
    assert "device" in own["context"]


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05.000Z"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        (1_800_000_000, "2027-01-15T08:00:00.000Z"),
        (1_800_000_000.25, "2027-01-15T08:00:00.250Z"),
    ],
)
def test_times_may_be_texts_or_numbers(make, gateway: Gateway, timestamp: object, text: str):
    """Texts and seconds are valid times."""
    client = make()
    client.track("one", timestamp=timestamp)
    assert client.flush()

    assert gateway.events[0]["originalTimestamp"] == text


@pytest.mark.parametrize(
    ("details", "text"),
    [
        ({"timestamp": "yesterday"}, "track: timestamp must be a datetime, ISO 8601, or seconds since 1970"),
        ({"timestamp": 1_800_000_000_000}, "track: timestamp must be"),
        ({"timestamp": True}, "track: timestamp must be"),
        ({"message_id": ""}, "track: message_id must not be empty"),
        ({"context": 5}, "track: context must be a mapping, got int"),
        ({"user_id": 5}, "track: user_id must be a string, got int"),
        ({"integrations": {"All": "yes"}}, "track: integrations.All must be true or false, got str"),
        ({"tiemstamp": 1}, "track: there is no argument 'tiemstamp'. Did you mean 'timestamp'?"),
    ],
)
def test_a_wrong_detail_raises_at_the_call(details: dict, text: str):
    """The error says what it should be."""
    with pytest.raises(InvalidCall) as caught:
        ServiceClient().track("one", **details)

    assert text in str(caught.value)


def test_specified_names_are_keywords_too(make, gateway: Gateway):
    """The names of the specification work as keywords."""
    client = make()
    client.identify(userId="u-1", traits={"a": 1})
    client.group(groupId="g-1", groupTraits={"b": 2})
    client.screen(screenName="Home", property={"c": 3})
    client.alias(newId="u-2")
    assert client.flush()

    identify, group, screen, alias = gateway.events
    assert (identify["userId"], group["groupId"], alias["userId"]) == ("u-1", "g-1", "u-2")
    assert (group["traits"]["b"], screen["properties"]["c"]) == (2, 3)
    with pytest.raises(InvalidCall, match="groupId and group_id are one argument"):
        client.group(groupId="a", group_id="b")


def test_registered_properties_are_in_every_event(make, gateway: Gateway):
    """`register` adds to track, screen and page, and the call's own take precedence; `unregister` removes them."""
    client = make()
    client.register({"plan": "pro", "region": "eu"})
    client.track("one", {"plan": "free"})
    client.identify("u-1")
    client.unregister("region")
    client.screen("Home")
    client.unregister()
    client.track("two")
    assert client.flush()

    one, identify, home, two = gateway.events
    assert one["properties"] == {"plan": "free", "region": "eu"}
    assert home["properties"] == {"plan": "pro", "name": "Home"}
    assert "properties" not in identify
    assert "properties" not in two


def test_a_before_send_without_an_event_changes_nothing(make, gateway: Gateway):
    """What is neither an event nor None cannot be sent instead of the event."""
    client = make(before_send=lambda event: True)
    client.track("one")
    assert client.flush()

    assert gateway.names == ["one"]
    assert "it must return the event or None, got bool; the event is sent unchanged" in client.stats().last_error


def test_before_send_changes_and_drops_events(make, gateway: Gateway):
    """It gets every event as it would be stored; None drops it and counts it; exceptions change nothing."""
    dropped: list[tuple[str, str]] = []

    def before_send(event: dict) -> dict | None:
        if event["event"] == "secret":
            return None
        if event["event"] == "fault":
            raise RuntimeError("no")
        event["properties"] = {"masked": True}
        return event

    client = make(before_send=before_send, on_drop=lambda event, reason: dropped.append((event["event"], reason)))
    for name in ("one", "secret", "fault"):
        client.track(name, {"email": "a@example.com"})
    assert client.flush()

    assert [(event["event"], event["properties"]) for event in gateway.events] == [
        ("one", {"masked": True}),
        ("fault", {"email": "a@example.com"}),
    ]
    assert dropped == [("secret", "before_send")]
    assert "before_send failed: RuntimeError: no; the event is sent unchanged" in client.stats().last_error


@pytest.mark.parametrize("how", ["setting", "environment", "initialize"])
def test_a_disabled_client_does_nothing(gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str):
    """No file, no thread, no request; arguments are still checked, so that tests find mistakes."""
    if how == "environment":
        monkeypatch.setenv("SVCTOOLKIT_DISABLED", "1")
    settings = {"enabled": False} if how == "setting" else {}
    client = ServiceClient(data_directory=tmp_path / "data", data_plane_url=gateway.url, **settings)
    ready = client.initialize(KEY, {"enabled": False} if how == "initialize" else None)
    assert client.track("one", message_id="m-1") == "m-1"
    assert client.track("two")
    with pytest.raises(InvalidCall):
        client.track("")

    assert not ready.wait(1)
    assert ready.problem == "the client is switched off"
    assert client.flush()
    assert client.shutdown()
    assert (client.stats().recorded, gateway.requests, list(tmp_path.iterdir())) == (0, [], [])
    assert "switched off" in client.diagnose()


def test_a_lenient_client_logs_wrong_arguments(make, gateway: Gateway, caplog: pytest.LogCaptureFixture):
    """With `strict=False` a wrong call is reported, logged once, and does not raise."""
    errors: list[Exception] = []
    client = make(strict=False, on_error=errors.append)
    for _ in range(2):
        assert client.track(5) == ""  # type: ignore[arg-type]
    client.identify("")
    client.opt_out("yes")  # type: ignore[arg-type]
    client.put_device_token("")
    client.register(5)  # type: ignore[arg-type]
    assert client.track("one")
    assert client.flush()

    assert gateway.names == ["one"]
    assert len(errors) == 6
    assert len(caplog.records) == 5
    assert "track: name must be a string, got int" in caplog.text


def test_a_diagnosis_shows_the_state_and_gives_advice(make, gateway: Gateway, tmp_path: Path):
    """File, address, last answers, counts and advice, without the write key."""
    gateway.config = (404, {}, b"404 page not found\n")
    gateway.keys.clear()
    client = ServiceClient(data_plane_url=gateway.url)
    assert "Call initialize" in client.diagnose()
    client = make("SECRET_KEY")
    client.track("one")
    client.flush()
    page = client.diagnose()

    assert str(tmp_path / "data") in page
    assert gateway.url in page
    assert "401 invalid write key" in page
    assert "1 waiting" in page
    assert "-> Compare the write key" in page
    assert "SECRET_KEY" not in page
    assert json.dumps(page)
