"""MoEngage: customers, their devices and their actions.

identify writes the customer and, if the event has a device with a token, the device; track sends an action of the
customer; alias merges two customers. Objects and lists become flat attributes, unless the configuration keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal
from zoneinfo import ZoneInfo

from svctoolkit.destinations import (
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Header,
    Payload,
    Settings,
    basic,
    by_setting,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    TIME,
    USER_ID,
    Table,
    as_object,
    converter,
    first,
    flatten,
    js_join,
    platform,
    required,
    string,
    text,
    trait,
    without,
)
from svctoolkit.secrets import Secret

_HOSTS = {"US": "https://api-01.moengage.com/v1", "EU": "https://api-02.moengage.com/v1"}
_HOSTS["IND"] = "https://api-03.moengage.com/v1"


class MoengageSettings(Settings, frozen=True, kw_only=True):
    api_id: str
    api_key: Secret
    region: Literal["US", "EU", "IND"]
    use_object_data: bool = False


destination = DestinationType(
    "MoEngage",
    MoengageSettings,
    docs="https://developers.moengage.com/hc/en-us/articles/4413167462804-Track-User",
    quirks=[
        "Custom attributes are the other traits of the event, or those of the context if the event has none.",
        "The properties of an identify event become attributes of the device.",
    ],
    answers=[
        Answer("success", 200, {"status": "success", "message": "Your request has been accepted"}),
        Answer("bad key", 401, {"status": "fail", "error": {"message": "App Secret key mismatch"}}),
        Answer("rate limit", 429, {"status": "fail", "error": {"message": "Rate limit exceeded"}}),
        Answer("invalid field", 400, {"status": "fail", "error": {"message": "attributes: must be an object"}}),
    ],
)

API = Endpoint(by_setting("region", _HOSTS), JSON, basic("api_id", "api_key"))
APP = Endpoint(by_setting("region", _HOSTS), JSON, basic("api_id", "api_key"), Header("MOE-APPKEY", "{api_id}"))

CUSTOMER = Table({"customer_id": required(first(USER_ID, "anonymousId"))})


@converter
def joined(value: Json) -> str:
    """Return a string; the items of a list are joined."""
    return string.of(js_join(value) if isinstance(value, list) else value)


ATTRIBUTES = Table(
    {
        "name": joined(trait("name")),
        "first_name": joined(trait("firstname", "first_name", "firstName")),
        "last_name": joined(trait("lastname", "last_name", "lastName")),
        "email": joined(trait("email")),
        "age": trait("age"),
        "gender": joined(trait("gender")),
        "mobile": trait("mobile"),
        "source": trait("source"),
        "created_time": trait("createdAt"),
        "last_seen": first(
            "traits.last_seen", "context.traits.last_seen", "traits.lastSeen", "context.traits.lastSeen"
        ),
        "revenue": trait("revenue"),
        "moe_unsubscribe": first(trait("moe_unsubscribe"), trait("moeUnsubscribe")),
    }
)
DEVICE_ID = Table({"device_id": "context.device.id"})
#: for devices, RudderStack reads the customer ID from different fields than for users and actions
OWNER = Table(
    {
        "customer_id": required(
            first("userId", "traits.userId", "context.traits.userId", "context.traits.id", "anonymousId")
        )
    }
)
DEVICE = Table(
    {
        "platform": "context.device.type",
        "push_id": "context.device.token",
        "model": "context.device.model",
        "app_version": "context.app.version",
        "os_version": "context.os.version",
    }
)
ACTION = Table(
    {
        "action": required("event"),
        "platform": first("context.device.type", "channel"),
        "app_version": "context.app.version",
        "current_time": TIME,
    }
)
MERGE = Table({"retained_user": required("userId"), "merged_user": required("previousId")})
_READ = frozenset({
    "age", "email", "firstName", "first_name", "firstname", "gender", "id", "lastName", "lastSeen", "last_name",
    "last_seen", "lastname", "mobile", "moeUnsubscribe", "moe_unsubscribe", "revenue", "source",
    "transactions",
})  # fmt: skip


_READ_OF_DEVICE = ("id", "pushPreference")


@destination.on("identify")
def send_person(event: Event, settings: MoengageSettings) -> Iterator[Payload]:
    """Yield the customer, then the device."""
    customer = CUSTOMER(event)
    rest = {key: value for key, value in event.traits.items() if key not in _READ}
    attributes = _flat({**ATTRIBUTES(event), **rest}, settings)
    yield _send(settings, "customer", {**customer, "type": "customer", "attributes": attributes})
    device = as_object(event.context.get("device"))
    if device.get("type") and device.get("token"):
        attributes = _flat(
            {**without(event.properties, _READ_OF_DEVICE), **DEVICE(event), **_platform(event)}, settings
        )
        body = {**OWNER(event), **DEVICE_ID(event), "type": "device", "attributes": attributes}
        yield _send(settings, "device", body)


@destination.on("track")
def send_action(event: Event, settings: MoengageSettings, context: Context) -> Payload:
    """Return one action, with the customer's offset from UTC in seconds."""
    action = {**ACTION(event), **_platform(event)}
    if isinstance(event.raw.get("properties"), dict):
        action["attributes"] = _flat(event.properties, settings)
    offset = _offset(event.context.get("timezone"), context)
    if offset is not None:
        action["user_timezone_offset"] = offset
    return _send(settings, "event", {**CUSTOMER(event), **DEVICE_ID(event), "type": "event", "actions": [action]})


@destination.on("alias")
def send_alias(event: Event, settings: MoengageSettings) -> Payload:
    """Merge `previousId` into `userId`."""
    return API.post(settings, f"customer/merge?app_id={settings.api_id}", {"merge_data": [MERGE(event)]})


def _platform(event: Event) -> dict[str, str]:
    """Return the platform; every Apple system counts as iOS."""
    kind = as_object(event.context.get("device")).get("type")
    return {"platform": "iOS"} if platform(kind) == "ios" and kind != "iOS" else {}


def _flat(members: Mapping[str, Any], settings: MoengageSettings) -> Mapping[str, Any]:
    return members if settings.use_object_data else flatten(members)


def _offset(zone: Any, context: Context) -> int | None:
    """Return the current offset from UTC in seconds; None if `zone` is not a time zone."""
    try:
        offset = context.clock().astimezone(ZoneInfo(text(zone))).utcoffset() if zone else None
    except (KeyError, ValueError, OSError):  # an unknown name, or one that is not a file
        return None
    return None if offset is None else int(offset.total_seconds())


def _send(settings: MoengageSettings, kind: str, body: Mapping[str, Any]) -> Payload:
    return APP.post(settings, f"{kind}/{settings.api_id}", body)
