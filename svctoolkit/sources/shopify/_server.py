"""Webhooks of the Shopify pixel app (`version=pixel`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.sources import FieldTable, Webhook, get, js_number, js_text, truthy
from svctoolkit.sources.shopify._identity import note, pixel_id, remember_pixel_user, remembered
from svctoolkit.sources.shopify._topics import ECOMMERCE, GENERIC, email_anywhere, utc

_NAMES = {**ECOMMERCE, "checkouts_create": "Checkout Started Webhook", "orders_cancelled": "Order Cancelled"}
_TRAITS = FieldTable(
    {
        "customer.email": "email",
        "customer.first_name": "firstName",
        "customer.last_name": "lastName",
        "customer.phone": "phone",
        "customer.created_at": "createdAt",
        "shipping_address.address1": "address.street",
        "shipping_address.city": "address.city",
        "shipping_address.province": "address.state",
        "shipping_address.zip": "address.postalCode",
        "shipping_address.country": "address.country",
        "shipping_address.company": "address.company",
    }
)
_WITH_VALUE = ("checkouts_create", "orders_create", "orders_cancelled")
_TOKENS = ("cart_token", "checkout_token")
_PATHS = {"options": {"jsonPaths": ["track.context.shopifyDetails"]}}


def map_server(webhook: Webhook, topic: str) -> list[dict[str, Json]]:
    """Return a track event, and an identify event where the user is known; nothing for a topic that is unknown."""
    body = webhook.body
    name = _NAMES.get(topic) or GENERIC.get(topic)
    if name is None:
        return []
    is_order = topic in _NAMES
    event: dict[str, Any] = {
        "context": _context(body, topic),
        "integrations": {"SHOPIFY": True, "DATA_WAREHOUSE": _PATHS},
        "type": "track",
        "event": name,
        "properties": _order(body, topic) if is_order else {"products": list(_products(body))},
    }
    traits = event["context"]["traits"]
    if is_order:
        _TRAITS.fill(traits, body)
        if truthy(number := get(body, "customer", "id")):
            event["userId"] = js_text(number)
        if (time := utc(get(body, "updated_at"))) is not None:
            event["timestamp"] = time
    if not truthy(traits.get("email")) and truthy(email := email_anywhere(body)):
        traits["email"] = email
    _identify(event, webhook)
    if not traits and not is_order:
        del event["context"]["traits"]
    if "userId" in event or truthy(get(body, "customer")):
        return [event, _identity(event)]
    return [event]


def _context(body: Json, topic: str) -> dict[str, Any]:
    context: dict[str, Any] = {
        "library": {"eventOrigin": "server", "name": "RudderStack Shopify Cloud", "version": "2.0.0"},
        "integration": {"name": "SHOPIFY"},
        "traits": {},
        "topic": topic,
    }
    if isinstance(body, dict):
        context |= {key: body[key] for key in _TOKENS if key in body}
        if topic == "orders_updated" and "token" in body:
            context["order_token"] = body["token"]
    return context | {"shopifyDetails": body}


def _order(body: Json, topic: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    if get(body, "line_items"):
        if truthy(number := get(body, "id")):
            properties["order_id"] = js_text(number)
        if (currency := get(body, "currency")) is not None:
            properties["currency"] = currency
        _add_number(properties, "tax", get(body, "total_tax"))
        properties["products"] = list(_products(body))
        if topic in _WITH_VALUE:
            _add_number(properties, "value", get(body, "total_price"))
    return properties


def _products(body: Json) -> Iterator[dict[str, Any]]:
    items = get(body, "line_items")
    for item in items if isinstance(items, list) else []:
        product: dict[str, Any] = {}
        if truthy(number := get(item, "product_id")):
            product["product_id"] = js_text(number)
        for of, to in (("sku", "sku"), ("name", "title"), ("vendor", "brand"), ("quantity", "quantity")):
            if truthy(value := get(item, of)):
                product[to] = value
        _add_number(product, "price", get(item, "price"))
        yield product


def _add_number(node: dict[str, Any], key: str, value: Json) -> None:
    number = js_number(value) if value is not None else None
    if number is not None:
        node[key] = number


def _identify(event: dict[str, Any], webhook: Webhook) -> None:
    """Set the visitor and the user, and remember both."""
    body = webhook.body
    token = get(body, "cart_token")
    visitor = note(get(body, "note_attributes"), "rudderAnonymousId")
    if truthy(token):
        computed = pixel_id(token)
        event["context"]["traits"]["cart_token_hash"] = computed
        if not truthy(visitor):
            visitor = remembered(webhook, f"pixel:{token}", "anonymousId") or computed
    event["anonymousId"] = visitor if truthy(visitor) else webhook.random()
    if "userId" not in event:
        user = remembered(webhook, f"pixel:{js_text(event['anonymousId'])}", "userId")
        if user:
            event["userId"] = user
    remember_pixel_user(webhook, event["anonymousId"], event.get("userId"))


def _identity(event: dict[str, Any]) -> dict[str, Any]:
    about = event["context"]
    identity: dict[str, Any] = {
        "context": {key: about[key] for key in ("library", "integration", "traits") if key in about},
        "integrations": {"SHOPIFY": True},
        "type": "identify",
    }
    return identity | {key: event[key] for key in ("userId", "anonymousId") if key in event}
