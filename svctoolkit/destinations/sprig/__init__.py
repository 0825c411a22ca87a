"""Sprig: visitors of in-product surveys, and the events that trigger surveys.

identify writes the visitor with all traits; track adds an event to the visitor.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Answer,
    DestinationType,
    Endpoint,
    Payload,
    Settings,
    authorization,
)
from svctoolkit.destinations.sprig._deletion import deletion
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    TIME,
    USER_ID,
    Missing,
    Table,
    event_name,
    moment,
    required,
    value_of,
    verbatim,
)
from svctoolkit.mapping.times import microseconds
from svctoolkit.secrets import Secret


class SprigSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


destination = DestinationType(
    "Sprig",
    SprigSettings,
    docs="https://docs.sprig.com/reference/post-v2-users-1",
    quirks=[
        "A visitor's attributes are `context.traits`, unchanged, including nulls.",
        "Properties of events are not sent.",
        "An invalid time is left out.",
    ],
    answers=[
        Answer("success", 200, {"userId": "u1"}),
        Answer("bad key", 401, {"statusCode": 401, "message": "Unauthorized"}),
        Answer("invalid body", 400, {"statusCode": 400, "message": "userId is required"}),
        Answer("rate limit", 429, {"statusCode": 429, "message": "Too Many Requests"}),
    ],
)
destination.deletes_with(deletion)

API = Endpoint("https://api.sprig.com/v2/users", ACCEPT_JSON, JSON, authorization("API-Key", "api_key"))


VISITOR = Table({"userId": required(verbatim(USER_ID)), "emailAddress": verbatim(EMAIL)})
WHEN = verbatim(TIME)


@destination.on("identify")
def send_visitor(event: Event, settings: SprigSettings) -> Payload:
    """Return the visitor, with the traits of the context as attributes."""
    traits = event.context.get("traits")
    attributes = {"attributes": traits} if isinstance(traits, dict) else {}
    return API.post(settings, body={**_visitor(event), **attributes})


@destination.on("track")
def send_action(event: Event, settings: SprigSettings) -> Payload:
    """Return an event of the visitor, with its name and time."""
    return API.post(settings, body={**_visitor(event), "events": [{"event": event_name(event), **_moment(event)}]})


def _moment(event: Event) -> dict[str, int]:
    """Return the event's time in Unix milliseconds; empty if it is invalid."""
    when = moment(value_of(event, WHEN))
    return {} if when is None else {"timestamp": microseconds(when) // 1000}


def _visitor(event: Event) -> dict[str, Any]:
    visitor = VISITOR(event)
    if visitor["userId"] == "":
        raise Missing("userId")
    return visitor
