"""Revision 2023-02-22 of Klaviyo's API, still used by accounts that predate the choice of a version.

A profile must exist before it can be changed, so the first request obtains its ID from Klaviyo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations import Context, Endpoint, Header, Payload
from svctoolkit.destinations.klaviyo._profile import (
    ADDRESS,
    CITY,
    CONTACT,
    COUNTRY,
    IMAGE,
    LOCATION,
    NOT_CUSTOM,
    PARTS,
    PERSON,
    REGION,
    STREET,
    ZIP,
    channels,
    flat,
    properties,
    require_contact,
)
from svctoolkit.destinations.klaviyo._settings import KlaviyoSettings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    FIRST_NAME,
    LAST_NAME,
    USER_ID,
    LookupFailed,
    Misfit,
    Table,
    as_object,
    custom_traits,
    first,
    json_text,
    name_key,
    number,
    path,
    require_name,
    trait,
    value_of,
)

_REVISION = "2023-02-22"
API = Endpoint(ADDRESS, *PARTS, Header("revision", _REVISION))
USER = first(USER_ID, "anonymousId")
NAME = first("event", "properties.event", "properties.name")
PROFILE = Table({**PERSON, "location": LOCATION})
CUSTOMER = Table(
    {
        "$email": first(trait("email"), "properties.email"),
        "$phone_number": first(trait("phone"), "properties.phone"),
        "$first_name": FIRST_NAME,
        "$last_name": LAST_NAME,
        "$city": CITY,
        "$region": REGION,
        "$country": COUNTRY,
        "$zip": ZIP,
        "$consent": first(trait("consent"), "properties.consent"),
        "$image": IMAGE,
        "$address1": STREET,
    }
)
TIME = Table({"time": "timestamp"})
VALUE = Table({"value": number("properties.revenue", "properties.total", "properties.value")})
_NOT_CUSTOM = NOT_CUSTOM | {"id"}
_IN_ACTION = frozenset({"revenue", "total", "value", "email", "phone"})
LISTED = first("properties.items", "properties.products")
ITEM = Table(
    {
        "ProductID": "product_id",
        "SKU": "sku",
        "ProductName": "name",
        "Quantity": "quantity",
        "ItemPrice": "price",
        "RowTotal": "total",
        "ProductURL": "url",
        "ImageURL": "image_url",
        "ProductCategories": "categories",
    },
    of="properties.products",
)
VIEWED = Table(
    {
        "ProductName": "properties.name",
        "ProductID": "properties.product_id",
        "SKU": "properties.sku",
        "ImageURL": "properties.image_url",
        "URL": "properties.url",
        "Brand": "properties.brand",
        "Price": "properties.price",
        "CompareAtPrice": "properties.compare_at_price",
        "Categories": "properties.categories",
    }
)
ADDED = Table(
    {
        "$value": number("properties.value"),
        "AddedItemProductName": "properties.name",
        "AddedItemProductID": "properties.product_id",
        "AddedItemSKU": "properties.sku",
        "AddedItemImageURL": "properties.image_url",
        "AddedItemURL": "properties.url",
        "AddedItemPrice": "properties.price",
        "AddedItemQuantity": "properties.quantity",
        "AddedItemCategories": "properties.categories",
        "ItemNames": "properties.item_names",
        "CheckoutURL": "properties.checkout_url",
    }
)
STARTED = Table(
    {
        "$event_id": "properties.order_id",
        "$value": number("properties.value"),
        "Categories": "properties.categories",
        "ItemNames": "properties.item_names",
        "CheckoutURL": "properties.checkout_url",
    }
)
#: Klaviyo's name and properties of an event, by the event's name in snake_case
SHOP = {
    "product_viewed": ("Viewed Product", VIEWED),
    "product_clicked": ("Viewed Product", VIEWED),
    "product_added": ("Added to Cart", ADDED),
    "checkout_started": ("Started Checkout", STARTED),
}


def send_person(event: Event, settings: KlaviyoSettings, context: Context) -> Iterator[Payload]:
    """Yield the profile, under the ID that Klaviyo returned; then the subscription."""
    require_contact(event, settings)
    attributes, user = PROFILE(event), value_of(event, USER)
    custom = custom_traits(event, _NOT_CUSTOM)
    if user and settings.enforce_email_as_primary:
        custom = {**(custom or {}), "_id": user}
    elif user:
        attributes["external_id"] = user
    profile = {"type": "profile", "attributes": {**attributes, **properties(custom or None, settings)}}
    klaviyo_id = _profile_id(settings, context, profile)
    yield API.request(settings, "PATCH", f"profiles/{klaviyo_id}", {"data": {**profile, "id": klaviyo_id}})
    options = as_object(event.traits.get("properties"))
    where = options.get("listId") or settings.list_id
    if where and options.get("subscribe") is True:
        yield _subscription(event, settings, where)


def send_action(event: Event, settings: KlaviyoSettings) -> Payload:
    """Return an event of the profile. Shop events use the names and properties that Klaviyo's built-in flows expect."""
    require_contact(event, settings)
    name = require_name(value_of(event, NAME), "event")
    person = {**CUSTOMER(event), **(custom_traits(event, _NOT_CUSTOM) or {})}
    user = value_of(event, USER)
    if user:
        person["_id" if settings.enforce_email_as_primary else "$id"] = user
    shop = SHOP.get(name_key(name)) if isinstance(event.raw.get("properties"), dict) else None
    if shop:
        name, table = shop
        about = {**table(event), **_items(event)}
    else:
        about = {key: value for key, value in event.properties.items() if key not in _IN_ACTION}
    attributes = {
        "metric": {"name": name},
        "properties": flat(about, settings),
        "profile": flat(person, settings),
        **TIME(event),
    }
    if not shop:
        attributes |= VALUE(event)
    return API.post(settings, "events", {"data": {"type": "event", "attributes": attributes}})


