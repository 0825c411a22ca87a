"""RudderStack's own columns, set from fixed fields of an event whatever the user sent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misfit, text
from svctoolkit.warehouse.rows.values import is_blank, utc

#: column -> member of the event. `id`, `received_at` and the addresses are handled separately.
_MEMBERS = {
    "anonymous_id": "anonymousId",
    "user_id": "userId",
    "sent_at": "sentAt",
    "timestamp": "timestamp",
    "original_timestamp": "originalTimestamp",
    "channel": "channel",
}
_ADDRESSES = ("context_ip", "context_request_ip", "context_passed_ip")
_COMMON = ("id", "received_at", *_MEMBERS, *_ADDRESSES)
#: event type -> the columns that users cannot set
_RESERVED = {
    "track": (*_COMMON, "event_text", "event", "record_id"),
    "identify": _COMMON,
    "page": (*_COMMON, "name"),
    "screen": (*_COMMON, "name"),
    "group": (*_COMMON, "group_id"),
    "alias": (*_COMMON, "previous_id"),
    "extract": ("id", "received_at", "event"),
}
#: sources that extract records
RECORD_CATEGORIES = frozenset({"cloud", "singer-protocol"})
#: own column -> its source, for explanations
PLACES = {
    **_MEMBERS,
    "id": "messageId",
    "received_at": "receivedAt",
    "context_ip": "context.ip",
    "context_request_ip": "request_ip",
    "context_passed_ip": "context.ip",
    "event_text": "event",
    "event": "event",
    "name": "name",
    "group_id": "groupId",
    "previous_id": "previousId",
    "record_id": "recordId",
}
#: The fields that RudderStack's own columns are set from.
ORIGINS = frozenset(PLACES.values()) - {"context.ip"}


@cache
def own_names(event_type: str, upper_case: bool) -> frozenset[str]:
    """Return the own columns of an event type, in one case throughout: they depend on the type, not on the row."""
    names = _RESERVED.get(event_type, ())
    return frozenset(name.upper() for name in names) if upper_case else frozenset(names)


def common(event: Mapping[str, Json], id: Json, received_at: str) -> dict[str, Json]:
    """Return the columns of all tables except `users`."""
    values: dict[str, Any] = {"id": id, "received_at": received_at}
    for column, member in _MEMBERS.items():
        values[column] = event.get(member)
    values.update(addresses(event))
    return values


def of_user(event: Mapping[str, Json], received_at: str, *, with_times: bool) -> dict[str, Json]:
    """Return the columns of `users`; data lakes omit the three times."""
    times = {name: event.get(_MEMBERS[name]) for name in ("sent_at", "timestamp", "original_timestamp")}
    return {"received_at": received_at, **addresses(event), **(times if with_times else {})}


def addresses(event: Mapping[str, Json]) -> dict[str, Json]:
    """Return the addresses. `context_ip` is the event's own if it has one, else the request's."""
    context = event.get("context")
    passed = context.get("ip") if isinstance(context, Mapping) else None
    request = event.get("request_ip")
    first = request if is_blank(passed) else passed
    return {"context_ip": first, "context_request_ip": request, "context_passed_ip": passed}


def page_name(event: Mapping[str, Json]) -> Json:
    """Return the page's name, else the one in its properties."""
    name, properties = event.get("name"), event.get("properties")
    return properties.get("name") if is_blank(name) and isinstance(properties, Mapping) else name


def receipt(event: Mapping[str, Json], metadata_time: str, clock: str | datetime | None) -> str:
    """Return when the event was received: the event's own time, else that of the metadata, else now."""
    received = event.get("receivedAt")
    time = utc(received) if isinstance(received, str) else None
    if time or metadata_time:
        return time or utc(metadata_time) or metadata_time
    return clock if isinstance(clock, str) else iso(clock or datetime.now(UTC))


def uses_record_id(event: Mapping[str, Json], category: str) -> bool:
    """Whether a track event of a cloud source is stored under its record's id."""
    if category.lower() not in RECORD_CATEGORIES:
        return False
    context = event.get("context")
    sources = context.get("sources") if isinstance(context, Mapping) else None
    return isinstance(sources, Mapping) and not is_blank(sources.get("version"))


def record_id(event: Mapping[str, Json]) -> Json:
    """Return the record's id. Raises `MappingError` if it is blank, an object or a list."""
    value = event.get("recordId")
    if is_blank(value) or isinstance(value, (Mapping, list, tuple)):
        raise Misfit("recordId", "a value that is not empty, a list or an object", value)
    return value


def as_text(value: Json) -> str:
    """Return an id as a string: `7` is `"7"`."""
    return "" if value is None else text(value)
