"""Google Analytics 4: one event per request, through the Measurement Protocol.

track, page (`page_view`) and group (`join_group`) are sent. E-commerce events get Google's names and parameters; other
properties become custom parameters, and nested names are joined with underscores. Google accepts events of the last 3
days. https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from svctoolkit.destinations import Context, DestinationType, Payload
from svctoolkit.destinations._families.google_analytics import (
    ANSWERS,
    ENGAGEMENT,
    PAGE,
    MeasurementSettings,
    check_name,
    custom_parameters,
    event_payload,
    flat,
    group_parameters,
    judge,
    own_parameters,
)
from svctoolkit.destinations.ga4._events import ITEM, ONLY_ITEM, STANDARD, Standard
from svctoolkit.events import Event
from svctoolkit.mapping import (
    Misfit,
    Missing,
    Unsupported,
    as_object,
    event_key,
    event_name,
    is_empty,
    number,
)


class GoogleAnalyticsSettings(MeasurementSettings, frozen=True, kw_only=True):
    """The data stream that receives the events."""

    types_of_client: Literal["gtag", "firebase"]


destination = DestinationType(
    "Google Analytics 4 (GA4)",
    GoogleAnalyticsSettings,
    docs="https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference",
    names=("Google Analytics 4", "GA4"),
    quirks=[
        "Products of events that Google does not recommend become flat parameters, such as products_0_name.",
        "A camel case session number is sent twice: as sessionNumber and as session_number.",
    ],
    answers=ANSWERS,
    differences=["An invalid time is left out, so that Google uses the time of arrival."],
    needs=["clock"],
)
destination.judge(judge)

_PRICED = frozenset({"add_to_cart", "remove_from_cart"})


@destination.on("track")
def send_event(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    """Return Google's recommended event for the name, or else a custom event."""
    name = event_name(event)
    standard = STANDARD.get(event_key(event))
    if standard:
        params = _standard_parameters(event, standard)
        return _payload(event, settings, context, standard.name, {**params, **PAGE(event), **ENGAGEMENT(event)})
    return _payload(event, settings, context, check_name("_".join(name.split())), custom_parameters(event))


@destination.on("page")
def send_page(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    if settings.connection_mode == "hybrid":
        raise Unsupported("page events", setting="connectionMode", why="in hybrid mode the device sends them")
    return _payload(event, settings, context, "page_view", custom_parameters(event))


@destination.on("group")
def send_group(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    return _payload(event, settings, context, "join_group", group_parameters(event))


def _standard_parameters(event: Event, standard: Standard) -> dict[str, Any]:
    params, own = standard.table(event), standard.table.rest(event.properties, "properties")
    own.pop("products", None)
    items = _items(event, standard)
    if items is None and standard.items in ("either", "properties"):
        items = [_item(ONLY_ITEM(event.properties))]
        own = ONLY_ITEM.rest(own)
        if standard.name != "select_item" and "currency" in event.properties:
            own["currency"] = event.properties["currency"]
    if items is not None:
        params["items"] = items
    if standard.name in _PRICED and "value" not in params:
        params["value"] = _price(event.properties)
    usual = {"currency": "USD"} if "value" in params else {}  # Google drops values without a currency
    return {**usual, **params, **own_parameters(own)}


def _items(event: Event, standard: Standard) -> list[dict[str, Any]] | None:
    products, where = event.properties.get("products"), "properties.products"
    if standard.items in ("none", "properties"):
        return None
    if not products or (standard.items == "either" and isinstance(products, dict)):
        if standard.items == "must":
            raise Missing(where, wants="a list of objects", why=f"{standard.name} is about items")
        return None
    if not isinstance(products, list):
        raise Misfit(where, "a list of objects", products)
    return [_item(_product(product)) for product in map(as_object, products)]


def _product(product: Mapping[str, Any]) -> dict[str, Any]:
    own = ITEM.rest(product)
    return {**ITEM(product), **flat(own)} if own else ITEM(product)


def _item(item: dict[str, Any]) -> dict[str, Any]:
    if "item_id" not in item and "item_name" not in item:
        raise Missing("properties.products.product_id", "properties.products.name")
    return item


def _price(properties: Mapping[str, Any]) -> int | float:
    """Return the price of a product, if the event has no total, value or revenue."""
    price, quantity = properties.get("price"), properties.get("quantity")
    if is_empty(price):
        raise Missing("properties.total", "properties.value", "properties.revenue", "properties.price")
    return number.of(price) * number.of(1 if is_empty(quantity) else quantity)


def _payload(
    event: Event, settings: GoogleAnalyticsSettings, context: Context, name: str, params: dict[str, Any]
) -> Payload:
    return event_payload(event, settings, context, destination.options(event), name, params)
