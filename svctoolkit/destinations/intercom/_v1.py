"""Version 1.4 of Intercom's API: users, with their companies inside.

It makes no look-ups: Intercom updates users and companies that already exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from svctoolkit.destinations._families.intercom import PERSON, company, name_of, tag_bodies, warehouse_traits
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    USER_ID,
    Leaf,
    Missing,
    Table,
    as_object,
    compact,
    flatten,
    is_empty,
    md5,
    text,
    value_of,
)

BROWSER = Table({"last_seen_user_agent": "context.userAgent"})
MEMBER = Table({"email": "context.traits.email"})
_PERSONAL = frozenset({
    "company", "createdAt", "email", "firstName", "firstname", "lastName", "lastname", "name", "phone",
    "unsubscribedFromEmails", "userId",
})  # fmt: skip
_NOT_MAPPED = frozenset({"custom_attributes", "external_id"})  # RudderStack leaves them out
_COMPANY_KEYS = frozenset({"id", "name", "industry", "remove"})


def user_body(event: Event, anonymous: bool, *, seen: bool, lookup: str) -> dict[str, Json]:
    """Return the body for /users. `seen` sets the last request to now; `anonymous` allows the anonymous ID as user ID.

    The trait `lookup` is not sent as an attribute: it names the field by which version 2 finds the contact.
    """
    if event.context.get("mappedToDestination"):
        traits = warehouse_traits(event)
        out = {key: value for key, value in traits.items() if key not in _NOT_MAPPED} | name_of(event)
        out.setdefault("user_id", event.raw.get("anonymousId") if anonymous else None)
    else:
        out = {**PERSON(event), **name_of(event), **BROWSER(event)}
        own = {key: value for key, value in event.traits.items() if key not in _PERSONAL and key != lookup}
        out |= {"user_id": _user_id(event, USER_ID, anonymous), **compact({"custom_attributes": flatten(own)})}
    if event.traits.get("company"):
        out["companies"] = list(_companies(as_object(event.traits["company"])))
    if not out.get("user_id") and not out.get("email"):
        raise Missing("userId", "traits.email")
    return {**{key: value for key, value in out.items() if value is not None}, "update_last_request_at": seen}


# Any: a handler of the type, with or without a context
def group_bodies(event: Event, anonymous: bool, look_up: Callable[..., Any]) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield paths and bodies: the company, then the user in it. `look_up` sends the requests that set tags."""
    about = company(event, ".")
    tags = tag_bodies(event, {"company_id": about.get("company_id")})
    if tags:
        look_up("POST", "companies", about)
    for tag in tags:
        look_up("POST", "tags", tag)
    yield "companies", about
    user = {**compact({"user_id": _user_id(event, "userId", anonymous)}), **MEMBER(event)}
    if user:
        employer = {"company_id": event.raw["groupId"]} if "groupId" in event.raw else {}
        employer |= compact({"name": as_object(event.raw.get("traits")).get("name")})
        yield "users", {**user, "companies": [employer]}


def _user_id(event: Event, source: Leaf, anonymous: bool) -> Any:
    return value_of(event, source) or (event.raw.get("anonymousId") if anonymous else None)


def _companies(company: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the company with an ID, which Intercom requires; a company with only a name gets an ID derived from it."""
    if is_empty(company.get("id")) and is_empty(company.get("name")):
        return
    own = {key: value for key, value in company.items() if key not in _COMPANY_KEYS and value is not None}
    flat = {key: text(value) if isinstance(value, (Mapping, list)) else value for key, value in own.items()}
    out = {
        "company_id": company.get("id") or md5(text(company["name"])),
        **{key: company[key] for key in ("name", "industry") if key in company},
    }
    out["custom_attributes"] = flat
    if company.get("remove"):
        out["remove"] = True
    yield out
