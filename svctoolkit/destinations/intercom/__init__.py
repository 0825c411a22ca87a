"""Intercom: contacts, their companies and their events.

identify creates a contact, or updates the one that Intercom finds by e-mail address (or by the field that the event's
options name as `lookup`) or by user ID. track sends an event of the contact. group creates or updates a company and
adds the contact to it. For accounts that still use version 1 of the API, users are sent instead of contacts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Header,
    Method,
    Payload,
    Settings,
    bearer,
)
from svctoolkit.destinations._families.intercom import (
    PERSON,
    amount,
    company,
    event_body,
    name_of,
    tag_bodies,
    time_of,
    unix_time,
    warehouse_traits,
)
from svctoolkit.destinations.intercom import _v1
from svctoolkit.destinations.intercom._deletion import deletion
from svctoolkit.destinations.intercom._judge import judge
from svctoolkit.events import Event
from svctoolkit.mapping import (
    USER_ID,
    Missing,
    Table,
    as_object,
    compact,
    first,
    flatten,
    path,
    trait,
    value_of,
    verbatim,
    warehouse_row,
)
from svctoolkit.secrets import Secret

_HOSTS = {"standard": "https://api.intercom.io", "eu": "https://api.eu.intercom.io", "au": "https://api.au.intercom.io"}
_VERSIONS = {"v1": "1.4", "v2": "2.10"}


class IntercomSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret = Secret("")
    api_server: Literal["standard", "eu", "au"] = "standard"
    api_version: Literal["v1", "v2"] = "v2"
    send_anonymous_id: bool = False
    update_last_request_at: bool = True

    def __post_init__(self) -> None:
        if not self.api_key:
            raise ValueError("apiKey: is required, the access token of the account")


destination = DestinationType(
    "Intercom",
    IntercomSettings,
    docs="https://developers.intercom.com/docs/references/rest-api/api.intercom.io",
    quirks=[
        "Numbers in time fields are read as milliseconds; values that are neither a time nor a number are dropped.",
        "If a contact has no e-mail address, the first external ID of the context is sent as its e-mail address.",
        "Custom attributes come from `context.traits` if it exists.",
        "A company without a size is sent with size null.",
        "The property `id` of a track event is sent twice: in the metadata, and as the ID of the event.",
    ],
    answers=[
        Answer("success", 202, "", at="/events"),
        Answer("success", 200, {"type": "contact", "id": "5ba682d23d7cf92bef87bfd4", "role": "user"}),
        Answer(
            "bad key",
            401,
            {"type": "error.list", "errors": [{"code": "unauthorized", "message": "Access Token Invalid"}]},
        ),
        Answer(
            "rate limit",
            429,
            {
                "type": "error.list",
                "errors": [{"code": "rate_limit_exceeded", "message": "Exceeded rate limit of 83 in 10_seconds"}],
            },
        ),
        Answer(
            "invalid field",
            400,
            {
                "type": "error.list",
                "errors": [{"code": "parameter_invalid", "message": "Custom attribute does not exist"}],
            },
        ),
    ],
    differences=[
        "A group event from reverse ETL is mapped like any other; RudderStack sends its columns in addition to the "
        "company, or rejects it because of fields that RudderStack itself added.",
    ],
    needs=["lookup"],
)


def _host(settings: IntercomSettings) -> str:
    """Return the API host; version 1 has only one."""
    return _HOSTS["standard" if settings.api_version == "v1" else settings.api_server]


API = Endpoint(
    _host,
    JSON,
    bearer("api_key"),
    ACCEPT_JSON,
    Header("Intercom-Version", lambda settings: _VERSIONS[settings.api_version]),
    Header("User-Agent", "RudderStack"),
)

CONTACT = Table(
    {
        "external_id": verbatim(USER_ID),
        **PERSON.shape,
        "email": verbatim(first(trait("email"), "properties.email", "context.externalId.0.id")),
        "owner_id": amount(trait("ownerId")),
        "last_seen_at": unix_time(trait("lastSeenAt")),
        "role": verbatim(trait("role")),
        "avatar": verbatim(trait("avatar", "avatarURL", "avatar_URL")),
    }
)
_PERSONAL = frozenset({
    "avatar", "company", "createdAt", "email", "firstName", "firstname", "lastName", "lastname", "lastSeenAt", "name",
    "ownerId", "phone", "role", "unsubscribedFromEmails", "userId",
})  # fmt: skip


@destination.on("identify")
def send_person(event: Event, settings: IntercomSettings, context: Context) -> Payload:
    """Create or update the contact. A company in the traits with `remove` set is detached from the contact."""
    if settings.api_version == "v1":
        seen, lookup = settings.update_last_request_at, _lookup_field(event)
        body = _v1.user_body(event, settings.send_anonymous_id, seen=seen, lookup=lookup)
        return API.post(settings, "users", body)
    contact = _search(event, settings, context)
    if event.context.get("mappedToDestination"):
        body = {**warehouse_traits(event), **name_of(event)}
        if not body.get("email"):  # a contact with an e-mail address is found by it
            body = _as_contact(body)
    else:
        body = _contact(event, settings)
    if not body.get("external_id") and not body.get("email"):
        raise Missing("userId", "traits.email")
    if not contact:
        return API.post(settings, "contacts", body)
    employer = as_object(event.traits.get("company"))
    if employer.get("remove") and employer.get("id"):
        _leave(settings, context, contact, employer["id"])
    return API.put(settings, f"contacts/{contact}", body)


@destination.on("track")
def send_action(event: Event, settings: IntercomSettings) -> Payload:
    """Return an event of the contact, with flat metadata."""
    if event.context.get("mappedToDestination"):
        body = _as_contact(warehouse_traits(event))
        if not body.get("event_name"):
            raise Missing("traits.event_name")
        return API.post(settings, "events", body)
    time = compact({"created" if settings.api_version == "v1" else "created_at": time_of(event)})
    return API.post(settings, "events", {**time, **event_body(event, _user(event, settings))})


@destination.on("group")
def send_group(event: Event, settings: IntercomSettings, context: Context) -> Iterator[Payload]:
    """Yield the company; if Intercom has the contact, the contact's membership in the company that it returned."""
    if settings.api_version == "v1":
        ask = partial(_ask, settings, context)
        for place, body in _v1.group_bodies(event, settings.send_anonymous_id, ask):
            yield API.post(settings, place, body)
        return
    if not event.raw.get("groupId"):
        raise Missing("groupId")
    contact, about = _search(event, settings, context), company(event, "_", {"email"})
    tags = event.traits.get("tags")
    if not contact and not isinstance(tags, list):
        yield API.post(settings, "companies", about)
        return
    company_id = as_object(_ask(settings, context, "POST", "companies", about)).get("id")
    for body in tag_bodies(event, {"id": company_id}):
        _ask(settings, context, "POST", "tags", body)
    if contact:
        yield API.post(settings, f"contacts/{contact}/companies", {"id": company_id})
    else:
        yield API.post(settings, "companies", about)


