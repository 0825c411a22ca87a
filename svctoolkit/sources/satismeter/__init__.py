"""Satismeter: answers to surveys."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.sources import FieldTable, SourceType, Webhook, crash, get, js_text, member, message, without_empty

source = SourceType(
    "satismeter",
    "Satismeter",
    label="SATISMETER",
    docs="https://help.satismeter.com/en/articles/87961-webhooks",
    topic="body.event",
    quirks=(
        "The time of the response is in properties.receivedAt only: events get the time at which they arrive.",
        "Empty texts, lists and objects are dropped at every level.",
    ),
)

_FIELDS = FieldTable(
    {
        "traits": "context.traits",
        "response.user.userId": "userId",
        "response.user.id": "anonymousId",
        "response.answers": "properties.answers",
        "response.pending": "properties.surveyPending",
        "response.dismissed": "properties.surveyDismissed",
        "response.created": "properties.receivedAt",
        "response.category": "properties.category",
        "campaign": "context.campaign",
        "response.location": "context.location",
        "response.user.deleted": "context.traits.userDeleted",
        "response.user.groups": "traits.groups",
        "response.device": "context.device",
        "response.language": "context.locale",
        "response.referrer": "context.page.referrer",
    }
)


@source.maps
def map_response(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    body = webhook.body
    name = member(body, "event")
    if isinstance(body, (dict, list)) and get(body, "response") is None:
        raise crash("Cannot read properties of undefined (reading 'id')", "body.response")
    event = message("SATISMETER")
    _FIELDS.fill(event, body)
    event["event"] = f"Survey {js_text(name, 'null' if isinstance(body, dict) and 'event' in body else 'undefined')}"
    if event.get("userId") is None and event.get("anonymousId") is None:
        event["anonymousId"] = get(body, "response", "id")
    return without_empty(event)
