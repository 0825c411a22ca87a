"""Iterable: users, their events and purchases.

identify updates a user, and registers the token of the device or browser; track, page and screen become events.
Cart changes replace the user's cart; `Order Completed` is a purchase. alias gives a user a new e-mail address.
Warehouse records that are not users become items of a catalog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Header, Payload, Settings, by_setting
from svctoolkit.destinations.iterable._batches import batch
from svctoolkit.destinations.iterable._deletion import deletion
from svctoolkit.destinations.iterable._judge import answer_batch, judge
from svctoolkit.events import Event
from svctoolkit.mapping import (
    TIME,
    USER_ID,
    Misfit,
    Missing,
    Table,
    Unsupported,
    as_object,
    converter,
    first,
    in_url,
    is_empty,
    javascript_text,
    leading_number,
    moment,
    platform,
    required,
    string,
    trait,
    value_of,
    warehouse_id,
    warehouse_row,
)
from svctoolkit.secrets import Secret

_HOSTS = {"USDC": "https://api.iterable.com/api", "EUDC": "https://api.eu.iterable.com/api"}


class IterableSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    data_center: Literal["USDC", "EUDC"] = "USDC"
    prefer_user_id: bool = True
    merge_nested_objects: bool = True
    track_all_pages: bool = False
    track_categorised_pages: bool = False
    track_named_pages: bool = False
    map_to_single_event: bool = True
    register_device_or_browser_api_key: Secret = Secret("")


destination = DestinationType(
    "Iterable",
    IterableSettings,
    docs="https://api.iterable.com/api/docs",
    quirks=[
        "The time of an event is the trait createdAt, if present.",
        "An invalid time or number is sent as null.",
        "A browser token is registered only for users without a device token.",
    ],
    answers=[
        Answer("success", 200, {"msg": "", "code": "Success", "params": None}),
        Answer("bad key", 401, {"msg": "Invalid API key", "code": "BadApiKey", "params": None}),
        Answer("rate limit", 429, {"msg": "Too many requests", "code": "RateLimitExceeded", "params": None}),
        Answer("invalid field", 400, {"msg": "Invalid email", "code": "InvalidEmailAddressError", "params": None}),
    ],
    differences=[
        "A warehouse row without an external ID is a user; RudderStack turns it into an item of a catalog `null`."
    ],
)

API = Endpoint(by_setting("data_center", _HOSTS), JSON, Header("api_key", "{api_key}"))
DEVICES = Endpoint(by_setting("data_center", _HOSTS), JSON, Header("api_key", "{register_device_or_browser_api_key}"))
destination.batch(batch, may_refuse=False)
destination.deletes_with(deletion)


@converter
def _categories(value: Any) -> list[Any]:
    """Split a comma-separated string into a list."""
    return value if isinstance(value, list) else string.of(value).split(",")


USER = Table({"email": trait("email"), "userId": first(USER_ID, "anonymousId")})
ACTOR = Table({**USER.shape, "email": first("properties.email", "context.traits.email", "traits.email")})
ACTION_ID = Table({"id": "properties.event_id"})
WHEN = first(trait("createdAt"), TIME)
ITEM = Table(
    {
        "id": required("product_id"),
        "sku": "sku",
        "name": required("name"),
        "categories": _categories("category"),
        "imageUrl": "image_url",
        "url": "url",
    },
    of="properties.products",
)
PURCHASE = Table({"id": string("properties.order_id", "properties.orderId")})
APPLICATION = Table({"applicationName": "context.device.name"})
EMAILS = Table({"currentEmail": required("previousId"), "newEmail": required("userId")})


@destination.on("identify")
def send_person(event: Event, settings: IterableSettings) -> Iterator[Payload]:
    """Yield the user update, then the token registration, which uses a separate API key."""
    catalog = _catalog(event)
    if catalog:
        yield _item_of(catalog, event, settings)
        return
    user = _user(event, settings)
    yield API.post(settings, "users/update", user)
    key = settings.register_device_or_browser_api_key
    device, os = as_object(event.context.get("device")), as_object(event.context.get("os"))
    ids: dict[str, Any] = {name: user[name] for name in ("email", "userId") if name in user}
    if key and device.get("token"):
        service = "APNS" if platform(device.get("type")) == "ios" else "GCM"
        about: dict[str, Any] = {"token": _token(device, "device"), "platform": service, **APPLICATION(event)}
        if event.raw.get("properties"):
            about["dataFields"] = event.raw["properties"]
        body = {**ids, "device": about, "preferUserId": settings.prefer_user_id}
        yield DEVICES.post(settings, "users/registerDeviceToken", body)
    elif key and os.get("token"):
        yield DEVICES.post(settings, "users/registerBrowserToken", {**ids, "browserToken": _token(os, "os")})


def _token(place: Mapping[str, Any], name: str) -> str:
    if not isinstance(place["token"], str):
        raise Misfit(f"context.{name}.token", "a string", place["token"])
    return place["token"]


@destination.on("track")
def send_action(event: Event, settings: IterableSettings) -> Payload:
    """Return an event; cart and order events have their own endpoints."""
    name = event.raw.get("event")
    key = name.lower() if isinstance(name, str) else ""
    if key in ("product added", "product removed"):
        return API.post(settings, "commerce/updateCart", {"user": _user(event, settings), "items": _items(event)})
    if key == "order completed":
        total = _require_number(event.properties, "total", "properties.total")
        order = {**PURCHASE(event), "user": _user(event, settings), "total": total, "items": _items(event)}
        return API.post(settings, "commerce/trackPurchase", {**order, **_details(event)})
    return _action(event, settings, name, ACTION_ID(event))


@destination.on("page", "screen")
def send_page(event: Event, settings: IterableSettings) -> Payload:
    """Return the event `Loaded a Page` or `<name> page`; a page without a name is an `undefined page`.

    The configuration decides which pages are tracked at all.
    """
    name = event.raw.get("name") or event.properties.get("name")
    category = event.properties.get("category") or event.raw.get("category")
    chosen = (settings.track_categorised_pages and category) or (settings.track_named_pages and name)
    if not settings.track_all_pages and not chosen:
        raise Unsupported(
            f"{event.type} events like this",
            setting="trackAllPages",
            field="name or properties.category",
            why="or with trackNamedPages or trackCategorisedPages",
        )
    if settings.map_to_single_event:
        return _action(event, settings, f"Loaded a {event.type.title()}")
    return _action(event, settings, f"{javascript_text(name) if name else 'undefined'} {event.type}")


@destination.on("alias")
def send_alias(event: Event, settings: IterableSettings) -> Payload:
    """Change the user's e-mail address from `previousId` to `userId`."""
    return API.post(settings, "users/updateEmail", EMAILS(event))


