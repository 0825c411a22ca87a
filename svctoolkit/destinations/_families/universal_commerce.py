"""E-commerce events in Universal Analytics: product actions and the sources of their values.

https://developers.google.com/analytics/devguides/collection/protocol/v1/parameters#enhanced-ecommerce
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import Missing, Table, default, first, javascript_text, js_join, objects, verbatim

#: Short names of dimensions, metrics and content groups (`cd1`), and functions that find their values.
Slots: TypeAlias = list[tuple[str, Callable[[Mapping[str, Any]], Any]]]


def slot_values(slots: Slots, members: Mapping[str, Json]) -> dict[str, Json]:
    values = ((slot, find(members)) for slot, find in slots)
    return {slot: value for slot, value in values if value is not None}


ITEM = Table(
    {
        "id": first("product_id", "sku"),
        "nm": verbatim("name"),
        "ca": verbatim("category"),
        "br": verbatim("brand"),
        "va": verbatim("variant"),
        "cc": verbatim("coupon"),
        "ps": verbatim("position"),
        "pr": verbatim("price"),
        "qt": default(verbatim("quantity"), 1),
    },
    of="product",
)
PRODUCT = Table(
    {
        "pr1id": first("properties.product_id", "properties.sku"),
        "pr1nm": verbatim("properties.name"),
        "pr1ca": verbatim("properties.category"),
        "pr1br": verbatim("properties.brand"),
        "pr1va": verbatim("properties.variant"),
        "pr1cc": verbatim("properties.coupon"),
        "pr1ps": verbatim("properties.position"),
        "pr1pr": verbatim("properties.price"),
        "pr1qt": verbatim("properties.quantity"),
        "pal": verbatim("properties.list"),
        "cu": verbatim("properties.currency"),
    }
)
PROMOTION = Table(
    {
        "promo1id": verbatim("properties.promotion_id"),
        "promo1cr": verbatim("properties.creative"),
        "promo1ps": verbatim("properties.position"),
        "promo1nm": verbatim("properties.name"),
        "cu": verbatim("properties.currency"),
    }
)
ORDER = Table(
    {
        "ti": verbatim("properties.order_id"),
        "ta": verbatim("properties.affiliation"),
        "ts": verbatim("properties.shipping"),
        "tt": verbatim("properties.tax"),
        "tcc": verbatim("properties.coupon"),
        "cu": verbatim("properties.currency"),
        "cos": verbatim("properties.step"),
    }
)
STEP = Table(
    {
        "ti": verbatim("properties.checkout_id"),
        "tr": verbatim("properties.total"),
        "ts": verbatim("properties.shipping"),
        "tt": verbatim("properties.tax"),
        "cos": verbatim("properties.step"),
        "col": first("properties.payment_method", "properties.shipping_method"),
    }
)
REFUND = Table({"ti": verbatim("properties.order_id")})
LIST = Table({"il1nm": verbatim("properties.list_id")})
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
_PRODUCTS = {name: Action(name, NOTHING, "pr{}") for name in ("detail", "click", "add", "remove")}
_ADD = Action("add", PRODUCT, own_slots=True)
_STEP = Action("checkout", STEP)
#: By event name in lower case.
ACTIONS = {
    "product viewed": Action("detail", PRODUCT, own_slots=True),
    "product added": _ADD,
    "product added to wishlist": _ADD,
    "product clicked": Action("click", PRODUCT, own_slots=True),
    "product removed": Action("remove", PRODUCT, own_slots=True),
    "product removed from wishlist": Action("remove", PRODUCT, own_slots=True),
    "product list viewed": _VIEW,
    "product list filtered": _VIEW,
    "product list clicked": _CLICK,
    "products searched": _PRODUCTS["click"],
    "product reviewed": _PRODUCTS["detail"],
    "cart viewed": _PRODUCTS["detail"],
    "coupon entered": _PRODUCTS["add"],
    "coupon applied": _PRODUCTS["add"],
    "coupon denied": _PRODUCTS["remove"],
    "coupon removed": _PRODUCTS["remove"],
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
    pairs = [[f"{js_join(row.get('type'))}:{js_join(row.get('value'))}" for row in rows] for rows in lists]
    return "::".join(",".join(texts) for texts in pairs)


def cart_text(event: Event) -> str:
    """Return the IDs of the products in a shared cart, each preceded by a space."""
    products = event.properties.get("products")
    if not isinstance(products, list):
        raise Missing("properties.products", wants="the products of the cart", case="cart")
    ids = [product["product_id"] for product in objects(products) if "product_id" in product]
    return "".join(f" {javascript_text(id)}" for id in ids)
