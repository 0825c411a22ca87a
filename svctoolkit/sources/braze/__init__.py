"""Braze Currents: message and behavior events, several in one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.mapping import nest_dotted
from svctoolkit.sources import FieldTable, Setting, SourceType, Webhook, get, iso_of_whole_seconds, message, truthy

source = SourceType(
    "Braze",
    "Braze Currents",
    label="Braze",
    docs="https://www.braze.com/docs/user_guide/data/braze_currents/event_glossary/message_engagement_events/",
    topic="body.events.0.event_type",
    settings=(Setting("customMapping", "rows", "New names of events: from Braze's name to yours, in the exact case"),),
    quirks=(
        "An event without event_type, or without user_id and external_user_id, is dropped silently if others remain.",
        "A later row of customMapping for the same name wins.",
    ),
)

_FIELDS = FieldTable(
    {
        "id": "messageId",
        "user.user_id": "anonymousId",
        "user.external_user_id": "userId",
        "user.device_id": "context.device.id",
        "user.timezone": "context.timezone",
        "properties.device_model": "context.device.model",
        "properties.os_version": "context.os.version",
        "properties.platform": "context.os.name",
        "properties.ad_id": "context.device.advertisingId",
        "properties.ad_tracking_enabled": "context.device.adTrackingEnabled",
        "properties.user_agent": "context.userAgent",
        "properties.email_address": "traits.email",
        "properties.to_phone_number": "traits.phone",
    }
)
#: Members of `properties` that go elsewhere.
_MAPPED = frozenset(
    {"device_model", "os_version", "platform", "ad_id", "ad_tracking_enabled", "user_agent", "email_address",
     "to_phone_number"}
)  # fmt: skip


@source.maps
def map_currents(webhook: Webhook) -> list[dict[str, Json]]:
    """Return one track event per Braze event that has a type and a user."""
    body = webhook.body[0] if isinstance(webhook.body, list) and webhook.body else webhook.body
    events = get(body, "events")
    if not isinstance(events, list):
        raise InvalidWebhook("eventList should be an array", field="body.events")
    names = _names(webhook.config.get("customMapping"))
    found = [event for item in events if (event := _map_event(item, names)) is not None]
    if not found:
        raise InvalidWebhook("All requests in the batch failed", field="body.events")
    return found


def _names(rows: Json) -> dict[str, Json]:
    """The new names of events."""
    pairs = [(get(row, "from"), get(row, "to")) for row in rows] if isinstance(rows, list) else []
    return {of: to for of, to in pairs if isinstance(of, str)}


def _map_event(item: Json, names: Mapping[str, Json]) -> dict[str, Any] | None:
    name = get(item, "event_type")
    if not truthy(name):
        return None
    event = message("Braze")
    event["event"] = names.get(name, name) if isinstance(name, str) else name
    _FIELDS.fill(event, item)
    if not (truthy(event.get("userId")) or truthy(event.get("anonymousId"))):
        return None
    if truthy(time := get(item, "time")):
        event["timestamp"] = iso_of_whole_seconds(time).removeprefix("+0")
    properties = get(item, "properties")
    if isinstance(properties, dict) and (kept := {k: v for k, v in properties.items() if k not in _MAPPED}):
        event["properties"] = nest_dotted(kept)
    return event
