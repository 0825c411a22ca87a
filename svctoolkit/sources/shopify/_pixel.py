"""Events of Shopify's web pixel."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from svctoolkit.json_types import Json
from svctoolkit.sources import Fields, FieldTable, Webhook, crash, get, js_text, put, rest, truthy
from svctoolkit.sources.shopify._identity import remember_pixel_cart, remember_pixel_user, remembered

#: Paths in a pixel event's `context`, and where they go in the context of the event. Null is copied.
_CONTEXT = (
    (("document", "title"), ("page", "title")),
    (("window", "location", "href"), ("page", "url")),
    (("window", "location", "pathname"), ("page", "path")),
    (("window", "location", "search"), ("page", "search")),
    (("context", "document", "referrer"), ("page", "referrer")),
    (("window", "screen", "height"), ("screen", "height")),
    (("window", "screen", "width"), ("screen", "width")),
)
_VARIANT = {
    "product.id": "product_id",
    "product.title": "variant",
    "image.src": "image_url",
    "price.amount": "price",
    "product.type": "category",
    "product.url": "url",
    "product.vendor": "brand",
    "sku": "sku",
}
_PRODUCT: Fields = {f"{of}": to for of, to in _VARIANT.items()}
_LISTED = FieldTable({**_PRODUCT, "title": "name"})
_VIEWED = FieldTable(
    {
        "productVariant.product.id": "product_id",
        "productVariant.product.title": ("variant", "name"),
        "productVariant.product.image.src": "image_url",
        "productVariant.price.amount": "price",
        "productVariant.price.currencyCode": "currency",
        "productVariant.product.type": "category",
        "productVariant.product.url": "url",
        "productVariant.product.vendor": "brand",
        "productVariant.sku": "sku",
        "cartLine.quantity": "quantity",
    }
)
_MERCHANDISE: Fields = {f"merchandise.{of}": to for of, to in _VARIANT.items()}
_CART_LINE = FieldTable({**_MERCHANDISE, "merchandise.title": "name", "quantity": "quantity"})
_BOUGHT: Fields = {f"variant.{of}": to for of, to in _VARIANT.items()}
_CHECKOUT_LINE = FieldTable({**_BOUGHT, "title": "name", "quantity": "quantity"})
_CHECKOUT = FieldTable(
    {
        "order.id": "order_id",
        "token": "checkout_id",
        "totalPrice.amount": ("total", "value"),
        "currencyCode": "currency",
        "discountsAmount.amount": "discount",
        "shippingLine.price.amount": "shipping",
        "subtotalPrice.amount": "revenue",
        "totalTax.amount": "tax",
    }
)
_NAMES = {
    "page_viewed": "Page View",
    "cart_viewed": "Cart Viewed",
    "product_viewed": "Product Viewed",
    "collection_viewed": "Product List Viewed",
    "product_added_to_cart": "Product Added",
    "product_removed_from_cart": "Product Removed",
    "checkout_started": "Checkout Started",
    "checkout_completed": "Order Completed",
    "checkout_address_info_submitted": "Checkout Address Info Submitted",
    "checkout_contact_info_submitted": "Checkout Contact Info Submitted",
    "checkout_shipping_info_submitted": "Checkout Shipping Info Submitted",
    "payment_info_submitted": "Payment Info Entered",
    "search_submitted": "Search Submitted",
}
_ORDERS = ("checkout_started", "checkout_completed")
_STEPS = (
    "checkout_address_info_submitted", "checkout_contact_info_submitted", "checkout_shipping_info_submitted",
    "payment_info_submitted",
)  # fmt: skip


def map_pixel(webhook: Webhook) -> list[dict[str, Json]]:
    """Return one event; nothing for an unknown event, or a call that only connects ids."""
    body = webhook.body
    if get(body, "event") == "rudderIdentifier":
        _stitch(webhook)
        return []
    name = get(body, "name")
    if not isinstance(name, str) or name not in _NAMES:
        return []
    kind = "page" if name == "page_viewed" else "track"
    paths = {"options": {"jsonPaths": [f"{kind}.context.shopifyDetails"]}}
    event: dict[str, Any] = {
        "context": _context(body, name),
        "integrations": {"SHOPIFY": True, "DATA_WAREHOUSE": paths},
        "type": kind,
        "name" if kind == "page" else "event": _NAMES[name],
    }
    event["properties"] = _properties(event, body, name)
    for of, to in (("clientId", "anonymousId"), ("id", "messageId"), ("timestamp", "timestamp")):
        if (value := get(body, of)) is not None:
            event[to] = value
    _set_user(event, webhook, name)
    return [event]


def _stitch(webhook: Webhook) -> None:
    body = webhook.body
    action, visitor = get(body, "action"), get(body, "anonymousId")
    if action == "stitchCartTokenToAnonId" and truthy(token := get(body, "cartToken")):
        remember_pixel_cart(webhook, js_text(token), js_text(visitor))
    elif action == "stitchUserIdToAnonId":
        remember_pixel_user(webhook, visitor, get(body, "userId"))


def _context(body: Json, name: str) -> dict[str, Any]:
    context: dict[str, Any] = {}
    for of, to in _CONTEXT:
        if _is_there(body, "context", *of):
            put(context, to, get(body, "context", *of))
    if (agent := get(body, "context", "navigator", "userAgent")) is not None:
        context["userAgent"] = agent
    if truthy(email := get(body, "data", "checkout", "email")):
        context["traits"] = {"email": email}
    context["library"] = {"name": "RudderStack Shopify Cloud", "eventOrigin": "client", "version": "2.0.0"}
    context["topic"] = name
    context["shopifyDetails"] = rest(body, {"pixelEventLabel"})
    if campaign := _campaign(get(body, "context", "document", "location", "href")):
        context["campaign"] = campaign
    return context


def _campaign(address: Json) -> dict[str, str]:
    """The parameters `utm_*` of an address. Raises `InvalidWebhook` for an invalid one."""
    if not truthy(address):
        return {}
    try:
        parts = urlsplit(js_text(address))
    except ValueError:
        parts = None
    if parts is None or not parts.scheme or (not parts.netloc and parts.scheme in ("http", "https")):
        raise crash("Invalid URL", "body.context.document.location.href")
    found = {key[4:]: value for key, value in parse_qsl(parts.query, keep_blank_values=True) if key.startswith("utm_")}
    return {("name" if key == "campaign" else key): value for key, value in found.items()}


def _is_there(value: Json, *path: str) -> bool:
    above = get(value, *path[:-1])
    return isinstance(above, dict) and path[-1] in above


def _picked(body: Json, **paths: tuple[str, ...]) -> dict[str, Any]:
    """The values at the paths, also null."""
    return {name: get(body, *path) for name, path in paths.items() if _is_there(body, *path)}


def _properties(event: dict[str, Any], body: Json, name: str) -> dict[str, Any]:
    data = get(body, "data")
    properties: dict[str, Any] = {}
    if name == "page_viewed":
        properties = dict(event["context"].get("page", {}))
    elif name == "cart_viewed":
        properties = _cart(get(data, "cart"))
    elif name == "product_viewed":
        _VIEWED.fill(properties, data)
    elif name == "collection_viewed":
        properties = _picked(body, cart_id=("clientId",), list_id=("id",))
        properties["products"] = _all(_LISTED, get(data, "collection", "productVariants"))
    elif name in ("product_added_to_cart", "product_removed_from_cart"):
        _CART_LINE.fill(properties, get(data, "cartLine"))
    elif name in _ORDERS:
        properties["products"] = _all(_CHECKOUT_LINE, get(data, "checkout", "lineItems"))
        _CHECKOUT.fill(properties, get(data, "checkout"))
    elif name in _STEPS:
        properties = _picked(body, checkout_id=("data", "checkout", "token"))
    else:
        properties = _picked(body, query=("data", "searchResult", "query"))
    return properties


def _all(table: FieldTable, items: Json) -> list[dict[str, Any]]:
    products: list[dict[str, Any]] = []
    for item in items if isinstance(items, list) else []:
        product: dict[str, Any] = {}
        table.fill(product, item)
        products.append(product)
    return products


def _cart(cart: Json) -> dict[str, Any]:
    lines = get(cart, "lines")
    properties: dict[str, Any] = {"products": _all(_CART_LINE, lines)}
    if not truthy(cart):
        return properties
    amounts = [get(line, "cost", "totalAmount", "amount") for line in lines] if isinstance(lines, list) else []
    total = sum(amount for amount in amounts if isinstance(amount, (int, float)))
    return {**properties, "cart_id": get(cart, "id"), "total": total}


def _set_user(event: dict[str, Any], webhook: Webhook, name: str) -> None:
    """Set the user that is remembered for the visitor, and remember the visitor of the cart."""
    visitor = event.get("anonymousId")
    if not truthy(visitor):
        return
    if user := remembered(webhook, f"pixel:{js_text(visitor)}", "userId"):
        event["userId"] = user
    path: Json = None
    if name == "cart_viewed":
        path = get(webhook.body, "data", "cart", "id")
    elif name in _ORDERS or name in _STEPS:
        path = get(webhook.body, "context", "document", "location", "pathname")
    parts = path.split("/") if isinstance(path, str) else []
    if len(parts) > 3 and parts[3]:
        remember_pixel_cart(webhook, parts[3], js_text(visitor))
