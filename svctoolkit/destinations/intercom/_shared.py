"""What both versions of Intercom's API share: names, times, companies, the metadata of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    Shape,
    Table,
    as_object,
    first,
    flatten,
    full_name,
    is_empty,
    number,
    required,
    seconds,
    string,
    value_of,
    warehouse_id,
)

PERSON = Table(
    {
        "email": first("traits.email", "context.traits.email"),
        "phone": first("traits.phone", "context.traits.phone"),
        "signed_up_at": seconds("traits.createdAt", "context.traits.createdAt"),
        "unsubscribed_from_emails": first("traits.unsubscribedFromEmails", "context.traits.unsubscribedFromEmails"),
    }
)
COMPANY = Table(
    {
        "company_id": required(string("groupId")),
        "name": "traits.name",
        "website": "traits.website",
        "plan": "traits.plan",
        "size": number("traits.size"),
        "industry": "traits.industry",
        "monthly_spend": number("traits.monthlySpend"),
        "remote_created_at": number("traits.remoteCreatedAt"),
    }
)
HAPPENED: Shape = {"event_name": required(string("event")), "email": EMAIL}
_PERSONAL = frozenset({
    "avatar", "company", "createdAt", "email", "external_id", "firstName", "id", "lastName", "lastSeenAt", "name",
    "ownerId", "phone", "role", "unsubscribedFromEmails", "userId", "user_id",
})  # fmt: skip
_TYPED = ({"url", "value"}, {"amount", "currency"})  # Intercom shows these as a link and as money


def name_of(event: Event) -> dict[str, str]:
    """The full name, else what is known of it."""
    name = full_name(event)
    return {"name": name} if name else {}


def own_traits(traits: Mapping[str, Any], joint: str) -> dict[str, Any]:
    """The traits that Intercom has no field for, as flat custom attributes."""
    return flatten({key: value for key, value in traits.items() if key not in _PERSONAL}, joint)


def company(event: Event) -> dict[str, Any]:
    """The group as a company; the traits that Intercom has no field for are its custom attributes."""
    rest = COMPANY.rest(as_object(event.raw.get("traits")), "traits")
    own = flatten({key: value for key, value in rest.items() if key not in ("userId", "tags")})
    return {**COMPANY(event), **({"custom_attributes": own} if own else {})}


def metadata(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Intercom takes flat metadata, beside its own objects for links and money."""
    out: dict[str, Any] = {}
    for key, value in properties.items():
        typed = isinstance(value, Mapping) and any(members <= value.keys() for members in _TYPED)
        out |= {key: value} if typed else flatten({key: value})
    return out


def event_body(event: Event, user_id: Any) -> dict[str, Any]:
    """Whose event it is, and its properties."""
    if not user_id and is_empty(value_of(event, EMAIL)):
        raise MappingError("needs a value at userId or context.traits.email", field="userId or context.traits.email")
    whose = {"user_id": user_id} if user_id else {}
    return {**whose, **({"metadata": metadata(event.properties)} if event.properties else {})}


def warehouse_traits(event: Event) -> dict[str, Any]:
    """What reverse ETL took from the warehouse: traits under Intercom's own names, and the identifier among them."""
    return {**event.traits, **warehouse_id(event)}
