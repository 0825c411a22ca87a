"""Mailchimp's server: members of audiences, their tags and events.

Rules with their checks and answers are in `facts.yaml`. A person is one profile in all audiences; `subscriptions` has
the status in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import md5
from pathlib import Path
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.mapping import basic_auth
from svctoolkit.simulations import Request, Response, Row, Simulation, Visit, basic_login, object_at
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.credentials import text


def _is_authentic(config: Mapping[str, Any], request: Request) -> bool:
    """Whether the password, or the token, is the key; any user is accepted."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    given = token if kind.lower() == "bearer" else basic_login(request)[1]
    return given == text(config.get("apiKey"))


simulation = Simulation(
    "Mailchimp",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=lambda config: {"authorization": basic_auth("apiKey", text(config.get("apiKey")))},
    auth="mc.auth",
    is_authentic=_is_authentic,
)


def _hash(address: Json) -> str:
    return md5(text(address).lower().encode(), usedforsecurity=False).hexdigest()


MEMBERS = simulation.table(
    "profiles",
    ids=("id", "email"),
    blank={"attributes": {}, "subscriptions": {}, "lists": [], "tags": []},
    derives=lambda ids: {"id": _hash(ids["email"])} if "email" in ids else {},
)
EVENTS = simulation.table("events", owner=MEMBERS)


# --- members


def _member(visit: Visit, audience: str, name: str) -> Row | None:
    """Return the member with this hash, or address, if it is in the audience."""
    row = visit.find(MEMBERS, {"id": _hash(name) if "@" in name else name})
    return row if row is not None and audience in row.values["lists"] else None


def _save(visit: Visit, audience: str, id: str, member: Mapping[str, Any]) -> Row:
    row = visit.resolve(MEMBERS, {"id": id})
    row.shown = True
    if member.get("email_address"):
        visit.identify(MEMBERS, row, {"email": text(member["email_address"]).lower()})
    states, before = row.values["subscriptions"], row.values["subscriptions"].get(audience)
    status = member.get("status") or before or member.get("status_if_new")
    row.values["subscriptions"] = {**states, audience: status}
    op.union(row.values, "lists", audience)
    others = {n: v for n, v in member.items() if n in ("language", "vip", "location", "email_type", "ip_signup")}
    visit.write(MEMBERS, row, {**others, **object_at(member, "merge_fields")}, op.set_value)
    _tag(row, member.get("tags"))
    return row


def _tag(row: Row, tags: Json) -> None:
    for tag in tags if isinstance(tags, list) else []:
        name, is_active = (tag.get("name"), tag.get("status") != "inactive") if isinstance(tag, dict) else (tag, True)
        (op.union if is_active else op.remove)(row.values, "tags", name)


@simulation.on("PUT /3.0/lists/{list}/members/{id}", "PATCH /3.0/lists/{list}/members/{id}")
@simulation.on("POST /3.0/lists/{list}/members")
def save_member(visit: Visit, request: Request) -> Response:
    """Add a member to an audience, or change it."""
    audience, address = request.parts[0], request.object.get("email_address")
    name = request.parts[1] if len(request.parts) > 1 else text(address)
    row = _save(visit, audience, _hash(name) if "@" in name else name, request.object)
    return visit.answer("object", object=_shown(row, audience))


@simulation.on("POST /3.0/lists/{list}", checks="request.batch")
def save_members(visit: Visit, request: Request) -> Response:
    """Add or change many members, and list those that are not kept."""
    audience, members = request.parts[0], request.items("members")
    batch, errors = visit.batch(), []
    saved: dict[bool, list[Json]] = {True: [], False: []}
    for place, member in batch.judge(MEMBERS, members):
        address = member.get("email_address")
        known = _member(visit, audience, _hash(address))
        is_kept = known is None or request.object.get("update_existing") is True
        if not is_kept and visit.report("mc.batch", MEMBERS, place, value=address):
            errors.append(_error(address, f"{address} is already a list member", "ERROR_CONTACT_EXISTS"))
            continue
        row = _save(visit, audience, _hash(address), member)
        saved[known is None].append(_shown(row, audience))
    errors += [_error(each["value"], each["error"], each["code"]) for each in batch.errors]
    counts = {"total_created": len(saved[True]), "total_updated": len(saved[False]), "error_count": len(errors)}
    lists = {"new_members": saved[True], "updated_members": saved[False], "errors": errors}
    return visit.answer("object", object={**lists, **counts})


