"""Reddit Ads: conversions, through the Conversions API.

track sends the event that the configuration maps the name to, else Reddit's event of that name, else a custom one.
The access token belongs to the delivering account. https://ads-api.reddit.com/docs/v2/#tag/Conversions

Decisions. As in RudderStack, payloads of the processor go to version 2 of the API, whatever the configuration's
`version` is; payloads of the router go to version 3 if the configuration says so (`_v3`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from svctoolkit.destinations import (
    JSON,
    Answer,
    Batch,
    Context,
    DestinationType,
    Endpoint,
    MappedJob,
    Merge,
    Payload,
    Rows,
    Settings,
    oauth,
)
from svctoolkit.destinations._batches import merge
from svctoolkit.destinations._families.oauth_answers import judge_expired_token
from svctoolkit.destinations.reddit import _v3
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    IP,
    TIME,
    Shape,
    Table,
    as_object,
    converter,
    event_name,
    first,
    leading_number,
    required,
    sha256,
    string,
    verbatim,
)

_MERGE = Merge("events", limit=500, honours_alone=True)
#: by the event's name in lower case
_EVENTS = {
    "product viewed": "ViewContent",
    "product list viewed": "ViewContent",
    "product added": "AddToCart",
    "product added to wishlist": "AddToWishlist",
    "order completed": "Purchase",
    "products searched": "Search",
}
_COUNTED = frozenset({"Purchase", "AddToCart", "AddToWishlist", "Custom"})
_PRICED = frozenset({"Purchase", "AddToCart"})
#: the field for the device ID, by the name of the operating system
_DEVICE_IDS = {"android": "aaid", "ios": "idfa"}


class RedditSettings(Settings, frozen=True, kw_only=True):
    account_id: str
    hash_data: bool = True
    events_mapping: tuple[Rows, ...] = ()
    version: Literal["v3", "v2"] | None = None


destination = DestinationType(
    "Reddit",
    RedditSettings,
    docs="https://ads-api.reddit.com/docs/v2/#tag/Conversions",
    names=("reddit",),
    quirks=[
        "`payloads()` of a single event goes to version 2.0 of the API, even if the configuration says v3: only the "
        "router supports version 3.",
        "In version 3, the option `action_source` says where an event happened; else the channel mobile means the app.",
        "E-mail addresses are trimmed before hashing but keep their capitals, although Reddit expects lower case.",
        "`item_count` of a purchase is the number of different products; for other events it is the total quantity.",
    ],
    answers=[
        Answer("success", 200, {"message": "Successfully processed 1 conversion events."}),
        Answer("bad key", 401, {"success": False, "error": {"reason": "UNAUTHORIZED", "explanation": "Unauthorized"}}),
        Answer("rate limit", 429, {"success": False, "error": {"reason": "TOO_MANY_REQUESTS"}}),
        Answer("invalid field", 400, {"success": False, "error": {"reason": "BAD_REQUEST", "explanation": "event_at"}}),
    ],
    differences=["`true` is not a revenue."],
    needs=["account", "clock"],
)

API = Endpoint("https://ads-api.reddit.com/api", oauth("accessToken"), JSON)


@converter
def hash_without_spaces(value: Json) -> str:
    """Return the SHA-256 of a trimmed string; an empty string stays empty."""
    return sha256(string.of(value).strip()) if value != "" else ""


#: an empty string counts as a value here, so the next path is not tried
EVENT = Table({"click_id": verbatim("properties.clickId"), "event_at": required(TIME)})
HASHED = Table(
    {
        "email": verbatim(hash_without_spaces(EMAIL)),
        "external_id": verbatim(hash_without_spaces(ANY_ID)),
        "ip_address": hash_without_spaces(IP),
    }
)
PLAIN = Table({"email": verbatim(EMAIL), "external_id": verbatim(ANY_ID), "ip_address": IP})
HASHED_DEVICE = Table({"id": hash_without_spaces("context.device.advertisingId")})
PLAIN_DEVICE = Table({"id": "context.device.advertisingId"})
USER = Table(
    {
        "uuid": verbatim("properties.uuid"),
        "user_agent": verbatim("context.userAgent"),
        "opt_out": verbatim("properties.optOut"),
    }
)
PRICED = Table({"currency": verbatim("properties.currency")})
ORDER = Table({"conversion_id": first("properties.conversionId", "messageId")})
#: a product in a list, and a single one in the event's properties
_ITEM: Shape = {"id": verbatim("product_id"), "name": verbatim("name"), "category": verbatim("category")}
ITEM = Table(_ITEM, of="properties.products")
ONLY_ITEM = Table(_ITEM, of="properties")


@destination.on("track")
def send_event(event: Event, settings: RedditSettings, context: Context) -> Payload:
    """Return one request, with one event for each name that the configuration maps to."""
    name = event_name(event)
    if context.in_batch and settings.version == "v3":
        items = _items(event.properties)
        options = destination.options(event)
        body = _v3.body_of(event, _kinds(name, settings), _user(event, settings), items, options, context)
        return API.post(settings, f"v3/pixels/{settings.account_id}/conversion_events", body, context=context)
    shared: dict[str, Any] = EVENT(event)
    user = _user(event, settings)
    events = [
        {**shared, "event_type": kind, "user": user, "event_metadata": _metadata(event, kind["tracking_type"])}
        for kind in _kinds(name, settings)
    ]
    return API.post(settings, f"v2.0/conversions/events/{settings.account_id}", {"events": events}, context=context)


def _kinds(name: str, settings: RedditSettings) -> list[dict[str, str]]:
    key = name.strip().lower()
    chosen = [row.to for row in settings.events_mapping if row.to and row.from_.strip().lower() == key]
    if chosen:
        return [{"tracking_type": to} for to in chosen]
    if key in _EVENTS:
        return [{"tracking_type": _EVENTS[key]}]
    return [{"tracking_type": "Custom", "custom_event_name": name}]


def _user(event: Event, settings: RedditSettings) -> dict[str, Any]:
    """Return the user's identifiers, and the device's ID and screen."""
    person, device = (HASHED, HASHED_DEVICE) if settings.hash_data else (PLAIN, PLAIN_DEVICE)
    user = {key: value for key, value in person(event).items() if value != ""}
    user.update(USER(event))
    name = as_object(event.context.get("os")).get("name")
    field = _DEVICE_IDS.get(name.lower()) if isinstance(name, str) else None
    if field and (identifier := device(event)):
        user[field] = identifier["id"]
    screen = as_object(event.context.get("screen"))
    user["screen_dimensions"] = {key: screen[key] for key in ("width", "height") if key in screen}
    return user


def _metadata(event: Event, kind: str) -> dict[str, Any]:
    """Return the event's `products` and, for purchases and cart events, their count and value."""
    properties = event.properties
    items = _items(properties)
    members: dict[str, Any] = {}
    if kind in _COUNTED:
        members["item_count"] = _count(properties, items, kind)
    if kind in _PRICED:
        members.update(PRICED(event))
        amount = _amount(properties, kind)
        if amount:
            cents = math.floor(amount * 100 + 0.5)
            members.update({"value": cents, "value_decimal": cents / 100})
    own = ONLY_ITEM(properties)
    return {**members, "products": [{**own, **ITEM(item)} for item in items], **ORDER(event)}


