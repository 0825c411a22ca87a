"""Facebook Offline Conversions: events in stores, through the event sets of the old Offline Conversions API.

track sends the standard events that the configuration maps the name to, or else the one for this e-commerce event, to
every event set that is configured for them; other events are refused. All data is in the URL.
https://developers.facebook.com/docs/marketing-api/offline-conversions
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.destinations._families.facebook_errors import judge_graph_answer
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    TIME,
    TIME_EXAMPLE,
    USER_ID,
    Misfit,
    NotConfigured,
    Table,
    as_object,
    default,
    event_name,
    first,
    in_url,
    json_text,
    leading_number,
    required,
    sha256,
    text,
    trait,
    unix_seconds,
    value_of,
)
from svctoolkit.mapping.table import getter
from svctoolkit.secrets import Secret

#: by event name in lower case
_EVENTS = {
    "checkout started": "InitiateCheckout",
    "order completed": "Purchase",
    "payment info entered": "AddPaymentInfo",
    "product added": "AddToCart",
    "product added to wishlist": "AddToWishlist",
    "product list viewed": "ViewContent",
    "product viewed": "ViewContent",
    "products searched": "Search",
}
#: matching keys; those in `_HASHED` are hashed, and those in `_SEVERAL` are lists with one element
_HASHED = frozenset({"email", "phone", "gen", "ln", "fn", "ct", "st", "zip", "country", "madid"})
_SEVERAL = frozenset({"email", "phone", "st", "zip"})
_MATCHED = _HASHED | {"extern_id", "fbc", "fbp", "lead_id", "client_user_agent"}
#: RudderStack's value for year, month and day of every date of birth
_BORN = "f388bc7cd953b951ffdf8e06275d94946dc52f03ed96536497fbe534469d38d6"
#: properties that are sent in other fields
_PLACED = frozenset(
    {"currency", "email", "item_number", "order_id", "price", "products", "revenue", "total", "upload_tag", "value"}
)


class FacebookOfflineSettings(Settings, frozen=True, kw_only=True):
    access_token: Secret
    events_to_ids: tuple[Rows, ...] = ()
    events_to_standard: tuple[Rows, ...] = ()
    category_to_content: tuple[Rows, ...] = ()
    is_hash_required: bool = True
    value_field_identifier: str = "properties.value"


destination = DestinationType(
    "Facebook Offline Conversions",
    FacebookOfflineSettings,
    docs="https://developers.facebook.com/docs/marketing-api/offline-conversions",
    names=("FacebookOfflineConversions", "facebook_offline_conversions"),
    quirks=[
        "If a name is mapped to several standard events, their event sets all receive the last one.",
        "Year, month and day of birth have the same hash for all users, so Facebook cannot match anyone by them.",
        "Hashed and plain personal data are sent a second time as custom data.",
        "An advertising ID is hashed; Facebook expects it unhashed.",
    ],
    answers=[
        Answer("success", 200, {"id": "77", "num_processed_entries": 1}),
        Answer("bad key", 401, {"error": {"message": "Invalid OAuth access token.", "code": 190}}),
        Answer("rate limit", 400, {"error": {"message": "Application request limit reached", "code": 80003}}),
        Answer("invalid field", 400, {"error": {"message": "Invalid parameter", "code": 100}}),
    ],
    differences=[
        "Numbers are hashed as text; RudderStack fails on them.",
        "Without a total and the field that `valueFieldIdentifier` names, the value of an event is its value or "
        "revenue.",
    ],
)

#: https://developers.facebook.com/docs/marketing-api/conversions-api/parameters/server-event#action-source
_ACTION_SOURCES = ("app", "chat", "email", "other", "phone_call", "physical_store", "system_generated", "website")
_ZIPS = ("zip", "zipcode", "zip_code", "zipCode", "postalcode", "postal_code", "postalCode")
EVENT = Table(
    {
        "extern_id": required(USER_ID),
        "event_name": "event",
        "event_time": required(unix_seconds(TIME)),
        "currency": "properties.currency",
        "value": default("properties.total", 0),
        "email": EMAIL,
        "phone": PHONE,
        "gen": trait("gender"),
        "ln": LAST_NAME,
        "fn": FIRST_NAME,
        "ct": trait("address.city"),
        "st": trait("state"),
        "zip": trait(*_ZIPS, *map("address.".__add__, _ZIPS)),
        "country": trait("country"),
        "madid": "context.device.advertisingId",
        "contents": "properties.products",
        "fbc": "context.fbc",
        "fbp": "context.fbp",
        "lead_id": "context.externalId.LeadId",
        "order_id": first("properties.order_id", "properties.orderId"),
        "item_number": "properties.item_number",
        "upload_tag": "properties.upload_tag",
        "client_user_agent": "context.userAgent",
        "action_source": first("properties.action_source", trait("action_source")),
        "event_source_url": first("context.page.url", "properties.url"),
    }
)
_name, _birthday = (
    getter(trait("name")),
    getter(first(trait("birthday", "dob", "DOB", "dateOfBirth"), "context.dateofbirth")),
)


@destination.on("track")
def send_event(event: Event, settings: FacebookOfflineSettings) -> Iterator[Payload]:
    """Return a request for each event set of each standard event."""
    names = _standard_names(event_name(event), settings)
    sets = [row.to for name in names for row in settings.events_to_ids if row.to and row.from_ == name]
    if not sets:
        raise NotConfigured("event", ", ".join(names), setting="eventsToIds")
    data = _data(event, names[-1], settings)
    tag = event.properties.get("upload_tag") or "rudderstack"
    query = f"upload_tag={text(tag)}&data={in_url(json_text([data]))}"
    for event_set in sets:
        url = f"https://graph.facebook.com/v16.0/{event_set}/events"
        yield Payload(endpoint=f"{url}?{query}&access_token={settings.access_token.reveal()}")


def _standard_names(given: str, settings: FacebookOfflineSettings) -> list[str]:
    key = given.lower()
    chosen = [row.to for row in settings.events_to_standard if row.to and row.from_ == given]
    if not chosen and key not in _EVENTS:
        raise NotConfigured("event", given, setting="eventsToStandard")
    return chosen or [_EVENTS[key]]


def _data(event: Event, name: str, settings: FacebookOfflineSettings) -> dict[str, Any]:
    """Return user, time and value, contents, and everything once more as custom data."""
    members = _known(event, settings)
    match: dict[str, Any] = dict.fromkeys(("doby", "dobm", "dobd"), _BORN) if _birthday(event.raw) else {}
    match.update({key: [value] if key in _SEVERAL else value for key, value in members.items() if key in _MATCHED})
    data = {
        "match_keys": match,
        "event_time": members["event_time"],
        "currency": members.get("currency", "USD"),
        "value": members.get("value", 0),
    }
    data.update({key: members[key] for key in ("order_id", "item_number") if key in members})
    products = event.properties.get("products")
    if products is not None:
        data["contents"] = _contents(products)
    if isinstance(event.raw.get("properties"), dict):
        own = {key: value for key, value in event.properties.items() if key not in _PLACED}
        data["custom_data"] = {**members, **own}
    if members.get("action_source") in _ACTION_SOURCES:
        data["action_source"] = members["action_source"]
    if "event_source_url" in members:
        data["event_source_url"] = members["event_source_url"]
    return {**data, "event_name": name, "content_type": _content_type(event, name, settings)}


def _known(event: Event, settings: FacebookOfflineSettings) -> dict[str, Any]:
    """Return the event's fields, with personal data hashed. A name of two words overrides first and last name."""
    members: dict[str, Any] = EVENT(event)
    if "event_time" not in members:
        raise Misfit("timestamp", TIME_EXAMPLE, event.raw.get("timestamp"))
    if (value := _value(event, settings)) is None:
        members.pop("value", None)
    else:
        members["value"] = value
    name = _name(event.raw)
    words = name.split(" ") if isinstance(name, str) else []
    if len(words) == 2:
        members["fn"], members["ln"] = words
    for key in _HASHED & members.keys() if settings.is_hash_required else ():
        members[key] = sha256(text(members[key]).strip())
    return members


