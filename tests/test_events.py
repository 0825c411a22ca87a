"""Events: checks, builders, samples."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import events
from svctoolkit.errors import InvalidMessageType, UnknownName
from svctoolkit.events import EVENT_TYPES, Event

NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize("message", [None, 3, [], "track", {}, {"type": None}, {"type": 3}, {"type": ["track"]}])
def test_a_missing_or_invalid_type_is_rejected(message: Any) -> None:
    """With the first of the two specified texts, also for values that are not objects."""
    with pytest.raises(InvalidMessageType, match=r"^message type missing or invalid$"):
        events.check(message)


@pytest.mark.parametrize("kind", ["", "Track", "purchase", "track "])
def test_an_unknown_event_type_is_rejected(kind: str) -> None:
    """With the second specified text; types are case-sensitive."""
    with pytest.raises(InvalidMessageType, match=r"^message type is unsupported$"):
        events.check({"type": kind})


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()), st.sampled_from(EVENT_TYPES))
def test_every_object_with_a_known_type_is_an_event(members: dict[str, Any], kind: str) -> None:
    """Only `type` is checked."""
    event = {**members, "type": kind}

    assert events.check(event) is event


def test_builders_make_events_as_clients_do() -> None:
    """Type, name, ids, properties, times in UTC with milliseconds."""
    event = events.track(
        "Order Completed", user_id="u1", properties={"revenue": 10}, context={"ip": "203.0.113.1"}, timestamp=NOW
    )

    assert event.pop("messageId")
    assert event == {
        "type": "track",
        "event": "Order Completed",
        "userId": "u1",
        "properties": {"revenue": 10},
        "context": {"ip": "203.0.113.1"},
        "timestamp": "2026-01-01T12:30:00.000Z",
        "originalTimestamp": "2026-01-01T12:30:00.000Z",
    }


def test_every_type_has_a_builder() -> None:
    """Each makes a valid event of its type, with its specific fields."""
    built = [
        events.identify("u1", traits={"plan": "pro"}),
        events.track("Signed Up", user_id="u1"),
        events.page("Home", category="Web", user_id="u1"),
        events.screen("Basket", anonymous_id="a1"),
        events.group("g1", traits={"name": "Nord"}, user_id="u1"),
        events.alias("u1", "a1"),
    ]

    assert [events.check(event)["type"] for event in built] == list(EVENT_TYPES)
    assert built[0]["context"]["traits"] == built[0]["traits"] == {"plan": "pro"}
    assert (built[2]["name"], built[2]["category"]) == ("Home", "Web")
    assert (built[4]["groupId"], built[5]["previousId"]) == ("g1", "a1")


def test_builders_do_not_change_their_arguments() -> None:
    """A context that is passed twice does not collect the traits of the first event."""
    context: dict[str, Any] = {"ip": "203.0.113.1"}
    events.identify("u1", traits={"plan": "pro"}, context=context)

    assert context == {"ip": "203.0.113.1"}


def test_samples_cover_every_type_and_are_copies() -> None:
    """A changed sample is complete again at the next call."""
    events.sample("track")["properties"].clear()

    assert {e["type"] for e in events.samples().values()} == set(EVENT_TYPES)
    assert events.sample("track")["properties"]["revenue"] == 128.0
    assert all(events.sample(kind)["type"] == kind for kind in EVENT_TYPES)


def test_an_unknown_sample_gets_a_suggestion() -> None:
    """The error names the nearest sample."""
    with pytest.raises(UnknownName, match=r"unknown sample event 'trak'\. Did you mean 'track'"):
        events.sample("trak")


def test_the_view_tolerates_values_of_wrong_types() -> None:
    """They read as empty: a mapping gets objects or nothing."""
    event = Event({"type": "identify", "context": [], "properties": "x", "traits": 3})

    assert (event.properties, event.traits, event.context) == ({}, {}, {})
    assert Event({"context": {"traits": {"plan": "pro"}}}).traits == {"plan": "pro"}
    assert (Event({"event": "E"}).name, Event({"name": "P"}).name, Event({}).type) == ("E", "P", "")


def test_a_sample_event_can_happen_now() -> None:
    """`at` moves all its times, so that destinations that reject old events accept it."""
    now = datetime(2030, 1, 1, 12, tzinfo=UTC)
    then, moved = events.sample("track"), events.sample("track", at=now)

    assert moved["originalTimestamp"] == moved["timestamp"] == "2030-01-01T12:00:00.000Z"
    assert moved["sentAt"] == "2030-01-01T12:00:00.360Z"
    assert {name for name in then if then[name] != moved[name]} == {
        *("originalTimestamp", "sentAt", "timestamp", "receivedAt")
    }
