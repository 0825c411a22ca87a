"""Facebook App Events: app events through the application activities API, as JSON texts in a form.

track sends e-commerce events under the names of Facebook's SDK and other events under their own names; screen and page
send what was viewed. The device type must be Android or Apple; other events are refused. Properties are sent, under
Facebook's names if it has them. https://developers.facebook.com/docs/marketing-api/app-event-api
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.destinations._families.facebook_errors import judge_graph_answer
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    IP,
    Misfit,
    Missing,
    Table,
    as_object,
    converter,
    hash_lower,
    json_text,
    leading_number,
    moment,
    sha256,
    string,
    text,
)
from svctoolkit.mapping.facebook import hash_gender
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import microseconds

#: by event name, case-sensitive
_EVENTS = {
    "Application Installed": "MOBILE_APP_INSTALL",
    "Application Opened": "fb_mobile_activate_app",
    "Checkout Started": "fb_mobile_initiated_checkout",
    "Order Completed": "fb_mobile_purchase",
    "Payment Info Entered": "fb_mobile_add_payment_info",
    "Product Added": "fb_mobile_add_to_cart",
    "Product Added to Wishlist": "fb_mobile_add_to_wishlist",
    "Product Viewed": "fb_mobile_content_view",
    "Products Searched": "fb_mobile_search",
}
#: Facebook's name of a property and its required type
_KNOWN: Mapping[str, tuple[str, tuple[type, ...], str]] = {
    "revenue": ("_valueToSum", (int, float), "a number"),
    "currency": ("fb_currency", (str,), "a string"),
    "category": ("fb_content_type", (str,), "a string"),
    "name": ("fb_description", (str,), "a string"),
    "quantity": ("fb_num_items", (int, float), "a number"),
    "query": ("fb_search_string", (str,), "a string"),
}
_NAME = re.compile(r"[0-9a-zA-Z_][0-9a-zA-Z _-]{0,39}")
#: Facebook's name of the operating system, by device type in lower case
_SYSTEMS = {"android": "a2", "ios": "i2", "ipados": "i2", "tvos": "i2", "watchos": "i2"}


class FacebookAppSettings(Settings, frozen=True, kw_only=True):
    app_id: str = msgspec.field(name="appID")


destination = DestinationType(
    "Facebook App Events",
    FacebookAppSettings,
    docs="https://developers.facebook.com/docs/marketing-api/app-event-api",
    names=("fb",),
    quirks=[
        "Zip codes are sent unhashed; Facebook expects them hashed.",
        "Dates of birth are hashed with a leading zero in months and days above 9, but not in others; Facebook "
        "expects two digits and cannot match dates such as 31 October.",
        "An event without a time is sent with the time `null`, although Facebook requires a time.",
        "application_tracking_enabled is always 0.",
    ],
    answers=[
        Answer("success", 200, {"success": True}),
        Answer("bad key", 400, {"error": {"message": "Unsupported post request", "code": 100, "error_subcode": 33}}),
        Answer("rate limit", 400, {"error": {"message": "Application request limit reached", "code": 17}}),
        Answer("invalid field", 400, {"error": {"message": "Invalid parameter", "code": 100}}),
    ],
    differences=[
        "Traits that are numbers are hashed as text; RudderStack fails or sends them unhashed.",
        "An invalid date of birth is left out; RudderStack hashes `NaN`.",
    ],
)


@converter
def hash_phone_digits(value: Json) -> str:
    """Return the SHA-256 of the digits, without leading zeros."""
    return sha256(re.sub(r"\D", "", string.of(value)).lstrip("0"))


@converter
def hash_day(value: Json) -> str:
    """Return the SHA-256 of a date as RudderStack writes it: 31 January 2026 is 20261031. Other values are NaN."""
    when = moment(int(value) if isinstance(value, bool) else value)
    return sha256(f"{when.year}{_part(when.month)}{_part(when.day)}" if when else "NaN0NaN0NaN")


def _part(number: int) -> str:
    return str(number) if number < 10 else f"0{number}"


@converter
def hash_text(value: Json) -> Json:
    """Return the SHA-256 of a string in lower case; other values are sent unchanged."""
    return hash_lower.of(value) if isinstance(value, str) else value


@converter
def as_flag(value: Json) -> str:
    return "1" if value is True else "0"


USER = Table(
    {
        "app_user_id": "userId",
        "advertiser_id": "context.device.advertisingId",
        "ud[em]": hash_text("context.traits.email"),
        "ud[fn]": hash_text("context.traits.firstName"),
        "ud[ln]": hash_text("context.traits.lastName"),
        "ud[ph]": hash_phone_digits("context.traits.phone"),
        "ud[ge]": hash_gender("context.traits.gender"),
        "ud[db]": hash_day("context.traits.birthDate"),
        "ud[ct]": hash_text("context.traits.city"),
        "ud[st]": hash_text("context.traits.state"),
        "ud[zp]": "context.traits.zip",
    }
)
#: for a user without any other ID
ANYBODY = Table({"anon_id": "anonymousId"})
DEVICE = Table(
    {
        "package": "context.app.namespace",
        "build": "context.app.build",
        "version": "context.app.version",
        "system": "context.os.version",
        "model": "context.device.model",
        "locale": "context.locale",
        "short_timezone": "context.abv_timezone",
        "carrier": "context.network.carrier",
        "timezone": "context.timezone",
    }
)
_time, _ip, _tracking = getter("timestamp"), getter(IP), getter(as_flag("context.device.adTrackingEnabled"))


@destination.on("track")
def send_event(event: Event, settings: FacebookAppSettings) -> Payload:
    name = event.raw.get("event")
    return _payload(event, settings, None if name is None else _EVENTS.get(text(name), text(name)))


@destination.on("page")
def send_page(event: Event, settings: FacebookAppSettings) -> Payload:
    return _payload(event, settings, "Viewed Page")


@destination.on("screen")
def send_screen(event: Event, settings: FacebookAppSettings) -> Payload:
    """Return `Viewed Contact Screen`; without the name if Facebook would not accept it."""
    name = event.properties.get("name")
    title = f"Viewed {name} Screen"
    return _payload(event, settings, title if name and _NAME.fullmatch(title) else "Viewed Screen")


def _payload(event: Event, settings: FacebookAppSettings, name: str | None) -> Payload:
    if name is not None and not _NAME.fullmatch(name):
        raise Misfit("event", "at most 40 letters, digits, spaces, _ and -", name)
    person = USER(event)
    if not any(isinstance(value, str) for value in person.values()):
        person |= ANYBODY(event)
    form = {
        "extinfo": json_text(_device(event)),
        "custom_events": json_text([_event(event, name)]),
        **person,
        "advertiser_tracking_enabled": _tracking(event.raw) or "0",
        "application_tracking_enabled": "0",
        "event": "CUSTOM_APP_EVENTS",
    }
    ip = _ip(event.raw)
    return Payload(
        endpoint=f"https://graph.facebook.com/v25.0/{settings.app_id}/activities",
        headers={"x-forwarded-for": ip} if ip else {},
        form=form,
    )


def _device(event: Event) -> list[Any]:
    """Return `extinfo`: sixteen values about app and device, identified only by position."""
    kind = as_object(event.context.get("device")).get("type")
    system = _SYSTEMS.get(kind.lower()) if isinstance(kind, str) else None
    if system is None:
        where = "context.device.type"
        raise Misfit(where, "an Android or Apple device", kind)
    device = DEVICE(event)
    context, screen = event.context, as_object(event.context.get("screen"))
    density = _number(screen.get("density"))
    return [
        system,
        *(
            device.get(key, "")
            for key in ("package", "build", "version", "system", "model", "locale", "short_timezone", "carrier")
        ),
        int(_number(screen.get("width"))),
        int(_number(screen.get("height"))),
        f"{density:.2f}" if density else "",
        0,
        int(_number(context.get("ext_storage_size"))),
        int(_number(context.get("avl_storage_size"))),
        device.get("timezone", ""),
    ]


def _number(value: Any) -> float:
    """Return the number that a value begins with, or 0."""
    return leading_number(value) or 0


def _event(event: Event, name: str | None) -> dict[str, Any]:
    """Return the event's time and name, then its properties, under Facebook's names if it has them."""
    when = moment(_time(event.raw))
    members: dict[str, Any] = {"_logTime": microseconds(when) // 1000 if when else None}
    if name is not None:
        members["_eventName"] = name
    properties = event.properties
    if "revenue" in properties and not properties.get("currency"):
        raise Missing("properties.currency", wants="the currency of the revenue")
    for key, value in properties.items():
        if key == "products":
            members["fb_content_id"] = _product_ids(value)
        elif key in _KNOWN:
            members.setdefault(_KNOWN[key][0], _known(key, value))
        else:
            members[key] = value
    return members


def _known(key: str, value: Any) -> Any:
    _, kinds, expected = _KNOWN[key]
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise Misfit(f"properties.{key}", expected, value)
    return value


def _product_ids(products: Any) -> list[Any]:
    ids = [as_object(product).get("product_id") for product in products] if isinstance(products, list) else []
    if not all(isinstance(id, str) for id in ids):
        raise Misfit("properties.products", "a product_id of text in each", products)
    return ids


destination.judge(judge_graph_answer)
