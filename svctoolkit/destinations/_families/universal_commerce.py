"""E-commerce events in Universal Analytics: product actions and the sources of their values.

https://developers.google.com/analytics/devguides/collection/protocol/v1/parameters#enhanced-ecommerce
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import Missing, Table, as_it_is, default, first, in_words, javascript_text, objects

#: Short names of dimensions, metrics and content groups (`cd1`), and functions that find their values.
Slots: TypeAlias = list[tuple[str, Callable[[Mapping[str, Any]], Any]]]


def slot_values(slots: Slots, members: Mapping[str, Json]) -> dict[str, Json]:
    values = ((slot, find(members)) for slot, find in slots)
    return {slot: value for slot, value in values if value is not None}


ITEM = Table(
    {
        "id": first("product_id", "sku"),
        "nm": as_it_is("name"),
        "ca": as_it_is("category"),
        "br": as_it_is("brand"),
        "va": as_it_is("variant"),
        "cc": as_it_is("coupon"),
        "ps": as_it_is("position"),
        "pr": as_it_is("price"),
        "qt": default(as_it_is("quantity"), 1),
    },
    of="product",
)
PRODUCT = Table(
    {
        "pr1id": first("properties.product_id", "properties.sku"),
        "pr1nm": as_it_is("properties.name"),
        "pr1ca": as_it_is("properties.category"),
        "pr1br": as_it_is("properties.brand"),
        "pr1va": as_it_is("properties.variant"),
        "pr1cc": as_it_is("properties.coupon"),
        "pr1ps": as_it_is("properties.position"),
        "pr1pr": as_it_is("properties.price"),
        "pr1qt": as_it_is("properties.quantity"),
        "pal": as_it_is("properties.list"),
        "cu": as_it_is("properties.currency"),
    }
)
PROMOTION = Table(
    {
        "promo1id": as_it_is("properties.promotion_id"),
        "promo1cr": as_it_is("properties.creative"),
        "promo1ps": as_it_is("properties.position"),
        "promo1nm": as_it_is("properties.name"),
        "cu": as_it_is("properties.currency"),
    }
)
ORDER = Table(
    {
        "ti": as_it_is("properties.order_id"),
        "ta": as_it_is("properties.affiliation"),
        "ts": as_it_is("properties.shipping"),
        "tt": as_it_is("properties.tax"),
        "tcc": as_it_is("properties.coupon"),
        "cu": as_it_is("properties.currency"),
        "cos": as_it_is("properties.step"),
    }
)
STEP = Table(
    {
        "ti": as_it_is("properties.checkout_id"),
        "tr": as_it_is("properties.total"),
        "ts": as_it_is("properties.shipping"),
        "tt": as_it_is("properties.tax"),
        "cos": as_it_is("properties.step"),
        "col": first("properties.payment_method", "properties.shipping_method"),
    }
)
REFUND = Table({"ti": as_it_is("properties.order_id")})
LIST = Table({"il1nm": as_it_is("properties.list_id")})
NOTHING = Table({})


@dataclass(frozen=True, slots=True)
class Action:
    """Google's name of an e-commerce event, and the sources of its parameters.

    `prefix` is the prefix of product parameters, with a placeholder for the product's number; empty if the event has no
    list of products. `own_slots`: the event is about one product, whose dimensions and metrics are in its properties.
    """

    name: str
    table: Table
    prefix: str = ""
    own_slots: bool = False
    is_order: bool = False


def _order(name: str) -> Action:
    return Action(name, ORDER, "pr{}", is_order=True)


_VIEW, _CLICK = Action("detail", LIST, "il1pi{}"), Action("click", LIST, "il1pi{}")
_PRODUCTS = {name: Action(name, NOTHING, "pr{}") for name in ("detail", "click", "add")}
_ADD = Action("add", PRODUCT, own_slots=True)
_STEP = Action("checkout", STEP)
#: By event name in lower case.
ACTIONS = {
    "product viewed": Action("detail", PRODUCT, own_slots=True),
    "product added": _ADD,
    "product added to wishlist": _ADD,
    "product clicked": Action("click", PRODUCT, own_slots=True),
    "product removed": Action("remove", PRODUCT, own_slots=True),
    "product list viewed": _VIEW,
    "product list filtered": _VIEW,
    "product list clicked": _CLICK,
    "products searched": _PRODUCTS["click"],
    "product reviewed": _PRODUCTS["detail"],
    "cart viewed": _PRODUCTS["detail"],
    "coupon applied": _PRODUCTS["add"],
    "promotion viewed": Action("view", PROMOTION),
    "promotion clicked": Action("promo_click", PROMOTION),
    "checkout started": _order("checkout"),
    "order updated": _order("checkout"),
    "order completed": _order("purchase"),
    "order cancelled": _order("refund"),
    "order refunded": Action("refund", REFUND, "pr{}"),
    "checkout step viewed": _STEP,
    "payment info entered": _STEP,
    "checkout step completed": Action("checkout_option", STEP),
}


def action_parameters(event: Event, action: Action, slots: Slots) -> dict[str, Json]:
    """Return the parameters of action and products. Raises `MappingError` for an order without products."""
    params = {"pa": action.name, **action.table(event)}
    if action.table is PROMOTION:
        params["promoa"] = action.name
    if action.own_slots:
        params |= {f"pr1{key}": value for key, value in slot_values(slots, event.properties).items()}
    if action.is_order:
        params |= _revenue(event)
    if action.prefix:
        params |= _items(event, action, slots)
    return params


def _items(event: Event, action: Action, slots: Slots) -> dict[str, Json]:
    products = objects(event.properties.get("products"))
    if action.is_order and not products:
        raise Missing("properties.products", wants="the products of the order")
    filters = _filters(event) if action.table is LIST else ""
    params: dict[str, Json] = {}
    for number, product in enumerate(products, 1):
        prefix = action.prefix.format(number)
        params |= {prefix + key: value for key, value in ITEM(product).items()}
        params |= {f"pr{number}{key}": value for key, value in slot_values(slots, product).items()}
        if filters:
            params[f"{prefix}va"] = filters
    return params


def _revenue(event: Event) -> dict[str, Json]:
    """Return the first of revenue, value and total that is not zero."""
    properties = event.properties
    revenue = properties.get("revenue") or properties.get("value") or properties.get("total")
    return {"tr": revenue} if revenue else {}


def _filters(event: Event) -> str:
    """Return the filters and sort orders of a list: `department:beauty,price:under::price:desc`."""
    lists = [objects(event.properties.get(key)) for key in ("filters", "sorts")]
    if not any(lists):
        return ""
    pairs = [[f"{in_words(row.get('type'))}:{in_words(row.get('value'))}" for row in rows] for rows in lists]
    return "::".join(",".join(texts) for texts in pairs)


def cart_text(event: Event) -> str:
    """Return the IDs of the products in a shared cart, each preceded by a space."""
    products = event.properties.get("products")
    if not isinstance(products, list):
        raise Missing("properties.products", wants="the products of the cart", case="cart")
    ids = [product["product_id"] for product in objects(products) if "product_id" in product]
    return "".join(f" {javascript_text(id)}" for id in ids)
