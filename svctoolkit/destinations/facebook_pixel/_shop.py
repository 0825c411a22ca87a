"""E-commerce events with Facebook's parameters, in the order in which RudderStack writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    Misfit,
    WrongValue,
    number,
)


class Shopping(NamedTuple):
    """An e-commerce track event: its properties, a function for its content type, and the relevant settings."""

    properties: Mapping[str, Any]
    content_type: Callable[[str], str]
    value_field: str


Parameters = Callable[[Shopping], dict[str, Any]]


def of_list(shopping: Shopping) -> dict[str, Json]:
    """Return a product list; without products it is about its category."""
    contents = _contents(shopping, checked=False)
    category, kind = shopping.properties.get("category"), "product"
    if not contents and category:
        contents, kind = [{"id": category, "quantity": 1}], "product_group"
    name = shopping.properties.get("content_name")
    return {
        "content_ids": [item["id"] for item in contents],
        "content_type": shopping.content_type(kind),
        "contents": contents,
        **({"content_category": category_of(shopping)} if category else {}),
        **({} if name is None else {"content_name": name}),
        "value": amount(shopping, "value"),
    }


def of_product(shopping: Shopping) -> dict[str, Json]:
    """Return the single product that the properties describe."""
    properties = shopping.properties
    contents = _content(properties, properties)
    return {
        "content_ids": [item["id"] for item in contents],
        "content_type": shopping.content_type("product"),
        "content_name": properties.get("product_name") or properties.get("name") or "",
        "content_category": category_of(shopping) or "",
        "currency": None,  # only its position: all e-commerce events have a currency
        "value": amount(shopping, shopping.value_field),
        "contents": contents,
    }


def of_search(shopping: Shopping) -> dict[str, Json]:
    """Return a search, and the product that it is about, if any."""
    properties = shopping.properties
    contents, query = _content(properties, properties), properties.get("query")
    if query and not isinstance(query, str):
        raise Misfit("properties.query", "a string", query)
    return {
        "content_ids": [item["id"] for item in contents],
        "content_category": category_of(shopping) or "",
        "value": amount(shopping, "value"),
        "contents": contents,
        **({} if query is None else {"search_string": query}),
    }


def of_order(shopping: Shopping) -> dict[str, Json]:
    """Return an order or a checkout: its products and its revenue."""
    contents, category = _contents(shopping, checked=True), category_of(shopping)
    return {
        **({} if category is None else {"content_category": category}),
        "content_ids": [item["id"] for item in contents],
        "content_type": shopping.content_type("product"),
        "currency": None,
        "value": amount(shopping, "revenue"),
        "contents": contents,
        "num_items": len(contents),
    }


#: by name of the e-commerce event in lower case: Facebook's name and parameters
EVENTS: Mapping[str, tuple[str, Parameters]] = {
    "product list viewed": ("ViewContent", of_list),
    "product viewed": ("ViewContent", of_product),
    "product added": ("AddToCart", of_product),
    "order completed": ("Purchase", of_order),
    "products searched": ("Search", of_search),
    "checkout started": ("InitiateCheckout", of_order),
}
#: by Facebook's name, which the configuration may select
STANDARD: Mapping[str, Parameters] = dict(list(EVENTS.values())[::-1])


def amount(shopping: Shopping, name: str) -> int | float:
    """Return a property as an amount with two decimals at most (default 0). Raises `MappingError` if not a number."""
    value = shopping.properties.get(name)
    try:
        return round(number.of(value), 2) if value else 0
    except WrongValue as error:
        raise Misfit(f"properties.{name}", error.expected, value, case=error.case) from error


def category_of(shopping: Shopping) -> str | None:
    """Return the category; several are joined by commas."""
    category = shopping.properties.get("category")
    if isinstance(category, list):
        return ",".join(map(str, category))
    if category and not isinstance(category, str):
        where = "properties.category"
        raise Misfit(where, "a string or a list of strings", category)
    return category


def _contents(shopping: Shopping, *, checked: bool) -> list[dict[str, Any]]:
    """Return the products that have an ID. Missing quantities and prices are taken from the event.

    With `checked`, properties whose products are not a list are refused.
    """
    properties = shopping.properties
    bought = properties.get("products")
    where = "properties.products"
    if bought is None or not (checked or (bought and isinstance(bought, list))):
        return []
    if not bought or not isinstance(bought, list):
        raise Misfit(where, "a list of products", bought)
    contents = []
    for product in bought:
        if isinstance(product, dict):
            contents += _content(product, properties)
    return contents


def _content(product: Mapping[str, Any], event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the product in Facebook's format; empty if it has no ID."""
    product_id = product.get("product_id") or product.get("sku") or product.get("id")
    if not product_id:
        return []
    item = {"id": product_id, "quantity": product.get("quantity") or event.get("quantity") or 1}
    price = product.get("price") or event.get("price")
    return [item if price is None else {**item, "item_price": price}]
