"""The shop's events with Facebook's parameters, in the order in which Facebook's own pixel writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import Table, default, first, number, products, value_of

#: by the event's name in lower case
STANDARD = {
    "product list viewed": "ViewContent",
    "product viewed": "ViewContent",
    "product added": "AddToCart",
    "products searched": "Search",
    "checkout started": "InitiateCheckout",
    "order completed": "Purchase",
}
PRODUCT_ID = first("product_id", "sku", "id")
ITEM = Table({"id": PRODUCT_ID, "quantity": "quantity", "item_price": "price"}, of="properties.products")
SEARCH = Table({"search_string": "properties.query"})
NAMED = Table({"content_name": first("properties.product_name", "properties.name")})
_AMOUNTS = {
    "properties.revenue": number("properties.revenue"),
    "properties.value": number("properties.value"),
    "properties.price": number("properties.price"),
}
COMMON = Table({"currency": default("properties.currency", "USD")})


def parameters(event: Event, standard: str, value_field: str, content_type: str | None) -> dict[str, Any]:
    """The parameters of a standard event.

    A list of products without products is about its category. `value_field` is where the value of one product stands;
    `content_type` goes before the usual one.
    """
    name = str(event.raw.get("event")).strip().lower()
    listed = _contents(products(event), event)
    if standard in ("Purchase", "InitiateCheckout"):
        return {
            **_category(event),
            "content_ids": [item["id"] for item in listed],
            "content_type": content_type or "product",
            **COMMON(event),
            "value": money(event, "properties.revenue") or 0,
            "contents": listed,
            "num_items": len(listed),
        }
    if standard == "ViewContent" and (listed or name == "product list viewed"):
        kind, contents = "product", listed
        if not listed and (category := _category(event)):
            kind, contents = "product_group", [{"id": category["content_category"], "quantity": 1}]
        return {
            "content_ids": [item["id"] for item in contents],
            "content_type": content_type or kind,
            "contents": contents,
            **_category(event),
            **_value(event, value_field),
            **COMMON(event),
        }
    contents = listed or _contents([event.properties], event)
    return {
        "content_ids": [item["id"] for item in contents],
        "content_type": content_type or "product",
        **(SEARCH if standard == "Search" else NAMED)(event),
        **_category(event),
        **COMMON(event),
        **_value(event, value_field),
        "contents": contents,
    }


def money(event: Event, path: str) -> int | float | None:
    """A number with at most two decimals."""
    found = value_of(event, _AMOUNTS[path])
    return None if found is None else round(found, 2)


def _value(event: Event, path: str) -> dict[str, Any]:
    found = money(event, path)
    return {} if found is None else {"value": found}


def _contents(bought: Iterable[Mapping[str, Any]], event: Event) -> list[dict[str, Any]]:
    """The products that have an ID. One without a quantity of its own has that of the event."""
    usual = event.properties.get("quantity") or 1
    found = [{"id": None, "quantity": usual, **ITEM(product)} for product in bought]
    return [item for item in found if item["id"] is not None]


def _category(event: Event) -> dict[str, str]:
    """Several categories stand in one text."""
    category = event.properties.get("category")
    if category is None or category == "" or category == []:
        return {}
    if isinstance(category, list) and all(isinstance(item, str) for item in category):
        return {"content_category": ",".join(category)}
    if not isinstance(category, str):
        where = "properties.category"
        raise MappingError(f"{where}: expected a text or a list of texts, got {category!r}", field=where)
    return {"content_category": category}
