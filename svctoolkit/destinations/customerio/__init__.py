"""Customer.io: people, what they do, their devices and their groups, by the Track API.

identify creates or updates a person; track, page and screen become events of that person, or of an anonymous one. The
events about an installed application register the device of their context (and take it away again) instead of being
sent. group writes an object and relates the person to it; alias merges two people. A person is known by user ID, else
by e-mail address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    TIME,
    USER_ID,
    Table,
    as_object,
    basic_auth,
    const,
    converter,
    default,
    event_name,
    in_url,
    platform,
    require_name,
    required,
    seconds,
    string,
    value_of,
    warehouse_id,
)
from svctoolkit.secrets import Secret

_HOSTS = {"US": "https://track.customer.io", "EU": "https://track-eu.customer.io"}
_NAME_LIMIT = 100  # what Customer.io takes for the name of an anonymous event
_DEVICE_ADDED = ("Application Installed", "Application Opened")
_DEVICE_REMOVED = "Application Uninstalled"
_OBJECT_ACTIONS = ("identify", "delete", "add_relationships", "delete_relationships")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class CustomerioSettings(Settings, frozen=True, kw_only=True):
    site_id: str = msgspec.field(name="siteID")
    api_key: Secret
    datacenter: Literal["US", "EU"] = "US"
    device_token_event_name: str = ""


destination = DestinationType(
    "Customer IO",
    CustomerioSettings,
    docs="https://customer.io/docs/api/track/",
    names=("Customer.io", "CUSTOMERIO"),
    answers=[
        Answer("success", 200, {}),
        Answer("bad key", 401, {"meta": {"error": "unauthorized"}}),
        Answer("rate limit", 429, {"meta": {"error": "too many requests"}}),
        Answer(
            "invalid field",
            400,
            {"errors": [{"reason": "invalid", "field": "name", "message": "invalid name"}]},
            at="/v2/",
        ),
        Answer("invalid field", 400, {"meta": {"error": "invalid name"}}),
    ],
)


WHO = string(USER_ID, EMAIL)
TOKEN = string("context.device.token")
PERSON = Table(
    {"created_at": seconds("traits.createdAt"), "_timestamp": seconds(TIME), "anonymous_id": "anonymousId"},
)
WHEN = Table({"timestamp": seconds(TIME)})
ANONYMOUS = Table({"anonymous_id": required("anonymousId")})
DEVICE = Table({"id": TOKEN, "platform": converter(platform)("context.device.type"), "last_used": seconds(TIME)})
OBJECT = Table(
    {
        "identifiers": {
            "object_id": required(string("groupId")),
            "object_type_id": default(string("traits.objectTypeId"), "1"),
        },
        "type": const("object"),
    }
)
MERGED = Table({"primary": required(string(USER_ID)), "secondary": required(string("previousId"))})
_NOT_ATTRIBUTES = frozenset({"anonymousId", "userId", "createdAt", "address"})


@destination.on("identify")
def send_person(event: Event, settings: CustomerioSettings) -> Payload:
    """The traits are the person's attributes; the members of the address stand among them."""
    traits = {**event.traits, **warehouse_id(event, "id")}
    person = Event({**event.raw, "traits": traits})
    who = value_of(person, WHO)
    if not who:
        raise MappingError(
            "needs a value at userId or traits.email: who is the person?", field="userId or traits.email"
        )
    attributes = {
        **_address(traits.get("address")),
        **{key: value for key, value in traits.items() if key not in _NOT_ATTRIBUTES},
        **as_object(event.raw.get("user_properties")),
        **PERSON(person),
    }
    return _send(settings, f"/api/v1/customers/{in_url(who)}", attributes, "PUT")


@destination.on("track")
def send_event(event: Event, settings: CustomerioSettings) -> Payload:
    """An event of the person; what happens to an installed application is about the device."""
    name, who, token = event.raw.get("event"), value_of(event, WHO), value_of(event, TOKEN)
    if name == _DEVICE_REMOVED:
        if not who or not token:
            where = "context.device.token" if who else "userId or context.traits.email"
            raise MappingError(f"needs a value at {where} to remove a device", field=where)
        return _send(settings, f"/api/v1/customers/{in_url(who)}/devices/{in_url(token)}", None, "DELETE")
    if who and token and name in (*_DEVICE_ADDED, settings.device_token_event_name):
        device = {"device": {**event.properties, **DEVICE(event)}}
        return _send(settings, f"/api/v1/customers/{in_url(who)}/devices", device, "PUT")
    return _event(event, settings, "event", event_name(event))


@destination.on("page")
def send_page(event: Event, settings: CustomerioSettings) -> Payload:
    """Named by the page's name, else by its address; Customer.io takes a known person's page without either."""
    name = event.raw.get("name") or event.properties.get("url")
    known = value_of(event, WHO)
    return _event(event, settings, "page", "" if known and not name else require_name(event, name, "name"))


@destination.on("screen")
def send_screen(event: Event, settings: CustomerioSettings) -> Payload:
    name = event.raw.get("event") or event.raw.get("name") or event.properties.get("name")
    return _event(event, settings, "event", require_name(event, name, "name"), "Viewed {} Screen")


@destination.on("group")
def send_group(event: Event, settings: CustomerioSettings) -> Payload:
    """The group is an object whose attributes are the traits. `traits.action` says what is done to it."""
    traits, who = as_object(event.raw.get("traits")), value_of(event, WHO)
    action = traits.get("action")
    body = {
        **OBJECT(event),
        "action": action if action in _OBJECT_ACTIONS else "identify",
        "attributes": {key: value for key, value in traits.items() if key not in ("action", "objectTypeId")},
        "cio_relationships": [{"identifiers": _identifier(who)}] if who else [],
    }
    return _send(settings, "/api/v2/batch", body)


@destination.on("alias")
def send_alias(event: Event, settings: CustomerioSettings) -> Payload:
    """`previousId` is merged into `userId` and then gone."""
    both = {role: _identifier(who) for role, who in MERGED(event).items()}
    return _send(settings, "/api/v1/merge_customers", both)


def _event(event: Event, settings: CustomerioSettings, kind: str, name: str, shown: str = "{}") -> Payload:
    """`shown` is the frame around the name. The event of an anonymous person has a shorter name."""
    body: dict[str, Any] = {"type": kind, **WHEN(event)}
    if isinstance(event.raw.get("properties"), Mapping):
        body["data"] = event.properties
    who = value_of(event, WHO)
    if who:
        require_name = {"name": shown.format(name)} if name else {}
        return _send(settings, f"/api/v1/customers/{in_url(who)}/events", {**body, **require_name})
    room = _NAME_LIMIT - len(shown.format(""))
    return _send(settings, "/api/v1/events", {**body, **ANONYMOUS(event), "name": shown.format(name[:room])})


def _address(address: Any) -> Mapping[str, Any]:
    if address is None or isinstance(address, Mapping):
        return address or {}
    return {"address": address}


def _identifier(who: str) -> dict[str, str]:
    return {"email" if _EMAIL.fullmatch(who) else "id": who}


def _send(
    settings: CustomerioSettings,
    path: str,
    body: Mapping[str, Any] | None,
    method: Literal["POST", "PUT", "DELETE"] = "POST",
) -> Payload:
    return Payload(
        endpoint=_HOSTS[settings.datacenter] + path,
        method=method,
        headers={"Authorization": basic_auth(settings.site_id, settings.api_key.reveal())},
        json=body,
    )
