"""Ometria: contacts, orders and custom events, pushed in batches.

identify pushes a contact, track an order (`Order Completed`) or a custom event. Mapped traits and properties have their
own fields; `custom_fields`, or else all other values, are sent as properties. The event's options can set the contact's
`listingId`, and whether it allows messages (`allowMarketing`, `allowTransactional`).
https://support.ometria.com/hc/en-us/articles/360011511017-Data-API-introduction
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Endpoint, Header, Merge, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    TIME_EXAMPLE,
    Misfit,
    Missing,
    Table,
    WrongValue,
    compact,
    converter,
    custom_traits,
    event_name,
    first,
    nest_dotted,
    objects,
    products,
    required,
    trait,
    value_of,
    without,
    without_nulls,
)
from svctoolkit.secrets import Secret

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)", re.ASCII)
_PHONE = re.compile(r"\+[1-9][0-9]{1,14}", re.ASCII)
_ORDERS = {"order completed": "complete"}
_KNOWN_TRAITS = frozenset({
    "addToLists", "anonymousId", "birthday", "channels", "collection", "countryId", "createdAt", "custom_fields",
    "customer_id", "dateOfBirth", "email", "first_name", "firstName", "forceOptin", "gender", "last_name", "lastName",
    "lastname", "listingId", "marketinOptin", "merge", "middle_name", "middleName", "name", "phone", "phoneNumber",
    "prefix", "removeFromLists", "storeIds", "timestampAcquired", "timestampSubscribed", "timestampUnsubscribed",
    "timezone", "userId",
})  # fmt: skip
_KNOWN_OF_EVENT = ("custom_fields", "event_id", "profile_id", "timestamp")
_KNOWN_OF_ORDER = (
    "billing_address", "channel", "coupon_code", "currency", "custom_fields", "discount", "grand_total", "ip_address",
    "order_id", "payment_method", "products", "shipping", "shipping_address", "shipping_method", "store", "subtotal",
    "tax", "timestamp", "web_id",
)  # fmt: skip


class OmetriaSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    marketing_optin: Literal["EXPLICITLY_OPTEDOUT", "NOT_SPECIFIED", "EXPLICITLY_OPTEDIN"] | None = None
    allow_marketing: bool | None = None
    allow_transactional: bool | None = None


destination = DestinationType(
    "Ometria",
    OmetriaSettings,
    docs="https://support.ometria.com/hc/en-us/articles/360011511017-Data-API-introduction",
    quirks=[
        "A full name takes precedence over first and last names; its first three words, split at single spaces, are "
        "used.",
        "A contact's times and phone numbers are left out if Ometria cannot parse them; an event without a valid time "
        "is rejected.",
    ],
    merges=[Merge(limit=100)],
    answers=[
        Answer("success", 200, {"accepted": 1, "rejected": 0}),
        Answer("bad key", 401, {"error": "Unauthorized"}),
        Answer("rate limit", 429, {"error": "Too Many Requests"}),
        Answer("invalid field", 400, {"error": "Bad Request"}),
    ],
)

API = Endpoint("https://api.ometria.com/v2/push", Header("X-Ometria-Auth", "{api_key}"), body="json_array")


@converter
def moment(value: Json) -> str:
    """Convert to a time in Ometria's format; anything else is left out, and later paths are not tried."""
    return value if isinstance(value, str) and _MOMENT.fullmatch(value) else ""


@converter
def strict_moment(value: Json) -> Json:
    """Convert to a time in Ometria's format; anything else is rejected."""
    if not moment.of(value):
        raise WrongValue(TIME_EXAMPLE, value, case="time")
    return value


@converter
def phone(value: Json) -> str:
    """Convert to an international phone number; anything else is left out."""
    return value if isinstance(value, str) and _PHONE.fullmatch(value) else ""


