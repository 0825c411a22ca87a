"""Algolia Insights: clicks, views and conversions of the items of an index.

track sends one Insights event. Its kind is read from `properties.eventType`, or else looked up in `eventTypeSettings`
by event name. Lists (`Product List Viewed`, `Order Completed`) are about the objects of their products; all other
events are about `properties.objectIds`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Endpoint, Header, Merge, Payload, Rows, Settings
from svctoolkit.destinations.algolia._judge import judge
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    Misfit,
    Missing,
    NotConfigured,
    Table,
    as_object,
    converter,
    event_name,
    first,
    is_empty,
    javascript_text,
    js_join,
    leading_number,
    required,
    verbatim,
)
from svctoolkit.secrets import Secret


class AlgoliaSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    application_id: Secret
    event_type_settings: tuple[Rows, ...] = ()

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """Kinds of events by event name, both in lower case and stripped."""
        return {row.from_.strip().lower(): row.to.strip().lower() for row in self.event_type_settings}


destination = DestinationType(
    "Algolia",
    AlgoliaSettings,
    docs="https://www.algolia.com/doc/rest-api/insights/",
    quirks=[
        "The event name is sent in lower case.",
        "Products are only read for `Product List Viewed` and `Order Completed`, and only if all have an `objectId`.",
        "Prices, quantities and discounts of the objects are only sent with conversions.",
        "A `queryId` with white space is left out.",
        "A click with a `queryId` and without positions for all of its products is refused.",
        "A subtype is sent only with conversions, and only if Algolia supports it.",
    ],
    answers=[
        Answer("success", 200, {"status": 200, "message": "OK"}),
        Answer("bad key", 401, {"status": 401, "message": "Invalid Application-ID or API key"}),
        Answer("invalid event", 422, {"status": 422, "message": "EventType must be one of click, conversion or view"}),
        Answer("rate limit", 429, {"status": 429, "message": "Too Many Requests"}),
    ],
    merges=[Merge("events", limit=1000, honours_alone=True)],
)

API = Endpoint(
    "https://insights.algolia.io/1/events",
    Header("X-Algolia-Application-Id", "{application_id}"),
    Header("X-Algolia-API-Key", "{api_key}"),
)
destination.judge(judge)

_KINDS = frozenset({"click", "view", "conversion"})
_SUBTYPES = frozenset({"addToCart", "purchase"})


#: names of the events that list products
_LISTS = frozenset({"product list viewed", "order completed"})


@converter
def query_id(value: Json) -> Json:
    """Return the ID unchanged, or None if it is text with white space."""
    return None if isinstance(value, str) and re.search(r"\s", value) else value


@converter
def words(value: Json) -> str:
    """Return text unchanged, and other values as text."""
    return javascript_text(value)


EVENT = Table(
    {
        "index": required("properties.index"),
        "queryID": query_id("properties.queryId"),
        "objectIDs": verbatim("properties.objectIds"),
        "filters": "properties.filters",
        "timestamp": "properties.timestamp",
        "value": "properties.value",
        "currency": "properties.currency",
        "userToken": first("userId", "anonymousId"),
    }
)
KIND = Table({"eventType": "properties.eventType"})
PRODUCT = Table(
    {
        "queryID": words("queryID"),
        "price": words("price"),
        "quantity": verbatim("quantity"),
        "discount": verbatim("discount"),
    },
    of="product",
)


@destination.on("track")
def send_interaction(event: Event, settings: AlgoliaSettings) -> Payload:
    """Return one Insights event about a filter, or about objects."""
    name = event_name(event).strip().lower()
    kind = _kind(event, name, settings)
    body = {**EVENT(event), "eventName": name, "eventType": kind, **_subtype(event, kind)}
    if not (isinstance(body.get("filters"), list) and body["filters"]):
        body.pop("filters", None)
    listed = _products(event) if name in _LISTS else []
    if listed:
        body["objectIDs"] = [product["objectId"] for product in listed]
    if kind == "click":
        body |= _places(event, body, listed)
    elif kind == "conversion" and listed:
        body["objectData"] = _details(listed, body.get("currency"))
    if not body.get("filters") and not body.get("objectIDs"):
        raise Missing("properties.filters", "properties.products", wants="filters or products with an objectId")
    return API.post(settings, body={"events": [body]})


def _kind(event: Event, name: str, settings: AlgoliaSettings) -> str:
    kind = KIND(event).get("eventType") or settings.kinds.get(name)
    if not kind:
        raise NotConfigured("event", name, setting="eventTypeSettings")
    kind = js_join(kind).strip().lower()
    if kind not in _KINDS:
        raise Misfit("properties.eventType", "click, view or conversion", kind, setting="eventTypeSettings")
    return kind


def _subtype(event: Event, kind: str) -> dict[str, Any]:
    subtype = event.properties.get("eventSubtype")
    fits = kind == "conversion" and isinstance(subtype, str) and subtype in _SUBTYPES
    return {"eventSubtype": subtype} if fits else {}


def _details(listed: Sequence[Mapping[str, Any]], currency: Json) -> list[dict[str, Json]]:
    """Return the prices and quantities of the converted objects; a quantity that is not a number is sent as null."""
    data = [PRODUCT(product) for product in listed]
    for entry in data:
        if "quantity" in entry:
            entry["quantity"] = _quantity(entry["quantity"])
    if is_empty(currency) and any("price" in entry for entry in data):
        raise Missing("properties.currency", wants="the currency of the prices")
    return data


def _quantity(value: Json) -> int | float | None:
    return int(value or 0) if isinstance(value, bool) or value == "" else leading_number(value)


def _places(event: Event, body: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the positions of the clicked objects in the search results."""
    own = event.properties.get("positions")
    values = [product.get("position") for product in listed] if listed else own if isinstance(own, list) else []
    places = [leading_number(value) for value in values]
    known = bool(places) and None not in places
    if known != bool(body.get("queryID")):
        raise Misfit(
            "properties.queryID",
            "a queryId and a position in each product of a click, or neither of them",
            body.get("queryID"),
        )
    return {"positions": places} if known else {}


def _products(event: Event) -> list[Mapping[str, Any]]:
    """Return the products, or an empty list unless all of them have an `objectId`."""
    listed = event.properties.get("products")
    if not isinstance(listed, list) or any(as_object(item).get("objectId") is None for item in listed):
        return []
    return listed
