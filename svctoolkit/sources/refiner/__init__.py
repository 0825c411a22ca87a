"""Refiner: answers to surveys."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.sources import Fields, FieldTable, SourceType, Webhook, crash, get, message, truthy

source = SourceType(
    "refiner",
    "Refiner",
    label="Refiner",
    docs="https://refiner.io/docs/kb/integrations/webhooks/",
    topic="body.triggered_event",
    quirks=("The attributes of a user become traits only without an email address.",),
)

_USER: Fields = {"remote_id": "userId", "response.received_at": "originalTimestamp"}
_FORM: Fields = {"form.uuid": "context.formUuid", "form.name": "context.formName"}
_IDENTIFY = FieldTable(
    {
        **_USER,
        **_FORM,
        "email": "context.traits.email",
        "segments": "context.traits.segments",
        "response.data": "traits",
    }
)
_TRACK = FieldTable(
    {
        **_USER,
        **_FORM,
        "triggered_event": "event",
        "form.uuid": ("context.formUuid", "properties.refiner_form_uuid"),
        "form.name": ("context.formName", "properties.refiner_form_name"),
        "response": "properties.response",
    }
)
_GROUP = FieldTable({**_USER, "account.remote_id": "groupId"})


@source.maps
def map_response(webhook: Webhook) -> list[dict[str, Json]]:
    """Return an identify event, a track event, and a group event for a user of an account."""
    body = webhook.body
    identify = message("Refiner", kind="identify")
    _IDENTIFY.fill(identify, body)
    if get(body, "email") is None and isinstance(attributes := get(body, "attributes"), dict):
        traits = identify["context"].setdefault("traits", {})
        traits.update({key: value for key, value in _members(attributes).items() if key not in traits})
    track = message("Refiner")
    _TRACK.fill(track, body)
    events = [identify, track]
    if "properties" not in track:
        raise crash("Cannot set properties of undefined (setting 'response')", "body.form")
    track["properties"]["response"] = _members(track["properties"].get("response"))
    group = message("Refiner", kind="group")
    _GROUP.fill(group, body)
    if truthy(group.get("groupId")):
        attributes = get(body, "account", "attributes") if isinstance(body, (dict, list)) else body
        group["traits"] = _members(attributes)
        events.append(group)
    return events


def _members(value: Json) -> dict[str, Json]:
    """The members that are not null; of a text or a list by number, as lodash reads them."""
    if isinstance(value, (str, list)):
        value = {str(number): item for number, item in enumerate(value)}
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else {}
