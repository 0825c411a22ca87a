"""Braze's recommended events of a shop, which take the place of custom events and purchases.

https://www.braze.com/docs/user_guide/data/activation/events/recommended_events
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svctoolkit.events import Event
from svctoolkit.mapping import Table, as_object, compact, first, products

ITEM = Table(
    {
        "product_id": first("product_id", "sku"),
        "product_name": "name",
        "variant_id": first("variant", "sku", "product_id"),
        "image_url": "image_url",
        "product_url": "url",
        "quantity": "quantity",
        "price": "price",
    },
    of="properties.products",
)
VIEW = Table({"currency": "properties.currency", "type": "properties.type"})
TOTAL = first("properties.total", "properties.value", "properties.revenue")
CART = Table({"cart_id": "properties.cart_id", "currency": "properties.currency", "total_value": TOTAL})
CHECKOUT = Table({"checkout_id": "properties.checkout_id", **CART.shape})
ORDER = Table(
    {
        "order_id": "properties.order_id",
        **CART.shape,
        "total_discounts": "properties.discount",
        "discounts": "properties.discounts",
    }
)
CANCELLED = Table({**ORDER.shape, "cancel_reason": "properties.cancel_reason"})


@dataclass(frozen=True)
class Recommended:
    """`action` is what a change of the cart does. `one` is about a single product, without a list."""

    name: str
    table: Table
    action: str = ""
    one: bool = False


#: by the event's name in lower case, with underscores
RECOMMENDED = {
    "product_viewed": Recommended("ecommerce.product_viewed", VIEW, one=True),
    "product_added": Recommended("ecommerce.cart_updated", CART, "add"),
    "product_removed": Recommended("ecommerce.cart_updated", CART, "remove"),
    "checkout_started": Recommended("ecommerce.checkout_started", CHECKOUT),
    "order_completed": Recommended("ecommerce.order_placed", ORDER),
    "order_refunded": Recommended("ecommerce.order_refunded", ORDER),
    "order_cancelled": Recommended("ecommerce.order_cancelled", CANCELLED),
}


def shop_properties(event: Event, kind: Recommended) -> dict[str, Any]:
    """What Braze knows by name, and the rest under `metadata`. What Braze misses, Braze itself reports."""
    own = kind.table.rest(event.properties, "properties")
    out = {**kind.table(event), **compact({"action": kind.action}), "source": _source(event)}
    listed = products(event)
    if kind.one:
        out, own = {**ITEM(own), **out}, ITEM.rest(own)
    elif listed:
        out["products"], own = [_item(product) for product in listed], {k: v for k, v in own.items() if k != "products"}
    elif kind.action and ITEM(own):
        out["products"], own = [_item(own)], {}
    return {**out, **compact({"metadata": own})}


def _item(product: Mapping[str, Any]) -> dict[str, Any]:
    return {**ITEM(product), **compact({"metadata": ITEM.rest(product)})}


def _source(event: Event) -> str:
    """The platform of an application, else the channel."""
    channel = event.raw.get("channel")
    if channel == "mobile":
        return str(as_object(event.context.get("os")).get("name") or channel).lower()
    return channel if isinstance(channel, str) and channel else "web"