def _items(event: Event) -> dict[str, Any]:
    listed = value_of(event, LISTED)
    items = [ITEM(item) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return {"items": items} if items else {}


def send_group(event: Event, settings: KlaviyoSettings, where: Json) -> Payload:
    """Subscribe the profile to the list; this revision cannot unsubscribe."""
    traits = as_object(event.raw.get("traits"))
    if traits.get("subscribe") is not True:
        raise Misfit("traits.subscribe", "true", traits.get("subscribe"), why="this API version cannot unsubscribe")
    return _subscription(event, settings, where)


def _profile_id(settings: KlaviyoSettings, context: Context, profile: Mapping[str, Any]) -> str:
    """Return the profile's ID. Klaviyo creates the profile, or responds 409 with the ID of the existing one."""
    status, answer = context.lookup(API.lookup(settings, "profiles", "POST", {"data": profile}))
    place = "errors.0.meta.duplicate_profile_id" if status == 409 else "data.id"
    klaviyo_id = path(place)(as_object(answer))
    if not isinstance(klaviyo_id, str) or not klaviyo_id:
        raise LookupFailed(
            "userId",
            f"Klaviyo's response has no profile ID: {status} {json_text(answer)}",
            status=status,
            case="id",
        )
    return klaviyo_id


def _subscription(event: Event, settings: KlaviyoSettings, where: Any) -> Payload:
    person: dict[str, Any] = CONTACT(event)
    chosen = channels(as_object(event.traits.get("properties")).get("consent"), settings)
    if chosen is not None:
        person["channels"] = {name: ["MARKETING"] for name in ("email", "sms") if name in chosen}
    attributes = {"list_id": where, "subscriptions": [person]}
    body = {"type": "profile-subscription-bulk-create-job", "attributes": attributes}
    return API.post(settings, "profile-subscription-bulk-create-jobs", {"data": body})