def _count(properties: Mapping[str, Any], items: list[Mapping[str, Any]], kind: str) -> Any:
    """Return the number of different products for purchases, otherwise the total quantity."""
    if kind == "Purchase":
        listed = len(items) if isinstance(properties.get("products"), list) else 0
        if different := listed or properties.get("itemCount"):
            return different
    return sum(leading_number(item.get("quantity")) or 0 for item in items)


def _items(properties: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the products or the single product; without either, the properties describe one."""
    products = properties.get("products")
    if isinstance(products, list):
        return [as_object(item) for item in products]
    return [products if isinstance(products, dict) and products else properties]


def _amount(properties: Mapping[str, Any], kind: str) -> float | None:
    """Return the revenue of a purchase, otherwise the cart value from the event's price, never from the products'."""
    if kind == "Purchase":
        return leading_number(properties.get("revenue"))
    return _cost(properties)


def _cost(item: Mapping[str, Any]) -> float:
    return (leading_number(item.get("price")) or 0) * (leading_number(item.get("quantity")) or 0)


@destination.batch
def share(jobs: Sequence[MappedJob], settings: RedditSettings) -> Iterable[Batch]:
    """Batch the events of several jobs into one list, in the format of the API version."""
    return _v3.share(jobs) if settings.version == "v3" else merge(jobs, [_MERGE])


destination.judge(judge_expired_token)
