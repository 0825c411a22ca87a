"""Ortto: people and their activities.

identify writes a person; track writes the activity that the configuration maps the event's name to. People are merged
by user ID, then by e-mail address. Only configured person attributes and activity properties are sent.
https://help.ortto.com/developer/latest/api-reference/person/merge.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from svctoolkit.destinations import (
    JSON,
    Answer,
    DestinationType,
    Endpoint,
    Header,
    Merge,
    Payload,
    Settings,
    by_setting,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_POSTAL_CODE,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    USER_ID,
    Missing,
    NotConfigured,
    Table,
    as_object,
    converter,
    event_name,
    first,
    not_null,
    trait,
    verbatim,
)
from svctoolkit.secrets import Secret

_HOSTS = {"au": "https://api.au.ap3api.com", "eu": "https://api.eu.ap3api.com", "other": "https://api.ap3api.com"}
_DAY = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)", re.ASCII)
#: Ortto's prefixes for the types of non-text fields.
_PREFIXES = {
    "longText": "txt",
    "number": "int",
    "integer": "int",
    "decimal": "int",
    "currency": "int",
    "boolean": "bol",
    "date": "dtz",
    "timeAndDate": "tme",
    "phone": "phn",
    "link": "lnk",
    "object": "obj",
    "singleSelect": "sst",
    "multiSelect": "mst",
}


class AttributeRow(msgspec.Struct, frozen=True, rename="camel"):
    """A trait, and the person attribute that it maps to."""

    rudder_traits: str = ""
    ortto_attribute: str = ""
    type: str = ""


class PropertyRow(msgspec.Struct, frozen=True, rename="camel"):
    """An event property, and the activity attribute that it maps to."""

    rudder_property: str = ""
    ortto_property: str = ""
    type: str = ""


class EventRow(msgspec.Struct, frozen=True, rename="camel"):
    """The name of an event in RudderStack and in Ortto, and its properties."""

    rs_event_name: str = ""
    ortto_event_name: str = ""
    event_properties: tuple[PropertyRow, ...] = ()


class OrttoSettings(Settings, frozen=True, kw_only=True):
    private_api_key: Secret
    instance_region: Literal["au", "eu", "other"]
    ortto_person_attributes: tuple[AttributeRow, ...] = ()
    ortto_events_mapping: tuple[EventRow, ...] = ()


destination = DestinationType(
    "Ortto",
    OrttoSettings,
    docs="https://help.ortto.com/developer/latest/api-reference/person/merge.html",
    quirks=[
        "Country and region are read from the traits; those of an address are not sent.",
        "A birthday must be a date (2020-05-26); anything else is left out.",
        "Person attributes come only from `context.traits`.",
        "Requests are never shared: every event is a batch of one.",
    ],
    merges=[Merge("people", limit=1), Merge("activities", limit=1)],
    answers=[
        Answer("success", 200, {"people": [{"person_id": "1", "status": "merged"}]}),
        Answer("bad key", 403, {"request_id": "1", "code": 403, "error": "Forbidden"}),
        Answer("rate limit", 429, {"request_id": "1", "code": 429, "error": "Too Many Requests"}),
        Answer("invalid field", 400, {"request_id": "1", "code": 400, "error": "Invalid request"}),
    ],
    differences=[
        "Field types other than text, longText and email were never observed: their prefixes are taken from Ortto's "
        "documentation.",
    ],
)

API = Endpoint(by_setting("instance_region", _HOSTS), Header("X-Api-Key", "{private_api_key}"), JSON)


@converter
def day(value: Json) -> dict[str, int] | None:
    """Convert to a date in Ortto's format; anything else is left out."""
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    year, month, day_of_month = map(int, match.groups())
    return {"year": year, "month": month, "day": day_of_month}


PERSON = Table(
    {
        "str::first": verbatim(FIRST_NAME),
        "str::last": verbatim(LAST_NAME),
        "str::email": verbatim(EMAIL),
        "str::postal": verbatim(ANY_POSTAL_CODE),
        "dtz::b": day(trait("birthday")),
        "str::ei": verbatim(USER_ID),
        "str::language": first("context.traits.language", "context.locale"),
        "bol::gdpr": "context.traits.gdpr",
    }
)
PLACES = Table(
    {
        "geo::city": verbatim(trait("address.city")),
        "geo::country": verbatim(trait("country")),
        "geo::region": verbatim(trait("region")),
    }
)
TELEPHONE = Table({"n": not_null(PHONE)})
CONSENT = Table({"bol::p": "context.traits.emailConsent", "bol::sp": "context.traits.smsConsent"})
TAGS = Table(
    {
        "tags": verbatim(first("context.traits.tags", "traits.tags")),
        "unset_tags": verbatim(first("context.traits.unset_tags", "traits.unset_tags")),
    }
)
LOCATION = Table({"source_ip": "context.ip"})


@destination.on("identify")
def send_person(event: Event, settings: OrttoSettings) -> Payload:
    """Return a person with its tags."""
    person = {"fields": {**_fields(event, settings), **CONSENT(event)}, **TAGS(event)}
    return _send(settings, "v1/person/merge", {"people": [person]})


@destination.on("track")
def send_activity(event: Event, settings: OrttoSettings) -> Payload:
    """Return an activity, with the person described by the event."""
    name = event_name(event)
    row = next((row for row in settings.ortto_events_mapping if row.rs_event_name == name), None)
    if row is None:
        raise NotConfigured("event", name, setting="orttoEventsMapping")
    fields = [(entry.rudder_property, entry.ortto_property, entry.type) for entry in row.event_properties]
    activity = {
        "fields": {**_fields(event, settings), **CONSENT(event)},
        "activity_id": f"act:cm:{_field_name(row.ortto_event_name)}",
        "attributes": _chosen(event.properties, fields),
        "location": LOCATION(event),
    }
    return _send(settings, "v1/activities/create", {"activities": [activity]})


def _fields(event: Event, settings: OrttoSettings) -> dict[str, Any]:
    person, places, phone = PERSON(event), PLACES(event), TELEPHONE(event)
    if "str::ei" not in person and "str::email" not in person:
        raise Missing("userId", "traits.email")
    for place in ("geo::city", "geo::country", "geo::region"):
        person[place] = {"name": places[place]} if place in places else {}
    if phone:
        person["phn::phone"] = phone
    rows = [(row.rudder_traits, row.ortto_attribute, row.type) for row in settings.ortto_person_attributes]
    return {**person, **_chosen(as_object(event.context.get("traits")), rows)}


def _chosen(values: Mapping[str, Json], rows: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Return the values that the rows select, under the rows' names and types."""
    return {
        f"{_PREFIXES.get(kind, 'str')}:cm:{_field_name(name)}": values[key]
        for key, name, kind in rows
        if values.get(key) is not None
    }


def _field_name(name: str) -> str:
    return re.sub(r"\s", "-", name.strip().lower())


def _send(settings: OrttoSettings, place: str, body: dict[str, Any]) -> Payload:
    return API.post(settings, place, {**body, "merge_by": ["str::ei", "str::email"]})
