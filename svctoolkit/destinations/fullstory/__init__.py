"""Fullstory: users and their events.

identify writes the user with the traits as properties. track is an event with its properties, and with the browser,
app, device and location in its context. https://developer.fullstory.com/server/v2
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, authorization
from svctoolkit.events import Event
from svctoolkit.mapping import Table, as_object, first, required, verbatim
from svctoolkit.secrets import Secret


class FullstorySettings(Settings, frozen=True, kw_only=True):
    api_key: Secret = Secret("")


destination = DestinationType(
    "Fullstory",
    FullstorySettings,
    docs="https://developer.fullstory.com/server/v2/events/create-events/",
    quirks=[
        "E-mail address and display name are only taken from the traits of the context.",
        "The time of an event is that of the client's clock; the corrected time is not sent.",
        "Missing parts of an event's context are sent empty.",
    ],
    answers=[
        Answer("success", 200, {"id": "1", "uid": "u1"}),
        Answer("bad key", 401, {"code": "unauthorized", "message": "Unauthorized"}),
        Answer("rate limit", 429, {"code": "rate_limit_exceeded", "message": "Too many requests"}),
        Answer("invalid field", 400, {"code": "invalid_request", "message": "name is required"}),
    ],
)

API = Endpoint("https://api.fullstory.com/v2", authorization("Basic", "api_key"), JSON)

USER = Table(
    {
        "uid": verbatim("userId"),
        "email": verbatim("context.traits.email"),
        "display_name": verbatim("context.traits.name"),
    }
)
ACTION = Table(
    {
        "name": required("event"),
        "timestamp": verbatim("originalTimestamp"),
    }
)
SESSION = Table(
    {
        "id": verbatim(first("properties.sessionId", "context.sessionId")),
        "use_most_recent": verbatim("properties.useMostRecent"),
    }
)
ACTOR = Table({"uid": verbatim(first("properties.userId", "userId"))})
#: members of the context, and Fullstory's names for them
_PAGE = {"url": "url", "initial_referrer": "initial_referrer"}
_APP = {"name": "app_name", "version": "app_version"}
_DEVICE = {"manufacturer": "manufacturer", "model": "model"}
_PLACE = {"latitude": "latitude", "longitude": "longitude", "city": "city", "region": "region", "country": "country"}


@destination.on("identify")
def send_user(event: Event, settings: FullstorySettings) -> Payload:
    """Return the user, with the event's traits or else those of the context."""
    traits = event.raw.get("traits") or event.context.get("traits")
    properties = {"properties": traits} if isinstance(traits, dict) else {}
    return API.post(settings, "users", {**properties, **USER(event)})


@destination.on("track")
def send_action(event: Event, settings: FullstorySettings) -> Payload:
    """Return an event with its name, browser, app, device and location."""
    properties = {"properties": event.raw["properties"]} if isinstance(event.raw.get("properties"), dict) else {}
    context = {
        "browser": {
            **_rename(event.context.get("page"), _PAGE),
            **_rename(event.context, {"userAgent": "user_agent"}),
        },
        "mobile": _rename(event.context.get("app"), _APP),
        "device": _rename(event.context.get("device"), _DEVICE),
        "location": {**_rename(event.context, {"ip": "ip_address"}), **_rename(event.properties, _PLACE)},
    }
    beside = {"context": context, "session": SESSION(event), "user": ACTOR(event)}
    return API.post(settings, "events", {**ACTION(event), **properties, **beside})


def _rename(value: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the members of an object that have a name, under this name; nulls are sent, as in RudderStack."""
    members = as_object(value)
    return {name: members[key] for key, name in names.items() if key in members}
