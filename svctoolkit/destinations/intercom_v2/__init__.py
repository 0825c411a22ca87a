"""Intercom V2: contacts, their companies and their events, for accounts connected through OAuth.

identify creates a contact, or updates the one that Intercom finds by e-mail address, or by the field that the event's
options name as `lookup`; track sends an event of the contact; group creates or updates a company and adds the contact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Header,
    Payload,
    Settings,
    by_setting,
    oauth,
)
from svctoolkit.destinations._families.intercom import metadata, name_of
from svctoolkit.destinations.intercom_v2._judge import judge
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    TIME,
    USER_ID,
    Missing,
    Table,
    as_object,
    compact,
    first,
    flatten,
    lenient_seconds,
    number_or_none,
    path,
    required,
    trait,
    value_of,
)

_HOSTS = {
    "US": "https://api.intercom.io",
    "Europe": "https://api.eu.intercom.io",
    "Australia": "https://api.au.intercom.io",
}


class IntercomV2Settings(Settings, frozen=True, kw_only=True):
    api_server: Literal["US", "Europe", "Australia"] = "US"
    send_anonymous_id: bool = False


destination = DestinationType(
    "Intercom V2",
    IntercomV2Settings,
    docs="https://developers.intercom.com/docs/references/rest-api/api.intercom.io",
    names=("intercom",),
    quirks=[
        "Warehouse rows are mapped like other identify events: their columns are traits of the contact.",
        "A group event adds the contact to the company when it is mapped, and again when it is delivered.",
    ],
    answers=[
        Answer("success", 202, "", at="/events"),
        Answer("success", 200, {"type": "contact", "id": "5ba682d23d7cf92bef87bfd4", "role": "user"}),
        Answer("bad key", 401, {"type": "error.list", "errors": [{"code": "unauthorized", "message": "Unauthorized"}]}),
        Answer("rate limit", 429, {"errors": [{"code": "rate_limit_exceeded", "message": "Exceeded rate limit"}]}),
        Answer("invalid field", 400, {"type": "error.list", "errors": [{"code": "parameter_invalid"}]}),
    ],
    needs=["account", "lookup"],
)

API = Endpoint(
    by_setting("api_server", _HOSTS), JSON, oauth("accessToken"), ACCEPT_JSON, Header("Intercom-Version", "2.10")
)


CONTACT = Table(
    {
        "external_id": USER_ID,
        "email": trait("email"),
        "phone": trait("phone"),
        "signed_up_at": lenient_seconds(trait("createdAt")),
        "unsubscribed_from_emails": trait("unsubscribedFromEmails"),
        "owner_id": number_or_none(trait("ownerId")),
        "last_seen_at": lenient_seconds(trait("lastSeenAt")),
        "role": trait("role"),
        "avatar": first(trait("avatar"), trait("avatarURL"), trait("avatar_URL")),
    }
)
COMPANY = Table(
    {
        "company_id": required("groupId"),
        "name": "traits.name",
        "website": "traits.website",
        "plan": "traits.plan",
        "size": number_or_none("traits.size"),
        "industry": "traits.industry",
        "monthly_spend": number_or_none("traits.monthlySpend"),
        "remote_created_at": lenient_seconds("traits.remoteCreatedAt"),
    }
)
ACTION = Table({"email": EMAIL, "event_name": required("event"), "created_at": lenient_seconds(TIME)})
_NOT_COMPANY = frozenset({
    "email", "industry", "monthlySpend", "name", "plan", "remoteCreatedAt", "size", "tags", "userId", "website",
})  # fmt: skip
_PERSONAL = frozenset({
    "avatar", "company", "createdAt", "email", "firstName", "firstname", "lastName", "lastname", "lastSeenAt", "name",
    "ownerId", "phone", "role", "unsubscribedFromEmails", "userId",
})  # fmt: skip


@destination.on("identify")
def send_person(event: Event, settings: IntercomV2Settings, context: Context) -> Payload:
    """Create or update the contact."""
    contact = _search(event, settings, context)
    body = _contact(event, settings)
    if contact:
        return API.put(settings, f"contacts/{contact}", body, context=context)
    return API.post(settings, "contacts", body, context=context)


@destination.on("track")
def send_action(event: Event, settings: IntercomV2Settings, context: Context) -> Payload:
    """Return an event of the contact, with flat metadata; its options may name the contact's `id`."""
    own_id = destination.options(event).get("id")
    body = {**compact({"user_id": _user(event, settings), "id": own_id}), **ACTION(event)}
    if "user_id" not in body and "email" not in body:
        raise Missing("userId", "context.traits.email")
    if isinstance(event.raw.get("properties"), dict):
        body["metadata"] = metadata(event.properties)
    return API.post(settings, "events", body, context=context)


@destination.on("group")
def send_group(event: Event, settings: IntercomV2Settings, context: Context) -> Payload:
    """Return the company or, if Intercom has the contact, the contact's membership in it."""
    own = {key: value for key, value in event.traits.items() if key not in _NOT_COMPANY}
    about = {**COMPANY(event), **compact({"custom_attributes": flatten(own, "_")})}
    company_id = as_object(_ask(settings, context, "companies", about)).get("id")
    contact = _search(event, settings, context)
    place = f"contacts/{contact}/companies"
    if contact:
        _ask(settings, context, place, {"id": company_id})
    tags = event.traits.get("tags")
    for tag in tags if isinstance(tags, list) else []:
        _ask(settings, context, "tags", {"name": tag, "companies": [{"id": company_id}]})
    return (
        API.post(settings, place, {"id": company_id}, context=context)
        if contact
        else API.post(settings, "companies", about, context=context)
    )


def _user(event: Event, settings: IntercomV2Settings) -> Any:
    return value_of(event, USER_ID) or (event.raw.get("anonymousId") if settings.send_anonymous_id else None)


def _contact(event: Event, settings: IntercomV2Settings) -> dict[str, Any]:
    traits = as_object(event.raw.get("traits")) or as_object(event.context.get("traits"))
    own = {key: value for key, value in traits.items() if key not in _PERSONAL and key != _lookup_field(event)}
    more = compact({"external_id": _user(event, settings), "custom_attributes": flatten(own, "_")})
    return {**CONTACT(event), **name_of(event), **more}


def _lookup_field(event: Event) -> str:
    field = destination.options(event).get("lookup")
    return "email" if field is None else str(field)


def _search(event: Event, settings: IntercomV2Settings, context: Context) -> str:
    """Return the ID of the contact that Intercom finds by the lookup field; empty if there is none."""
    field = _lookup_field(event)
    places = (event.traits, as_object(event.context.get("traits")), event.raw)
    value = next(filter(None, map(path(field), places)), None)
    if value is None:
        raise Missing(f"traits.{field}")
    query = {"operator": "AND", "value": [{"field": field, "operator": "=", "value": value}]}
    listed = as_object(_ask(settings, context, "contacts/search", {"query": query})).get("data")
    return str(as_object(listed[0]).get("id") or "") if isinstance(listed, list) and listed else ""


def _ask(settings: IntercomV2Settings, context: Context, place: str, body: Mapping[str, Any]) -> Any:
    return context.ask(API.lookup(settings, place, "POST", body, context=context), field="userId")


destination.judge(judge)
