"""ClickUp: a task for each event.

A task has the event's name, or `properties.taskName`, and what the properties say of it. Properties that the
configuration maps become custom fields: the list's fields are asked for first, and each value takes the form of its
field. An option or a label that the field does not have is left out.

Decisions. A phone number needs its country code, as ClickUp asks for it; which ones the service refuses is not shown.
"""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Header, Payload, Rows, Settings
from svctoolkit.destinations.clickup._fields import custom_fields, milliseconds
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    Misfit,
    NotConfigured,
    Table,
    as_object,
    compact,
    first,
    objects,
    required,
    text,
)
from svctoolkit.secrets import Secret


class ClickUpSettings(Settings, frozen=True, kw_only=True):
    api_token: Secret
    list_id: str
    key_to_custom_field_name: tuple[Rows, ...] = ()
    whitelisted_events: tuple[dict[str, str], ...] = ()


destination = DestinationType(
    "ClickUp",
    ClickUpSettings,
    docs="https://clickup.com/api/clickupreference/operation/CreateTask/",
    answers=[
        Answer("success", 200, {"id": "9hz", "name": "Room Booked"}),
        Answer("bad key", 401, {"err": "Token invalid", "ECODE": "OAUTH_025"}),
        Answer("rate limit", 429, {"err": "Rate limit reached", "ECODE": "APP_002"}),
        Answer("invalid field", 400, {"err": "Status not found", "ECODE": "CRTSK_001"}),
    ],
    quirks=["A list of whitelistedEvents that holds only empty names lets no event pass; no list lets all pass."],
)

API = Endpoint("https://api.clickup.com/api/v2/list/{list_id}", JSON, Header("Authorization", "{api_token}"))


def _priority(value: Json) -> Json:
    if type(value) is int and 1 <= value <= 4:
        return value
    raise Misfit("properties.priority", "a whole number from 1 to 4", value)


TASK = Table(
    {
        "name": required(first("properties.taskName", "event")),
        "description": "properties.description",
        "tags": "properties.tags",
        "time_estimate": "properties.timeEstimate",
        "status": "properties.status",
        "due_date": milliseconds("properties.dueDate"),
        "due_date_time": "properties.includeDueDateTime",
        "start_date": milliseconds("properties.startDate"),
        "start_date_time": "properties.includeStartDateTime",
        "notify_all": "properties.notifyAll",
    }
)


@destination.on("track")
def send_task(event: Event, settings: ClickUpSettings, context: Context) -> Payload:
    allowed = [next(iter(row.values()), "").strip() for row in settings.whitelisted_events]
    if allowed and text(event.raw.get("event")) not in [name for name in allowed if name]:
        raise NotConfigured("event", event.raw.get("event"), setting="whitelistedEvents")
    task = compact(TASK(event))
    priority = event.properties.get("priority")
    if priority is not None:
        task["priority"] = _priority(priority)
    if settings.key_to_custom_field_name:
        answer = as_object(context.ask(API.lookup(settings, "field"), setting="listId"))
        by_name = {field.get("name"): field for field in objects(answer.get("fields"))}
        rows = ((row.from_, by_name.get(row.to)) for row in settings.key_to_custom_field_name)
        if fields := custom_fields(event.properties, rows):
            task["custom_fields"] = fields
    return API.post(settings, "task", task)
