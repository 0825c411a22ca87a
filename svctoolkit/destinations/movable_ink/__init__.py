"""Movable Ink: behavioural events, sent unchanged.

identify and track send the whole event, with its time in Unix milliseconds. An ID of the user is required; search
events also require the query, and product events the product or category.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Endpoint, Header, Merge, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import EMAIL, TIME, USER_ID, Missing, basic_auth, event_key, moment, not_null
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import microseconds
from svctoolkit.secrets import Secret


class MovableInkSettings(Settings, frozen=True, kw_only=True):
    endpoint: str
    access_key: Secret
    access_secret: Secret


destination = DestinationType(
    "Movable Ink",
    MovableInkSettings,
    docs="https://support.movableink.com/hc/en-us/articles/360053114293-Behavioral-Events-API",
    quirks=[
        "An e-mail address is used without a user ID.",
        "An invalid time is sent as null.",
    ],
    answers=[
        Answer("success", 200, {}),
        Answer("bad key", 401, {"error": "Unauthorized"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"error": "timestamp is invalid"}),
    ],
    merges=[Merge("events", wraps=True, size=1_000_000)],
)

API = Endpoint(
    "{endpoint}",
    Header("content-type", "application/json"),
    Header("authorization", lambda settings: basic_auth(settings.access_key.reveal(), settings.access_secret.reveal())),
)

#: the property that each of these events requires
NEEDS = {
    "products_searched": "query",
    "product_added": "product_id",
    "product_removed": "product_id",
    "product_viewed": "product_id",
    "category_viewed": "categories",
}
_time, _user, _email = getter(not_null(TIME)), getter(not_null(USER_ID)), getter(EMAIL)


@destination.on("identify")
def send_person(event: Event, settings: MovableInkSettings) -> Payload:
    """Return the event unchanged."""
    return _send(event, settings)


@destination.on("track")
def send_action(event: Event, settings: MovableInkSettings) -> Payload:
    """Return the event unchanged. Raises if a property that its name requires is missing."""
    if not event.raw.get("event"):
        raise Missing("event")
    member = NEEDS.get(event_key(event))
    if member and not event.properties.get(member):
        raise Missing(f"properties.{member}")
    return _send(event, settings)


def _send(event: Event, settings: MovableInkSettings) -> Payload:
    when = _time(event.raw)
    if when is None:
        raise Missing("timestamp", "originalTimestamp")
    user = _user(event.raw) or _email(event.raw)
    if not user and not event.raw.get("anonymousId"):
        raise Missing("userId", "traits.email", "anonymousId")
    body = {**event.raw, "timestamp": _milliseconds(when)}
    if user:
        body["userId"] = user
    return API.post(settings, body=body)


def _milliseconds(value: Any) -> int | float | None:
    if isinstance(value, (int, float)):
        return value if not isinstance(value, bool) else int(value)
    when = moment(value)
    return None if when is None else microseconds(when) // 1000
