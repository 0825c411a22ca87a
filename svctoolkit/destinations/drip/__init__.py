"""Drip: subscribers, their events and their orders.

identify creates or updates a subscriber. If a campaign is configured, this is done in a lookup, and the request
subscribes the person to the campaign. track sends an event, or an order for names of the e-commerce specification.
Without `enableUserCreation` a lookup checks first that the subscriber exists; other events are refused.
https://developer.drip.com/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import (
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Method,
    Payload,
    Settings,
    basic_key,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.lexical import is_email
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    Missing,
    Table,
    converter,
    custom_traits,
    event_name,
    first,
    javascript_text,
    js_join,
    nest_dotted,
    objects,
    required,
    trait,
    value_of,
    without,
)
from svctoolkit.secrets import Secret

_NOT_IN_EMAIL = re.compile("[/?#%]")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)
_FIELD_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
#: A list of seven objects is accepted as a custom field, one of eight (127 characters in JavaScript) is not.
_FIELD_LENGTH = 125
_KNOWN_TRAITS = frozenset({
    "address", "anonymousId", "city", "country", "email", "euConsent", "euConsentMessage", "firstName", "first_name",
    "firstname", "id", "lastName", "last_name", "lastname", "name", "newEmail", "phone", "removeTags", "status", "tags",
    "userId", "zip",
})  # fmt: skip
_KNOWN_PROPERTIES = ("email", "occurred_at", "prospect")
_ORDER_ACTIONS = {
    "checkout started": "placed",
    "order updated": "updated",
    "order completed": "paid",
    "order refunded": "refunded",
    "order cancelled": "canceled",
}


class DripSettings(Settings, frozen=True, kw_only=True):
    account_id: str
    api_key: Secret
    campaign_id: str = ""
    enable_user_creation: bool = True


destination = DestinationType(
    "Drip",
    DripSettings,
    docs="https://developer.drip.com/",
    quirks=[
        "The header for Basic authentication contains the key alone, without a trailing colon.",
        "A time is sent only if it ends with Z; a time in any other zone is left out.",
        "With a campaign, the mapping writes the subscriber before anything is delivered.",
        "Products without a name or a price are left out of an order.",
    ],
    answers=[
        Answer("success", 202, {"request_id": "990c99a7-5cba-42e8-8f36-aec3419186ef"}, at="shopper_activity"),
        Answer("success", 204, "", at="/events"),
        Answer("success", 200, {"subscribers": [{"id": "z1", "status": "active"}]}),
        Answer("bad key", 401, {"errors": [{"code": "authentication_error", "message": "Authentication failed"}]}),
        Answer("rate limit", 429, {"message": "API rate limit exceeded. Please try again in an hour."}),
        Answer("invalid field", 422, {"errors": [{"code": "presence_error", "message": "Email is required"}]}),
    ],
    differences=[
        "Traits that are null are left out of the custom fields; RudderStack fails on them.",
        "In one recorded batch the request that creates the person fails; its answer was not recorded.",
    ],
    needs=["lookup"],
)

V2 = Endpoint("https://api.getdrip.com/v2/{account_id}", basic_key("api_key"), JSON)
V3 = Endpoint("https://api.getdrip.com/v3/{account_id}", basic_key("api_key"), JSON)


@converter
def words(value: Json) -> str:
    """Return a value as text; elements of a list are separated by commas."""
    return js_join(value)


@converter
def address_line(value: Json) -> Json:
    """Return an address as one line."""
    return " ".join(js_join(line) for line in value.values()).strip() if isinstance(value, dict) else value


@converter
def moment(value: Json) -> str:
    """Return a time in Drip's format; anything else is left out, without trying later paths."""
    return value if isinstance(value, str) and _MOMENT.fullmatch(value) else ""


