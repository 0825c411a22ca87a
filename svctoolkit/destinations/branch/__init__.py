"""Branch: app and web events, through its Events API.

track sends a Branch standard event if the configuration or the name selects one, else a custom event; identify sends a
custom event with the user ID as its name. Properties (or traits) that Branch defines for the kind of event are sent in
the content item and the event data; others are custom data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Endpoint, Header, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import ANY_ID, Missing, Table, as_object, js_join, verbatim


class BranchSettings(Settings, frozen=True, kw_only=True):
    branch_key: str | None = None
    events_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "Branch Metrics",
    BranchSettings,
    docs="https://help.branch.io/developers-hub/reference/events-api",
    names=("Branch",),
    quirks=[
        "Order Completed is sent as ADD_PAYMENT_INFO, not as PURCHASE, unless configured.",
        "One more content item follows those of the products, with the properties after them; it is usually empty.",
        "Data of products overwrites data of the same name in the properties; the last product wins.",
        "The name of the event that identify sends is the user ID.",
    ],
    answers=[
        Answer("success", 200, {"branch_view_enabled": False}),
        Answer("bad key", 400, {"error": {"code": 400, "message": "Invalid branch_key"}}),
        Answer("rate limit", 429, {"error": {"code": 429, "message": "Rate limit exceeded"}}),
        Answer("invalid field", 400, {"error": {"code": 400, "message": "Invalid or missing value for name"}}),
    ],
)

API = Endpoint(
    "https://api2.branch.io/v2/event", Header("content-type", "application/json"), Header("accept", "application/json")
)

#: standard events by kind (https://help.branch.io/using-branch/docs/event-ontology-data-schema)
COMMERCE_EVENTS = frozenset({
    "ADD_PAYMENT_INFO", "ADD_TO_CART", "ADD_TO_WISHLIST", "CLICK_AD", "INITIATE_PURCHASE", "PURCHASE", "RESERVE",
    "SPEND_CREDITS", "VIEW_AD", "VIEW_CART",
})  # fmt: skip
CONTENT_EVENTS = frozenset({
    "COMPLETE_STREAM", "INITIATE_STREAM", "RATE", "SEARCH", "SHARE", "VIEW_ITEM", "VIEW_ITEMS",
})  # fmt: skip
LIFECYCLE_EVENTS = frozenset({
    "ACHIEVE_LEVEL", "COMPLETE_REGISTRATION", "COMPLETE_TUTORIAL", "INVITE", "LOGIN", "START_TRIAL", "SUBSCRIBE",
    "UNLOCK_ACHIEVEMENT",
})  # fmt: skip
STANDARD_EVENTS = COMMERCE_EVENTS | CONTENT_EVENTS | LIFECYCLE_EVENTS
#: standard events that have other names in the specification of e-commerce events
NAMES = {
    "cart viewed": "VIEW_CART",
    "checkout started": "INITIATE_PURCHASE",
    "order completed": "ADD_PAYMENT_INFO",
    "payment info entered": "ADD_PAYMENT_INFO",
    "product added": "ADD_TO_CART",
    "product added to wishlist": "ADD_TO_WISHLIST",
    "product list viewed": "VIEW_ITEMS",
    "product reviewed": "RATE",
    "product viewed": "VIEW_ITEM",
    "products searched": "SEARCH",
    "promotion clicked": "CLICK_AD",
    "promotion viewed": "VIEW_AD",
    # a name such as `Start Trial` becomes START_TRIAL, unless the specification has its own name for the event
    **{
        name.replace("_", " ").lower(): name
        for name in LIFECYCLE_EVENTS
        | {"COMPLETE_STREAM", "INITIATE_STREAM", "PURCHASE", "RESERVE", "SEARCH", "SHARE", "SPEND_CREDITS"}
    },
    **{name.lower(): name for name in STANDARD_EVENTS},
}
CONTENT = {
    "brand": "$product_brand",
    "category": "$product_category",
    "description": "$og_description",
    "image_url": "$og_image_url",
    "name": "$product_name",
    "price": "$price",
    "quantity": "$quantity",
    "sku": "$sku",
    "title": "$og_title",
    "variant": "$product_variant",
}
EVENT_DATA = frozenset({"coupon", "currency", "revenue", "shipping", "tax", "transaction_id"})
APPLE_SYSTEMS = ("ios", "ipados", "tvos", "watchos")
USER = Table(
    {
        "os": verbatim("context.os.name"),
        "os_version": verbatim("context.os.version"),
        "app_version": verbatim("context.app.version"),
        "model": verbatim("context.device.model"),
        "brand": verbatim("context.device.brand"),
        "screen_dpi": verbatim("context.screen.density"),
        "screen_height": verbatim("context.screen.height"),
        "screen_width": verbatim("context.screen.width"),
        "developer_identity": ANY_ID,
        "user_agent": verbatim("context.userAgent"),
    }
)
#: device IDs: the field, its path in the context, else its path in the device
APPLE_IDS = (("idfa", "idfa", "advertisingId"), ("idfv", "idfv", "id"))
ANDROID_IDS = (("android_id", "android_id", "id"), ("aaid", "aaid", "advertisingId"))


@destination.on("track")
def send_event(event: Event, settings: BranchSettings) -> Payload:
    """Return the event of that name."""
    name = event.raw.get("event")
    if not name:
        raise Missing("event")
    chosen = next((row.to for row in settings.events_mapping if row.from_ == name and row.to), name)
    standard = NAMES.get(chosen.lower()) if isinstance(chosen, str) else None
    return _send(event, settings, event.raw.get("properties"), standard or chosen)


@destination.on("identify")
def send_person(event: Event, settings: BranchSettings) -> Payload:
    """Return a custom event with the traits."""
    traits = event.raw.get("traits")
    return _send(event, settings, event.context.get("traits") if traits is None else traits, event.raw.get("userId"))


def _send(event: Event, settings: BranchSettings, values: Any, name: Any) -> Payload:
    kind = "standard" if isinstance(name, str) and name in STANDARD_EVENTS else "custom"
    body = {**(_contents(values, name) if isinstance(values, dict) else {}), "user_data": _user(event)}
    if name is not None:
        body["name"] = name
    if settings.branch_key is not None:
        body["branch_key"] = settings.branch_key
    return API.post(settings, kind, body)


def _contents(values: Mapping[str, Any], name: Any) -> dict[str, Any]:
    """Return content items, event data and custom data from the properties, in order."""
    event_name = name if isinstance(name, str) else ""
    content_keys = CONTENT if event_name in COMMERCE_EVENTS | CONTENT_EVENTS else {}
    data_keys = EVENT_DATA if event_name in COMMERCE_EVENTS else frozenset()
    items: list[dict[str, Any]] = [{}]
    data: dict[str, Any] = {}
    custom: dict[str, Any] = {}

    def put(key: str, value: Any) -> None:
        if key in content_keys:
            items[-1][content_keys[key]] = value
        else:
            (data if key in data_keys else custom)[key] = value

    for key, value in values.items():
        if key != "products" or value is None:
            put(key, value)
            continue
        items.clear()
        for product in value if isinstance(value, list) else ():
            items.append({})
            for member, content in as_object(product).items():
                put(member, content)
        items.append({})
    parts = {"custom_data": custom, "event_data": data}
    return {"content_items": items, **{key: part for key, part in parts.items() if part}}


def _user(event: Event) -> dict[str, Any]:
    user: dict[str, Any] = USER(event)
    system = js_join(user.get("os") or "").lower()
    ids = APPLE_IDS if system in APPLE_SYSTEMS else ANDROID_IDS if system == "android" else ()
    device = as_object(event.context.get("device"))
    for key, of_context, of_device in ids:
        value = event.context.get(of_context) or device.get(of_device)
        if value is not None:
            user[key] = value
    tracking = device.get("attTrackingStatus")
    if tracking in (2, 3):
        user["limit_ad_tracking"] = tracking == 2
    return user
