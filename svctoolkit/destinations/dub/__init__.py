"""Dub: leads and sales of links.

A track event goes where the settings map its name: a lead or a sale. Properties without a field of their own are the
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
    in_words,
    is_empty,
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
    quirks=["Metadata has no nulls, and no lists and objects in which nothing is."],
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
    """A number, or a text that is one; anything else is left out."""
    try:
        return number.of(value)
    except ValueError:
        return None


@converter
def amount(value: Json) -> int | float | None:
    """A number, or a text that is one; true is 1, as in JavaScript. Anything else does not count."""
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
    """A lead, which waits until Dub has it, or a sale with its amount."""
    name = event_name(event)
    kind = _kind(name, settings)
    body = {"eventName": name, **_customer(event, kind)}
    if kind == "lead":
        body |= {**LEAD(event), "mode": "wait"}
    else:
        body |= SALE(event)
        if settings.convert_amount_to_cents:
            # Half a cent goes up, as in JavaScript; Python's `round` would go to the even one.
            body["amount"] = math.floor(body["amount"] * 100 + 0.5)
    metadata = {key: value for key, value in event.properties.items() if key not in _NOT_METADATA[kind]}
    metadata = _without_empty(metadata)
    return API.post(settings, kind, {**body, **({"metadata": metadata} if metadata else {})})


def _kind(name: str, settings: DubSettings) -> Kind:
    """What the settings make of an event of that name, in small or capital letters."""
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
    name = value_of(event, NAME) or (" ".join(map(in_words, names)) if None not in names else None)
    return out if name is None else {**out, "customerName": name}


def _without_empty(value: Any) -> Any:
    """Without nulls, and without the lists and objects in which nothing else is; empty texts stay."""
    if isinstance(value, dict):
        members = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in members.items() if item == "" or not is_empty(item)}
    if isinstance(value, list):
        return [item for item in map(_without_empty, value) if item == "" or not is_empty(item)]
    return value
