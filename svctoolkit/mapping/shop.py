"""Products of the e-commerce events in the RudderStack event specification."""

from __future__ import annotations

from collections.abc import Mapping

from svctoolkit.events import Event
from svctoolkit.json_types import Json


def products(event: Event) -> list[Mapping[str, Json]]:
    """The objects in `properties.products`; empty if it is missing or does not contain any."""
    value = event.properties.get("products")
    listed = value if isinstance(value, list) else [value]
    return [product for product in listed if isinstance(product, dict) and product]
