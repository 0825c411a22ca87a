"""Blueshift: customers, their groups and their events.

identify writes the customer, who needs an e-mail address. track is an event with its properties; group is an event
called identify with the traits of the group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, basic_key, by_setting
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    Misconfigured,
    Misfit,
    Table,
    as_object,
    custom_traits,
    first,
    nest_dotted,
    required,
    trait,
)
from svctoolkit.secrets import Secret

_HOSTS = {"standard": "https://api.getblueshift.com", "eu": "https://api.eu.getblueshift.com"}


class BlueshiftSettings(Settings, frozen=True, kw_only=True):
    event_api_key: Secret = Secret("")
    users_api_key: Secret = Secret("")
    data_center: Literal["standard", "eu"] = "standard"


destination = DestinationType(
    "Blueshift",
    BlueshiftSettings,
    docs="https://developer.blueshift.com/reference/post_api-v1-event",
    quirks=[
        "Traits without their own field are taken from the event's context first, then from the event itself.",
        "The key is sent as Basic authorization without the colon that follows a user's name.",
    ],
    answers=[
        Answer("success", 200, {"status": "ok"}),
        Answer("bad key", 401, {"error": "Not authorized"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"errors": ["email is invalid"]}),
    ],
)

PEOPLE = Endpoint(by_setting("data_center", _HOSTS), JSON, basic_key("users_api_key"))
EVENTS = Endpoint(by_setting("data_center", _HOSTS), JSON, basic_key("event_api_key"))

CUSTOMER = Table(
    {
        "email": required(EMAIL),
        "customer_id": ANY_ID,
        "phone_number": PHONE,
        "firstname": FIRST_NAME,
        "lastname": LAST_NAME,
        "gender": trait("gender"),
    }
)
_NOT_CUSTOM = frozenset(
    {"email", "firstname", "firstName", "first_name", "gender", "lastName", "last_name", "lastname", "phone"}
)
ACTION = Table(
    {
        "customer_id": ANY_ID,
        "email": EMAIL,
        "device_type": "context.device.type",
        "device_token": "context.device.token",
        "device_id": "context.device.id",
        "device_idfa": first("context.idfa", "context.device.advertisingId"),
        "device_idfv": first("context.idfv", "context.device.id"),
        "device_manufacturer": "context.device.manufacturer",
        "os_name": "context.os.name",
        "network_carrier": "context.network.carrier",
        "ip": first("context.ip", "request_ip"),
        "latitude": first("context.address.latitude", "context.location.latitude"),
        "longitude": first("context.address.longitude", "context.location.longitude"),
        "event_uuid": "messageId",
    }
)
NAME = Table({"event": required("event")})
GROUP = Table({"group_id": required(first("groupId", "traits.groupId"))})
#: Events for which Blueshift has recommendations and attribution.
NAMES = {
    "Product Viewed": "view",
    "Products Searched": "search",
    "Product Added": "add_to_cart",
    "Product Removed": "remove_from_cart",
    "Checkout Step Viewed": "checkout",
    "Order Completed": "purchase",
    "Subscribe Interest": "subscribe_interest",
    "Unsubscribe Interest": "unsubscribe_interest",
}


@destination.on("identify")
def send_customer(event: Event, settings: BlueshiftSettings) -> Payload:
    """Return the customer with all traits."""
    body = {**CUSTOMER(event), **(custom_traits(event, _NOT_CUSTOM) or {})}
    return _send(settings, "customers", body)


@destination.on("track")
def send_action(event: Event, settings: BlueshiftSettings) -> Payload:
    """Return the event, under Blueshift's name if there is one."""
    name = action_name(NAME(event)["event"])
    return _send(settings, "event", {**ACTION(event), "event": name, **nest_dotted(event.properties)})


@destination.on("group")
def send_group(event: Event, settings: BlueshiftSettings) -> Payload:
    """Return an event that names the customer's group."""
    body = {**GROUP(event), **ACTION(event), "event": "identify", **nest_dotted(as_object(event.raw.get("traits")))}
    return _send(settings, "event", body)


def action_name(name: Json) -> str:
    """Return Blueshift's name of an event, which has no spaces, digits or full stops.

    >>> action_name("Order Completed"), action_name("Cart  Shared")
    ('purchase', 'Cart_Shared')
    """
    if not isinstance(name, str):
        raise Misfit("event", "a string", name)
    known = NAMES.get(name.strip())
    if known is None and (len(name) > 64 or re.search(r"[0-9.]", name)):
        raise Misfit("event", "at most 64 characters, without digits and full stops", name, case="form")
    return known or re.sub(r"\s+", "_", name)


def _send(settings: BlueshiftSettings, kind: str, body: Mapping[str, Any]) -> Payload:
    name, key = (
        ("usersApiKey", settings.users_api_key) if kind == "customers" else ("eventApiKey", settings.event_api_key)
    )
    if not key.reveal():
        raise Misconfigured(name, "is required")
    return (PEOPLE if kind == "customers" else EVENTS).post(settings, f"api/v1/{kind}", body)
