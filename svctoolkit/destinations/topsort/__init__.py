"""Topsort: impressions, clicks and purchases of shoppers, for retail media auctions.

track sends an impression, a click or a purchase, depending on the configuration for its name; other names are rejected.
Orders, carts and lists send one entry for each of their products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from svctoolkit.destinations import Answer, Batch, DestinationType, Endpoint, Header, MappedJob, Payload, Rows, Settings
from svctoolkit.destinations._batches import alone
from svctoolkit.events import Event
from svctoolkit.mapping import TIME, NotConfigured, Table, as_object, event_name, md5, required, verbatim
from svctoolkit.secrets import Secret


class TopsortSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    topsort_events: tuple[Rows, ...] = ()


destination = DestinationType(
    "Topsort",
    TopsortSettings,
    docs="https://api.docs.topsort.com/reference/reportevents",
    quirks=[
        "Products are sent only for orders, carts and lists with the exact event name, so not for `order completed`.",
        "All events of one configuration share a request, without a limit.",
    ],
    answers=[
        Answer("success", 201, {}),
        Answer("bad key", 401, {"errCode": "unauthorized", "message": "The API key is invalid"}),
        Answer("rate limit", 429, {"errCode": "too_many_requests", "message": "Too many requests"}),
        Answer("invalid field", 400, {"errCode": "bad_request", "message": "occurredAt is invalid"}),
    ],
    differences=[
        "RudderStack gives each of several products a random ID. Here it is a hash of the message ID and the "
        "product's index, so that the same event always produces the same request.",
        "If all events of a call are refused, nothing is sent; RudderStack sends a request without any interaction.",
    ],
)

API = Endpoint(
    "https://api.topsort.com/v2/events",
    Header("content-type", "application/json"),
    Header("authorization", "Bearer {api_key}"),
)

#: events whose products are sent; names must match exactly
LISTS = frozenset({
    "Cart Viewed", "Checkout Started", "Order Cancelled", "Order Completed", "Order Refunded", "Order Updated",
    "Product List Filtered", "Product List Viewed",
})  # fmt: skip
KINDS = ("impressions", "clicks", "purchases")
INTERACTION = Table(
    {
        "occurredAt": required(TIME),
        "opaqueUserId": required("anonymousId"),
        "resolvedBidId": "properties.resolvedBidId",
        "entity": "properties.entity",
        "additionalAttribution": "properties.additionalAttribution",
    }
)
PLACEMENT = Table(
    {
        "path": "context.page.path",
        "searchQuery": "properties.query",
        "page": "properties.pageNumber",
        "pageSize": "properties.pageSize",
        "categoryIds": verbatim("properties.category_id"),
    }
)
SHOWN = Table({"position": "position", "productId": "product_id"}, of="properties.products")
PURCHASE = Table({"occurredAt": required(TIME), "opaqueUserId": required("anonymousId")})
ITEM = Table(
    {
        "productId": "product_id",
        "unitPrice": "price",
        "quantity": "quantity",
        "vendorId": "vendorId",
        "resolvedBidId": "resolvedBidId",
    },
    of="properties.products",
)


@destination.on("track")
def send_interaction(event: Event, settings: TopsortSettings) -> Payload:
    """Return the interaction that the event's name is mapped to."""
    kind = _kind(event_name(event), settings)
    entries = [_purchase(event)] if kind == "purchases" else _interactions(event)
    return API.post(settings, body={**{name: [] for name in KINDS}, kind: entries})


def _kind(name: str, settings: TopsortSettings) -> str:
    key = name.lower()
    for row in settings.topsort_events:
        if row.from_.lower() == key and row.to in KINDS:
            return row.to
    raise NotConfigured("event", name, setting="topsortEvents")


def _interactions(event: Event) -> list[dict[str, Any]]:
    """Return one entry for each product, or a single one for the product that the properties describe."""
    listed = event.properties.get("products")
    if event.raw.get("event") not in LISTS or not isinstance(listed, list) or not listed:
        return [_interaction(event, event.properties, event.raw.get("messageId"))]
    message = event.raw.get("messageId")
    ids = (str(UUID(md5(f"{message}/{place}"))) for place in range(len(listed)))
    return [_interaction(event, as_object(product), id_) for product, id_ in zip(listed, ids, strict=True)]


def _interaction(event: Event, product: Any, id_: Any) -> dict[str, Any]:
    placement = PLACEMENT(event)
    if "categoryIds" in placement and not isinstance(placement["categoryIds"], list):
        placement["categoryIds"] = [placement["categoryIds"]]
    return {**INTERACTION(event), "placement": {**placement, **SHOWN(product)}, "id": id_}


def _purchase(event: Event) -> dict[str, Any]:
    """Return the order with its products as items, or the single product that the properties describe."""
    listed, id_ = event.properties.get("products"), event.raw.get("messageId")
    if event.raw.get("event") in LISTS and isinstance(listed, list) and listed:
        return {**PURCHASE(event), "items": [ITEM(as_object(item)) for item in listed], "id": id_}
    item = {key: value for key, value in ITEM(event.properties).items() if key != "resolvedBidId"}
    return {**INTERACTION(event), "items": [item], "id": id_}


@destination.batch
def batch(jobs: Sequence[MappedJob], _settings: TopsortSettings) -> Iterator[Batch]:
    """Batch all interactions into one request."""
    mapped = [job for job in jobs if job.refusal is None]
    yield from (alone(job) for job in jobs if job.refusal is not None)
    if mapped:
        bodies = [payload.json or {} for job in mapped for payload in job.payloads]
        entries = {name: [entry for body in bodies for entry in body[name]] for name in KINDS}
        shared = replace(mapped[0].payloads[0], json=entries)
        yield Batch(tuple(job.id for job in mapped), (shared.to_dict(),), batched=True)
