"""Zendesk's server: users with their addresses and events, organizations and memberships.

Rules are in `facts.yaml`. Nearly all are general knowledge without a source, so this server loses nothing: it holds
what it gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.mapping import basic_auth
from svctoolkit.simulations import Request, Response, Row, Simulation, Visit, object_at
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.credentials import text
from svctoolkit.simulations.formats import is_filled


def _credentials(config: Mapping[str, Any]) -> Mapping[str, str]:
    return {"authorization": basic_auth(f"{text(config.get('email'))}/token", text(config.get("apiToken")))}


simulation = Simulation("Zendesk", facts=Path(__file__).with_name("facts.yaml"), credentials=_credentials)
USERS = simulation.table(
    "profiles",
    ids=("id", "external_id", "email"),
    makes=lambda number: {"id": 900_000_000_000 + number},
    blank={"attributes": {}, "groups": [], "identities": []},
)
ORGANIZATIONS = simulation.table(
    "groups",
    ids=(("key",), ("id",), ("name",)),
    makes=lambda number: {"key": 800_000_000_000 + number},
)
EVENTS = simulation.table("events", owner=USERS)
FIELDS = simulation.table("fields", ids=(("of", "key"),))


def _number(id: str) -> Json:
    """Return an ID of a path as Zendesk's numbers."""
    return int(id) if id.isdecimal() and len(id) < 16 else id


def _user(visit: Visit, id: Json) -> Row:
    return visit.resolve(USERS, {"id": _number(text(id))})


# --- users


@simulation.on("POST /api/v2/users/create_or_update.json", "POST /api/v2/users/create_or_update")
def save_user(visit: Visit, request: Request) -> Response:
    """Create the user, or change the one with the external_id, else with the e-mail address."""
    given = object_at(request.object, "user")
    ids = {name: given[name] for name in ("external_id", "email") if is_filled(given.get(name))}
    known = visit.find(USERS, ids)
    row = known or visit.create(USERS, {})
    new = dict(ids)
    if "email" in new and row.ids.get("email") not in (None, new["email"]):
        _add_address(row, new.pop("email"), visit.number, primary=False)
    elif "email" in new and "email" not in row.ids:
        _add_address(row, new["email"], visit.number, primary=True)
    visit.identify(USERS, row, new)
    others = {n: v for n, v in given.items() if n not in ("id", "external_id", "email", "user_fields")}
    visit.write(USERS, row, {**others, **object_at(given, "user_fields")}, op.set_value)
    return visit.answer("object" if known else "created", object={"user": _shown(row)})


def _add_address(row: Row, address: Json, number: int, *, primary: bool) -> None:
    """Add an address: the first is primary, further ones are secondary."""
    if all(each["value"] != address for each in row.values["identities"]):
        identity = {"id": 700_000_000_000 + number, "type": "email", "value": address, "primary": primary}
        op.append_one(row.values, "identities", identity)


def _shown(row: Row) -> dict[str, Json]:
    return {**row.values["attributes"], **row.ids}


@simulation.on("PUT /api/v2/users/{id}/identities/{identity}", "DELETE /api/v2/users/{id}/identities/{identity}")
def change_identity(visit: Visit, request: Request) -> Response:
    """Change an address of a user, or delete it."""
    row, id = _user(visit, request.parts[0]), _number(request.parts[1].removesuffix(".json"))
    identity = next((each for each in row.values["identities"] if each["id"] == id), None)
    others = [each for each in row.values["identities"] if each["id"] != id]
    changed = {"id": id, "primary": True, **(identity or {}), **object_at(request.object, "identity")}
    row.values["identities"] = others if request.method == "DELETE" else [*others, changed]
    if request.method == "PUT" and changed["primary"] and changed.get("type", "email") == "email":
        visit.identify(USERS, row, {"email": changed.get("value")})
    visit.touch(USERS, row)
    return visit.answer("done") if request.method == "DELETE" else visit.answer("object", object={"identity": changed})


@simulation.on("POST /api/v2/users/{id}/events", "POST /api/v2/users/{id}/events.json")
def track(visit: Visit, request: Request) -> Response:
    """Keep an event of a user."""
    event = object_at(request.object, "event")
    values = {"name": event.get("type"), "properties": event.get("properties") or {}, "source": event.get("source")}
    visit.record(EVENTS, {**values, "time": event.get("created_at")}, _user(visit, request.parts[0]), 0)
    return visit.answer("accepted")


# --- organizations


@simulation.on("POST /api/v2/organizations/create_or_update.json", "POST /api/v2/organizations/create_or_update")
def save_organization(visit: Visit, request: Request) -> Response:
    """Create the organization, or change the one with the external_id, else with the name."""
    given = object_at(request.object, "organization")
    ids = {"id": given.get("external_id"), "name": given.get("name")}
    ids = {name: text(value) for name, value in ids.items() if is_filled(value)}
    known = visit.find(ORGANIZATIONS, ids)
    row = known or visit.create(ORGANIZATIONS, ids)
    others = {n: v for n, v in given.items() if n not in ("id", "external_id", "organization_fields")}
    visit.write(ORGANIZATIONS, row, {**others, **object_at(given, "organization_fields")}, op.set_value)
    about = {**row.values["attributes"], "id": row.ids["key"], "external_id": row.ids.get("id")}
    return visit.answer("object" if known else "created", object={"organization": about})


