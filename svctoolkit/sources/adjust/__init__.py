"""Adjust: callbacks whose data is in the query."""

from __future__ import annotations

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import (
    FieldTable,
    SourceType,
    Webhook,
    iso_of_ms,
    js_number,
    message,
    rest,
    truthy,
    unlist,
)

source = SourceType(
    "adjust",
    "Adjust",
    label="Adjust",
    docs="https://help.adjust.com/en/article/server-callbacks",
    topic="query.activity_kind",
    takes_get=True,
    quirks=(
        "The body is ignored: everything is read from the query.",
        "`adid` becomes the member `id ` of `context.device`, with a blank at its end.",
        "Each event gets a new anonymousId.",
    ),
)

_FIELDS = FieldTable(
    {
        "activity_kind": "properties.activity_kind",
        "event": "properties.event_token",
        "event_name": "event",
        "gps_adid": "properties.gps_adid",
        "idfa": "context.device.advertisingId",
        "idfv": "context.device.id",
        "adid": "context.device.id ",
        "tracker": "properties.tracker",
        "tracker_name": "properties.tracker_name",
        "tracker_token": "properties.tracker_token",
        "app_name": "context.app.name",
        "ip_address": ("context.ip", "request_ip"),
    }
)
#: Parameters that are not properties.
_TAKEN = _FIELDS.roots | {"created_at", "writeKey"}


@source.maps
def map_callback(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    if not webhook.query:
        raise InvalidWebhook("Query_parameters is missing", field="query")
    query = {name: unlist(values) for name, values in webhook.query.items() if values != []}
    event = message("Adjust")
    _FIELDS.fill(event, query)
    event.setdefault("properties", {}).update(rest(query, _TAKEN))
    created = query.get("created_at")
    if truthy(created):
        seconds = js_number(created)
        if seconds is None:
            raise InvalidWebhook(f'Failed to parse timestamp: "{created}"', field="query.created_at")
        event["timestamp"] = event["originalTimestamp"] = iso_of_ms(seconds * 1000)
    event["anonymousId"] = webhook.random()
    return event
