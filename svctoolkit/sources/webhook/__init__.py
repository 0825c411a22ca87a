"""Webhook: any JSON becomes the properties of one event."""

from __future__ import annotations

from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.sources import Setting, SourceType, Webhook, truthy, unlist

source = SourceType(
    "webhook",
    "Webhook",
    docs="https://www.rudderstack.com/docs/sources/event-streams/cloud-apps/webhook-source/",
    settings=(
        Setting(
            "putRequestDetailsInContext", "boolean", "Add method, URL, headers and query parameters to the context"
        ),
    ),
    quirks=(
        "Stripe, Typeform, GitHub, HubSpot, Mailchimp and others do not have a source type: use this one.",
        "Each event gets a new anonymousId, so events of one user are never connected.",
        "With request details, the write key is in `context.query_parameters` and in `context.url`.",
        "A GET request is answered 200, and nothing happens.",
    ),
)


@source.maps
def map_any(webhook: Webhook) -> dict[str, Json]:
    """Return one track event with the body as properties."""
    event: dict[str, Any] = {
        "type": "track",
        "event": "webhook_source_event",
        "properties": webhook.body,
        "anonymousId": webhook.random(),
        "context": _details(webhook) if truthy(webhook.config.get("putRequestDetailsInContext")) else {},
    }
    if webhook.body is None:
        del event["properties"]
    return event


def _details(webhook: Webhook) -> dict[str, Json]:
    request = webhook.request
    details = {name: request[name] for name in ("method", "url", "proto") if name in request}
    for name in ("headers", "query_parameters"):
        details[name] = {key: unlist(value) for key, value in (request.get(name) or {}).items() if value != []}
    return details
