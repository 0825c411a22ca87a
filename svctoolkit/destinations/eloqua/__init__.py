"""Oracle Eloqua: records of contacts and of custom objects, which RudderStack uploads in bulk.

`context.externalId` names the object of a record, and the field that identifies it; the user ID is the field's value.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import Missing, as_object, external_ids, js_join, objects, text


class EloquaSettings(Settings, frozen=True, kw_only=True):
    """Company, user and password are only used when the records are uploaded."""


_NOTHING: Any = object()

destination = DestinationType(
    "Eloqua",
    EloquaSettings,
    docs="https://docs.oracle.com/en/cloud/saas/marketing/eloqua-rest-api/bulk-overview.html",
    quirks=[
        "Records are uploaded in bulk: a payload has no endpoint.",
        "All values are sent as text; null is the text `null`.",
        "Without an external ID that names the identifying field, the user ID is sent as the field `undefined`.",
    ],
    answers=[
        Answer("success", 201, {"uri": "/syncs/1", "status": "pending"}),
        Answer("bad key", 401, "Not authenticated."),
        Answer("rate limit", 429),
        Answer("invalid field", 400, {"failures": [{"field": "fields", "constraint": "Must be a reference."}]}),
    ],
)


@destination.on("identify", "track")
def send_record(event: Event, _settings: EloquaSettings) -> Payload:
    """Return one record of a contact or of a custom object."""
    values = event.raw.get("traits") or event.raw.get("properties")
    if not isinstance(values, dict):
        raise Missing("traits", "properties", wants="the fields of the record")
    data = {key: text(value) for key, value in values.items()}
    body: dict[str, Any] = {"data": data, "type": "track"}
    entries = objects(event.context.get("externalId"))
    field = as_object(entries[0] if entries else None).get("identifierType", _NOTHING)
    if field is not _NOTHING:
        body["identifierFieldName"] = field
    if "userId" in event.raw:
        data["undefined" if field is _NOTHING else js_join(field)] = event.raw["userId"]
    object_ = external_ids(event)[0].object if entries else ""
    if object_:
        body["customObjectId"] = object_
    if object_ == "contacts":
        body["type"] = "identify"
    return Payload(endpoint="", json=body)
