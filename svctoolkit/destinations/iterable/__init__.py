"""Iterable: users, what they do and what they buy.

identify updates a user, and registers the token of the device or browser; track, page and screen become events.
Changes of a cart replace the user's cart, `Order Completed` is a purchase. alias gives a user a new e-mail address.
Records of a warehouse that are no users become items of a catalog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    TIME,
    USER_ID,
    Table,
    as_object,
    converter,
    epoch_ms,
    event_key,
    first,
    in_url,
    number,
    platform,
    products,
    required,
    string,
    warehouse_id,
    warehouse_row,
)
from svctoolkit.secrets import Secret

_HOSTS = {"USDC": "https://api.iterable.com/api", "EUDC": "https://api.eu.iterable.com/api"}


class IterableSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    data_center: Literal["USDC", "EUDC"] = "USDC"
    package_name: str = ""
    prefer_user_id: bool = True
    merge_nested_objects: bool = True
    track_all_pages: bool = False
    track_categorised_pages: bool = True
    track_named_pages: bool = True
    map_to_single_event: bool = True
    register_device_or_browser_api_key: Secret = Secret("")


destination = DestinationType(
    "Iterable",
    IterableSettings,
    docs="https://api.iterable.com/api/docs",
    answers=[
        Answer("success", 200, {"msg": "", "code": "Success", "params": None}),
        Answer("bad key", 401, {"msg": "Invalid API key", "code": "BadApiKey", "params": None}),
        Answer("rate limit", 429, {"msg": "Too many requests", "code": "RateLimitExceeded", "params": None}),
        Answer("invalid field", 400, {"msg": "Invalid email", "code": "InvalidEmailAddressError", "params": None}),
    ],
)


@converter
def _categories(value: Any) -> list[Any]:
    """A text with commas is a list."""
    return value if isinstance(value, list) else string.of(value).split(",")


USER = Table({"email": EMAIL, "userId": first(USER_ID, "anonymousId")})
HAPPENED = Table(
    {
        **USER.shape,
        "createdAt": epoch_ms(TIME),
        "campaignId": number("properties.campaignId"),
        "templateId": number("properties.templateId"),
    }
)
ITEM = Table(
    {
        "id": first("product_id", "sku"),
        "sku": "sku",
        "name": "name",
        "categories": _categories("category"),
        "price": number("price"),
        "quantity": number("quantity"),
        "imageUrl": "image_url",
        "url": "url",
    },
    of="properties.products",
)
PURCHASE = Table(
    {
        "id": string("properties.orderId", "properties.order_id"),
        "total": required(number("properties.total")),
        "createdAt": epoch_ms(TIME),
        "campaignId": number("properties.campaignId"),
        "templateId": number("properties.templateId"),
    }
)
DEVICE = Table({"token": required("context.device.token")})
BROWSER = Table({"browserToken": required("context.os.token")})
EMAILS = Table({"currentEmail": required("previousId"), "newEmail": required("userId")})


@destination.on("identify")
def send_person(event: Event, settings: IterableSettings) -> Iterator[Payload]:
    """The user's update; then the registration of the token, for which Iterable has a key of its own."""
    catalog = _catalog(event)
    if catalog:
        yield _item_of(catalog, event, settings)
        return
    user = _user(event, settings)
    yield _post(settings, "/users/update", user)
    key, device = settings.register_device_or_browser_api_key, as_object(event.context.get("device"))
    whose: dict[str, Any] = {name: user[name] for name in ("email", "userId") if name in user}
    if key and device.get("token"):
        service = "APNS" if platform(device.get("type")) == "ios" else "GCM"
        about = {**DEVICE(event), "platform": service, "applicationName": settings.package_name}
        yield _post(settings, "/users/registerDeviceToken", {**whose, "device": about, "preferUserId": True}, key)
    if key and as_object(event.context.get("os")).get("token"):
        yield _post(settings, "/users/registerBrowserToken", {**whose, **BROWSER(event)}, key)


@destination.on("track")
def send_event(event: Event, settings: IterableSettings) -> Payload:
    """The events of a cart and an order have endpoints of their own."""
    key = event_key(event)
    if key in ("product_added", "product_removed"):
        return _post(settings, "/commerce/updateCart", {"user": _user(event, settings), "items": _items(event)})
    if key == "order_completed":
        order = {**PURCHASE(event), "user": _user(event, settings), "items": _items(event)}
        return _post(settings, "/commerce/trackPurchase", {**order, "dataFields": event.properties})
    return _event(event, settings, event.raw.get("event"))


@destination.on("page", "screen")
def send_page(event: Event, settings: IterableSettings) -> Payload:
    """`Loaded a Page`, or `<name> page`. The configuration says which pages are tracked at all."""
    name = event.raw.get("name") or event.properties.get("name")
    category = event.properties.get("category") or event.raw.get("category")
    wanted = (settings.track_categorised_pages and category) or (settings.track_named_pages and name)
    if not settings.track_all_pages and not wanted:
        raise MappingError(
            f"the configuration tracks no {event.type} like this: see trackAllPages, trackNamedPages and "
            "trackCategorisedPages",
            field="name or properties.category",
        )
    shown = name or category
    if settings.map_to_single_event or not shown:
        return _event(event, settings, f"Loaded a {event.type.title()}")
    return _event(event, settings, f"{shown} {event.type}")


@destination.on("alias")
def send_alias(event: Event, settings: IterableSettings) -> Payload:
    """The user whose e-mail address is `previousId` has the address `userId` from now on."""
    return _post(settings, "/users/updateEmail", EMAILS(event))


def _event(event: Event, settings: IterableSettings, name: Any) -> Payload:
    if name is not None and not isinstance(name, str):
        raise MappingError(f"event: expected a text, got {name!r}", field="event")
    body = {**HAPPENED(event), "dataFields": event.properties}
    return _post(settings, "/events/track", {**_require_user(body), **({"eventName": name} if name else {})})


def _user(event: Event, settings: IterableSettings) -> dict[str, Any]:
    fields = {**event.traits, **warehouse_id(event)}
    body = _require_user(USER({**event.raw, "traits": fields}))
    prefer, merge = settings.prefer_user_id, settings.merge_nested_objects
    return {**body, "dataFields": fields, "preferUserId": prefer, "mergeNestedObjects": merge}


def _require_user(body: dict[str, Any]) -> dict[str, Any]:
    if "email" not in body and "userId" not in body:
        raise MappingError("needs a value at userId or traits.email", field="userId or traits.email")
    return body


def _items(event: Event) -> list[dict[str, Any]]:
    return [ITEM(product) for product in products(event) or [event.properties]]


def _catalog(event: Event) -> str:
    """The catalog that a record of the warehouse belongs to; empty for users."""
    name = warehouse_row(event).object
    return "" if name == "users" else name


def _item_of(catalog: str, event: Event, settings: IterableSettings) -> Payload:
    documents = {str(warehouse_row(event).id): event.traits}
    body = {"documents": documents, "replaceUploadedFieldsOnly": True}
    return _post(settings, f"/catalogs/{in_url(catalog)}/items", body)


def _post(settings: IterableSettings, path: str, body: Mapping[str, Any], key: Secret | None = None) -> Payload:
    headers = {"Content-Type": "application/json", "api_key": (key or settings.api_key).reveal()}
    return Payload(endpoint=_HOSTS[settings.data_center] + path, headers=headers, json=body)
