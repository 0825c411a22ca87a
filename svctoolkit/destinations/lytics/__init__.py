"""Lytics: traits and properties as flat columns of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import FIRST_NAME, LAST_NAME, USER_ID, Table, flatten
from svctoolkit.secrets import Secret


class LyticsSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret = Secret("")
    stream: str = "default"


destination = DestinationType(
    "Lytics",
    LyticsSettings,
    docs="https://docs.lytics.com/reference/upload-json",
    answers=[
        Answer("success", 200, {"message": "success", "rejected_count": 0, "message_count": 1, "status": 200}),
        Answer("bad key", 401, {"message": "Not Authorized", "status": 401}),
    ],
)

API = Endpoint("https://api.lytics.io/collect/json/{stream}?access_token={api_key}", JSON)
PERSON = Table({"user_id": USER_ID, "anonymous_id": "anonymousId", "first_name": FIRST_NAME, "last_name": LAST_NAME})
ACTION = Table({**PERSON.shape, "_e": "event"})
VIEW = Table({**PERSON.shape, "event": "name"})
_NAMES = frozenset({"firstName", "firstname", "first_name", "lastName", "lastname", "last_name"})


@destination.on("identify")
def send_person(event: Event, settings: LyticsSettings) -> Payload:
    return _send(event.traits, PERSON(event), settings)


@destination.on("track")
def send_action(event: Event, settings: LyticsSettings) -> Payload:
    return _send(event.properties, ACTION(event), settings)


@destination.on("page", "screen")
def send_view(event: Event, settings: LyticsSettings) -> Payload:
    return _send(event.properties, VIEW(event), settings)


def _send(members: Mapping[str, Any], columns: Mapping[str, Any], settings: LyticsSettings) -> Payload:
    flat = {key: value for key, value in flatten(members).items() if key not in _NAMES and value is not None}
    return API.post(settings, body={**flat, **columns})
