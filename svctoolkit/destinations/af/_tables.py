"""AppsFlyer's parameters and their sources.

https://support.appsflyer.com/hc/en-us/articles/4410481112081 lists the parameters of each event.
"""

from __future__ import annotations

from svctoolkit.mapping import IP, USER_ID, Table, required, verbatim

BODY = Table(
    {
        "appsflyer_id": required("context.externalId.appsflyerExternalId"),
        "customer_user_id": USER_ID,
        "bundleIdentifier": verbatim("context.app.namespace"),
        "app_version_name": verbatim("context.app.version"),
        "ip": IP,
        "eventTime": verbatim("timestamp"),
        "os": verbatim("context.os.version"),
        "att": "context.device.attTrackingStatus",
    }
)
ANDROID = Table({"advertising_id": "context.device.advertisingId"})
APPLE = Table({"idfa": "context.device.advertisingId", "idfv": "context.device.id"})
#: parameter -> property
PROPERTIES = {
    "af_revenue": "revenue",
    "af_price": "price",
    "af_quantity": "quantity",
    "af_order_id": "order_id",
    "af_content_id": "product_id",
    "af_content_type": "category",
    "af_search_string": "query",
}
#: parameters that are lists with one value per product if an e-commerce event has products
OF_PRODUCTS = ("af_price", "af_content_id", "af_quantity")
_VIEW = ("af_price", "af_content_id", "af_content_type")
_ORDER = ("af_revenue", "af_price", "af_content_id", "af_content_type", "af_quantity", "af_order_id")
#: parameters of e-commerce events without products, by name in lower case with underscores
PARAMETERS = {
    "products_searched": ("af_search_string",),
    "product_viewed": _VIEW,
    "product_added_to_wishlist": _VIEW,
    "checkout_started": (*_VIEW, "af_quantity"),
    "product_removed": _ORDER,
    "order_completed": _ORDER,
    "first_purchase": _ORDER,
}
OTHERS = ("af_revenue", "af_quantity", "af_price")
