"""Version 1.4 of Intercom's API: users, with their companies inside.

It asks no questions: a user or a company that is there already is updated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations.intercom._shared import (
    HAPPENED,
    PERSON,
    company,
    name_of,
    own_traits,
    warehouse_traits,
)
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import TIME, Table, is_empty, md5, seconds, text

EVENT = Table({**HAPPENED, "created": seconds(TIME)})
BROWSER = Table({"last_seen_user_agent": "context.userAgent"})
MEMBER = Table({"email": "context.traits.email"})
COMPANY = Table({"name": "name", "industry": "industry"}, of="traits.company")
_COMPANY_KEYS = frozenset({"id", "name", "industry", "remove"})


def user(event: Event, user_id: Any, *, seen: bool) -> dict[str, Any]:
    """The body of /users. `seen` makes now the user's last request."""
    if event.context.get("mappedToDestination"):
        traits = warehouse_traits(event)
        # the service leaves out custom attributes that such a mapping sets as one object
        out = {key: value for key, value in traits.items() if key != "custom_attributes"} | name_of(event)
    else:
        out = {**PERSON(event), **name_of(event), **BROWSER(event), **_id(user_id)}
        own = own_traits(event.traits, ".")
        if own:
            out["custom_attributes"] = own
        found = event.traits.get("company")
        if isinstance(found, Mapping):
            out["companies"] = list(_companies(found))
    if not out.get("user_id") and not out.get("email"):
        raise MappingError("needs a value at userId or traits.email", field="userId or traits.email")
    return {**out, "update_last_request_at": seen}


def group(event: Event, user_id: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Paths and bodies: the company, then the user in it."""
    about = company(event)
    yield "/companies", about
    who = {**_id(user_id), **MEMBER(event)}
    if who:
        yield "/users", {**who, "companies": [{key: about[key] for key in ("company_id", "name") if key in about}]}


def _id(user_id: Any) -> dict[str, Any]:
    return {"user_id": user_id} if user_id else {}


def _companies(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Intercom knows a company by its ID; one that has a name alone gets an ID made of it."""
    if is_empty(found.get("id")) and is_empty(found.get("name")):
        return
    own = {key: value for key, value in found.items() if key not in _COMPANY_KEYS and value is not None}
    flat = {key: text(value) if isinstance(value, Mapping | list) else value for key, value in own.items()}
    out = {"company_id": found.get("id") or md5(text(found["name"])), **COMPANY(found)}
    if flat:
        out["custom_attributes"] = flat
    if found.get("remove"):
        out["remove"] = True
    yield out
