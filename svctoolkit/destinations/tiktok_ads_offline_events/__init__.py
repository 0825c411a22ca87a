"""TikTok Ads Offline Events: in-store and phone events, through the offline Events API.

track sends the standard event or events that the configuration maps the name to, else the e-commerce event of that
name; other names are rejected. `properties.eventSetId` selects the account's event set.
https://business-api.tiktok.com/portal/docs?id=1771101027431425
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Header, Merge, Payload, Rows, Settings
from svctoolkit.destinations._families.tiktok_answers import judge
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    TIME,
    NotConfigured,
    Shape,
    Table,
    converter,
    event_name,
    first,
    hash_lower,
    hash_trimmed,
    required,
    trait,
)
from svctoolkit.secrets import Secret

#: by the event's name in lower case
_EVENTS = {
    "addpaymentinfo": "AddPaymentInfo",
    "addtocart": "AddToCart",
    "addtowishlist": "AddToWishlist",
    "checkout started": "InitiateCheckout",
    "checkout step completed": "CompletePayment",
    "clickbutton": "ClickButton",
    "completepayment": "CompletePayment",
    "completeregistration": "CompleteRegistration",
    "contact": "Contact",
    "download": "Download",
    "initiatecheckout": "InitiateCheckout",
    "order completed": "PlaceAnOrder",
    "payment info entered": "AddPaymentInfo",
    "placeanorder": "PlaceAnOrder",
    "product added": "AddToCart",
    "product added to wishlist": "AddToWishlist",
    "search": "Search",
    "submitform": "SubmitForm",
    "subscribe": "Subscribe",
    "viewcontent": "ViewContent",
}


class TikTokOfflineSettings(Settings, frozen=True, kw_only=True):
    access_token: Secret
    hash_user_properties: bool = True
    events_to_standard: tuple[Rows, ...] = ()


destination = DestinationType(
    "TikTok Ads Offline Events",
    TikTokOfflineSettings,
    docs="https://business-api.tiktok.com/portal/docs?id=1771101027431425",
    names=("tiktok_ads_offline_events",),
    answers=[  # always 200; `code` shows the result
        Answer("success", 200, {"code": 0, "message": "OK", "request_id": "20260115", "data": {}}),
        Answer("bad key", 200, {"code": 40105, "message": "Access token is incorrect or was revoked.", "data": {}}),
        Answer("rate limit", 200, {"code": 40100, "message": "Too many requests. Please retry later.", "data": {}}),
        Answer("invalid field", 200, {"code": 40002, "message": "event_set_id: Invalid value", "data": {}}),
    ],
    merges=[
        Merge(
            "batch",
            wraps=True,
            common=("event_set_id", "partner_name"),
            texts=("event_set_id",),
            repeats=True,
            limit=80,
            at="/offline/track/",
            to="/offline/batch/",
        )
    ],
    differences=["A name that maps to several standard events sends each of them once."],
)

API = Endpoint(
    "https://business-api.tiktok.com/open_api/v1.3/offline/track/", Header("Access-Token", "{access_token}"), JSON
)


@converter
def as_list(value: Json) -> Json:
    """Return e-mail addresses or phone numbers as a list; a single one becomes a list. Anything else is left out."""
    return [value] if isinstance(value, str) else value if isinstance(value, list) else ""


@converter
def hash_each(value: Json) -> Json:
    return [hash_trimmed.of(item) for item in as_list.of(value)] or ""


@converter
def hash_each_email(value: Json) -> Json:
    return [hash_lower.of(item) for item in as_list.of(value)] or ""


EVENT = Table(
    {
        "event_set_id": required("properties.eventSetId"),
        "event_id": first("properties.eventId", "messageId"),
        "timestamp": required(TIME),
        "properties": {
            "order_id": first("properties.order_id", "properties.orderId"),
            "shop_id": first("properties.shop_id", "properties.shopId"),
            "currency": "properties.currency",
            "value": "properties.value",
            "event_channel": "context.channel",
        },
    }
)
HASHED = Table({"emails": hash_each_email(trait("email")), "phone_numbers": hash_each(trait("phone"))})
PLAIN = Table({"emails": as_list(trait("email")), "phone_numbers": as_list(trait("phone"))})
_ITEM: Shape = {
    "content_name": "name",
    "content_type": "content_type",
    "content_category": "category",
    "content_id": "product_id",
    "price": "price",
    "quantity": "quantity",
}
ITEM = Table(_ITEM, of="properties.products")
#: an event without products, whose properties describe one
ONLY_ITEM = Table(_ITEM, of="properties")


@destination.on("track")
def send_event(event: Event, settings: TikTokOfflineSettings) -> Iterator[Payload]:
    """Yield a payload for each of the standard events."""
    names = _standard_names(event_name(event), settings)
    body: dict[str, Any] = EVENT(event)
    contents = _contents(event)
    if contents:
        body.setdefault("properties", {})["contents"] = contents
    if user := (HASHED if settings.hash_user_properties else PLAIN)(event):
        body["context"] = {"user": user}
    for name in names:
        yield API.post(settings, body={**body, "event": name, "partner_name": "RudderStack"})


def _standard_names(given: str, settings: TikTokOfflineSettings) -> list[str]:
    key = given.strip().lower()
    chosen = [row.to for row in settings.events_to_standard if row.to and row.from_.strip().lower() == key]
    if chosen:
        return list(dict.fromkeys(chosen))
    if key in _EVENTS:
        return [_EVENTS[key]]
    raise NotConfigured("event", given, setting="eventsToStandard")


def _contents(event: Event) -> list[Any]:
    """Return the products; without any, the event's own properties describe one."""
    products = event.properties.get("products")
    if isinstance(products, list) and products:
        return [ITEM(item) for item in products if isinstance(item, dict)]
    return [item] if (item := ONLY_ITEM(event.properties)) else []


destination.judge(judge)
