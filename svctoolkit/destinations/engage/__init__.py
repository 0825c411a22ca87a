"""Engage: users, their lists and their events.

identify writes the user, with flattened traits; track and page are events; group adds the user to a list or removes the
user from it. `context.externalId` may contain the user's ID (`engageId`) and lists (`engageListId`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Method, Payload, Settings, basic
from svctoolkit.destinations.engage._deletion import deletion
from svctoolkit.events import Event
from svctoolkit.mapping import (
    FIRST_NAME,
    LAST_NAME,
    TIME,
    USER_ID,
    Misfit,
    Missing,
    Table,
    as_object,
    default,
    first,
    javascript_text,
    js_join,
    objects,
    require_name,
    trait,
    unnest,
    value_of,
)
from svctoolkit.secrets import Secret


class ListId(msgspec.Struct, frozen=True, rename="camel"):
    """One list that users join."""

    list_id: str = ""


class EngageSettings(Settings, frozen=True, kw_only=True):
    public_key: str
    private_key: Secret
    list_ids: tuple[ListId, ...] = ()


destination = DestinationType(
    "Engage",
    EngageSettings,
    docs="https://engage.so/docs/api/users",
    quirks=[
        "The members of an object in a trait or property are sent under their own names.",
        "Page names are cut after 19 characters.",
    ],
    answers=[
        Answer("success", 200, {"uid": "u1", "email": "ada@shop.example"}),
        Answer("bad key", 401, {"error": "Invalid API key"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"error": "Invalid email address"}),
    ],
)
destination.deletes_with(deletion)

API = Endpoint("https://api.engage.so/v1", basic("public_key", "private_key"), JSON)

USER = Table(
    {
        "email": trait("email"),
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "number": trait("phone"),
        "created_at": TIME,
    }
)
PAGE = Table(
    {
        "url": first("context.page.url", "properties.url"),
        "title": first("context.page.title", "properties.title"),
        "search": first("properties.search", "context.page.search"),
        "referrer": first("properties.referrer", "context.page.referrer"),
        "pagepath": "context.page.path",
        "page_initial_referring_domain": "context.page.initial_referring_domain",
        "page_intial_referrer": "context.page.initial_referrer",
        "page_referring_domain": "context.page.referring_domain",
    }
)
MOMENT = Table({"timestamp": TIME})
MEMBER = Table({"subscribed": default(trait("subscriberStatus"), True)})
ENGAGE_ID = first("context.externalId.engageId", USER_ID)
_NOT_META = frozenset({
    "email", "firstName", "first_name", "firstname", "lastName", "last_name", "lastname", "phone",
})  # fmt: skip
_PAGE_NAME = 19


@destination.on("identify")
def send_user(event: Event, settings: EngageSettings) -> Payload:
    """Return the user, in the lists that the event names, or else in the configured lists."""
    lists = list(_list_ids(event)) or [entry.list_id for entry in settings.list_ids]
    traits = as_object(event.raw.get("traits"))
    own = {key: value for key, value in traits.items() if key not in _NOT_META or isinstance(value, dict)}
    body = {**USER(event), "meta": unnest(own)}
    if lists:
        body["lists"] = lists
    return API.put(settings, f"users/{_user_id(event)}", body)


@destination.on("track")
def send_event(event: Event, settings: EngageSettings) -> Payload:
    """Return the event with its properties."""
    name = require_name(event.raw.get("event"), "event")
    return _send_event(event, settings, name, unnest(event.properties))


@destination.on("page")
def send_view(event: Event, settings: EngageSettings) -> Payload:
    """Return the event `Viewed <category> <name> Page`."""
    words = [f"{javascript_text(word)} " for word in (event.raw.get("category"), event.raw.get("name")) if word]
    name = f"Viewed {''.join(words)[:_PAGE_NAME]} Page"
    return _send_event(event, settings, name, {**unnest(event.properties), **PAGE(event)})


@destination.on("group")
def send_member(event: Event, settings: EngageSettings) -> Payload:
    """Add the user to the list with the group's ID, or remove the user from it."""
    group_id = event.raw.get("groupId")
    if not group_id:
        raise Missing("groupId", wants="the ID of a list")
    operation = as_object(event.raw.get("traits")).get("operation") or "add"
    if operation not in ("add", "remove"):
        raise Misfit("traits.operation", "add or remove", operation)
    path = f"lists/{javascript_text(group_id)}/subscribers"
    if not value_of(event, ENGAGE_ID) and operation == "add":
        return API.post(settings, path, {**USER(event), **MEMBER(event)})
    method: Method = "DELETE" if operation == "remove" else "PUT"
    return API.request(settings, method, f"{path}/{_user_id(event)}", MEMBER(event))


def _list_ids(event: Event) -> Iterator[Any]:
    for entry in objects(event.context.get("externalId")):
        if entry.get("type") == "engageListId":
            list_id = entry.get("id")
            yield from list_id if isinstance(list_id, list) else [list_id]


def _user_id(event: Event) -> str:
    user_id = value_of(event, ENGAGE_ID)
    if not user_id:
        raise Missing("context.externalId.engageId", "userId")
    return js_join(user_id)


def _send_event(event: Event, settings: EngageSettings, name: str, properties: Mapping[str, Any]) -> Payload:
    body = {"event": name, **MOMENT(event), "properties": properties}
    return API.post(settings, f"users/{_user_id(event)}/events", body)
