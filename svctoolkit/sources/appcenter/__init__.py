"""App Center: builds, releases and crashes of apps."""

from __future__ import annotations

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import Answer, FieldTable, SourceType, Webhook, echo, get, js_text, member, message, truthy

source = SourceType(
    "Appcenter",
    "App Center",
    label="APPCENTER",
    docs="https://learn.microsoft.com/en-us/appcenter/dashboard/webhooks/",
    topic="body.build_status",
    quirks=(
        "The time of a build is in `originalTimeStamp`, with a capital S, which nothing reads.",
        "A webhook with `text` (a test) is answered with its own body.",
        "Each event gets a new anonymousId.",
    ),
)

_FIELDS = FieldTable(
    {
        ("app_name", "app_display_name"): "context.app.name",
        "build_id": "context.app.build",
        ("short_version", "app_version"): "context.app.version",
        "bundle_identifier": "context.app.namespace",
        ("os", "platform"): ("context.device.type", "context.os.name"),
        "start_time": "originalTimeStamp",
        "sent_at": "sentAt",
    }
)
_BUILDS = {"Succeeded": "Build Succeeded", "Broken": "Build Failed"}


@source.maps
def map_change(webhook: Webhook) -> dict[str, Json] | Answer:
    """Return one track event, or the body of a test."""
    body = webhook.body
    name = _name(body)
    if name is None:
        if truthy(get(body, "text")):
            return echo(body)
        raise InvalidWebhook("Unknown event type from Appcenter", field="body")
    event = message("APPCENTER")
    event["event"] = name
    _FIELDS.fill(event, body)
    event["properties"] = body
    event["anonymousId"] = webhook.random()
    return event


def _name(body: Json) -> str | None:
    status = member(body, "build_status")
    if truthy(status):
        return _BUILDS.get(status) if isinstance(status, str) else None
    if truthy(get(body, "release_id")) and truthy(version := get(body, "short_version")):
        return f"Released Version {js_text(version)}"
    return "App Crashed" if truthy(get(body, "id")) and truthy(get(body, "reason")) else None
