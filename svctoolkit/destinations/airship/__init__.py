"""Airship: the tags and attributes of named users, and custom events.

identify and group write the traits of a user: booleans add or remove tags, other traits become attributes with
flattened names. Object attributes are passed in `integrations.Airship.JSONAttributes`, as `{"name#instance": {...}}`,
and replace the traits of that name. track is a custom event.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    TIME,
    TIME_EXAMPLE,
    Misconfigured,
    Misfit,
    Missing,
    Table,
    as_object,
    first,
    flatten,
    js_join,
    moment,
    nest_dotted,
    required,
    text,
    verbatim,
)
from svctoolkit.secrets import Secret


class TimeRow(msgspec.Struct, frozen=True):
    """The name of a trait that holds a time."""

    name: str = msgspec.field(name="timestampAttribute", default="")


class AirshipSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    app_key: Secret = Secret("")
    data_center: bool = False
    timestamp_attributes: tuple[TimeRow, ...] = ()

    @cached_property
    def times(self) -> frozenset[str]:
        """The traits that hold times."""
        return frozenset(row.name.strip() for row in self.timestamp_attributes)

    @property
    def host(self) -> str:
        """The data center: Europe or United States."""
        return "https://go.airship.eu" if self.data_center else "https://go.urbanairship.com"


destination = DestinationType(
    "Airship",
    AirshipSettings,
    docs="https://docs.airship.com/api/ua/#operation-api-named_users-attributes-post",
    quirks=["The time of a custom event is sent as occured, but Airship's field is occurred."],
    answers=[
        Answer("success", 200, {"ok": True, "operation_id": "o1"}),
        Answer("bad key", 401, {"ok": False, "error": "Unauthorized", "error_code": 40101}),
        Answer("rate limit", 429, {"ok": False, "error": "Too many requests", "error_code": 42901}),
        Answer("invalid field", 400, {"ok": False, "error": "Could not parse request body", "error_code": 40700}),
    ],
)

USER = Table({"named_user_id": required(ANY_ID)})
MOMENT = Table({"timestamp": required(TIME)})
TRAITS = Table({"traits": first("traits", "context.traits")})
ACTION = Table(
    {
        "name": required("event"),
        "value": "properties.value",
        "interaction_id": "properties.interactionId",
        "interaction_type": "properties.interactionType",
        "session_id": first("properties.sessionId", "context.sessionId"),
        "transaction": "properties.transaction",
    }
)
ACTION_TIME = Table({"occured": TIME})
ACTION_USER = Table({"named_user_id": verbatim("userId")})
_OF_ACTION = frozenset({"interactionId", "interactionType", "sessionId", "transaction", "value"})
#: Finds the trait's name in the flattened name of one of its members.
_WHOLE = re.compile(r"[^.\[]*").match
#: Traits for which Airship has its own names.
NAMES = {
    "name": "full_name",
    "firstName": "first_name",
    "lastName": "last_name",
    "phone": "mobile_phone",
    "createdAt": "account_creation",
    "address.city": "city",
    "address.state": "region",
    "address.country": "country",
    "address.postalCode": "zipcode",
    "address.postalcode": "zipcode",
}


@destination.on("identify", "group")
def send_traits(event: Event, settings: AirshipSettings) -> list[Payload]:
    """Return requests for the user's tags and attributes."""
    user = USER(event)["named_user_id"]
    traits = flatten(as_object(TRAITS(event).get("traits")))
    objects = as_object(as_object(as_object(event.raw.get("integrations")).get("Airship")).get("JSONAttributes"))
    attributes = {name: value for name, value in traits.items() if not isinstance(value, bool)}
    if not traits and not objects:
        raise Missing("traits")
    sent = []
    tags = _tags(event, traits)
    if tags:
        body = {"audience": {"named_user_id": user}, **tags}
        sent.append(_send(settings, "named_users/tags", body))
    if attributes or objects:
        body = {"attributes": _attributes(event, settings, attributes, objects)}
        sent.append(_send(settings, f"named_users/{js_join(user)}/attributes", body))
    return sent


@destination.on("track")
def send_action(event: Event, settings: AirshipSettings) -> Payload:
    """Return a custom event with its properties unchanged."""
    action = ACTION(event)
    if not isinstance(action["name"], str):
        raise Misfit("event", "a string", action["name"])
    action["name"] = re.sub(r"\s+", "_", action["name"].lower())
    if "session_id" in action:
        action["session_id"] = str(uuid5(NAMESPACE_DNS, text(action["session_id"])))
    own = {name: value for name, value in event.properties.items() if name not in _OF_ACTION}
    if own:
        action["properties"] = nest_dotted(own)
    if not settings.app_key:
        raise Misconfigured("appKey", "is required by custom events")
    body = {**ACTION_TIME(event), "user": ACTION_USER(event), "body": action}
    return _send(settings, "custom-events", body, {"X-UA-Appkey": settings.app_key.reveal()})


def _tags(event: Event, traits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tags to add and to remove, in the tag group of users or of groups."""
    group = "rudderstack_integration" if event.type == "identify" else "rudderstack_integration_group"
    on = [_tag(name) for name, value in traits.items() if value is True]
    off = [_tag(name) for name, value in traits.items() if value is False]
    return {kind: {group: names} for kind, names in (("add", on), ("remove", off)) if names}


def _tag(name: str) -> str:
    return name.lower().replace(".", "_")


def _attributes(
    event: Event, settings: AirshipSettings, traits: Mapping[str, Any], objects: Mapping[str, Any]
) -> list[dict[str, Any]]:
    written = MOMENT(event)["timestamp"]
    when = whole_second(written)
    if when is None or not _is_time(written):
        raise Misfit(TIME.paths[0], TIME_EXAMPLE, event.raw.get(TIME.paths[0]))
    instead = {name.partition("#")[0] for name in objects}
    times = settings.times
    values: list[dict[str, Any]] = []
    for name, value in traits.items():
        if instead and _WHOLE(name).group() in instead:  # type: ignore[union-attr]
            continue
        if name in times:
            value = whole_second(value) or value
        key = NAMES.get(name) or (name.replace(".", "_") if "." in name else name)
        values.append({"action": "set", "key": key, "value": value, "timestamp": when})
    for name, value in objects.items():
        values.append({"action": "set", "key": name, "value": value, "timestamp": when})
    return values


def _is_time(written: Json) -> bool:
    """Whether Airship's mapping reads a time: text without spaces around it, or a number of 10 or 13 digits."""
    if isinstance(written, str):
        return written == written.strip()
    return not isinstance(written, bool) and len(js_join(written)) in (10, 13)


def whole_second(value: Json) -> str | None:
    """Return a time in Airship's format; numbers are seconds or milliseconds. None for an invalid time.

    >>> whole_second(1742887180), whole_second("2025-03-25 07:19:40.5"), whole_second("soon")
    ('2025-03-25T07:19:40Z', '2025-03-25T07:19:40Z', None)
    """
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, (int, float)) and abs(value) < 1e11:
        value = value * 1000
    when = moment(value)
    return None if when is None else f"{when:%Y-%m-%dT%H:%M:%SZ}"


def _send(
    settings: AirshipSettings, place: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Payload:
    return Payload(
        endpoint=f"{settings.host}/api/{place}",
        headers={
            "Content-Type": "application/json",
            "Accept": "application/vnd.urbanairship+json; version=3",
            **(headers or {}),
            "Authorization": f"Bearer {settings.api_key.reveal()}",
        },
        json=body,
    )
