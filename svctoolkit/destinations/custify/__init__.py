"""Custify: people, their companies and their events.

identify writes the person; group writes a company, then the person in it; track sends an event. Attributes are texts,
numbers and booleans: lists and objects are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Payload,
    Settings,
    bearer,
)
from svctoolkit.destinations.custify._deletion import deletion
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    TIME,
    USER_ID,
    Missing,
    Source,
    Table,
    as_object,
    compact,
    first,
    js_join,
    required,
    trait,
    value_of,
    warehouse_id,
)
from svctoolkit.secrets import Secret


class CustifySettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    send_anonymous_id: bool = False


destination = DestinationType(
    "Custify",
    CustifySettings,
    docs="https://docs.custify.com/",
    quirks=[
        "Warehouse rows are sent without e-mail address, name and telephone number.",
        "Properties that are 0, false or empty are not sent.",
        "Without a sign-up time, the time of the event is sent.",
        "group does not move a person who already has a company.",
    ],
    answers=[
        Answer("success", 200, {"success": True}),
        Answer("bad key", 401, {"errors": [{"message": "Unauthorized"}]}),
        Answer("rate limit", 429, {"errors": [{"message": "Too many requests"}]}),
        Answer("invalid field", 400, {"errors": [{"message": "invalid email"}]}),
    ],
    differences=["A configuration without `apiKey` is refused; RudderStack sends the token `undefined`."],
    needs=["lookup"],
)
destination.deletes_with(deletion)

API = Endpoint("https://api.custify.com", JSON, bearer("api_key"), ACCEPT_JSON)

PERSON = Table(
    {
        "email": trait("email"),
        "phone": trait("phone"),
        "session_count": trait("sessionCount"),
        "unsubscribed_from_emails": trait("unsubscribedFromEmails"),
        "unsubscribed_from_calls": trait("unsubscribedFromCalls"),
        "name": trait("name"),
        "signed_up_at": first(trait("signedUpAt"), TIME),
    }
)
#: The traits of a group event are the company's.
MEMBER = Table(
    {
        "email": "context.traits.email",
        "phone": "context.traits.phone",
        "session_count": "context.traits.sessionCount",
        "unsubscribed_from_emails": "context.traits.unsubscribedFromEmails",
        "unsubscribed_from_calls": "context.traits.unsubscribedFromCalls",
        "name": "context.traits.name",
        "signed_up_at": first("context.traits.signedUpAt", TIME),
    }
)
MEMBER_ID = first("userId", "traits.userId", "context.traits.userId", "context.traits.id")
GROUP_ID = required(first("groupId", "traits.groupId"))
_NOT_CUSTOM = frozenset({
    "company", "email", "name", "phone", "session_count", "signed_up_at", "unsubscribed_from_calls",
    "unsubscribed_from_emails", "userId", "user_id",
})  # fmt: skip
_COMPANY_FIELDS = ("name", "industry", "size", "website", "plan", "monthly_revenue", "churned", "signed_up_at")
ACTION = Table(
    {
        "email": EMAIL,
        "name": required("event"),
        "created_at": required(TIME),
        "company_id": first("properties.organization_id", "properties.company_id", "properties.companyId"),
    }
)


@destination.on("identify")
def send_person(event: Event, settings: CustifySettings) -> Payload:
    """Return the person, with attributes and the company in the traits."""
    traits = _traits(event)
    if event.context.get("mappedToDestination"):
        return API.post(settings, "people", {**_attributes(as_object(traits)), **warehouse_id(event)})
    company = as_object(as_object(traits).get("company"))
    return API.post(settings, "people", _person(event, settings, PERSON, USER_ID, traits, company))


@destination.on("track")
def send_action(event: Event, settings: CustifySettings) -> Payload:
    """Return an event with the event's name."""
    if event.context.get("mappedToDestination"):
        return API.post(settings, "event", {**as_object(_traits(event)), **warehouse_id(event)})
    action, user_id = ACTION(event), _user_id(event, settings)
    metadata = {key: value for key, value in _scalars(event.properties).items() if value}
    whose = compact({"user_id": user_id})
    if "userId" not in metadata:
        metadata |= whose
    return API.post(settings, "event", {**whose, **action, "metadata": metadata})


@destination.on("group")
def send_member(event: Event, settings: CustifySettings, context: Context) -> Payload:
    """Return the company, then the person who belongs to it."""
    group_id = value_of(event, GROUP_ID)
    traits = event.context.get("traits")
    company = as_object(as_object(traits).get("company"))
    person = _person(
        event, settings, MEMBER, MEMBER_ID, traits, company if company.get("id") else {"id": event.raw.get("groupId")}
    )
    fields = {key: event.traits[key] for key in _COMPANY_FIELDS if event.traits.get(key) is not None}
    own = {key: value for key, value in event.traits.items() if key not in _COMPANY_FIELDS and key != "id"}
    body = {"company_id": group_id, **fields, **compact({"custom_attributes": _scalars(own)})}
    context.ask(API.lookup(settings, "company", "POST", body), field="groupId")
    return API.post(settings, "people", person)


def _person(
    event: Event, settings: CustifySettings, table: Table, source: Source, traits: Any, company: Mapping[str, Any]
) -> dict[str, Any]:
    body = {**compact({"user_id": _user_id(event, settings, source)}), **table(event)}
    if "user_id" not in body and "email" not in body:
        raise Missing("userId", "traits.email")
    names = (value_of(event, FIRST_NAME), value_of(event, LAST_NAME))
    if "name" not in body and any(names):
        body["name"] = " ".join(js_join(name) for name in names if name)
    if isinstance(traits, dict):
        body["custom_attributes"] = _attributes(traits)
    if company.get("id"):
        body["companies"] = [{"company_id": company["id"], "remove": company.get("remove") or False}]
    return body


def _traits(event: Event) -> Any:
    """Return the event's traits, or else those of its context."""
    traits = event.raw.get("traits")
    return event.context.get("traits") if traits is None else traits


def _user_id(event: Event, settings: CustifySettings, source: Source = USER_ID) -> Any:
    return value_of(event, source) or (event.raw.get("anonymousId") if settings.send_anonymous_id else None)


def _attributes(traits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the traits without their own field."""
    return _scalars({key: value for key, value in traits.items() if key not in _NOT_CUSTOM})


def _scalars(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that Custify accepts as attributes."""
    return {key: value for key, value in values.items() if value is not None and not isinstance(value, (list, dict))}
