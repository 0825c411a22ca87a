"""Shared by both Intercom types: names, times, companies, and event metadata."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    Missing,
    Table,
    compact,
    converter,
    flatten,
    is_empty,
    js_join,
    number,
    required,
    trait,
    value_of,
    verbatim,
    warehouse_id,
    whole_second,
)

#: whole seconds since 1970; numbers are milliseconds, and invalid times are left out
unix_time = converter(whole_second)


@converter
def amount(value: Json) -> int | float | None:
    """Convert a number, text or boolean to a number; None for anything else."""
    try:
        return number.of(int(value) if isinstance(value, bool) else value)
    except ValueError:
        return None


PERSON = Table(
    {
        "email": trait("email"),
        "phone": verbatim(trait("phone")),
        "signed_up_at": unix_time(trait("createdAt")),
        "unsubscribed_from_emails": trait("unsubscribedFromEmails"),
    }
)
COMPANY = Table(
    {
        "website": verbatim("website"),
        "plan": "plan",
        "industry": "industry",
        "monthly_spend": "monthlySpend",
        "remote_created_at": "remoteCreatedAt",
    },
    of="traits",
)
WHOSE = Table({"event_name": required("event"), "email": EMAIL, "id": "properties.id"})
NAME = trait("name")
_COMPANY = frozenset({"userId", "tags", "name", "size"})
_TYPED = ({"url", "value"}, {"amount", "currency"})  # Intercom shows these as a link and as money


def time_of(event: Event) -> int | None:
    """Return the time of the event; None if it is not a valid time."""
    time = event.raw.get("timestamp")
    return unix_time.of(event.raw.get("originalTimestamp") if time is None else time)


def name_of(event: Event) -> dict[str, Json]:
    """Return the trait `name` unchanged, or else first and last name, as far as known."""
    name = value_of(event, NAME)
    if name is None:
        name = " ".join(js_join(part) for part in (value_of(event, FIRST_NAME), value_of(event, LAST_NAME)) if part)
    return compact({"name": name})


def company(event: Event, joint: str, barred: Set[str] = frozenset()) -> dict[str, Json]:
    """Return the group as a company. Traits without an Intercom field become custom attributes, except for `barred`.

    `size` is always present, and null if not set.
    """
    traits = event.traits
    own = {k: value for k, value in COMPANY.rest(traits).items() if k not in _COMPANY and k not in barred}
    out = {**COMPANY(traits), "size": amount.of(traits.get("size")) or None}
    if event.raw.get("groupId") is not None:
        out["company_id"] = event.raw["groupId"]
    if traits.get("name") is not None:
        out["name"] = traits["name"]
    for key in ("monthly_spend", "remote_created_at"):
        if key in out:
            out[key] = amount.of(out[key])
    return {**out, **compact({"custom_attributes": flatten(own, joint)})}


def tag_bodies(event: Event, company: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the request bodies that tag the company with the group's tags."""
    tags = event.traits.get("tags")
    return [{"name": tag, "companies": [company]} for tag in tags] if isinstance(tags, list) else []


def metadata(properties: Mapping[str, Json]) -> dict[str, Json]:
    """Return flat metadata; only Intercom's own objects for links and money stay nested."""
    out: dict[str, Any] = {}
    for key, value in properties.items():
        typed = isinstance(value, dict) and any(members <= value.keys() for members in _TYPED)
        out |= {key: value} if typed else flatten({key: value})
    return out


def event_body(event: Event, user_id: Json) -> dict[str, Json]:
    """Return the user's IDs and the event's properties."""
    if not user_id and is_empty(value_of(event, EMAIL)):
        raise Missing("userId", "context.traits.email")
    out = {**WHOSE(event), **compact({"user_id": user_id})}
    if isinstance(event.raw.get("properties"), dict):
        out["metadata"] = metadata(event.properties)
    return out


def warehouse_traits(event: Event) -> dict[str, Json]:
    """Return traits from reverse ETL, which already have Intercom's names, together with the identifier."""
    return {**{key: value for key, value in event.traits.items() if value is not None}, **warehouse_id(event)}