def _action(event: Event, settings: IterableSettings, name: Any, more: Mapping[str, Any] = {}) -> Payload:
    body = {**more, **_require_user(ACTOR(event)), **_details(event)}
    return API.post(settings, "events/track", body if name in (None, "") else {**body, "eventName": name})


def _details(event: Event) -> dict[str, Any]:
    """Return the time, the campaign and all properties. An invalid time or number becomes null."""
    when = value_of(event, WHEN)
    time = moment(int(when) if isinstance(when, bool) else when)
    out: dict[str, Any] = {"createdAt": None if time is None else int(time.timestamp() * 1000)}
    for name in ("campaignId", "templateId"):
        if not is_empty(event.properties.get(name)):
            number = leading_number(event.properties[name])
            out[name] = None if number is None else int(number)
    if isinstance(event.raw.get("properties"), dict):
        out["dataFields"] = event.properties
    return out


def _user(event: Event, settings: IterableSettings) -> dict[str, Any]:
    fields = {**event.traits, **warehouse_id(event)}
    body = _require_user(USER({**event.raw, "traits": fields} if fields else event.raw))
    if fields or isinstance(event.raw.get("traits"), dict) or isinstance(event.context.get("traits"), dict):
        body["dataFields"] = fields
    return {**body, "preferUserId": settings.prefer_user_id, "mergeNestedObjects": settings.merge_nested_objects}


def _require_user(body: dict[str, Any]) -> dict[str, Any]:
    if "email" not in body and "userId" not in body:
        raise Missing("userId", "traits.email")
    return body


def _items(event: Event) -> list[dict[str, Any]]:
    """Return the products, or the single one that the properties describe."""
    listed = event.properties.get("products")
    return [_item(as_object(product)) for product in (listed if isinstance(listed, list) else [event.properties])]


def _item(product: Mapping[str, Any]) -> dict[str, Any]:
    quantity = _require_number(product, "quantity", "properties.products.quantity")
    price = _require_number(product, "price", "properties.products.price")
    return {**ITEM(product), "price": price, "quantity": None if quantity is None else int(quantity)}


def _require_number(values: Mapping[str, Any], name: str, where: str) -> int | float | None:
    """Return the required number, or None if the value is not a number."""
    if values.get(name) in (None, ""):
        raise Missing(where)
    return leading_number(values[name])


def _catalog(event: Event) -> str:
    """Return the catalog that a warehouse record belongs to; empty for users."""
    name = warehouse_row(event).object
    return "" if name == "users" else name


def _item_of(catalog: str, event: Event, settings: IterableSettings) -> Payload:
    documents = {str(warehouse_row(event).id): event.traits}
    body = {"documents": documents, "replaceUploadedFieldsOnly": True}
    return API.post(settings, f"catalogs/{in_url(catalog)}/items", body)


destination.judge(judge)
destination.answer_batch(answer_batch)
