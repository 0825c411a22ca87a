"""SIGNL4: alerts and duties."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.sources import (
    Answer,
    FieldTable,
    SourceType,
    Webhook,
    echo,
    external_id,
    flat_rest,
    get,
    iso_without_ms,
    js_text,
    member,
    message,
    truthy,
)

source = SourceType(
    "signl4",
    "SIGNL4",
    label="Signl4",
    docs="https://connect.signl4.com/webhook/docs/index.html",
    topic="body.eventType",
    quirks=(
        "The names of properties are paths: `alert.statusCode`.",
        "Each event gets a new anonymousId.",
        "The test event (eventType 1) is answered with its own body.",
    ),
)

_FIELDS = FieldTable(
    {
        "id": "messageId",
        "eventRaisedUtc": "originalTimestamp",
        "user.username": "context.traits.name",
        "user.mailaddress": "context.traits.email",
    }
)
_TAKEN = _FIELDS.paths | {"user.id"}
_NAMES = {
    "200": "New Alert Created",
    "201": "Alert Confirmed",
    "202": "Alert Escalated",
    "203": "Alert Annotated",
    "300": "Duty Period Started",
    "301": "Duty Period Ended",
    "302": "Somebody Punched-In",
    "303": "Somebody Punched-Out",
}


@source.maps
def map_event(webhook: Webhook) -> dict[str, Json] | Answer:
    """Return one track event, or the body of a test."""
    body = webhook.body
    kind = member(body, "eventType")
    if kind == 1 and kind is not True:
        return echo(body)
    event = message("Signl4")
    _FIELDS.fill(event, body)
    event["event"] = _NAMES.get(js_text(kind), "Alert Updated")
    if js_text(kind) == "201" and get(body, "alert", "statusCode") == 4:
        event["event"] = "Alert Resolved"
    if truthy(time := event.get("originalTimestamp")):
        event["originalTimestamp"] = iso_without_ms(time)
    if truthy(user := get(body, "user", "id")):
        event["context"]["externalId"] = external_id("signl4UserId", user)
    event["properties"] = flat_rest(body, _TAKEN)
    event["anonymousId"] = webhook.random()
    return event
