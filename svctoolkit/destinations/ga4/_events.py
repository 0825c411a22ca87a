"""The events that Google Analytics recommends, and the names that it keeps for itself.

https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from svctoolkit.mapping import Table, first, number, required

VALUE = number("properties.total", "properties.value", "properties.revenue")
UNIT_VALUE = number("properties.total", "properties.price", "properties.value", "properties.revenue")
LIST = Table({"item_list_id": "properties.list_id", "item_list_name": "properties.category"})
PROMOTION = Table(
    {
        "creative_name": first("properties.creative_name", "properties.creative"),
        "creative_slot": first("properties.creative_slot", "properties.position"),
        "promotion_name": first("properties.promotion_name", "properties.name"),
    }
)
CART = Table({"value": VALUE})
PRODUCT = Table({"value": UNIT_VALUE})
ORDER = Table(
    {
        "value": VALUE,
        "transaction_id": required("properties.order_id"),
        "shipping": number("properties.shipping"),
        "tax": number("properties.tax"),
    }
)
PLAIN = Table({"value": number("properties.value")})
CAMPAIGN = Table(
    {
        "campaign_id": "context.campaign.id",
        "campaign": "context.campaign.name",
        "source": "context.campaign.source",
        "medium": "context.campaign.medium",
        "term": "context.campaign.term",
        "content": "context.campaign.content",
    }
)
ITEM = Table(
    {
        "item_id": first("product_id", "item_id"),
        "item_name": first("name", "item_name"),
        "item_category": first("category", "item_category"),
        "item_brand": first("brand", "item_brand"),
        "item_variant": first("variant", "item_variant"),
        "price": number("price"),
        "quantity": number("quantity"),
        "index": number("position", "index"),
    },
    of="properties.products",
)


@dataclass(frozen=True)
class Standard:
    """A recommended event. `one` takes its item from the properties themselves when there is no list of products."""

    name: str
    table: Table
    items: Literal["none", "may", "must", "one"] = "none"


#: by the event's name in lower case, with underscores
STANDARD = {
    "products_searched": Standard("search", Table({"search_term": "properties.query"})),
    "product_list_viewed": Standard("view_item_list", LIST, "must"),
    "product_clicked": Standard("select_item", LIST, "one"),
    "promotion_viewed": Standard("view_promotion", PROMOTION, "must"),
    "promotion_clicked": Standard("select_promotion", PROMOTION, "may"),
    "product_viewed": Standard("view_item", PRODUCT, "one"),
    "product_added": Standard("add_to_cart", CART, "one"),
    "product_removed": Standard("remove_from_cart", CART, "one"),
    "product_added_to_wishlist": Standard("add_to_wishlist", PRODUCT, "one"),
    "cart_viewed": Standard("view_cart", CART, "must"),
    "checkout_started": Standard("begin_checkout", CART, "must"),
    "payment_info_entered": Standard(
        "add_payment_info", Table({"value": VALUE, "payment_type": "properties.payment_method"}), "must"
    ),
    "checkout_step_completed": Standard(
        "add_shipping_info", Table({"value": VALUE, "shipping_tier": "properties.shipping_method"}), "must"
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
        Table(
            {"method": "properties.share_via", "item_id": first("properties.item_id", "properties.cart_id")},
        ),
    ),
    "view_search_results": Standard("view_search_results", Table({}), "may"),
    "generate_lead": Standard("generate_lead", PLAIN),
    "earn_virtual_currency": Standard("earn_virtual_currency", Table({})),
    "campaign_details": Standard("campaign_details", CAMPAIGN),
}

RESERVED_EVENTS = frozenset({
    "ad_activeview", "ad_click", "ad_exposure", "ad_impression", "ad_query", "ad_reward", "adunit_exposure",
    "app_background", "app_clear_data", "app_exception", "app_install", "app_remove", "app_store_refund",
    "app_store_subscription_cancel", "app_store_subscription_convert", "app_store_subscription_renew", "app_update",
    "app_upgrade", "dynamic_link_app_open", "dynamic_link_app_update", "dynamic_link_first_open", "error",
    "firebase_campaign", "first_open", "first_visit", "in_app_purchase", "notification_dismiss",
    "notification_foreground", "notification_open", "notification_receive", "notification_send", "os_update",
    "screen_view", "session_start", "session_start_with_rollout", "user_engagement",
})  # fmt: skip
RESERVED_PREFIX = re.compile(r"_|firebase_|ga_|google_|gtag\.")
RESERVED_USER_PROPERTIES = frozenset({
    "first_open_time", "first_visit_time", "first_open_after_install", "last_deep_link_referrer", "user_id",
})  # fmt: skip
USER_PROPERTY = re.compile(r"[A-Za-z]\w{0,23}", re.ASCII)
EVENT_NAME = re.compile(r"[A-Za-z]\w*")
