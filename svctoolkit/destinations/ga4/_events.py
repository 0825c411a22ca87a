"""The events that Google Analytics recommends, and the names that it reserves.

https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from svctoolkit.destinations._families.google_analytics import scalar
from svctoolkit.json_types import Json
from svctoolkit.mapping import Table, converter, first, number, required


@converter
def amount(value: Json) -> Json:
    """Return a number or numeric text; lists and objects are left out."""
    if type(value) is int or type(value) is float:  # as nearly always
        return value
    return None if isinstance(value, (list, dict)) else number.of(value)


VALUE = amount("properties.total", "properties.value", "properties.revenue")
UNIT_VALUE = amount("properties.total", "properties.price", "properties.value", "properties.revenue")
LEAD_VALUE = amount("properties.value", "properties.total", "properties.price", "properties.revenue")
LIST = Table({"item_list_id": scalar("properties.list_id"), "item_list_name": scalar("properties.category")})
PROMOTION = Table(
    {
        "creative_name": scalar("properties.creative_name", "properties.creative"),
        "creative_slot": scalar("properties.creative_slot", "properties.position"),
        "promotion_id": scalar("properties.promotion_id"),
        "promotion_name": scalar("properties.promotion_name", "properties.name"),
    }
)
CART = Table({"value": required(VALUE)})
PRODUCT = Table({"value": required(UNIT_VALUE)})
#: falls back to the price of the product
ONE_OF_A_CART = Table({"value": VALUE})
ORDER = Table(
    {
        "value": VALUE,
        "transaction_id": required("properties.order_id"),
        "shipping": amount("properties.shipping"),
        "tax": amount("properties.tax"),
    }
)
CAMPAIGN = Table(
    {
        "campaign_id": "context.campaign.id",
        "campaign": first("context.campaign.name", "properties.name"),
        "source": "context.campaign.source",
        "medium": "context.campaign.medium",
        "term": "context.campaign.term",
        "content": "context.campaign.content",
    }
)
ITEM = Table(
    {
        "item_id": "product_id",
        "item_name": "name",
        "coupon": "coupon",
        "item_category": "category",
        "item_brand": "brand",
        "item_variant": "variant",
        "price": amount("price"),
        "quantity": amount("quantity"),
        "index": amount("position"),
        "affiliation": "affiliation",
        "currency": "currency",
        "discount": "discount",
    },
    of="properties.products",
)
#: an item that the properties describe, with the names that Google itself gives to members of items
ONLY_ITEM = Table(
    {
        **ITEM.shape,
        "item_category2": scalar("item_category2"),
        "item_category3": scalar("item_category3"),
        "item_category4": scalar("item_category4"),
        "item_category5": scalar("item_category5"),
        "item_list_id": scalar("item_list_id"),
        "item_list_name": scalar("item_list_name"),
        "location_id": scalar("location_id"),
    },
    of="properties",
)


@dataclass(frozen=True)
class Standard:
    """A recommended event and the source of its items.

    `may` and `must`: optional or required products. `properties`: the properties describe one product. `either`: the
    products, or else the product that the properties describe.
    """

    name: str
    table: Table
    items: Literal["none", "may", "must", "either", "properties"] = "none"


#: by event name in lower case, with underscores
STANDARD = {
    "products_searched": Standard("search", Table({"search_term": required("properties.query")})),
    "product_list_viewed": Standard("view_item_list", LIST, "must"),
    "product_clicked": Standard("select_item", LIST, "properties"),
    "promotion_viewed": Standard("view_promotion", PROMOTION, "must"),
    "promotion_clicked": Standard("select_promotion", PROMOTION, "may"),
    "product_viewed": Standard("view_item", PRODUCT, "properties"),
    "product_added": Standard("add_to_cart", ONE_OF_A_CART, "either"),
    "product_removed": Standard("remove_from_cart", ONE_OF_A_CART, "either"),
    "product_added_to_wishlist": Standard("add_to_wishlist", PRODUCT, "either"),
    "cart_viewed": Standard("view_cart", CART, "must"),
    "checkout_started": Standard("begin_checkout", CART, "must"),
    "payment_info_entered": Standard(
        "add_payment_info", Table({"value": required(VALUE), "payment_type": "properties.payment_method"}), "must"
    ),
    "checkout_step_completed": Standard(
        "add_shipping_info", Table({"value": required(VALUE), "shipping_tier": "properties.shipping_method"}), "must"
    ),
    "order_completed": Standard("purchase", ORDER, "must"),
    "order_refunded": Standard("refund", ORDER, "may"),
    "product_shared": Standard(
        "share",
        Table(
            {
                "method": "properties.share_via",
                "item_id": first("properties.item_id", "properties.product_id", "properties.sku"),
            }
        ),
    ),
    "cart_shared": Standard(
        "share",
        Table({"method": "properties.share_via", "item_id": first("properties.item_id", "properties.cart_id")}),
    ),
    "sign_up": Standard("sign_up", Table({})),
    "login": Standard("login", Table({})),
    "group": Standard("group", Table({})),
    "view_search_results": Standard("view_search_results", Table({}), "may"),
    "generate_lead": Standard("generate_lead", Table({"value": required(LEAD_VALUE)})),
    "campaign_details": Standard("campaign_details", CAMPAIGN),
}
