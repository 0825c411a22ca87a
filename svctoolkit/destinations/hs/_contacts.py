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
        "email": first(trait("email"), "properties.email"),
        "firstname": first(FIRST_NAME, "properties.firstname", "properties.first_name", "properties.firstName"),
        "lastname": first(LAST_NAME, "properties.lastname", "properties.last_name", "properties.lastName"),
        "phone": first(trait("phone"), "properties.phone"),
        "address": first(trait("address.street"), "properties.address.street"),
        "city": first(trait("address.city"), "properties.address.city"),
        "country": first(trait("address.country"), "properties.address.country"),
        "state": first(trait("address.state"), "properties.address.state"),
        "zip": first(trait("address.postalcode"), "traits.zip"),
        "company": first(trait("company.name"), "properties.company.name"),
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
    """Return the event's traits, else those of the context; its properties if these traits are empty."""
    own = event.raw.get("traits")
    return as_object(event.context.get("traits") if own is None else own) or event.properties


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
