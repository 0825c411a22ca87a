"""PagerDuty: incidents and services."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.sources import FieldTable, SourceType, Webhook, crash, get, iso_without_ms, member, message, truthy

source = SourceType(
    "pagerduty",
    "PagerDuty",
    label="PagerDuty",
    docs="https://developer.pagerduty.com/docs/webhooks-overview",
    topic="body.event.event_type",
    quirks=("`incident.delegated` becomes ` Incident Delegated`, with a blank at its start.",),
)

_FIELDS = FieldTable(
    {
        "agent.id": "userId",
        "agent": "context.traits",
        "id": "messageId",
        "occurred_at": "originalTimestamp",
        "resource_type": "properties.resourceType",
        "data": "properties.data",
        "client": "properties.client",
    }
)
_NAMES = {
    "incident.acknowledged": "Incident Acknowledged",
    "incident.annotated": "Incident Annotated",
    "incident.delegated": " Incident Delegated",
    "incident.escalated": "Incident Escalated",
    "incident.priority_updated": "Incident Priority Updated",
    "incident.reassigned": "Incident Reassigned",
    "incident.reopened": "Incident Reopened",
    "incident.resolved": "Incident Resolved",
    "incident.responder.added": "Incident Responder Added",
    "incident.responder.replied": "Incident Responder Replied",
    "incident.status_update_published": "Incident Status Update Published",
    "incident.triggered": "Incident Triggered",
    "incident.unacknowledged": "Incident Unacknowledged",
    "service.created": "Service Created",
    "service.deleted": "Service Deleted",
    "service.updated": "Service Updated",
}


@source.maps
def map_event(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    inner = member(webhook.body, "event")
    if inner is None:
        raise crash("Cannot read properties of undefined (reading 'event_type')", "body.event")
    event = message("PagerDuty")
    _FIELDS.fill(event, inner)
    if isinstance(inner, dict) and "event_type" in inner:
        kind = inner["event_type"]
        event["event"] = _NAMES.get(kind, kind) if isinstance(kind, str) else kind
    if truthy(time := get(inner, "occurred_at")):
        event["originalTimestamp"] = iso_without_ms(time)
    if not truthy(event.get("userId")):
        event["anonymousId"] = webhook.random()
    return event
