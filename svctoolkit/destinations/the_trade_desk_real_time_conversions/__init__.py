"""The Trade Desk: conversions, through its Real-Time Conversion Events API.

track sends an event under its configured name, or else under The Trade Desk's standard name, with products as items.
Users are identified by the advertising ID of their device, or by the first external ID of a type that The Trade Desk
supports. Properties without a field are sent next to the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Endpoint, Header, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    IP,
    Misfit,
    Missing,
    Table,
    as_object,
    event_name,
    first,
    leading_number,
    nest_dotted,
    objects,
)
from svctoolkit.mapping.table import path


class CustomRow(msgspec.Struct, frozen=True, rename="camel"):
    """A path in the event, and the field for its value (`td1` to `td10`)."""

    rudder_property: str = ""
    trade_desk_property: str = ""


class TradeDeskSettings(Settings, frozen=True, kw_only=True):
    advertiser_id: str
    tracker_id: str
    custom_properties: tuple[CustomRow, ...] = ()
    events_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "The Trade Desk Real Time Conversions",
    TradeDeskSettings,
    docs="https://partner.thetradedesk.com/v3/portal/data/doc/DataConversionEventsApi",
    names=("The Trade Desk", "THE_TRADE_DESK", "THE_TRADE_DESK_REAL_TIME_CONVERSIONS"),
    quirks=[
        "The advertising ID is used only if the operating system is given; otherwise an external ID is used.",
        "LDU is the only supported data processing option, and requires a region.",
        "Orders and carts are sent with all members of their products, single products with only the item fields.",
    ],
    answers=[
        Answer("success", 200, {"Message": "Accepted"}),
        Answer("bad key", 403, {"Message": "The tracker does not belong to the advertiser"}),
        Answer("rate limit", 429, {"Message": "Too many requests"}),
        Answer("invalid field", 400, {"Message": "Invalid event", "EventResponses": []}),
    ],
)

API = Endpoint("https://insight.adsrvr.org/track/realtimeconversion", Header("content-type", "application/json"))

#: standard events of single products, and of several
PRODUCT_EVENTS = {
    "product added": "addtocart",
    "product added to wishlist": "wishlistitem",
    "product viewed": "viewitem",
}
ORDER_EVENTS = {"cart viewed": "viewcart", "checkout started": "startcheckout", "order completed": "purchase"}
DEVICE_IDS = {
    "android": "AAID",
    "ios": "IDFA",
    "ipados": "IDFA",
    "tvos": "IDFA",
    "watchos": "IDFA",
    "windows": "NAID",
}
#: types of advertising IDs that an external ID can have
ID_TYPES = frozenset({"AAID", "DAID", "EUID", "IDFA", "IDL", "NAID", "TDID", "UID2"})
CONVERSION = Table({"client_ip": IP, "referrer_url": "context.page.referrer", "imp": "messageId"})
ITEM = Table(
    {"item_code": first("product_id", "sku"), "name": "name", "qty": "quantity", "price": "price"},
    of="properties.products",
)
_IN_ITEM = frozenset({"name", "price", "product_id", "quantity", "sku"})


@destination.on("track")
def send_conversion(event: Event, settings: TradeDeskSettings) -> Payload:
    """Return the event under its name at The Trade Desk."""
    name = event_name(event)
    key = name.lower()
    chosen = next((row.to for row in settings.events_mapping if row.from_.lower() == key and row.to), None)
    data = {"tracker_id": settings.tracker_id, "adv": settings.advertiser_id, **CONVERSION(event)}
    data["event_name"] = chosen or PRODUCT_EVENTS.get(key) or ORDER_EVENTS.get(key) or name
    data.update(_advertising_id(event))
    fields, taken = _shop_fields(event, key)
    for row in settings.custom_properties:
        value = path(row.rudder_property)(event.raw) if row.rudder_property else None
        if value is not None and value != "" and row.trade_desk_property:
            data[row.trade_desk_property] = value
            taken.add(row.rudder_property.removeprefix("properties."))
    rest = nest_dotted({k: value for k, value in event.properties.items() if k not in taken and value is not None})
    return API.post(settings, body={"data": [{**data, **_privacy(event), **fields, **rest}]})


def _shop_fields(event: Event, key: str) -> tuple[dict[str, Any], set[str]]:
    """Return value and items of an e-commerce event, and the names of the properties in them."""
    properties = event.properties
    if key in PRODUCT_EVENTS:
        fields: dict[str, Any] = {"items": [ITEM(properties)]}
        value = _product_value(properties)
        if value is not None and "value" not in properties:
            fields["value"] = value
        return fields, set(_IN_ITEM)
    if key not in ORDER_EVENTS:
        return {}, set()
    listed = properties.get("products")
    if not isinstance(listed, list):
        raise Misfit("properties.products", "a list of products", listed)
    fields = {"items": [_item(product) for product in objects(listed)]}
    value = properties.get("value") if key == "cart viewed" else properties.get("revenue") or properties.get("value")
    if value:
        fields["value"] = value
    elif key == "order completed":
        raise Missing("properties.revenue", wants="the value of the order")
    return fields, {"products", "revenue", "value"}


def _item(product: Mapping[str, Any]) -> dict[str, Any]:
    rest = nest_dotted({key: value for key, value in product.items() if key not in _IN_ITEM and value is not None})
    return {**ITEM(product), **rest}


def _product_value(properties: Mapping[str, Any]) -> float | None:
    """Return price times whole quantity; a missing quantity counts as 1."""
    price, quantity = leading_number(properties.get("price")), leading_number(properties.get("quantity", 1))
    return price * int(quantity) if price and quantity is not None else None


def _advertising_id(event: Event) -> dict[str, Any]:
    device, system = as_object(event.context.get("device")), as_object(event.context.get("os")).get("name")
    kind = DEVICE_IDS.get(system.lower()) if isinstance(system, str) else None
    if kind and device.get("advertisingId"):
        return {"adid": device["advertisingId"], "adid_type": kind}
    for entry in objects(event.context.get("externalId")):
        kind = str(entry.get("type") or "").upper()
        if kind in ID_TYPES and entry.get("id"):
            return {"adid": entry["id"], "adid_type": kind}
    return {}


def _privacy(event: Event) -> dict[str, Any]:
    options = destination.options(event)
    privacy: dict[str, Any] = {}
    if options.get("region"):
        privacy["data_processing_option"] = {"policies": ["LDU"], "region": options["region"]}
    if options.get("privacy_settings") is not None:
        privacy["privacy_settings"] = options["privacy_settings"]
    return privacy
