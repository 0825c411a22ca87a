"""Awin: affiliate marketing sales, through server-to-server conversion tracking.

track sends a sale for the events that the configuration names; other events are refused. Products that have an ID, a
name, a price and a quantity are included, each as one text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    NotConfigured,
    Table,
    compact,
    const,
    default,
    first,
    in_url,
    js_join,
)
from svctoolkit.secrets import Secret


class TrackedEvent(msgspec.Struct, frozen=True, rename="camel"):
    """The name of an event that is sent."""

    event_name: str = ""


class AwinSettings(Settings, frozen=True, kw_only=True):
    advertiser_id: Secret
    #: some stored configurations contain an object instead of the list
    events_to_track: tuple[TrackedEvent, ...] | dict[str, Any] | None = None
    custom_field_map: tuple[Rows, ...] = ()

    @cached_property
    def custom(self) -> dict[str, str]:
        """The properties sent as Awin's custom parameters `p1`, `p2` and so on."""
        return {row.to: row.from_ for row in self.custom_field_map if re.fullmatch("p[0-9]+", row.to)}


destination = DestinationType(
    "Awin",
    AwinSettings,
    docs="https://wiki.awin.com/index.php/Advertiser_Tracking_Guide/Technical_Instructions",
    quirks=[
        "Without a list of events every event is sent, but without its parameters.",
        "Without an amount the commission group is sent as a parameter that Awin does not support.",
    ],
    answers=[
        Answer("success", 200),
        Answer("bad key", 403, {"error": "Unknown merchant"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"error": "Missing parameter: ref"}),
    ],
)

SALE = Table(
    {
        "amount": first(
            "properties.amount",
            "properties.revenue",
            "properties.total",
            "properties.totalAmount",
            "properties.total_amount",
        ),
        "vc": first("properties.voucherCode", "properties.voucher_code"),
        "cr": first("properties.currency", "properties.currencyCode", "properties.currency_code"),
        "ref": first(
            "properties.order_id", "properties.orderId", "properties.orderReference", "properties.order_reference"
        ),
        "testmode": default(
            first("properties.testMode", "properties.test_mode", "properties.isTest", "properties.is_test"), "0"
        ),
        "cks": first("properties.cks", "properties.awc"),
        "commissionGroup": first("properties.commissionGroup", "properties.commission_group"),
        "ch": const("aw"),
        "tt": const("ss"),
        "tv": const("2"),
    }
)
ITEM = Table(
    {
        "product_id": "product_id",
        "name": "name",
        "price": "price",
        "quantity": "quantity",
        "sku": "sku",
        "category": "category",
    },
    of="properties.products",
)
_NEEDED = ("product_id", "name", "price", "quantity")


@destination.on("track")
def send_sale(event: Event, settings: AwinSettings) -> Payload:
    """Return a sale, in the query."""
    tracked, name = settings.events_to_track, event.raw.get("event")
    if not isinstance(tracked, tuple):
        return _send({})
    if name not in [row.event_name for row in tracked if row.event_name]:
        raise NotConfigured("event", name, setting="eventsToTrack")
    custom = {name: event.properties.get(source) for name, source in settings.custom.items()}
    sale = {**SALE(event), "merchant": settings.advertiser_id.reveal()}
    if sale.get("amount"):
        sale["parts"] = f"{js_join(sale.pop('commissionGroup', 'DEFAULT'))}:{js_join(sale['amount'])}"
    items = _items(event, sale) if "ref" in sale else ()
    return _send({**sale, **{f"bd[{number}]": item for number, item in enumerate(items)}, **compact(custom)})


def _items(event: Event, sale: dict[str, Any]) -> Iterator[str]:
    """Return the products, each as one text: `AW:P|merchant|sale|product|name|price|quantity|SKU|part|category`."""
    products = event.properties.get("products")
    for product in products if isinstance(products, list) else ():
        item = ITEM(product) if isinstance(product, dict) else {}
        if all(item.get(key) for key in _NEEDED):
            values = [sale["merchant"], sale["ref"], *(item[key] for key in _NEEDED), item.get("sku", "")]
            values += [sale.get("parts", "DEFAULT"), item.get("category", "")]
            yield "|".join(["AW:P", *(in_url(js_join(value)) for value in values)])


def _send(params: dict[str, Any]) -> Payload:
    return Payload(endpoint="https://www.awin1.com/sread.php", params=params)
