"""Bloomreach Engagement: customers and their events.

A customer has a hard ID (the user ID) and a soft ID (the anonymous ID); events may contain more of both kinds in
`integrations.bloomreach.hardID` and `softID`. identify writes the customer; track, page and screen are events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Merge, Payload, Settings, basic
from svctoolkit.destinations.bloomreach._judge import answer_batch, judge
from svctoolkit.events import Event
from svctoolkit.mapping import (
    BIRTHDAY,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    TIME,
    USER_ID,
    Missing,
    Table,
    as_object,
    custom_traits,
    first,
    js_join,
    moment,
    not_null,
    required,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret


class BloomreachSettings(Settings, frozen=True, kw_only=True):
    api_base_url: str
    api_key: Secret
    api_secret: Secret
    project_token: str
    hard_id: str = msgspec.field(name="hardID")
    soft_id: str = msgspec.field(name="softID")


destination = DestinationType(
    "bloomreach",
    BloomreachSettings,
    docs="https://documentation.bloomreach.com/engagement/reference/batch-commands-2",
    quirks=[
        "Traits without their own field are taken from the event's context first, then from the event itself.",
        "Empty IDs are sent empty.",
    ],
    differences=[
        "`apiBaseUrl` must be a string; RudderStack sends requests to an address such as `true`.",
    ],
    answers=[
        Answer("success", 200, {"success": True, "results": [{"success": True}]}),
        Answer("bad key", 401, {"success": False, "errors": {"_global": ["Unauthorized"]}}),
        Answer("rate limit", 429, {"success": False, "errors": ["Too many requests"]}),
        Answer("invalid field", 400, {"success": False, "errors": ["customer_ids: no ID is given"]}),
    ],
    merges=[Merge("commands", wraps=True, limit=50)],
)

API = Endpoint("{api_base_url}/track/v2/projects/{project_token}/batch", JSON, basic("api_key", "api_secret"))


CUSTOMER = Table(
    {
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "email": EMAIL,
        "phone": PHONE,
        "city": trait("address.city"),
        "country": trait("address.country"),
        "birthday": BIRTHDAY,
    }
)
_NOT_CUSTOM = frozenset({
    "birthday", "city", "country", "email", "firstName", "first_name", "firstname", "lastName", "last_name", "lastname",
    "name", "phone",
})  # fmt: skip
SOMEBODY = first(USER_ID, "anonymousId")
MOMENT = required(not_null(TIME))
NAME = Table({"event": required("event")})
PAGE = Table({"category": first("category", "properties.category"), "name": first("name", "properties.name")})


@destination.on("identify")
def send_customer(event: Event, settings: BloomreachSettings) -> Payload:
    """Return the customer with all traits."""
    body = {"customer_ids": _ids(event, settings), "update_timestamp": _whole_second(event)}
    properties = {**CUSTOMER(event), **(custom_traits(event, _NOT_CUSTOM) or {})}
    return _send(settings, "customers", {**body, "properties": properties})


@destination.on("track", "page", "screen")
def send_action(event: Event, settings: BloomreachSettings) -> Payload:
    """Return an event with its own name, or `Viewed <category> <name> Page`."""
    name = NAME(event)["event"] if event.type == "track" else _page_name(event)
    body = {"customer_ids": _ids(event, settings), "timestamp": _whole_second(event), "event_type": name}
    if isinstance(event.raw.get("properties"), dict):
        body["properties"] = event.properties
    return _send(settings, "customers/events", body)


def _whole_second(event: Event) -> int | None:
    """Return seconds since 1970; numbers are milliseconds, and invalid times become null."""
    value = value_of(event, MOMENT)
    when = moment(int(value) if isinstance(value, bool) else value)
    return None if when is None else int(when.timestamp())


def _page_name(event: Event) -> str:
    return " ".join(["Viewed", *(js_join(word) for word in PAGE(event).values()), event.type.capitalize()])


def _ids(event: Event, settings: BloomreachSettings) -> dict[str, Any]:
    """Return the IDs of the event and of its options. A user ID in the traits is sufficient, but not sent."""
    if value_of(event, SOMEBODY) is None:
        raise Missing("userId", "anonymousId")
    more = as_object(as_object(event.raw.get("integrations")).get("bloomreach"))
    ids = {**as_object(more.get("hardID")), **as_object(more.get("softID"))}
    names = {"userId": settings.hard_id, "anonymousId": settings.soft_id}
    return {**{name: event.raw[path] for path, name in names.items() if path in event.raw}, **ids}


def _send(settings: BloomreachSettings, name: str, data: Mapping[str, Any]) -> Payload:
    return API.post(settings, body={"name": name, "data": data})


destination.judge(judge)
destination.answer_batch(answer_batch)
