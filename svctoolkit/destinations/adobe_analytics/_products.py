"""Products in Adobe's format: `Category;Product;Quantity;Price;event=value|…;eVar=value|…`, separated by commas.

https://experienceleague.adobe.com/docs/analytics/implementation/vars/page-vars/products.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from svctoolkit.destinations.adobe_analytics._values import value_at
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import js_join, number_or_none

_IDENTIFIERS = {"name": "name", "id": "product_id", "sku": "sku"}


def product_text(
    event: Event,
    product: Mapping[str, Json],
    identifier: str | None,
    values: Sequence[tuple[str, str]],
    evars: Sequence[tuple[str, str]],
) -> str:
    """Return one product; `values` and `evars` map Adobe's names to paths: `products.x` is in the product or event."""
    quantity = product.get("quantity") or 1
    called = product.get(_IDENTIFIERS[identifier]) if identifier else None
    fields = [
        _plain(product.get("category")),
        _plain(called),
        js_join(quantity),
        _total(product.get("price"), quantity),
    ]
    merchandise = [_merchandise(event, product, values), _merchandise(event, product, evars)]
    return ";".join(fields + merchandise if any(merchandise) else fields)


def _total(price: Json, quantity: Json) -> str:
    """Return the total price of all items; `0` without a price."""
    each, count = number_or_none.of(price or 0), number_or_none.of(quantity)
    return f"{each * count:.2f}" if each and not isinstance(each, str) and not isinstance(count, str) else "0"


def _merchandise(event: Event, product: Mapping[str, Json], names: Iterable[tuple[str, str]]) -> str:
    found = ((name, _value(event, product, key)) for name, key in names)
    return "|".join(f"{name}={js_join(value)}" for name, value in found if value is not None)


def _value(event: Event, product: Mapping[str, Json], key: str) -> Json:
    at, _, member = key.partition(".")
    if at != "products":
        return value_at(event, key)
    return value_at(event, member) if product.get(member) is None else product[member]


def _plain(value: Json) -> str:
    return "" if value is None else js_join(value)
