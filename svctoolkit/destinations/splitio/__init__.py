"""Split: events of keys, such as users, accounts and other traffic types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, bearer
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    TIME,
    Misfit,
    Table,
    as_object,
    converter,
    first,
    flatten,
    js_join,
    moment,
    not_null,
    number,
    required,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret


class SplitioSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret = Secret("")
    environment: str = ""
    traffic_type: str = ""


destination = DestinationType(
    "Split.io",
    SplitioSettings,
    docs="https://docs.split.io/reference/create-event",
    answers=[
        Answer("success", 202),
        Answer("bad key", 401, {"message": "Unauthorized"}),
        Answer("rate limit", 429, {"message": "Too many requests"}),
        Answer("invalid field", 400, {"message": "Invalid event: eventTypeId is not valid"}),
    ],
    quirks=["The traffic type in the event's traits overrides the configured one."],
)

API = Endpoint("https://events.split.io/api/events", JSON, bearer("api_key"))


@converter
def numeric(value: Json) -> int | float | None:
    """Return a number or a numeric string as a number; None for anything else."""
    try:
        return number.of(value)
    except ValueError:
        return None


KEY = Table({"key": required(ANY_ID)})
TRAFFIC = Table({"trafficTypeName": first(trait("trafficTypeName"), "properties.trafficTypeName")})
VALUE = Table({"value": not_null(numeric("properties.revenue", "properties.value", "properties.total"))})
_EVENT_TYPE = re.compile(r"[0-9A-Za-z][\w.-]{0,79}", re.ASCII)
_TAKEN = frozenset({
    "environmentName", "eventTypeId", "key", "revenue", "timestamp", "total", "trafficTypeName", "value",
})  # fmt: skip


@destination.on("identify")
def send_user(event: Event, settings: SplitioSettings) -> Payload:
    return _send(event, _name(event), event.traits, settings)


@destination.on("group")
def send_company(event: Event, settings: SplitioSettings) -> Payload:
    return _send(event, _name(event), as_object(event.raw.get("traits")), settings)


@destination.on("track")
def send_action(event: Event, settings: SplitioSettings) -> Payload:
    return _send(event, _name(event), _properties(event), settings)


@destination.on("page", "screen")
def send_view(event: Event, settings: SplitioSettings) -> Payload:
    name = f"Viewed_{js_join(event.raw.get('name') or event.raw.get('event') or event.type)}_{event.type}"
    return _send(event, name, _properties(event), settings)


def _properties(event: Event) -> Mapping[str, Any]:
    """Return the properties, with the category of the event itself if it has one."""
    category = event.raw.get("category")
    return {**event.properties, "category": category} if category else event.properties


def _name(event: Event) -> str:
    return js_join(event.raw.get("event") or event.raw.get("name") or event.type)


def _send(event: Event, name: str, members: Mapping[str, Any], settings: SplitioSettings) -> Payload:
    kind = name.replace(" ", "_")
    if not _EVENT_TYPE.fullmatch(kind):
        raise Misfit("event", "at most 80 letters, digits, '_', '.' and '-'", name, case="form")
    body: dict[str, Any] = {"eventTypeId": kind, **KEY(event), **VALUE(event)}
    when = value_of(event, TIME)
    if (when := moment(int(when) if isinstance(when, bool) else when)) is not None:
        body["timestamp"] = round(when.timestamp() * 1_000_000) // 1000
    if settings.environment:
        body["environmentName"] = settings.environment
    if traffic := TRAFFIC(event).get("trafficTypeName") or settings.traffic_type:
        body["trafficTypeName"] = js_join(traffic)
    flat = flatten({key: value for key, value in members.items() if key not in _TAKEN})
    body["properties"] = {key: value for key, value in flat.items() if value not in (None, {}, [])}
    return API.post(settings, body=body)