@converter
def gender(value: Json) -> Json:
    """Convert known spellings to `f` and `m`."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return word[:1] if word in ("female", "male") else value


@converter
def currency(value: Json) -> str:
    """Return a code of three letters; anything else is rejected."""
    code = value.strip() if isinstance(value, str) else ""
    if len(code) != 3:
        raise WrongValue("a three-letter code", value, case="currency")
    return code


@converter
def address(value: Json) -> Json:
    """Return an address if it is an object; anything else is left out."""
    return value if isinstance(value, dict) else ""


NAME = trait("name")
LISTING_ID = trait("listingId")
CONTACT = Table(
    {
        "email": required(trait("email")),
        "phone_number": phone(trait("phoneNumber", "phone")),
        "@collection": trait("collection"),
        "customer_id": ANY_ID,
        "prefix": trait("prefix"),
        "firstname": FIRST_NAME,
        "middlename": trait("middleName", "middle_name"),
        "lastname": LAST_NAME,
        "gender": gender(trait("gender")),
        "date_of_birth": trait("dateOfBirth", "birthday"),
        "country_id": trait("countryId"),
        "timezone": first("context.timezone", trait("timezone")),
        "timestamp_acquired": moment(trait("timestampAcquired", "createdAt")),
        "timestamp_subscribed": moment(trait("timestampSubscribed")),
        "timestamp_unsubscribed": moment(trait("timestampUnsubscribed")),
        "store_ids": trait("storeIds"),
        "@remove_from_lists": trait("removeFromLists"),
        "@add_to_lists": trait("addToLists"),
        "@merge": trait("merge"),
        "properties": trait("custom_fields"),
    }
)
HAPPENED = required(strict_moment("properties.timestamp", "timestamp", "originalTimestamp"))
CUSTOM_EVENT = Table(
    {
        "id": first("properties.event_id", "messageId"),
        "timestamp": HAPPENED,
        "identity_email": required(EMAIL),
        "identity_account_id": required(ANY_ID),
        "profile_id": first(trait("profile_id"), "properties.profile_id"),
        "properties": "properties.custom_fields",
    }
)
CUSTOMER = Table({"id": ANY_ID, "email": EMAIL, "firstname": FIRST_NAME, "lastname": LAST_NAME})
ORDER = Table(
    {
        "id": required("properties.order_id"),
        "timestamp": HAPPENED,
        "grand_total": required("properties.grand_total"),
        "subtotal": "properties.subtotal",
        "discount": "properties.discount",
        "shipping": "properties.shipping",
        "tax": "properties.tax",
        "currency": required(currency("properties.currency")),
        "web_id": "properties.web_id",
        "ip_address": first("context.ip", "properties.ip_address"),
        "channel": "properties.channel",
        "store": "properties.store",
        "payment_method": "properties.payment_method",
        "shipping_method": "properties.shipping_method",
        "shipping_address": address("properties.shipping_address"),
        "billing_address": address("properties.billing_address"),
        "coupon_code": "properties.coupon_code",
        "properties": "properties.custom_fields",
    }
)
#: fields from the event's options
ALLOWED = Table(
    {"allow_marketing": "allowMarketing", "allow_transactional": "allowTransactional"}, of="integrations.Ometria"
)
ITEM = Table(
    {
        "product_id": "product_id",
        "variant_id": "variant_id",
        "quantity": "quantity",
        "sku": "sku",
        "unit_price": "unit_price",
        "subtotal": "subtotal",
        "discount": "discount",
        "tax": "tax",
        "total": "total",
        "properties": "properties",
    },
    of="properties.products",
)
VARIANT = Table({"id": "id", "type": "type", "label": "label"}, of="properties.products.variant_options")


@destination.on("identify")
def send_contact(event: Event, settings: OmetriaSettings) -> Payload:
    """Return a contact, and the messages that it allows."""
    options = destination.options(event)
    contact = CONTACT(event)
    contact.update(_names(value_of(event, NAME)))
    contact["id"] = options.get("listingId") or value_of(event, LISTING_ID)
    if contact["id"] is None:
        raise Missing("traits.listingId", "listingId", why="it can also be set in the event's options")
    if "properties" not in contact and (rest := custom_traits(event, _KNOWN_TRAITS)):
        contact["properties"] = rest
    if settings.marketing_optin:
        contact["marketing_optin"] = settings.marketing_optin
    configured = {"allow_marketing": settings.allow_marketing, "allow_transactional": settings.allow_transactional}
    sms = without_nulls({**configured, **ALLOWED(options)})
    present = {key: value for key, value in contact.items() if value != ""}
    return _push(settings, {**present, "@type": "contact", "channels": {"sms": sms}})


@destination.on("track")
def send_event(event: Event, settings: OmetriaSettings) -> Payload:
    """Return an order or a custom event."""
    name = event_name(event).strip().lower()
    status = _ORDERS.get(name)
    if status is None:
        action = {"properties": nest_dotted(without(event.properties, _KNOWN_OF_EVENT)), **CUSTOM_EVENT(event)}
        return _push(settings, {**action, "@type": "custom_event", "event_type": name})
    order, customer, items = ORDER(event), CUSTOMER(event), _items(event)
    for member, field in (("id", "userId"), ("email", "traits.email")):
        if member not in customer:
            raise Missing(field, wants="the customer of an order")
    rest = compact({"properties": nest_dotted(without(event.properties, _KNOWN_OF_ORDER)), "lineitems": items})
    return _push(
        settings, {**rest, **order, "customer": customer, "@type": "order", "status": status, "is_valid": True}
    )


def _names(name: Json) -> dict[str, str]:
    """Return the parts of a full name; empty strings for missing parts."""
    if not name:
        return {}
    if not isinstance(name, str):
        raise Misfit("traits.name", "a string", name)
    words = name.split(" ")
    if len(words) < 3:
        return dict(zip(("firstname", "lastname"), [*words, ""], strict=False))
    return dict(zip(("firstname", "middlename", "lastname"), words, strict=False))


def _items(event: Event) -> list[dict[str, Any]]:
    """Return the products that have all fields that Ometria requires."""
    items = [_item(product) for product in products(event)]
    return [item for item in items if all(item.get(key) for key in ("product_id", "quantity", "subtotal"))]


def _item(product: Mapping[str, Json]) -> dict[str, Any]:
    variants = [VARIANT(variant) for variant in objects(product.get("variant_options"))]
    whole = [variant for variant in variants if len(variant) == 3]
    return {**ITEM(product), **({"variant_options": whole} if whole else {})}


def _push(settings: OmetriaSettings, record: dict[str, Any]) -> Payload:
    return API.post(settings, body=[record])