def _value(event: Event, settings: FacebookOfflineSettings) -> int | float | None:
    for path in ("properties.total", settings.value_field_identifier, "properties.value", "properties.revenue"):
        value = value_of(event, path)
        if value is not None:
            return leading_number(value)
    return None


def _contents(products: Any) -> list[dict[str, Any]]:
    """Return the products that have an ID; a single product counts as a list."""
    contents = []
    for product in products if isinstance(products, list) else [products]:
        item: Mapping[str, Any] = as_object(product)
        if product_id := item.get("product_id") or item.get("sku") or item.get("id"):
            content = {"id": product_id, "quantity": item.get("quantity") or 1}
            contents.append(
                {**content, **{key: item[key] for key in ("price", "brand", "category") if item.get(key) is not None}}
            )
    return contents


def _content_type(event: Event, name: str, settings: FacebookOfflineSettings) -> Json:
    """Return the content type in the event's options, else that configured for its category, else the default."""
    if chosen := destination.options(event).get("contentType"):
        return chosen
    properties = event.properties
    products = properties.get("products")
    is_group = name == "ViewContent" and not (products and isinstance(products, list))
    rows = (row.to for row in settings.category_to_content if row.to and row.from_ == properties.get("category"))
    return next(rows, "product_group" if is_group else "product")


destination.judge(judge_graph_answer)
