"""Customer.io: people, their events, devices and groups, through the Track API.

identify creates or updates a person; track, page and screen become events of that person, or of an anonymous one.
Application lifecycle events register (or remove) the device in their context instead of being sent. group writes an
object and relates the person to it; alias merges two people. A person is identified by the ID of the warehouse row,
else by user ID, else by e-mail address.

Decisions: an ID that is a list or an object is refused, although RudderStack writes it into the URL; a page without a
name is never a device event, even if no device events are configured.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Endpoint, Payload, Settings, basic, by_setting
from svctoolkit.destinations.customerio._batches import batch
from svctoolkit.destinations.customerio._judge import answer_batch, judge
from svctoolkit.events import Event
from svctoolkit.lexical import is_email
from svctoolkit.mapping import (
    EMAIL,
    EMAIL_OR_EXTERNAL_ID,
    TIME,
    USER_ID,
    Leaf,
    Misfit,
    Missing,
    Table,
    as_object,
    const,
    converter,
    default,
    event_name,
    first,
    in_url,
    is_empty,
    js_join,
    platform,
    required,
    string,
    text,
    trait,
    unfold_address,
    value_of,
    warehouse_id,
    warehouse_row,
    whole_second,
)
from svctoolkit.secrets import Secret

_HOSTS = {"US": "https://track.customer.io", "EU": "https://track-eu.customer.io"}
_NAME_LIMIT = 100  # Customer.io's limit for the name of an anonymous event
_DEVICE_ADDED = ("Application Installed", "Application Opened")
_DEVICE_REMOVED = "Application Uninstalled"
_OBJECT_ACTIONS = ("identify", "delete", "add_relationships", "delete_relationships")


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
    differences=[
        "A `userId` that is an object is refused; RudderStack sends the text `[object Object]`.",
        "A screen without a name is refused; RudderStack sends it as `Viewed undefined Screen`.",
        "A page is never a device; RudderStack registers one for some pages without a name.",
        "A trait named `context.traits.email` keeps its name; RudderStack sends `context.traits` with an `email`.",
    ],
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
    quirks=[
        "Numeric times count as milliseconds, even in `createdAt`, where Customer.io uses seconds.",
        "Only street, city, state, country and postal code of an address become attributes.",
        "If there is no e-mail address, the first external ID of any type is used instead.",
    ],
)

API = Endpoint(by_setting("datacenter", _HOSTS), basic("site_id", "api_key"))
destination.batch(batch, may_refuse=False)


WHO = first(USER_ID, EMAIL_OR_EXTERNAL_ID)
DEVICE_TOKEN = first("context.device.token")
CREATED = trait("createdAt")
PERSON = Table({"anonymous_id": "anonymousId"})
ANONYMOUS = Table({"anonymous_id": required("anonymousId")})
DEVICE = Table({"id": DEVICE_TOKEN, "platform": converter(platform)("context.device.type")})
OBJECT = Table(
    {
        "identifiers": {
            "object_id": required(string("groupId", "traits.groupId")),
            "object_type_id": default(string("traits.objectTypeId"), "1"),
        },
        "type": const("object"),
    }
)
#: Traits of a group event describe the group, not its member.
MEMBER = first(USER_ID, "context.traits.email", EMAIL)
_NOT_ATTRIBUTES = ("anonymousId", "userId", "createdAt")


@destination.on("identify")
def send_person(event: Event, settings: CustomerioSettings) -> Payload:
    """Return the traits as the person's attributes, including the members of the address."""
    who = _who(event, WHO)
    if not who:
        raise Missing("userId", "traits.email")
    attributes = unfold_address(event.traits)
    if event.raw.get("traits"):  # the row's ID is added only if the event has its own traits
        attributes |= warehouse_id(event)
    for name in _NOT_ATTRIBUTES:
        attributes.pop(name, None)
    attributes |= {
        **as_object(event.raw.get("user_properties")),
        **_seconds("created_at", value_of(event, CREATED)),
        **_seconds("_timestamp", value_of(event, TIME)),
        **PERSON(event),
    }
    return API.put(settings, f"api/v1/customers/{in_url(who)}", attributes)


