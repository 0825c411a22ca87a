"""Monetate: a visitor's attributes, views and purchases, as a list of Monetate events in one decision request.

A track event sends the visitor's IP address, page, screen and browser and, if Monetate supports its name, the products.
Page and screen events send only themselves, without the visitor's ID.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import Misfit, Table, first, js_join, objects, required


class MonetateSettings(Settings, frozen=True, kw_only=True):
    monetate_channel: str | None = None
    retailer_short_name: str = ""


destination = DestinationType(
    "Monetate",
    MonetateSettings,
    docs="https://docs.monetate.com/docs/engine-api",
    answers=[Answer("success", 200, {"meta": {"code": 200}, "data": {"responses": []}})],
    quirks=[
        "Event names are case-sensitive: `order completed` is not an event that Monetate supports.",
        "A track event without a name sends only the channel.",
    ],
)

API = Endpoint("https://engine.monetate.net/api/engine/v1/decide/{retailer_short_name}", JSON)
OWN_PAGE = Table({"url": "properties.page.url", "path": "properties.page.path"})
CONTEXT_PAGE = Table({"url": "context.page.url", "path": "context.page.path"})
PAGE_REFERRER = Table({"referrer": first("properties.page.referrer", "context.page.referrer", "context.referrer.url")})
SCREEN = Table({"height": "context.screen.height", "width": "context.screen.width"})
VISIT = Table(
    {
        "visitor": {"monetateId": "properties.monetateId"},
        "address": {"ipAddress": "context.ip"},
        "referrer": {"referrer": "context.referrer.url"},
        "screen": SCREEN.shape,
        "agent": {"userAgent": "context.userAgent"},
    }
)
PRODUCT = Table({"product_id": required("properties.product_id"), "sku": "properties.sku"})
ADDITION = Table(
    {
        "product_id": required("properties.product_id"),
        "quantity": required("properties.quantity"),
        "cart_value": required("properties.cart_value"),
        "sku": "properties.sku",
        "currency": "properties.currency",
    }
)
_DOLLARS = "USD"


@destination.on("track")
def send_action(event: Event, settings: MonetateSettings) -> Payload:
    name = event.raw.get("event")
    if not name:
        return _send({}, settings)
    visit = VISIT(event)
    body: dict[str, Any] = visit.get("visitor", {})
    if event.raw.get("userId"):
        body["customerId"] = event.raw["userId"]
    elif "anonymousId" in event.raw:
        body["deviceId"] = event.raw["anonymousId"]
    shop = _SHOP.get(name) if isinstance(name, str) else None
    body["events"] = [
        *_item("IpAddress", visit.get("address")),
        *_page(event),
        *_item("Referrer", visit.get("referrer")),
        *_item("ScreenSize", _complete(visit.get("screen"))),
        *_item("UserAgent", visit.get("agent")),
        *(shop(event) if shop else ()),
    ]
    return _send(body, settings)


@destination.on("page")
def send_page(event: Event, settings: MonetateSettings) -> Payload:
    events = [*_page(event), *_item("Referrer", PAGE_REFERRER(event))]
    return _send({"events": events} if events or "page" in event.context else {}, settings)


@destination.on("screen")
def send_screen(event: Event, settings: MonetateSettings) -> Payload:
    events = _item("ScreenSize", _complete(SCREEN(event)))
    return _send({"events": events} if "screen" in event.context else {}, settings)


def _item(kind: str, values: Any) -> list[dict[str, Any]]:
    """Return a list with Monetate's event of this type, or an empty list without values."""
    return [{"eventType": f"monetate:context:{kind}", **values}] if values else []


def _page(event: Event) -> list[dict[str, Any]]:
    own = event.properties.get("page")
    if not isinstance(own, dict):
        return [{"eventType": "monetate:context:PageView", **CONTEXT_PAGE(event)}] if "page" in event.context else []
    page: dict[str, Any] = {"eventType": "monetate:context:PageView", **OWN_PAGE(event)}
    for key, plural in (("category", "categories"), ("breadcrumbs", "breadcrumbs")):
        if own.get(key):
            page[plural] = [own[key]]
    return [page]


def _complete(size: Any) -> Any:
    """Return the size of a screen that has both sides; None for any other."""
    return size if size and size.get("height") and size.get("width") else None


def _view_product(event: Event) -> list[dict[str, Any]]:
    product = PRODUCT(event)
    seen = {"productId": js_join(product["product_id"]), "sku": product.get("sku", "")}
    return _item("ProductDetailView", {"products": [seen]})


def _view_list(event: Event) -> list[dict[str, Any]]:
    products = event.properties.get("products")
    if not isinstance(products, list):
        raise Misfit("properties.products", "a list of products", products)
    ids = [item.get("product_id") for item in objects(products)]
    if not all(ids):
        raise Misfit("properties.products", "a product_id in each product", products, case="product-id")
    return _item("ProductThumbnailView", {"products": [js_join(product_id) for product_id in ids]})


def _add_product(event: Event) -> list[dict[str, Any]]:
    product = ADDITION(event)
    if not _is_quantity(product["quantity"]):
        raise Misfit("properties.quantity", "a whole number", product["quantity"])
    line = {
        "pid": js_join(product["product_id"]),
        "sku": product.get("sku", ""),
        "quantity": product["quantity"],
        "value": js_join(product["cart_value"]),
        "currency": product.get("currency", _DOLLARS),
    }
    return _item("Cart", {"cartLines": [line]})


def _view_cart(event: Event) -> list[dict[str, Any]]:
    products = event.properties.get("products")
    if not isinstance(products, list):
        return []
    return _item("Cart", {"cartLines": [_line(item, event) for item in objects(products)]})


def _buy(event: Event) -> list[dict[str, Any]]:
    order = event.properties.get("order_id")
    products = event.properties.get("products")
    if not order or not isinstance(products, list):
        return []
    lines = [_line(item, event) for item in objects(products)]
    return _item("Purchase", {"purchaseId": order, "purchaseLines": lines})


_SHOP = {
    "Product Viewed": _view_product,
    "Product List Viewed": _view_list,
    "Product Added": _add_product,
    "Cart Viewed": _view_cart,
    "Order Completed": _buy,
}


def _line(product: Mapping[str, Any], event: Event) -> dict[str, Any]:
    quantity: Any = product.get("quantity")
    price: Any = product.get("price")
    is_price = isinstance(price, (int, float)) and not isinstance(price, bool)
    if not product.get("product_id") or not _is_quantity(quantity) or not is_price:
        wants = "a product_id, a quantity that is a whole number and a price that is a number in each product"
        raise Misfit("properties.products", wants, event.properties.get("products"), case="purchase")
    return {
        "pid": js_join(product["product_id"]),
        "sku": product.get("sku") or "",
        "quantity": quantity,
        "value": f"{quantity * price:.2f}",
        "currency": product.get("currency") or event.properties.get("currency") or _DOLLARS,
    }


def _is_quantity(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value != 0 and value % 1 == 0


def _send(body: dict[str, Any], settings: MonetateSettings) -> Payload:
    if settings.monetate_channel is not None:
        body["channel"] = settings.monetate_channel
    return API.post(settings, body=body)
