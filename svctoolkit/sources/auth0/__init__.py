"""Auth0: logs of an organization's tenant."""

from __future__ import annotations

import re
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.sources import FieldTable, SourceType, Webhook, crash, get, message, truthy
from svctoolkit.sources.auth0._names import NAMES

source = SourceType(
    "Auth0",
    "Auth0",
    label="Auth0",
    docs="https://auth0.com/docs/deploy-monitor/logs/log-event-type-codes",
    topic="body.data.type",
    quirks=(
        "Successful signups (`ss`) are identify calls without an event name; they have properties, too.",
        "A log without a type is dropped; a webhook with only such logs is refused with 400.",
        "Each event gets a new anonymousId, also with a user_id.",
    ),
)

_FIELDS = FieldTable(
    {
        "user_id": ("userId", "context.traits.userId"),
        "user_name": "context.traits.user_name",
        "details.auth.user.email": "context.traits.email",
        "details.auth.user.name": "context.traits.name",
        "ip": ("context.ip", "context.request_ip"),
        "user_agent": "context.userAgent",
        "client_id": "properties.client_id",
        "client_name": "properties.client_name",
        "details": "properties.details",
        "description": "properties.description",
        "type": "properties.source_type",
        "auth0_client": "properties.auth0_client",
        "isMobile": "properties.is_mobile",
        "connection": "traits.connection",
        "connection_id": "traits.connection_id",
        "date": ("originalTimestamp", "sentAt"),
    }
)
_GROUP_PATH = re.compile(r"/organizations/([^/]+)")


@source.maps
def map_logs(webhook: Webhook) -> list[dict[str, Json]]:
    """Return one event per log with a type."""
    body = webhook.body
    if body is None:
        raise crash("Cannot read properties of null (reading 'logs')")
    logs = get(body, "logs") if isinstance(body, dict) and truthy(body.get("logs")) else body
    found = [_map_log(log, webhook) for log in (logs if isinstance(logs, list) else [logs])]
    return [event for event in found if event is not None]


def _map_log(log: Json, webhook: Webhook) -> dict[str, Any] | None:
    if log is None:
        raise crash("Cannot destructure property 'data' of 'event' as it is null.")
    data = get(log, "data")
    code = get(data, "type")
    if not truthy(code):
        return None
    event = message("Auth0")
    if code == "ss":
        event["type"] = "identify"
    elif code == "sapi" and data.get("description") == "Add members to an organization":
        event["type"] = "group"
        path = get(data, "details", "request", "path")
        if isinstance(path, str) and (match := _GROUP_PATH.search(path)):
            event["groupId"] = match[1]
    else:
        event["event"] = NAMES.get(code, code) if isinstance(code, str) else code
    _FIELDS.fill(event, data)
    if "log_id" in log:
        event["properties"]["log_id"] = log["log_id"]
    event["anonymousId"] = webhook.random()
    return event
