"""Dynamic Yield: users and their e-commerce events.

identify sends the e-mail address, or else the user ID. track sends an event; events of carts, wishlists and orders in
Dynamic Yield's own format, with the products as a cart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Header, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL_OR_EXTERNAL_ID,
    Missing,
    Table,
    event_key,
    event_name,
    js_join,
    leading_number,
    not_null,
    objects,
    required,
    sha256,
    value_of,
    verbatim,
)
from svctoolkit.secrets import Secret


class DynamicYieldSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    hash_email: bool = False


destination = DestinationType(
    "Dynamic Yield",
    DynamicYieldSettings,
    docs="https://dy.dev/reference/events",
    quirks=[
        "E-mail addresses are sent in `hashedEmail`, although they are hashed only if the setting is on.",
        "A cart with one product is sent as that product, not as a list.",
    ],
    answers=[
        Answer("success", 204),
        Answer("bad key", 403, {"message": "Forbidden"}),
        Answer("rate limit", 429, {"message": "Too Many Requests"}),
        Answer("invalid field", 422, {"warnings": [{"code": "1", "message": "Invalid event"}]}),
    ],
)

API = Endpoint("https://dy-api.com/v2/collect/user/event", JSON, Header("DY-API-Key", "{api_key}"))

VISIT = Table({"user": {"id": required(not_null(ANY_ID))}, "context": {"device": {"ip": required("context.ip")}}})
EMAIL = verbatim(EMAIL_OR_EXTERNAL_ID)
_SHOP = {
    "product_added": ("Add to Cart", "add-to-cart-v1"),
    "product_removed": ("Remove from Cart", "remove-from-cart-v1"),
    "product_added_to_wishlist": ("Add to Wishlist", "add-to-wishlist-v1"),
    "order_completed": ("Purchase", "purchase-v1"),
}


@destination.on("identify")
def send_user(event: Event, settings: DynamicYieldSettings) -> Payload:
    """Return the user's identity."""
    visit, email = VISIT(event), value_of(event, EMAIL)
    who = {"cuid": visit["user"]["id"], "cuidType": "userId"}
    if email is not None:
        who = {"hashedEmail": sha256(js_join(email)) if settings.hash_email else email}
    return _send(event, settings, visit, "Identify User", {"dyType": "identify-v1", **who})


@destination.on("track")
def send_event(event: Event, settings: DynamicYieldSettings) -> Payload:
    """Return the user's event."""
    name, properties = event_name(event), event.properties
    title, kind = _SHOP.get(event_key(event), (name, ""))
    if kind:
        properties = _activity(event.properties, kind)
    return _send(event, settings, VISIT(event), title, properties)


def _activity(properties: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the event in Dynamic Yield's own format."""
    value: Any = properties.get("value") or properties.get("revenue")
    cart = [_line(product, properties) for product in objects(properties.get("products"))]
    out: dict[str, Any] = {"dyType": kind}
    if kind == "purchase-v1":
        value = value or properties.get("price")
        out |= {"value": value} if value else {}
        names = {"order_id": "uniqueTransactionId", "currency": "currency"}
    else:
        out["value"] = value or leading_number(properties.get("price"))
        names = {"currency": "currency"}
        if not isinstance(properties.get("products"), list):
            names["quantity"] = "quantity"
            names["sku" if properties.get("sku") else "product_id"] = "productId"
    out |= {name: properties[key] for key, name in names.items() if key in properties}
    if cart:
        out["cart"] = cart if len(cart) > 1 else cart[0]
    return out


def _line(product: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return a product of the cart; missing values are taken from the event."""
    sku, quantity, price = (
        properties.get(key) if product.get(key) is None else product[key] for key in ("sku", "quantity", "price")
    )
    numbers = {"quantity": leading_number(quantity), "itemPrice": leading_number(price)}
    return numbers if sku is None else {"productId": sku, **numbers}


def _send(
    event: Event, settings: DynamicYieldSettings, visit: dict[str, Any], name: str, properties: Mapping[str, Any]
) -> Payload:
    session = event.raw.get("session_id")
    session = event.context.get("sessionId") if session is None else session
    if session == "":
        raise Missing("context.sessionId")
    if session is not None:
        visit["session"] = {"custom": js_join(session)}
    action = {"name": name, **({"properties": properties} if properties else {})}
    return API.post(settings, body={**visit, "events": [action]})