SUBSCRIBER = Table(
    {
        "id": "context.externalId.dripId",
        "new_email": trait("newEmail"),
        "phone": words(trait("phone")),
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "tags": trait("tags"),
        "remove_tags": trait("removeTags"),
        "status": trait("status"),
        "initial_status": trait("initialStatus"),
        "time_zone": first("context.timeZone", "context.traits.timeZone"),
        "country": trait("address.country", "country"),
        "city": trait("address.city", "city"),
        "zip": trait("zip", "address.zip"),
        "eu_consent": trait("euConsent"),
        "eu_consent_message": trait("euConsentMessage"),
        "ip_address": "context.ip",
        "address1": address_line(trait("address")),
        "address2": trait("address2"),
        "lifetime_value": trait("lifetimeValue"),
        "prospect": trait("prospect"),
        "base_lead_score": trait("baseLeadScore"),
        "custom_fields": trait("customFields"),
        "email": EMAIL,
        "user_id": ANY_ID,
    }
)
FULL_NAME = trait("name")
MEMBERSHIP = Table(
    {
        "double_optin": trait("doubleOptin"),
        "starting_email_index": trait("startingEmailIndex"),
        "reactivate_if_removed": trait("reactivateIfRemoved"),
    }
)
ACTOR = Table(
    {"id": "context.externalId.dripId", "email": first("properties.email", "traits.email", "context.traits.email")}
)
OCCURRED_AT = moment("properties.occurred_at", "timestamp", "originalTimestamp")
EVENT = Table({"occurred_at": OCCURRED_AT, "prospect": "properties.prospect", "properties": "properties.customFields"})
ORDER = Table(
    {
        "provider": required("properties.affiliation"),
        "initial_status": "properties.initial_status",
        "order_id": required("properties.order_id"),
        "order_public_id": "properties.order_public_id",
        "occurred_at": OCCURRED_AT,
        "grand_total": "properties.total",
        "total_discounts": "properties.discount",
        "total_taxes": "properties.tax",
        "total_fees": "properties.total_fees",
        "total_shipping": "properties.shipping",
        "refund_amount": "properties.refund_amount",
        "currency": "properties.currency",
        "order_url": "properties.order_url",
        "billing_address": "properties.billing_address",
        "shipping_address": "properties.shipping_address",
    }
)
ITEM = Table(
    {
        "product_id": "product_id",
        "product_variant_id": "product_variant_id",
        "sku": "sku",
        "name": "name",
        "brand": "brand",
        "price": "price",
        "quantity": "quantity",
        "product_url": "url",
        "image_url": "image_url",
    },
    of="properties.products",
)


@destination.on("identify")
def send_subscriber(event: Event, settings: DripSettings, context: Context) -> Payload:
    """Return the subscriber, or its subscription to a campaign."""
    subscriber = {**_full_name(event), **SUBSCRIBER(event)}
    _check_identity(subscriber, "traits.email")
    if "custom_fields" not in subscriber and (fields := _custom_fields(event)):
        subscriber["custom_fields"] = fields
    if not settings.campaign_id:
        return V2.post(settings, "subscribers", {"subscribers": [subscriber]})
    _ask(settings, context, "POST", "subscribers", {"subscribers": [subscriber]})
    identity = {key: subscriber[key] for key in ("id", "email") if key in subscriber}
    place = f"campaigns/{settings.campaign_id}/subscribers"
    return V2.post(settings, place, {"subscribers": [{**MEMBERSHIP(event), **identity}]})


@destination.on("track")
def send_event(event: Event, settings: DripSettings, context: Context) -> Payload:
    """Return an event of a subscriber, or an order for the event names of orders."""
    name = event_name(event).strip().lower()
    actor = ACTOR(event)
    _check_identity(actor, "properties.email")
    if not settings.enable_user_creation:
        _ask(settings, context, "GET", f"subscribers/{js_join(actor.get('id') or actor['email'])}")
    action = _ORDER_ACTIONS.get(name)
    if action:
        items = _items(event)
        order = {**ORDER(event), **actor, **({"items": items} if items else {}), "action": action}
        return V3.post(settings, "shopper_activity/order", order)
    body = EVENT(event)
    rest = nest_dotted(without(event.properties, _KNOWN_PROPERTIES))
    if "properties" not in body and rest:
        body["properties"] = rest
    return V2.post(settings, "events", {"events": [{**body, "action": name, **actor}]})


def _check_identity(person: Mapping[str, Any], field: str) -> None:
    email = person.get("email")
    if not person.get("id") and not (isinstance(email, str) and is_email(email) and not _NOT_IN_EMAIL.search(email)):
        raise Missing(field, "context.externalId.dripId", wants="an e-mail address or Drip's own ID")


def _full_name(event: Event) -> dict[str, str]:
    """Return the first and last word of the name."""
    name = value_of(event, FULL_NAME)
    words = name.split() if isinstance(name, str) else []
    return dict(zip(("first_name", "last_name"), words if len(words) < 2 else (words[0], words[-1]), strict=False))


def _custom_fields(event: Event) -> dict[str, Any]:
    """Return the other traits, if their names and lengths are allowed for custom fields."""
    traits = custom_traits(event, _KNOWN_TRAITS) or {}
    return {key: value for key, value in traits.items() if value is not None and _is_field(key, value)}


def _is_field(name: str, value: Json) -> bool:
    return _FIELD_NAME.fullmatch(name) is not None and len(javascript_text(value)) <= _FIELD_LENGTH


def _items(event: Event) -> list[dict[str, Any]]:
    items = [ITEM(product) for product in objects(event.properties.get("products"))]
    return [item for item in items if "name" in item and "price" in item]


def _ask(
    settings: DripSettings, context: Context, method: Method, place: str, body: Mapping[str, Any] | None = None
) -> None:
    context.ask(V2.lookup(settings, place, method, body), field="traits.email")
