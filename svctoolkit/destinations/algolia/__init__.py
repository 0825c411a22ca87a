"""Algolia Insights: clicks, views and conversions of the items of an index.

track sends one Insights event. Its kind is looked up in `eventTypeSettings` by event name, or else read from
`properties.eventType`.
"""

from __future__ import annotations

from collections.abc import Mapping
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


@converter
def quantity(value: Json) -> int | float | None:
    """Convert a number or numeric text; empty text is 0, and true is 1. Anything else is left out."""
    return int(value or 0) if isinstance(value, bool) or value == "" else leading_number(value)


@converter
def words(value: Json) -> str:
    """Return text unchanged, and other values as text."""
    return js_join(value)


EVENT = Table(
    {
        "index": required("properties.index"),
        "queryID": "properties.queryId",
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
        "quantity": verbatim(quantity("quantity")),
        "discount": verbatim("discount"),
    },
    of="product",
)


@destination.on("track")
def send_interaction(event: Event, settings: AlgoliaSettings) -> Payload:
    """Return one Insights event about a filter, or about the products' `objectId`s."""
    name = event_name(event)
    kind = _kind(event, name, settings)
    body = {**EVENT(event), "eventName": name, "eventType": kind, **_subtype(event, kind)}
    if not (isinstance(body.get("filters"), list) and body["filters"]):
        body.pop("filters", None)
    body |= _clicked_objects(event, body) if kind == "click" else _objects(event, body)
    if not body.get("filters") and not body.get("objectIDs"):
        raise Missing("properties.filters", "properties.products", wants="filters or products with an objectId")
    return API.post(settings, body={"events": [body]})


def _kind(event: Event, name: str, settings: AlgoliaSettings) -> str:
    kind = KIND(event).get("eventType") or settings.kinds.get(name.strip().lower())
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


def _objects(event: Event, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the viewed or bought objects, with their prices."""
    listed = _products(event)
    data = [PRODUCT(product) for product in listed]
    if any("price" in entry for entry in data) and not body.get("currency"):
        raise Missing("properties.currency", wants="the currency of the prices")
    return {"objectIDs": [product["objectId"] for product in listed], "objectData": data} if listed else {}


def _clicked_objects(event: Event, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the clicked objects, with their positions in the search results."""
    listed = _products(event)
    places = [leading_number(product.get("position")) for product in listed]
    known = bool(places) and None not in places
    if known != bool(body.get("queryID")):
        raise Misfit(
            "properties.queryID",
            "a queryId and a position in each product of a click, or neither of them",
            body.get("queryID"),
        )
    objects = {"objectIDs": [product["objectId"] for product in listed]} if listed else {}
    return {**objects, "positions": places} if known else objects


def _products(event: Event) -> list[Mapping[str, Any]]:
    """Return the products, or an empty list unless all of them have an `objectId`."""
    listed = event.properties.get("products")
    if not isinstance(listed, list) or any(as_object(item).get("objectId") is None for item in listed):
        return []
    return listed
