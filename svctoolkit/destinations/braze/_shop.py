"""Braze's recommended e-commerce events, which replace custom events and purchases.

https://www.braze.com/docs/user_guide/data/activation/events/recommended_events
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import Leaf, Table, as_object, compact, converter, first, number, products, string


@converter
def amount(value: Json) -> Json:
    """Convert numeric text to a number. Anything else is unchanged, and Braze reports it."""
    try:
        return number.of(value)
    except ValueError:
        return value


@converter
def name_of(value: Json) -> Json:
    """Convert a number to text. Anything else is unchanged."""
    return value if isinstance(value, (bool, str, list, dict)) else string.of(value)


VIEWED_ITEM = Table(
    {
        "product_id": name_of(first("product_id", "sku")),
        "product_name": name_of("name"),
        "variant_id": name_of(first("variant", "sku", "product_id")),
        "image_url": "image_url",
        "product_url": "url",
        "price": amount("price"),
    },
    of="properties.products",
)
ITEM = Table({**VIEWED_ITEM.shape, "quantity": amount("quantity")}, of="properties.products")
VIEW = Table({"currency": "properties.currency", "type": "properties.type"})
VALUE: dict[str, Leaf] = {
    "currency": "properties.currency",
    "total_value": amount("properties.total", "properties.value", "properties.revenue"),
    "subtotal_value": amount("properties.subtotal_value"),
    "tax": amount("properties.tax"),
    "shipping": amount("properties.shipping"),
}
CART = Table({"cart_id": name_of("properties.cart_id"), **VALUE})
CHECKOUT = Table({"checkout_id": name_of("properties.checkout_id"), **CART.shape})
ORDER = Table(
    {
        "order_id": name_of("properties.order_id"),
        **VALUE,
        "total_discounts": amount("properties.discount"),
        "discounts": "properties.discounts",
    }
)
PLACED = Table({"cart_id": name_of("properties.cart_id"), **ORDER.shape})
CANCELLED = Table({**ORDER.shape, "cancel_reason": "properties.cancel_reason"})


@dataclass(frozen=True)
class Recommended:
    """`action` is the change of a cart update. `one`: the event is about a single product, without a list."""

    name: str
    table: Table
    action: str = ""
    one: bool = False


#: by event name in lower case
RECOMMENDED = {
    "product viewed": Recommended("ecommerce.product_viewed", VIEW, one=True),
    "product added": Recommended("ecommerce.cart_updated", CART, "add"),
    "product removed": Recommended("ecommerce.cart_updated", CART, "remove"),
    "checkout started": Recommended("ecommerce.checkout_started", CHECKOUT),
    "order completed": Recommended("ecommerce.order_placed", PLACED),
    "order refunded": Recommended("ecommerce.order_refunded", ORDER),
    "order cancelled": Recommended("ecommerce.order_cancelled", CANCELLED),
}


def shop_properties(event: Event, kind: Recommended) -> dict[str, Json]:
    """Return Braze's properties of the event, and all others under `metadata`. Braze itself reports missing properties.

    A cart update without a list of products is about the product that its properties describe.
    """
    rest = kind.table.rest(event.properties, "properties")
    out = {**kind.table(event), **compact({"action": kind.action}), "source": _source(event)}
    listed = rest.pop("products", None)
    if kind.one:
        out, rest = {**VIEWED_ITEM(rest), **out}, VIEWED_ITEM.rest(rest)
    elif isinstance(listed, list):
        out |= compact({"products": [_item(product) for product in products(event)]})
    elif kind.action:
        item, rest = ITEM(rest), ITEM.rest(rest)
        out |= compact({"products": [item] if item else []})
        rest.pop("action", None)
    rest.pop("source", None)
    return {**out, **compact({"metadata": rest})}


def _item(product: Mapping[str, Any]) -> dict[str, Any]:
    return {**ITEM(product), **compact({"metadata": ITEM.rest(product)})}


def _source(event: Event) -> str:
    """Return the platform of an app, else the channel."""
    channel = event.raw.get("channel")
    if channel == "mobile":
        return str(as_object(event.context.get("os")).get("name") or channel).lower()
    return channel if isinstance(channel, str) and channel else "web"
