"""Build an event of each type, with the members that every client adds.

>>> from datetime import datetime, timezone
>>> track("Signed Up", user_id="u1", message_id="m1", timestamp=datetime(2026, 1, 1, tzinfo=timezone.utc))
{'type': 'track', 'event': 'Signed Up', 'userId': 'u1', 'properties': {}, 'context': {}, 'messageId': 'm1', \
'timestamp': '2026-01-01T00:00:00.000Z', 'originalTimestamp': '2026-01-01T00:00:00.000Z'}
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypedDict, Unpack
from uuid import uuid4

from svctoolkit.json_types import Json


class Common(TypedDict, total=False):
    """Optional members that every builder accepts. `message_id` and `timestamp` are generated if absent."""

    anonymous_id: str
    context: Mapping[str, Any]
    integrations: Mapping[str, Any]
    message_id: str
    timestamp: datetime


class WithUser(Common, total=False):
    """`Common` for events whose `user_id` is optional, because they may have an `anonymous_id` instead."""

    user_id: str


def track(event: str, *, properties: Mapping[str, Json] | None = None, **common: Unpack[WithUser]) -> dict[str, Json]:
    """Build a track event: an action of a user."""
    return _build({"type": "track", "event": event}, {"properties": dict(properties or {})}, common)


def identify(user_id: str, *, traits: Mapping[str, Json] | None = None, **common: Unpack[Common]) -> dict[str, Json]:
    """Build an identify event. Its traits are in `traits` and in `context.traits`, as clients send them."""
    context = {**common.get("context", {}), "traits": dict(traits or {})}
    return _build(
        {"type": "identify"}, {"traits": dict(traits or {})}, {**common, "user_id": user_id, "context": context}
    )


def page(
    name: str = "",
    *,
    category: str = "",
    properties: Mapping[str, Json] | None = None,
    **common: Unpack[WithUser],
) -> dict[str, Json]:
    """Build a page event: a user saw a page of a website."""
    return _build(_with_name("page", name, category), {"properties": dict(properties or {})}, common)


def screen(
    name: str,
    *,
    category: str = "",
    properties: Mapping[str, Json] | None = None,
    **common: Unpack[WithUser],
) -> dict[str, Json]:
    """Build a screen event: a user saw a screen of an application."""
    return _build(_with_name("screen", name, category), {"properties": dict(properties or {})}, common)


def group(group_id: str, *, traits: Mapping[str, Json] | None = None, **common: Unpack[WithUser]) -> dict[str, Json]:
    """Build a group event: a user belongs to an organisation. `traits` are the organisation's."""
    return _build({"type": "group", "groupId": group_id}, {"traits": dict(traits or {})}, common)


def alias(user_id: str, previous_id: str, **common: Unpack[Common]) -> dict[str, Json]:
    """Build an alias event: the user `previous_id` becomes `user_id`."""
    return _build({"type": "alias", "previousId": previous_id}, {}, {**common, "user_id": user_id})


def _with_name(kind: str, name: str, category: str) -> dict[str, Any]:
    members = {"type": kind, "name": name, "category": category}
    return {k: v for k, v in members.items() if v}


def _build(head: dict[str, Any], body: dict[str, Any], common: WithUser) -> dict[str, Any]:
    when = common.get("timestamp") or datetime.now(UTC)
    if when.tzinfo is None:
        when = when.astimezone()  # a naive time is local time, as everywhere in Python
    stamp = iso(when)
    ids = {"userId": common.get("user_id"), "anonymousId": common.get("anonymous_id")}
    event = {**head, **{k: v for k, v in ids.items() if v}, **body, "context": dict(common.get("context", {}))}
    if "integrations" in common:
        event["integrations"] = dict(common["integrations"])
    event["messageId"] = common.get("message_id") or str(uuid4())
    event["timestamp"] = event["originalTimestamp"] = stamp
    return event


def iso(when: datetime) -> str:
    """Format a time as in events: UTC, with milliseconds and `Z`."""
    utc = when if when.tzinfo is UTC else when.astimezone(UTC)
    return utc.isoformat("T", "milliseconds")[: -len("+00:00")] + "Z"