@destination.on("track")
def send_event(event: Event, settings: CustomerioSettings) -> Payload:
    """Return an event of the person, or a change of the device for application lifecycle events."""
    name, who, token = event.raw.get("event"), _who(event, WHO), value_of(event, DEVICE_TOKEN)
    if name == _DEVICE_REMOVED:
        if not who or not token:
            where = ("context.device.token",) if who else ("userId", "context.traits.email")
            raise Missing(*where, why="without it no device can be removed")
        return API.request(settings, "DELETE", f"api/v1/customers/{in_url(who)}/devices/{in_url(token)}")
    if who and token and name in (*_DEVICE_ADDED, settings.device_token_event_name):
        device = {
            "last_used": None,
            **_seconds("last_used", value_of(event, TIME)),
            **event.properties,
            **DEVICE(event),
        }
        return API.put(settings, f"api/v1/customers/{in_url(who)}/devices", {"device": device})
    return _event(event, settings, "event", event_name(event))


@destination.on("page")
def send_page(event: Event, settings: CustomerioSettings) -> Payload:
    """Name the page by its name or else its URL; Customer.io accepts a known person's page without either."""
    name = event.raw.get("name") or event.properties.get("url")
    return _event(event, settings, "page", name or "" if _who(event, WHO) else _text(name))


@destination.on("screen")
def send_screen(event: Event, settings: CustomerioSettings) -> Payload:
    name = event.raw.get("event") or event.properties.get("name") or event.raw.get("name")
    who = name and _who(event, WHO)
    return _event(event, settings, "event", name if who else _text(name), "Viewed {} Screen")


@destination.on("group")
def send_group(event: Event, settings: CustomerioSettings) -> Payload:
    """Return the group as an object with the traits as attributes. `traits.action` is the action on it."""
    traits, who = as_object(event.raw.get("traits")), _who(event, MEMBER)
    action = traits.get("action")
    body = {
        **OBJECT(event),
        "action": action if action in _OBJECT_ACTIONS else "identify",
        "attributes": {key: value for key, value in traits.items() if key != "action"},
        "cio_relationships": [{"identifiers": _identifier(who)}] if who else [],
    }
    return API.post(settings, "api/v2/batch", body)


@destination.on("alias")
def send_alias(event: Event, settings: CustomerioSettings) -> Payload:
    """Merge `previousId` into `userId`; Customer.io then deletes `previousId`."""
    ids = {"userId": _who(event, USER_ID), "previousId": event.raw.get("previousId")}
    for where, who in ids.items():
        if is_empty(who):
            raise Missing(where)
        if not isinstance(who, str):
            raise Misfit(where, "a string", who)
    both = {"primary": _identifier(ids["userId"]), "secondary": _identifier(ids["previousId"])}
    return API.post(settings, "api/v1/merge_customers", both)


def _text(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise Misfit("event", "a name, as a string", name)
    return name


def _event(event: Event, settings: CustomerioSettings, kind: str, name: Any, frame: str = "{}") -> Payload:
    """Return an event whose name is inserted into `frame`, and shortened for an anonymous person."""
    body: dict[str, Any] = {"type": kind, **_seconds("timestamp", value_of(event, TIME))}
    if "properties" in event.raw:
        body["data"] = event.raw["properties"]
    who, title = _who(event, WHO), js_join(name)
    if who:
        title_member = {"name": frame.format(title)} if title else {}
        return API.post(settings, f"api/v1/customers/{in_url(who)}/events", {**body, **title_member})
    room = _NAME_LIMIT - len(frame.format(""))
    return API.post(settings, "api/v1/events", {**body, **ANONYMOUS(event), "name": frame.format(title[:room])})


def _seconds(name: str, value: Any) -> dict[str, int | None]:
    """Return a time as whole seconds under `name`; null if invalid. Numbers are milliseconds."""
    return {} if value is None else {name: whole_second(value)}


def _who(event: Event, leaf: Leaf) -> Any:
    who = warehouse_row(event).id or value_of(event, leaf)
    if isinstance(who, (list, dict)):
        raise Misfit("userId", "a string", who, case="person")
    return who


def _identifier(who: Any) -> dict[str, str]:
    who = text(who)
    return {"email" if is_email(who) else "id": who}


destination.judge(judge)
destination.answer_batch(answer_batch)
