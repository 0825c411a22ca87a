"""Leanplum: users, their sessions, and the events in them.

identify sets a user's attributes; track, page and screen start a session and then send the event, or the user's new
state. Leanplum's attributes are the unchanged traits of the event, or else of its context.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import ANY_ID, TIME, USER_ID, Source, Table, first, moment, required, trait, value_of
from svctoolkit.secrets import Secret

ENDPOINT = "https://api.leanplum.com/api"


class LeanplumSettings(Settings, frozen=True, kw_only=True):
    application_id: str
    client_key: Secret
    is_develop: bool = False


destination = DestinationType(
    "Leanplum",
    LeanplumSettings,
    docs="https://docs.leanplum.com/reference/get_api-action-setuserattributes",
    quirks=[
        "A user's creation time is read from the trait createAt; createdAt is an ordinary attribute.",
        "Invalid times are sent as null.",
        "identify finds the user by anonymousId and renames it to the user ID.",
        "An app without a version is sent as version 1.",
    ],
    answers=[
        Answer("success", 200, {"response": [{"success": True}]}),
        Answer("bad key", 403, {"response": [{"success": False, "error": {"message": "Invalid API key"}}]}),
        Answer("rate limit", 429, {"response": [{"success": False, "error": {"message": "Too many requests"}}]}),
        Answer("invalid field", 400, {"response": [{"success": False, "error": {"message": "Invalid attributes"}}]}),
    ],
)

API = Endpoint("https://api.leanplum.com/api", JSON)


WHERE: dict[str, Any] = {
    "locale": "context.locale",
    "timezone": "context.timezone",
    "country": trait("address.country", "country"),
    "city": trait("address.city", "city"),
}
ATTRIBUTES = first("traits", "context.traits")
CREATED = trait("createAt")
USER = Table(
    {
        "userId": required("anonymousId"),
        "newUserId": USER_ID,
        "deviceId": "context.device.id",
        "userAttributes": ATTRIBUTES,
        **WHERE,
    }
)
SESSION = Table(
    {
        "userId": required(ANY_ID),
        "deviceId": "context.device.id",
        "appVersion": "context.app.version",
        "systemName": "context.os.name",
        "systemVersion": "context.os.version",
        "browserName": "context.browser.name",
        "browserVersion": "context.browser.version",
        "deviceName": "context.device.name",
        "deviceModel": "context.device.model",
        "userAttributes": ATTRIBUTES,
        **WHERE,
    }
)
_SAME: dict[str, Any] = {"userId": ANY_ID, "deviceId": "context.device.id"}
ACTION = Table(
    {
        "event": required("event"),
        "value": "properties.total",
        "currencyCode": "properties.currency",
        "params": "properties",
        **_SAME,
    }
)
PAGE = Table({"state": required(first("name", "properties.name")), **_SAME})
PAGE_PARAMS = Table(
    {
        "path": "properties.path",
        "referrer": "properties.referrer",
        "search": "properties.search",
        "title": "properties.title",
        "url": "properties.url",
    }
)
SCREEN = Table({"state": required(first("properties.name", "event")), **_SAME})


@destination.on("identify")
def set_attributes(event: Event, settings: LeanplumSettings) -> Payload:
    """Return the user's attributes and new user ID."""
    return _send(settings, "setUserAttributes", {**USER(event), **_times(event, created=CREATED)})


@destination.on("track")
def track(event: Event, settings: LeanplumSettings) -> list[Payload]:
    """Return the session start, and the event with its properties."""
    return _in_session(event, settings, "track", ACTION(event))


@destination.on("page", "screen")
def advance(event: Event, settings: LeanplumSettings) -> list[Payload]:
    """Return the session start, and the session's next state: the name of the page or screen."""
    if event.type == "screen":
        return _in_session(event, settings, "advance", SCREEN(event))
    params = PAGE_PARAMS(event)
    body = {**PAGE(event), "params": params} if params else PAGE(event)
    return _in_session(event, settings, "advance", body)


def _in_session(event: Event, settings: LeanplumSettings, action: str, body: Mapping[str, Any]) -> list[Payload]:
    times = _times(event)
    session: dict[str, Any] = {**SESSION(event), **times}
    if event.context.get("app"):
        session.setdefault("appVersion", "1")
    return [_send(settings, "start", session), _send(settings, action, {**body, **times})]


def _times(event: Event, **others: Source) -> dict[str, int | None]:
    """Return the event's time and the `others` in Unix seconds, rounded to the nearest; None for invalid times."""
    values = {name: value_of(event, source) for name, source in {"time": TIME, **others}.items()}
    return {name: _nearest_second(value) for name, value in values.items() if value is not None}


def _nearest_second(value: Json) -> int | None:
    """Convert a time to Unix seconds; a number is read as milliseconds."""
    when = moment(int(value) if isinstance(value, bool) else value)
    return None if when is None else math.floor(when.timestamp() + 0.5)


def _send(settings: LeanplumSettings, action: str, body: Mapping[str, Any]) -> Payload:
    app = {"appId": settings.application_id, "clientKey": settings.client_key.reveal(), "apiVersion": "1.0.6"}
    body = {**app, **body, "devMode": True} if settings.is_develop else {**app, **body}
    return API.post(settings, body=body, params={"action": action})
