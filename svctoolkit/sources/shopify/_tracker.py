"""Webhooks of the older Shopify tracker."""

from __future__ import annotations

from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.sources import Fields, FieldTable, Webhook, date_ms, get, js_text, rest, truthy
from svctoolkit.sources.shopify._identity import items_hash, note, remember_items, remembered, tracker_id
from svctoolkit.sources.shopify._topics import ECOMMERCE, GENERIC, email_anywhere, utc

_CUSTOMER = {
    "email": "email",
    "first_name": "firstName",
    "last_name": "lastName",
    "phone": "phone",
    "addresses": "addressList",
    "default_address": "address",
    "accepts_marketing": "acceptsMarketing",
    "orders_count": "orderCount",
    "state": "state",
    "total_spent": "totalSpent",
    "note": "note",
    "verified_email": "verifiedEmail",
    "tax_exempt": "taxExempt",
    "tags": "tags",
    "currency": "currency",
    "tax_exemptions": "taxExemptions",
    "sms_marketing_consent": "smsMarketingConsent",
    "admin_graphql_api_id": "adminGraphqlApiId",
    "accepts_marketing_updated_at": "acceptsMarketingUpdatedAt",
    "last_order_id": "lastOrderId",
    "last_order_name": "lastOrderName",
    "marketing_opt_in_level": "marketingOptInLevel",
    "multipass_identifier": "multipassIdentifier",
}
_ADDRESSES: Fields = {"shipping_address": "traits.shippingAddress", "billing_address": "traits.billingAddress"}
_OWN: Fields = {of: f"traits.{to}" for of, to in _CUSTOMER.items()}
_IDENTIFY = FieldTable({**_OWN, **_ADDRESSES})
_BUYER: Fields = {f"customer.{of}": f"traits.{to}" for of, to in _CUSTOMER.items()}
_TRAITS = FieldTable({**_BUYER, **_ADDRESSES})
_ORDER = {"id": "order_id", "total_price": "value", "total_tax": "tax", "currency": "currency"}
_ELSEWHERE = frozenset({"line_items", "customer", "shipping_address", "billing_address"})
_PRODUCT = {
    "product_id": "product_id",
    "sku": "sku",
    "name": "title",
    "price": "price",
    "vendor": "brand",
    "quantity": "quantity",
}
_VARIANT = ("variant_id", "variant_price", "variant_title")
#: Events of the shop's staff, which do not get an anonymousId.
_STAFF = frozenset({"Order Deleted", "Fulfillments Create", "Fulfillments Update"})
_NEW_CART = 10_000


def map_tracker(webhook: Webhook, topic: str) -> list[dict[str, Json]]:
    """Return one event; nothing for a topic that is unknown, or for a cart without changes."""
    if topic in ("customers_create", "customers_update"):
        return [_identify(webhook.body, topic)]
    name = ECOMMERCE.get(topic) or GENERIC.get(topic)
    if name is None or (topic == "carts_update" and not _has_changed(webhook)):
        return []
    return [_track(webhook, topic, name)]


def _event(kind: str, topic: str, body: Json) -> dict[str, Any]:
    library = {"name": "RudderStack Shopify Cloud", "version": "1.0.0"}
    context = {"library": library, "integration": {"name": "SHOPIFY"}, "topic": topic}
    if isinstance(body, dict):
        context |= {key: body[key] for key in ("cart_token", "checkout_token") if key in body}
        if topic == "orders_updated" and "token" in body:
            context["order_token"] = body["token"]
    return {"context": context, "integrations": {"SHOPIFY": True}, "type": kind}


def _identify(body: Json, topic: str) -> dict[str, Any]:
    event = _event("identify", topic, body)
    if truthy(number := get(body, "id")):
        event["userId"] = js_text(number)
    _IDENTIFY.fill(event, body)
    if (time := utc(get(body, "updated_at"))) is not None:
        event["timestamp"] = time
    _add_email(event, body)
    return event


