"""Pipedream: RudderStack calls are passed on, anything else becomes the properties of one event."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.sources import SourceType, Webhook, crash, first_true, get, message, truthy

source = SourceType(
    "pipedream",
    "Pipedream",
    label="PIPEDREAM",
    docs="https://pipedream.com/docs/workflows/",
    topic="body.type",
    quirks=("A call without an id becomes the properties of an event `pipedream_source_event`.",),
)

_CALLS = frozenset({"identify", "track", "page", "screen", "group", "alias"})
_IDS = (
    ("userId",),
    ("traits", "userId"),
    ("context", "traits", "userId"),
    ("traits", "id"),
    ("context", "traits", "id"),
    ("anonymousId",),
)


@source.maps
def map_call(webhook: Webhook) -> dict[str, Json]:
    """Return the call, or one track event with the body as properties."""
    body = webhook.body
    kind, user = get(body, "type"), first_true(*(get(body, *path) for path in _IDS))
    if truthy(kind) and not isinstance(kind, str):
        raise crash("event.type.toLowerCase is not a function", "body.type")
    if truthy(user) and truthy(kind) and kind.lower() in _CALLS:
        context = body.get("context")
        if isinstance(context, (str, list)):
            context = {str(number): item for number, item in enumerate(context)}
        return {**body, "context": context if isinstance(context, dict) else {}}
    event = message("PIPEDREAM")
    event["event"] = "pipedream_source_event"
    event["properties"] = body
    event["anonymousId"] = user if truthy(user) else webhook.random()
    return event
