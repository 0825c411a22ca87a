"""Cordial: actions of contacts, one or several in a request."""

from __future__ import annotations

from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.sources import (
    FieldTable,
    SourceType,
    Webhook,
    external_id,
    first_true,
    get,
    member,
    message,
    rest,
    truthy,
)

source = SourceType(
    "cordial",
    "Cordial",
    label="Cordial",
    docs="https://support.cordial.com/hc/en-us/articles/204570347-Webhooks",
    topic="body.event.a",
    quirks=("An empty list is refused with 400.",),
)

_FIELDS = FieldTable(
    {
        "event._id": "properties.event_id",
        "event.ts": ("timestamp", "sentAt", "originalTimestamp"),
        "event.d": "context.device",
        "contact._id": ("context.traits.userId", "userId"),
        "contact.channels.email.address": "context.traits.email",
    }
)
_LATER_FIELDS = FieldTable({"event.ats": ("timestamp", "sentAt", "originalTimestamp")})
_NAMES = {"crdl_app_install": "Application Installed", "crdl_app_open": "Application Opened"}
_TAKEN = frozenset({"_id", "d", "properties"})


@source.maps
def map_actions(webhook: Webhook) -> list[dict[str, Json]]:
    """Return one track event per action."""
    actions = webhook.body if isinstance(webhook.body, list) else [webhook.body]
    return [_map_action(action, webhook) for action in actions]


def _map_action(body: Json, webhook: Webhook) -> dict[str, Any]:
    action = member(body, "event")
    contact = get(body, "contact")
    event = message("Cordial")
    name = first_true(get(action, "a"), get(action, "action"))
    if name is not None or (isinstance(action, dict) and ("a" in action or "action" in action)):
        event["event"] = _NAMES.get(name, name) if isinstance(name, str) else name
    _FIELDS.fill(event, body)
    for key in ("timestamp", "sentAt", "originalTimestamp"):
        if event.get(key) == "":
            del event[key]
    _LATER_FIELDS.fill(event, body if body != "" else None)
    traits = event["context"].setdefault("traits", {})
    traits.update(rest(contact, ()))
    properties = event.setdefault("properties", {})
    properties.update(rest(get(action, "properties"), ()))
    properties.update(rest(action, _TAKEN))
    number = get(contact, "cID")
    event["context"]["externalId"] = external_id("cordialContactId", number) if truthy(number) else []
    if event.get("userId") is None:
        event["anonymousId"] = webhook.random()
    return event
