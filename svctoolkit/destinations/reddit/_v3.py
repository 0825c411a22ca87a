"""Version 3 of the Conversions API, for the batches of accounts that selected it.

https://ads-api.reddit.com/docs/v3/operations/Post%20Conversion%20Events
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from svctoolkit.destinations import Batch, Context, MappedJob, Merge
from svctoolkit.destinations._batches import merge
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import TIME, Misfit, Shape, Table, epoch_ms, first, leading_number, required, verbatim

#: test events are not batched, because the test code is part of the request
_MERGE = Merge("events", apart_with="test_id", limit=1000, honours_alone=True)
_WEEK = 7 * 24 * 3_600_000  # milliseconds
_PRICED = frozenset({"Purchase", "AddToCart", "ViewContent"})

MOMENT = Table({"event_at": required(epoch_ms(TIME))})
PAGE = Table({"event_source_url": first("properties.url", "context.page.url")})
TEST = Table({"test_id": "properties.test_id"})
CURRENCY = Table({"currency": verbatim("properties.currency")})
ORDER = Table({"conversion_id": first("properties.conversionId", "messageId")})
_ITEM: Shape = {
    "id": verbatim("product_id"),
    "name": verbatim("name"),
    "category": verbatim("category"),
    "item_price": verbatim("price"),
    "quantity": verbatim("quantity"),
}
_PLACES = frozenset({"APP", "PHYSICAL_STORE", "WEBSITE"})
ITEM = Table(_ITEM, of="properties.products")
ONLY_ITEM = Table(_ITEM, of="properties")


def body_of(
    event: Event,
    kinds: Sequence[Mapping[str, str]],
    user: Mapping[str, Json],
    items: Sequence[Mapping[str, Json]],
    options: Mapping[str, Json],
    context: Context,
) -> dict[str, Json]:
    """Return the content of `data`, with one event of each type. Raises `MappingError` if older than a week."""
    moment = MOMENT(event)
    if context.clock().timestamp() * 1000 - moment["event_at"] > _WEEK:
        raise Misfit(
            "timestamp", "a time within the last 7 days", event.raw.get("timestamp"), case="age", needs="clock"
        )
    place = _place(event, user, options)
    source = {"action_source": place, **(PAGE(event) if place == "WEBSITE" else {})}
    person = {key: value for key, value in user.items() if value != {}}
    events = [
        {
            **moment,
            **source,
            "user": person,
            "type": {**kind, "tracking_type": _constant(kind["tracking_type"])},
            "metadata": _metadata(event, items, kind["tracking_type"]),
        }
        for kind in kinds
    ]
    return {"partner": "RUDDERSTACK", **TEST(event), "events": events}


def _place(event: Event, user: Mapping[str, Json], options: Mapping[str, Any]) -> str:
    """Return where the event happened, as the event's options say, or else by its channel and identifiers."""
    chosen = options.get("action_source")
    if isinstance(chosen, str) and chosen in _PLACES:
        return chosen
    return "APP" if event.raw.get("channel") == "mobile" or "aaid" in user or "idfa" in user else "WEBSITE"


def _constant(name: str) -> str:
    """`ViewContent` as `VIEW_CONTENT`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def _metadata(event: Event, items: Sequence[Mapping[str, Any]], kind: str) -> dict[str, Any]:
    """Return the event's products and, for purchases, cart events and views, their value."""
    products = [ITEM(item) for item in items]
    if not isinstance(event.properties.get("products"), (list, dict)):
        products = [ONLY_ITEM(event.properties)]
    metadata = {"item_count": len(products), "products": products, **ORDER(event)}
    if kind not in _PRICED:
        return metadata
    revenue = leading_number(event.properties.get("revenue")) if kind == "Purchase" else None
    value = revenue or sum(_number(item, "price") * _number(item, "quantity") for item in items)
    return {**metadata, **CURRENCY(event), **({"value": value} if value else {})}


def _number(item: Mapping[str, Any], name: str) -> float:
    return leading_number(item.get(name)) or 0


def share(jobs: Sequence[MappedJob]) -> Iterator[Batch]:
    """Batch the events of several jobs into one list; a single event counts as a batch, too."""
    for batch in merge(jobs, [_MERGE]):
        payloads = tuple(_with_data(payload) for payload in batch.payloads)
        yield Batch(batch.jobs, payloads, batched=True)


def _with_data(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload with its JSON wrapped in `data`, as this version requires."""
    body = payload["body"]
    return {**payload, "body": {**body, "JSON": {"data": body["JSON"]}}}
