"""Names of Shopify's topics, and the words that the mappings share."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.sources import date_ms, iso_of_ms, truthy

#: Topics with properties of their own.
ECOMMERCE = {
    "checkouts_create": "Checkout Started",
    "checkouts_update": "Checkout Updated",
    "orders_create": "Order Created",
    "orders_updated": "Order Updated",
}
#: Topics whose members are copied (tracker), or dropped except for the products (pixel app).
GENERIC = {
    "carts_update": "Cart Update",
    "checkouts_delete": "Checkout Deleted",
    "collection_listings_add": "Collection Listings Added",
    "collection_listings_remove": "Collection Listings Removed",
    "collection_listings_update": "Collection Listings Updated",
    "collection_publications_create": "Collection Publications Created",
    "collection_publications_delete": "Collection Publications Deleted",
    "collection_publications_update": "Collection Publications Updated",
    "collections_create": "Collection Created",
    "collections_delete": "Collection Deleted",
    "collections_update": "Collection Updated",
    "customer_email_updated": "Customer Email Updated",
    "customer_tags_added": "Customer Tags Added",
    "customer_tags_removed": "Customer Tags Removed",
    "customers_disable": "Customer Disabled",
    "customers_enable": "Customer Enabled",
    "discounts_create": "Discount Created",
    "discounts_delete": "Discount Deleted",
    "discounts_redeemcode_added": "Discount Redeemcode Added",
    "discounts_redeemcode_removed": "Discount Redeemcode Removed",
    "discounts_update": "Discount Updated",
    "draft_orders_create": "Draft Order Created",
    "draft_orders_delete": "Draft Order Deleted",
    "draft_orders_update": "Draft Order Updated",
    "fulfillment_orders_split": "Fulfillment Orders Split",
    "fulfillments_create": "Fulfillments Create",
    "fulfillments_update": "Fulfillments Update",
    "inventory_items_create": "Inventory Items Created",
    "inventory_items_delete": "Inventory Items Deleted",
    "inventory_items_update": "Inventory Items Updated",
    "inventory_levels_connect": "Inventory Levels Connected",
    "inventory_levels_disconnect": "Inventory Levels Disconnected",
    "inventory_levels_update": "Inventory Levels Updated",
    "orders_cancelled": "Order Cancelled",
    "orders_delete": "Order Deleted",
    "orders_edited": "Order Edited",
    "orders_fulfilled": "Order Fulfilled",
    "orders_paid": "Order Paid",
    "orders_partially_fulfilled": "Order Partially Fulfilled",
}


def utc(value: Json) -> str | None:
    """A time as ISO 8601 in UTC; None for what is not a time."""
    milliseconds = date_ms(value) if truthy(value) else None
    return iso_of_ms(milliseconds) if milliseconds is not None else None


def email_anywhere(value: Json, named: bool = False) -> Json:
    """The first value whose path has the word `email`; None if there is none."""
    stack = [(value, named)]
    while stack:
        node, found = stack.pop()
        if isinstance(node, dict) and node:
            stack += [(item, found or _says_email(key)) for key, item in reversed(node.items())]
        elif isinstance(node, list) and node:
            stack += [(item, found) for item in reversed(node)]
        elif found:
            return node
    return None


def _says_email(key: str) -> bool:
    return key == "email" or ("email" in (lower := key.lower()) and "email" in _words(lower))


def _words(key: str) -> list[str]:
    return "".join(char if char.isascii() and (char.isalnum() or char == "_") else " " for char in key).split()