def _track(webhook: Webhook, topic: str, name: str) -> dict[str, Any]:
    body = webhook.body
    event = _event("track", topic, body)
    event["event"] = name
    event["properties"] = _order(body) if topic in ECOMMERCE else _members(body)
    if topic in ECOMMERCE and (time := utc(get(body, "updated_at"))) is not None:
        event["timestamp"] = time
    _TRAITS.fill(event, body)
    user = get(body, "customer", "id")
    if not truthy(user):
        user = get(body, "user_id")
    if truthy(user):
        event["userId"] = js_text(user)
    _add_email(event, body)
    _set_visitor(event, webhook)
    return event


def _order(body: Json) -> dict[str, Any]:
    properties = {to: get(body, of) for of, to in _ORDER.items() if _is_given(get(body, of))}
    others = rest(body, _ELSEWHERE | _ORDER.keys())
    properties |= {key: value for key, value in others.items() if value is not None}
    return properties | {"products": _products(body)}


def _members(body: Json) -> dict[str, Any]:
    return rest(body, _ELSEWHERE | {"type"}) | {"products": _products(body)}


def _is_given(value: Json) -> bool:
    return value is not None and value != ""


def _products(body: Json) -> list[dict[str, Any]]:
    items = get(body, "line_items")
    return [_product(item) for item in items] if isinstance(items, list) else []


def _product(item: Json) -> dict[str, Any]:
    product = rest(item, {*_PRODUCT, *_VARIANT})
    product |= {to: item[of] for of, to in _PRODUCT.items() if _is_given(get(item, of))}
    product["variant"] = " ".join(js_text(get(item, key), "") if truthy(get(item, key)) else "" for key in _VARIANT)
    return product


def _add_email(event: dict[str, Any], body: Json) -> None:
    if not truthy(get(event, "traits", "email")) and truthy(email := email_anywhere(body)):
        event.setdefault("traits", {})["email"] = email


def _set_visitor(event: dict[str, Any], webhook: Webhook) -> None:
    visitor, session = _visitor(event, webhook)
    if visitor is not None:
        event["anonymousId"] = visitor
    elif "userId" not in event:
        event["userId"] = "shopify-admin"
    if session is not None:
        event["context"]["sessionId"] = session


def _visitor(event: dict[str, Any], webhook: Webhook) -> tuple[Json, Json]:
    """The anonymousId and the session: from the order's notes if it has both, else of the cart."""
    properties = event["properties"]
    notes = properties.get("note_attributes")
    visitor, session = note(notes, "rudderAnonymousId"), note(notes, "rudderSessionId")
    if visitor is not None and session is not None:
        return visitor, session
    token = _cart(properties, event["event"])
    if not truthy(token):
        if visitor is None and event["event"] not in _STAFF:
            visitor = webhook.random()
        return visitor, session
    key = js_text(token)
    return remembered(webhook, key, "anonymousId") or tracker_id(token), remembered(webhook, key, "sessionId")


def _cart(properties: dict[str, Any], name: str) -> Json:
    if name == "Cart Update":
        return properties.get("id") if truthy(properties.get("id")) else properties.get("token")
    return properties.get("cart_token")


def _has_changed(webhook: Webhook) -> bool:
    """Whether a cart differs from what is remembered. One that is not remembered counts unless it is new and empty."""
    body = webhook.body
    token = get(body, "token")
    key = js_text(token if truthy(token) else get(body, "id"))
    known, now = remembered(webhook, key, "itemsHash"), items_hash(get(body, "line_items"))
    if known is not None:
        if known == now:
            return False
        remember_items(webhook, key, now)
        return True
    if now != "EMPTY":
        return True
    updated, created = get(body, "updated_at"), get(body, "created_at")
    if updated is None or created is None:
        return True
    later, earlier = date_ms(updated), date_ms(created)
    return later is None or earlier is None or later - earlier >= _NEW_CART
