"""The revision 2023-02-22 of Klaviyo's API, which accounts from before the choice still use.

A profile has to exist before it is changed, so Klaviyo is asked for its ID first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from svctoolkit.destinations import Context, Payload
from svctoolkit.destinations.klaviyo._profile import (
    CONTACT,
    HOST,
    PROFILE,
    channels,
    custom,
    flat,
    headers,
    require_contact,
    subscription,
)
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    CITY,
    COUNTRY,
    FIRST_NAME,
    LAST_NAME,
    USER_ID,
    Table,
    as_object,
    event_key,
    first,
    json_text,
    number,
    path,
    products,
    trait,
    value_of,
    without,
)

if TYPE_CHECKING:
    from svctoolkit.destinations.klaviyo import KlaviyoSettings

_REVISION = "2023-02-22"
USER = first(USER_ID, "anonymousId")
CUSTOMER = Table(
    {
        "$email": trait("email"),
        "$phone_number": trait("phone"),
        "$first_name": FIRST_NAME,
        "$last_name": LAST_NAME,
        "$title": trait("title"),
        "$organization": trait("organization"),
        "$city": CITY,
        "$region": trait("region", "address.region", "state", "address.state"),
        "$country": COUNTRY,
        "$zip": trait("zip", "address.zip", "postalCode", "address.postalCode"),
    }
)
VALUE = Table({"value": number("properties.revenue")})
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
        "$value": "properties.value",
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
        "$value": "properties.value",
        "Categories": "properties.categories",
        "ItemNames": "properties.item_names",
        "CheckoutURL": "properties.checkout_url",
    }
)
#: by the event's name in lower case, with underscores: Klaviyo's name, and its properties
SHOP = {
    "product_viewed": ("Viewed Product", VIEWED),
    "product_clicked": ("Viewed Product", VIEWED),
    "product_added": ("Added to Cart", ADDED),
    "checkout_started": ("Started Checkout", STARTED),
}


def identify(event: Event, settings: KlaviyoSettings, context: Context) -> Iterator[Payload]:
    """The profile, under the ID that Klaviyo tells; then the subscription."""
    require_contact(event, settings)
    attributes, user = PROFILE(event), value_of(event, USER)
    own = dict(flat(_custom(event.traits), settings))
    if user and settings.enforce_email_as_primary:
        own["_id"] = user
    elif user:
        attributes["external_id"] = user
    if own:
        attributes["properties"] = own
    profile = {"type": "profile", "attributes": attributes}
    found = _profile_id(settings, context, profile)
    yield _send(settings, f"/profiles/{found}", {**profile, "id": found}, "PATCH")
    where, wanted = subscription(event, settings)
    if where and wanted is True:
        yield _subscribe(event, settings, where)


def event_payload(event: Event, settings: KlaviyoSettings, name: str) -> Payload:
    """An event of the person. The events of a shop have the names and properties that Klaviyo's own flows look for."""
    require_contact(event, settings)
    whose = {**CUSTOMER(event), **flat(_custom(without(event.traits, ["id"])), settings)}
    user = value_of(event, USER)
    if user:
        whose["_id" if settings.enforce_email_as_primary else "$id"] = user
    if event_key(event) in SHOP:
        name, table = SHOP[event_key(event)]
        items = [ITEM(product) for product in products(event)]
        properties = {**table(event), **({"items": items} if items else {})}
    else:
        properties = without(event.properties, ["revenue"])
    attributes = {"metric": {"name": name}, "properties": flat(properties, settings), "profile": whose}
    if event_key(event) not in SHOP:
        attributes |= VALUE(event)
    return _send(settings, "/events", {"type": "event", "attributes": attributes})


def group(event: Event, settings: KlaviyoSettings, where: str) -> Payload:
    """Puts the person on the list; this revision takes nobody off."""
    if as_object(event.raw.get("traits")).get("subscribe") is not True:
        raise MappingError("traits.subscribe: must be true to put a person on a list", field="traits.subscribe")
    return _subscribe(event, settings, where)


def _custom(traits: Mapping[str, Any]) -> dict[str, Any]:
    """In this revision the street is a property too."""
    return {**custom(traits), **({"street": traits["street"]} if traits.get("street") else {})}


def _profile_id(settings: KlaviyoSettings, context: Context, profile: Mapping[str, Any]) -> str:
    """Klaviyo's ID of the person. It creates the profile, or refuses and says which one there is (409)."""
    url = f"{HOST}/profiles"
    asked = {"method": "POST", "url": url, "headers": headers(settings, _REVISION), "body": {"data": profile}}
    status, answer = context.lookup(asked)
    if status == 409:
        found = path("errors.0.meta.duplicate_profile_id")(as_object(answer))
    else:
        found = path("data.id")(as_object(answer))
    if not isinstance(found, str) or not found:
        raise MappingError(f"Klaviyo told no ID of the profile: {status} {json_text(answer)}")
    return found


def _subscribe(event: Event, settings: KlaviyoSettings, where: Any) -> Payload:
    person: dict[str, Any] = CONTACT(event)
    agreed = {name: ["MARKETING"] for name in channels(event, settings) if name in ("email", "sms")}
    if agreed:
        person["channels"] = agreed
    attributes = {"list_id": where, "subscriptions": [person]}
    body = {"type": "profile-subscription-bulk-create-job", "attributes": attributes}
    return _send(settings, "/profile-subscription-bulk-create-jobs", body)


def _send(
    settings: KlaviyoSettings, place: str, data: Mapping[str, Any], method: Literal["POST", "PATCH"] = "POST"
) -> Payload:
    return Payload(endpoint=HOST + place, method=method, headers=headers(settings, _REVISION), json={"data": data})