def _user(event: Event, settings: IntercomSettings) -> Any:
    return value_of(event, USER_ID) or (event.raw.get("anonymousId") if settings.send_anonymous_id else None)


def _contact(event: Event, settings: IntercomSettings) -> dict[str, Any]:
    own = {key: value for key, value in _known_traits(event).items() if key not in _PERSONAL}
    own.pop(_lookup_field(event), None)
    return {
        **CONTACT(event),
        **name_of(event),
        **compact({"external_id": _user(event, settings), "custom_attributes": flatten(own, "_")}),
    }


def _as_contact(traits: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the ID field, which a mapping may still name as in version 1."""
    renamed = {"external_id": traits["user_id"]} if traits.get("user_id") and not traits.get("external_id") else {}
    return {**traits, **renamed}


def _known_traits(event: Event) -> Mapping[str, Any]:
    """Return the traits of the context, else those of the event. (In a group event, the latter describe the group.)"""
    return as_object(event.context.get("traits")) or event.traits


def _lookup_field(event: Event) -> str:
    field = destination.options(event).get("lookup")
    return "email" if field is None else str(field)


def _search(event: Event, settings: IntercomSettings, context: Context) -> str:
    """Return the ID of the contact that Intercom finds by the lookup field or the user ID; else an empty text.

    For warehouse rows, the external ID is the user ID.
    """
    field = _lookup_field(event)
    values = {field: path(field)(_known_traits(event))}
    values.setdefault("external_id", warehouse_row(event).id or value_of(event, USER_ID))
    terms = [
        {"field": name, "operator": "=", "value": value}
        for name, value in values.items()
        if value and not isinstance(value, (list, dict))
    ]
    if not terms:
        return ""
    query = {"query": {"operator": "OR" if len(terms) > 1 else "AND", "value": terms}}
    answer = as_object(_ask(settings, context, "POST", "contacts/search", query))
    listed = answer.get("data")
    return str(as_object(listed[0]).get("id") or "") if isinstance(listed, list) and listed else ""


def _leave(settings: IntercomSettings, context: Context, contact: str, company_id: Any) -> None:
    """Look up Intercom's ID of the company, and detach the company from the contact."""
    company = _ask(settings, context, "GET", "companies", params={"company_id": company_id})
    place = f"contacts/{contact}/companies/{as_object(company).get('id')}"
    _ask(settings, context, "DELETE", place)


def _ask(
    settings: IntercomSettings,
    context: Context,
    method: Method,
    place: str,
    body: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Any:
    request = API.lookup(settings, place, method, body, params=params or {})
    return context.ask(request, field="userId")


destination.judge(judge)
destination.deletes_with(deletion)
