"""AppsFlyer's parameters, and where they come from.

https://support.appsflyer.com/hc/en-us/articles/4410481112081 names the parameters of each event.
"""

from __future__ import annotations

from svctoolkit.mapping import IP, Table, first, required

BODY = Table(
    {
        "appsflyer_id": required(first("context.externalId.appsflyerExternalId", "integrations.AF.af_uid")),
        "customer_user_id": "userId",
        "bundleIdentifier": "context.app.namespace",
        "app_version_name": "context.app.version",
        "ip": IP,
        "eventTime": "timestamp",
        "eventCurrency": "properties.currency",
    }
)
ANDROID = Table({"advertising_id": "context.device.advertisingId"})
APPLE = Table(
    {
        "idfa": "context.device.advertisingId",
        "idfv": "context.device.id",
        "att": "context.device.attTrackingStatus",
    }
)
#: in the properties of an event
ONE = Table(
    {
        "af_revenue": "properties.revenue",
        "af_price": "properties.price",
        "af_quantity": "properties.quantity",
        "af_order_id": "properties.order_id",
        "af_content_id": first("properties.product_id", "properties.sku"),
        "af_content_type": "properties.category",
        "af_search_string": "properties.query",
    }
)
#: in each product of an event about several
EACH = Table(
    {
        "af_price": "price",
        "af_quantity": "quantity",
        "af_content_id": first("product_id", "sku"),
        "af_content_type": "category",
        "af_content_list": first("product_id", "sku"),
    },
    of="properties.products",
)
_ORDER = ("af_revenue", "af_price", "af_quantity", "af_order_id", "af_content_id")
#: by the event's name in lower case, with underscores
PARAMETERS = {
    "products_searched": ("af_search_string",),
    "product_viewed": ("af_price", "af_content_id", "af_content_type"),
    "product_list_viewed": ("af_content_type", "af_content_list"),
    "product_added_to_wishlist": ("af_price", "af_content_id", "af_content_type"),
    "product_added": ("af_price", "af_quantity", "af_content_id", "af_content_type"),
    "product_removed": ("af_content_id", "af_content_type"),
    "checkout_started": ("af_price", "af_quantity", "af_content_id", "af_content_type"),
    "order_completed": _ORDER,
    "first_purchase": _ORDER,
}
OTHERS = ("af_revenue", "af_quantity", "af_price")
#: these are about several products: these parameters of theirs are lists, one value for each product that has it
SEVERAL = {
    "product_list_viewed": ("af_content_list",),
    "checkout_started": ("af_price", "af_quantity", "af_content_id", "af_content_type"),
    "order_completed": ("af_price", "af_quantity", "af_content_id"),
    "first_purchase": ("af_price", "af_quantity", "af_content_id"),
}
