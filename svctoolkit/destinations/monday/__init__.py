"""Monday: creates a board item for each event listed in `whitelistedEvents`.

A look-up first gets the board's columns and groups. Each mapped column receives its property in the format of the
column's type; an email column also receives `properties.emailText`.
"""

from __future__ import annotations

from collections.abc import Mapping

from svctoolkit.destinations import (
    JSON,
    Answer,
    Context,
    Delivery,
    DestinationType,
    Endpoint,
    Header,
    Outcome,
    Payload,
    Reply,
    Rows,
    Settings,
    Tags,
    outcome_of_status,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    Missing,
    NotConfigured,
    NotFound,
    as_object,
    event_name,
    json_text,
    objects,
    text,
)
from svctoolkit.secrets import Secret

#: The first member of a column's value, by column type; other types accept a scalar.
_MEMBERS = {
    "color": "label", "status": "label", "email": "email", "boolean": "checked", "checkbox": "checked", "date": "date",
    "dropdown": "labels", "link": "url", "long-text": "text", "long_text": "text", "phone": "phone",
    "country": "countryName", "location": "address", "timezone": "timezone", "world_clock": "timezone",
}  # fmt: skip
#: members of a column's value from properties with fixed names
_MORE = {
    "email": {"text": "emailText"},
    "country": {"countryCode": "countryCode"},
    "location": {"lat": "latitude", "lng": "longitude"},
    "phone": {"countryShortName": "countryShortName"},
    "link": {"text": "linkText"},
}
_WRAPPED = frozenset({"color", "status", "email"})


class MondaySettings(Settings, frozen=True, kw_only=True):
    api_token: Secret
    board_id: str
    group_title: str = ""
    column_to_property_mapping: tuple[Rows, ...] = ()
    whitelisted_events: Tags = Tags()


destination = DestinationType(
    "Monday",
    MondaySettings,
    docs="https://developer.monday.com/api-reference/reference/items#create-an-item",
    answers=[
        Answer("success", 200, {"data": {"create_item": {"id": "1234567890"}}, "account_id": 1}),
        Answer("bad key", 401, {"errors": ["Not Authenticated"]}),
        Answer("rate limit", 429, {"error_message": "Rate Limit Exceeded.", "status_code": 429}),
        Answer("invalid field", 200, {"errors": [{"message": "Column not found"}], "account_id": 1}),
        Answer("server error", 200, {"error_message": "Internal server error", "status_code": 500}),
    ],
    quirks=[
        "Without whitelistedEvents, no events are sent. Names are compared case-insensitively.",
        "Without a groupTitle, an item without a name is sent, which Monday rejects.",
        "Monday responds 200 even to rejected requests: only the errors in the body show the rejection.",
    ],
    differences=[
        "The formats of dates, dropdowns and timelines follow Monday's documentation; those of countries, links, "
        "locations, phones, ratings and checkboxes one recorded case. An object is sent unchanged.",
        "The golden case of a board without columns was recorded with a different answer, which has columns.",
    ],
    needs=["lookup"],
)

API = Endpoint("https://api.monday.com/v2", JSON, Header("Authorization", "{api_token}"))


@destination.judge
def judge(delivery: Delivery) -> Outcome | None:
    """Abort on query errors; an error message comes with its own status."""
    reply = delivery.reply
    body = as_object(reply.body)
    status = body.get("status_code")
    if body.get("error_message") and isinstance(status, int):
        outcome = outcome_of_status(Reply(status, reply.headers, reply.body))
        return Outcome(outcome.outcome, text(body["error_message"]))
    if reply.successful and body.get("errors"):
        return Outcome("abort", json_text(body["errors"])[:300])
    return None


@destination.on("track")
def send_item(event: Event, settings: MondaySettings, context: Context) -> Payload:
    name = event_name(event)
    if name.lower() not in {allowed.lower() for allowed in settings.whitelisted_events}:
        raise NotConfigured("event", name, setting="whitelistedEvents")
    item = event.properties.get("name")
    if settings.group_title and not item:
        raise Missing("properties.name", wants="the name of the item", setting="groupTitle")
    board = _board(settings, context)
    columns = json_text(json_text(_values(event, settings, board)))
    group = f', group_id: "{_group(settings, board)}"' if settings.group_title else ""
    query = (
        f"mutation {{ create_item (board_id: {settings.board_id}, item_name: {json_text(item)}, "
        f"column_values: {columns}{group}) {{id}}}}"
    )
    return API.post(settings, body={"query": query})


def _board(settings: MondaySettings, context: Context) -> Mapping[str, Json]:
    fields = "name, columns {id title type settings_str}, groups {id title}"
    query = f"query {{ boards (ids: {settings.board_id}) {{ {fields} }}}}"
    question = API.lookup(settings, method="POST", body={"query": query})
    boards = objects(as_object(as_object(context.ask(question, setting="boardId")).get("data")).get("boards"))
    if not boards:
        raise NotFound("board for this token", settings.board_id, setting="boardId")
    return boards[0]


def _group(settings: MondaySettings, board: Mapping[str, Json]) -> str:
    for group in objects(board.get("groups")):
        if group.get("title") == settings.group_title:
            return text(group.get("id"))
    raise NotFound("board group", settings.group_title, setting="groupTitle")


def _values(event: Event, settings: MondaySettings, board: Mapping[str, Json]) -> dict[str, Json]:
    columns = {column.get("title"): column for column in objects(board.get("columns"))}
    values: dict[str, Json] = {}
    for row in settings.column_to_property_mapping:
        column = columns.get(row.from_)
        if column is None:
            raise NotFound("board column", row.from_, setting="columnToPropertyMapping")
        value = event.properties.get(row.to)
        if value is not None and value != "":
            values[text(column.get("id"))] = _value(event, text(column.get("type")), value)
    return values


def _value(event: Event, kind: str, value: Json) -> Json:
    if isinstance(value, dict) and kind not in _WRAPPED:
        return value
    member = _MEMBERS.get(kind)
    if member is None:
        return int(value) if kind == "rating" and isinstance(value, str) and value.isdecimal() else value
    if member == "labels" and not isinstance(value, list):
        value = [value]
    elif member == "checked":
        value = value is True or value == "true"
    more = {name: event.properties.get(source) for name, source in _MORE.get(kind, {}).items()}
    if kind == "email":
        more["text"] = more["text"] or value
    return {member: value, **{name: item for name, item in more.items() if item is not None}}