def _membership(row: Row, organization: Json) -> dict[str, Json]:
    id = organization * 1_000_000 + row.number if isinstance(organization, int) else f"{organization}-{row.number}"
    return {"id": id, "user_id": row.ids["id"], "organization_id": organization}


def _memberships(visit: Visit, row: Row) -> list[dict[str, Json]]:
    found = [
        visit.find(ORGANIZATIONS, {"id": group}) or visit.find(ORGANIZATIONS, {"name": group})
        for group in row.values["groups"]
    ]
    return [_membership(row, organization.ids["key"]) for organization in found if organization is not None]


@simulation.on("POST /api/v2/organization_memberships.json", "POST /api/v2/organization_memberships")
def join(visit: Visit, request: Request) -> Response:
    """Add a user to an organization."""
    given = object_at(request.object, "organization_membership")
    row, key = _user(visit, given.get("user_id")), given.get("organization_id")
    organization = visit.find(ORGANIZATIONS, {"key": key}) or visit.create(ORGANIZATIONS, {"key": key, "id": text(key)})
    op.union(row.values, "groups", organization.ids.get("id", organization.ids.get("name")))
    visit.touch(USERS, row)
    return visit.answer("created", object={"organization_membership": _membership(row, key)})


@simulation.on("DELETE /api/v2/users/{id}/organization_memberships/{membership}")
def leave(visit: Visit, request: Request) -> Response:
    """Remove a user from an organization."""
    row, id = _user(visit, request.parts[0]), request.parts[1].removesuffix(".json")
    for group in list(row.values["groups"]):
        organization = visit.find(ORGANIZATIONS, {"id": group}) or visit.find(ORGANIZATIONS, {"name": group})
        if organization is not None and text(_membership(row, organization.ids["key"])["id"]) == id:
            op.remove(row.values, "groups", group)
    visit.touch(USERS, row)
    return visit.answer("done")


# --- custom fields


@simulation.on("POST /api/v2/user_fields.json", "POST /api/v2/organization_fields.json")
def create_field(visit: Visit, request: Request) -> Response:
    """Define a custom field."""
    of = request.path.rpartition("/")[2].partition("_")[0]
    field = object_at(request.object, f"{of}_field")
    row = visit.resolve(FIELDS, {"of": of, "key": field.get("key")})
    visit.write(FIELDS, row, field)
    return visit.answer("created", object={f"{of}_field": field})


@simulation.on("GET /api/v2/user_fields.json", "GET /api/v2/organization_fields.json")
def read_fields(visit: Visit, request: Request) -> Response:
    """Return the custom fields."""
    of = request.path.rpartition("/")[2].partition("_")[0]
    fields = [{"key": row.ids["key"], **row.values["attributes"]} for row in visit.shown(FIELDS) if row.ids["of"] == of]
    return visit.answer("object", object={f"{of}_fields": fields, "count": len(fields)})


# --- reading


@simulation.on("GET /api/v2/users/search.json", "GET /api/v2/users/search")
def search(visit: Visit, request: Request) -> Response:
    """Return the user with an e-mail address or external_id."""
    query = request.query
    value = query.get("query", "").removeprefix("email:").strip('"')
    ids = {"external_id": query["external_id"]} if "external_id" in query else {"email": value}
    rows = visit.tables[USERS].find_all(ids)
    return visit.answer("object", object={"users": [_shown(row) for row in rows], "count": len(rows)})


@simulation.on("GET /api/v2/users/{id}/identities", "GET /api/v2/users/{id}/identities.json")
def read_identities(visit: Visit, request: Request) -> Response:
    """Return the addresses of a user."""
    row = visit.find(USERS, {"id": _number(request.parts[0])})
    return visit.answer("object", object={"identities": row.values["identities"] if row else []})


@simulation.on("GET /api/v2/users/{id}/organization_memberships.json")
def read_memberships(visit: Visit, request: Request) -> Response:
    """Return the memberships of a user."""
    row = visit.find(USERS, {"id": _number(request.parts[0])})
    return visit.answer("object", object={"organization_memberships": _memberships(visit, row) if row else []})


@simulation.on("GET /api/v2/users/{id}/events")
def read_events(visit: Visit, request: Request) -> Response:
    """Return the events of a user."""
    row = visit.find(USERS, {"id": _number(request.parts[0])})
    values = [event.values for event in visit.rows_of(EVENTS, row)] if row else []
    events = [{"type": e["name"], "source": e["source"], "properties": e["properties"]} for e in values]
    return visit.answer("object", object={"events": events})


@simulation.on("GET /api/v2/users/{id}")
def read_user(visit: Visit, request: Request) -> Response:
    """Return a user."""
    row = visit.find(USERS, {"id": _number(request.parts[0].removesuffix(".json"))})
    return visit.answer("object", object={"user": _shown(row)}) if row else visit.answer("not_found")
