"""Vero: users, their devices and tags, and the events that trigger campaigns.

identify writes the user; track, page and screen are events; alias gives a user a new ID. The events `unsubscribe`,
`resubscribe` and `delete` apply that action to the user. `integrations.Vero.tags` lists tags to add and remove.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Method, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    TIME,
    Table,
    as_object,
    converter,
    event_name,
    first,
    js_join,
    value_of,
    whole_second,
)
from svctoolkit.secrets import Secret


class VeroSettings(Settings, frozen=True, kw_only=True):
    auth_token: Secret


destination = DestinationType(
    "Vero",
    VeroSettings,
    docs="https://developers.getvero.com/track-api-reference/",
    quirks=["A user's data are the traits of the context; those of the event are used if the context has none."],
    answers=[
        Answer("success", 200, {"status": 200, "message": "Success."}),
        Answer("bad key", 401, {"status": 401, "message": "You have not provided a valid auth token"}),
        Answer("rate limit", 429, {"status": 429, "message": "Too many requests"}),
        Answer("invalid field", 400, {"status": 400, "message": "You must provide at least one of: id, email"}),
    ],
)


@converter
def check_id(value: Json) -> int | str:
    """Return the event's second in microseconds, by which Vero detects duplicates; empty for an invalid time."""
    second = whole_second(value)
    return "" if second is None else second * 1_000_000


USER = Table({"id": ANY_ID, "email": EMAIL})
DATA = Table(
    {
        "locale": first("context.locale", "context.traits.locale"),
        "timezone": first("context.timezone", "context.traits.timezone"),
        "userAgent": "context.userAgent",
    }
)
DEVICE = Table({"platform": "context.os.name", "address": "context.device.token", "device": "context.device.name"})
CHECK = Table({"check_id": check_id(TIME)})
REIDENTIFICATION = Table({"id": "previousId", "new_id": ANY_ID})
_NOT_DATA = frozenset({"email", "locale", "timezone"})
_USER_ACTIONS = frozenset({"unsubscribe", "resubscribe", "delete"})


@destination.on("identify")
def send_user(event: Event, settings: VeroSettings) -> Iterator[Payload]:
    """Yield the user, with the device for push notifications, then the tags."""
    body = USER(event)
    traits = event.context.get("traits", event.raw.get("traits"))
    own = {key: value for key, value in as_object(traits).items() if key not in _NOT_DATA}
    data = {**own, **DATA(event)}
    if data or isinstance(traits, dict):
        body["data"] = data
    device = DEVICE(event)
    if "platform" in device and "address" in device:
        body["channels"] = {"type": "push", **device}
    yield _send(settings, "users/track", body)
    yield from _tags(event, settings)


@destination.on("track")
def send_event(event: Event, settings: VeroSettings) -> Iterator[Payload]:
    """Yield the event or the action that it applies to the user, then the tags."""
    name = event_name(event)
    action = name.lower()
    if action in _USER_ACTIONS:
        yield _send(settings, f"users/{action}", {"id": value_of(event, ANY_ID)})
        return
    yield _send(settings, "events/track", _event(event, name))
    yield from _tags(event, settings)


@destination.on("page", "screen")
def send_view(event: Event, settings: VeroSettings) -> Payload:
    """Return the event `Viewed <category> <name> Page`."""
    words = [js_join(word) for word in (event.properties.get("category"), event.raw.get("name")) if word]
    return _send(settings, "events/track", _event(event, " ".join(["Viewed", *words, event.type.capitalize()])))


@destination.on("alias")
def send_alias(event: Event, settings: VeroSettings) -> Payload:
    """Change the user's ID from `previousId` to `userId`."""
    return _send(settings, "users/reidentify", REIDENTIFICATION(event), method="PUT")


def _event(event: Event, name: str) -> dict[str, Any]:
    body: dict[str, Any] = {"identity": USER(event), "event_name": name, "extras": CHECK(event)}
    body = {key: value for key, value in body.items() if value}
    if isinstance(event.raw.get("properties"), dict):
        body["data"] = event.properties
    return body


def _tags(event: Event, settings: VeroSettings) -> Iterator[Payload]:
    tags = as_object(destination.options(event).get("tags"))
    lists = {key: tags[key] for key in ("add", "remove") if isinstance(tags.get(key), list)}
    if lists:
        yield _send(settings, "users/tags/edit", {"id": value_of(event, ANY_ID), **lists}, method="PUT")


def _send(settings: VeroSettings, path: str, body: Mapping[str, Any], *, method: Method = "POST") -> Payload:
    own = {key: value for key, value in body.items() if value is not None}
    return Payload(
        endpoint=f"https://api.getvero.com/api/v2/{path}",
        method=method,
        json={**own, "auth_token": settings.auth_token.reveal()},
    )
