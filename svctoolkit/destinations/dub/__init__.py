"""Dub: leads and sales of short links.

A track event becomes a lead or a sale, as the settings map its name. Properties without their own field become the
metadata of the event. https://dub.co/docs/api-reference/endpoint/track-lead
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Rows, Settings, bearer
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    USER_ID,
    Missing,
    NotConfigured,
    Table,
    converter,
    event_name,
    first,
    is_empty,
    js_join,
    number,
    required,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret


class DubSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    convert_amount_to_cents: bool = True
    event_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "Dub",
    DubSettings,
    docs="https://dub.co/docs/api-reference/endpoint/track-lead",
    quirks=["Nulls and empty lists and objects are removed from metadata."],
    answers=[
        Answer("success", 200, {"click": {"id": "c1"}, "customer": {"externalId": "u1"}}),
        Answer("bad key", 401, {"error": {"code": "unauthorized", "message": "Unauthorized: Invalid API key."}}),
        Answer("rate limit", 429, {"error": {"code": "rate_limit_exceeded", "message": "Too many requests."}}),
        Answer("invalid field", 422, {"error": {"code": "unprocessable_entity", "message": "clickId is required"}}),
    ],
)

API = Endpoint("https://api.dub.co/track", bearer("api_key"), JSON)


@converter
def quantity(value: Json) -> int | float | None:
    """Return a number or numeric text as a number; anything else is left out."""
    try:
        return number.of(value)
    except ValueError:
        return None


@converter
def amount(value: Json) -> int | float | None:
    """Return a number or numeric text as a number; true is 1, as in JavaScript. Anything else is ignored."""
    return int(value) if isinstance(value, bool) else quantity.of(value)


CUSTOMER = Table({"customerEmail": EMAIL, "customerAvatar": trait("avatar")})
NAME = trait("name")
CUSTOMER_ID = first("context.externalId.customerExternalId", USER_ID)
LEAD = Table({"clickId": required("context.dubClickId"), "eventQuantity": quantity("properties.eventQuantity")})
SALE = Table(
    {
        "clickId": "context.dubClickId",
        "amount": required(amount("properties.total", "properties.amount")),
        "paymentProcessor": "properties.paymentProcessor",
        "invoiceId": first("properties.invoiceId", "properties.orderId", "properties.order_id"),
        "currency": "properties.currency",
        "leadEventName": "properties.leadEventName",
    }
)
Kind: TypeAlias = Literal["lead", "sale"]
_KINDS: Mapping[str, Kind] = {"LEAD_CONVERSION": "lead", "SALES_CONVERSION": "sale"}
_OF_CUSTOMER = frozenset({"email", "firstName", "lastName", "name", "phone"})
_NOT_METADATA: Mapping[Kind, frozenset[str]] = {
    "lead": _OF_CUSTOMER | {"eventQuantity", "mode"},
    "sale": _OF_CUSTOMER | {
        "amount", "currency", "invoiceId", "leadEventName", "orderId", "order_id", "paymentProcessor", "total",
    },
}  # fmt: skip


@destination.on("track")
def send_conversion(event: Event, settings: DubSettings) -> Payload:
    """Return a lead, for which the request waits until Dub has stored it, or a sale with its amount."""
    name = event_name(event)
    kind = _kind(name, settings)
    body = {"eventName": name, **_customer(event, kind)}
    if kind == "lead":
        body |= {**LEAD(event), "mode": "wait"}
    else:
        body |= SALE(event)
        if settings.convert_amount_to_cents:
            # Half cents are rounded up, as in JavaScript; Python's `round` would round to even.
            body["amount"] = math.floor(body["amount"] * 100 + 0.5)
    metadata = {key: value for key, value in event.properties.items() if key not in _NOT_METADATA[kind]}
    metadata = _without_empty(metadata)
    return API.post(settings, kind, {**body, **({"metadata": metadata} if metadata else {})})


def _kind(name: str, settings: DubSettings) -> Kind:
    """Return the configured kind of an event with that name, in any case."""
    for row in settings.event_mapping:
        if row.from_.lower() == name.lower() and row.to in _KINDS:
            return _KINDS[row.to]
    raise NotConfigured("event", name, setting="eventMapping")


def _customer(event: Event, kind: Kind) -> dict[str, Any]:
    id = value_of(event, CUSTOMER_ID)
    if id is None:
        raise Missing("userId", "context.externalId.customerExternalId", wants=f"the customer of the {kind}")
    out = {"customerExternalId": id, **CUSTOMER(event)}
    names = (value_of(event, FIRST_NAME), value_of(event, LAST_NAME))
    name = value_of(event, NAME) or (" ".join(map(js_join, names)) if None not in names else None)
    return out if name is None else {**out, "customerName": name}


def _without_empty(value: Any) -> Any:
    """Remove nulls, and lists and objects that contain nothing else; keep empty strings."""
    if isinstance(value, dict):
        members = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in members.items() if item == "" or not is_empty(item)}
    if isinstance(value, list):
        return [item for item in map(_without_empty, value) if item == "" or not is_empty(item)]
    return value