def _error(address: Json, message: Json, code: Json) -> dict[str, Json]:
    return {"email_address": address, "error": message, "error_code": code}


@simulation.on("POST /3.0/lists/{list}/members/{id}/tags")
def tag(visit: Visit, request: Request) -> Response:
    """Add tags to a member, or remove those that are inactive."""
    row = _member(visit, *request.parts)
    if row is None:
        return visit.answer("not_found")
    _tag(row, request.object.get("tags"))
    visit.touch(MEMBERS, row)
    return visit.answer("done")


@simulation.on("DELETE /3.0/lists/{list}/members/{id}")
@simulation.on("POST /3.0/lists/{list}/members/{id}/actions/delete-permanent")
def delete(visit: Visit, request: Request) -> Response:
    """Remove a member from an audience; permanently, or from the last one, with the events."""
    row = _member(visit, *request.parts)
    if row is None:
        return visit.answer("not_found")
    row.values["subscriptions"] = {n: s for n, s in row.values["subscriptions"].items() if n != request.parts[0]}
    op.remove(row.values, "lists", request.parts[0])
    visit.touch(MEMBERS, row)
    if request.method == "POST" or not row.values["lists"]:
        visit.delete(MEMBERS, row)
    return visit.answer("done")


# --- events


@simulation.on("POST /3.0/lists/{list}/members/{id}/events")
def track(visit: Visit, request: Request) -> Response:
    """Keep an event of a member."""
    event, refused = visit.judge(EVENTS, request.object, 0)
    if refused:
        return visit.refusal(refused)
    audience, name = request.parts
    row = _member(visit, audience, name)
    if row is None and visit.account.is_new and visit.report("mc.event.member", EVENTS, 0, value=name):
        return visit.answer("not_found")
    # A member of an existing account whose address is not known here.
    row = row or visit.resolve(MEMBERS, {"id": _hash(name) if "@" in name else name}, shown=False)
    values = {"name": event.get("name"), "properties": event.get("properties") or {}, "time": event.get("occurred_at")}
    visit.record(EVENTS, values, row, 0)
    return visit.answer("done")


# --- reading


def _shown(row: Row, audience: str) -> dict[str, Json]:
    attributes = row.values["attributes"]
    about = {"id": row.ids["id"], "email_address": row.ids.get("email"), "list_id": audience}
    fields = {name: value for name, value in attributes.items() if name.isupper()}
    others = {name: value for name, value in attributes.items() if not name.isupper()}
    return {
        **others,
        **about,
        "status": row.values["subscriptions"].get(audience, "subscribed"),
        "merge_fields": fields,
    }


@simulation.on("GET /3.0/lists/{list}/members/{id}")
def read_member(visit: Visit, request: Request) -> Response:
    """Return a member of an audience."""
    row = _member(visit, *request.parts)
    return visit.answer("object", object=_shown(row, request.parts[0])) if row else visit.answer("not_found")


@simulation.on("GET /3.0/lists/{list}/members/{id}/events")
def read_events(visit: Visit, request: Request) -> Response:
    """Return the events of a member."""
    row = _member(visit, *request.parts)
    if row is None:
        return visit.answer("not_found")
    values = [event.values for event in visit.rows_of(EVENTS, row)]
    events = [{"occurred_at": e["time"], "name": e["name"], "properties": e["properties"]} for e in values]
    return visit.answer("object", object={"events": events, "total_items": len(events)})


@simulation.on("GET /3.0/lists/{list}")
def read_audience(visit: Visit, request: Request) -> Response:
    """Return an audience, with double opt-in as the account declares it."""
    id = request.parts[0]
    declared = visit.account.entry("lists", id) or {}
    is_double = declared.get("double_optin") is True or declared.get("opt_in") == "double"
    return visit.answer("object", object={"id": id, "name": id, "double_optin": is_double})
