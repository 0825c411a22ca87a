"""The fields of HubSpot contacts and events, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.lexical import is_email
from svctoolkit.mapping import (
    FIRST_NAME,
    LAST_NAME,
    Misfit,
    Table,
    as_object,
    first,
    json_text,
    moment,
    number_or_none,
    text,
    trait,
)
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import microseconds

_DAY = 86_400_000_000

CONTACT = Table(
    {
        "email": trait("email"),
        "firstname": FIRST_NAME,
        "lastname": LAST_NAME,
        "phone": trait("phone"),
        "address": trait("address.street"),
        "city": trait("address.city"),
        "country": trait("address.country"),
        "state": trait("address.state"),
        "zip": first(trait("address.postalcode"), "traits.zip"),
        "company": trait("company.name"),
    }
)
EVENT = Table(
    {
        "utk": first("context.traits.utk", "properties.utk"),
        "email": first("context.traits.email", "properties.email", "context.externalId.0.id"),
        "occurredAt": first("properties.occurred_at", "timestamp", "originalTimestamp"),
        "objectId": first("context.traits.objectId", "properties.objectId"),
    }
)
PROPERTIES = Table(
    {
        "hs_asset_description": first("properties.assetDescription", "properties.hsAssetDescription"),
        "hs_asset_type": first("properties.assetType", "properties.hsAssetType"),
        "hs_campaign_id": "properties.campaignId",
        "hs_city": first("context.traits.address.city", "properties.address.city"),
        "hs_country": first("context.traits.address.country", "properties.address.country"),
        "hs_device_name": "context.device.name",
        "hs_element_class": first("properties.elementClass", "properties.hsElementClass"),
        "hs_element_id": first("properties.elementId", "properties.hsElementId"),
    }
)
PIXEL = Table({"_m": first("properties.revenue", "properties.value")})
_email = getter(trait("email"))


def email_of(event: Event) -> str:
    """Return the contact's e-mail address. Raises `MappingError` if it is missing or not an e-mail address."""
    address = _email(event.raw)
    if not isinstance(address, str) or not is_email(address):
        raise Misfit("traits.email", "an e-mail address", address)
    return address


def traits_of(event: Event) -> Mapping[str, Json]:
    """Return the event's traits, else its properties, else the traits of the context."""
    raw = event.raw
    return as_object(raw.get("traits") or raw.get("properties") or event.context.get("traits"))


def known(event: Event, contact: dict[str, Json], types: Mapping[str, str]) -> dict[str, Json]:
    """Add the other traits that have a HubSpot property, converted to the property's type, and return the contact."""
    for name, value in traits_of(event).items():
        key = "_".join(name.lower().replace(".", "_").split())
        if key in types and not contact.get(name):
            if types[key] == "number" and isinstance(value, str) and not _is_number(value):
                raise Misfit(f"traits.{name}", "a number, because the HubSpot property is one", value, case="type")
            contact[key] = _typed(value, types[key])
    return contact


def _is_number(value: str) -> bool:
    """Whether the string is a number, or empty."""
    return not value or number_or_none.of(value) != ""


def midnights(traits: Mapping[str, Json], types: Mapping[str, str]) -> dict[str, Json]:
    """Return the traits, with those that HubSpot stores as dates set to midnight UTC."""
    return {name: _typed(value, "date") if types.get(name) == "date" else value for name, value in traits.items()}


def _typed(value: Any, kind: str) -> Any:
    """Convert to the type of the property: a string (JSON for lists and objects) or a date (midnight UTC in ms)."""
    if kind == "string" and not isinstance(value, str):
        return "" if value is None else json_text(value) if isinstance(value, (list, dict)) else text(value)
    if kind == "date" and (when := moment(value)):
        return microseconds(when) // _DAY * _DAY // 1000
    return value
