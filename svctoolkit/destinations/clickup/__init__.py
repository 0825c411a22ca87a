"""ClickUp: a task for each event.

A task is named by the event's name or `properties.taskName`, and described by the properties. Properties that the
configuration maps become custom fields: the mapping looks up the list's fields and converts each value to the type of
its field. Options and labels that the field does not have are left out.
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
    js_join,
    objects,
    required,
    text,
    value_of,
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
    quirks=["If whitelistedEvents contains only empty names, all events are refused; without a list, all are sent."],
    differences=["A phone number needs its country code, as ClickUp requires; RudderStack's own check is unknown."],
    needs=["lookup"],
)

API = Endpoint("https://api.clickup.com/api/v2/list", JSON, Header("Authorization", "{api_token}"))


def _priority(value: Json) -> Json:
    if type(value) is int and 1 <= value <= 4:
        return value
    raise Misfit("properties.priority", "a whole number from 1 to 4", value)


_ASSIGNEE = "clickUpAssigneeId"
LIST = "context.externalId.clickUpListId"
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


def _assignees(event: Event) -> list[Json]:
    return [item.get("id") for item in objects(event.context.get("externalId")) if item.get("type") == _ASSIGNEE]


@destination.on("track")
def send_task(event: Event, settings: ClickUpSettings, context: Context) -> Payload:
    """Return the task, for the list and the assignees that external IDs name, or else for the configured list."""
    allowed = [next(iter(row.values()), "").strip() for row in settings.whitelisted_events]
    if allowed and text(event.raw.get("event")) not in [name for name in allowed if name]:
        raise NotConfigured("event", event.raw.get("event"), setting="whitelistedEvents")
    task = compact(TASK(event))
    priority = event.properties.get("priority")
    if priority is not None:
        task["priority"] = _priority(priority)
    if assignees := _assignees(event):
        task["assignees"] = assignees
    place = js_join(value_of(event, LIST) or settings.list_id)
    if settings.key_to_custom_field_name:
        answer = as_object(context.ask(API.lookup(settings, f"{place}/field"), setting="listId"))
        by_name = {field.get("name"): field for field in objects(answer.get("fields"))}
        rows = ((row.from_, by_name.get(row.to)) for row in settings.key_to_custom_field_name)
        if fields := custom_fields(event.properties, rows):
            task["custom_fields"] = fields
    return API.post(settings, f"{place}/task", task)
