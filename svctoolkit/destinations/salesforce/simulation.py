"""Salesforce's server: the login, leads and contacts, other records, and the search by which the mapping finds them.

Rules are in `facts.yaml`. Which fields an organization has, and which of them a record needs, is not simulated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from svctoolkit.json_types import Json
from svctoolkit.simulations import Request, Response, Row, Simulation, Visit
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.credentials import text

_TOKEN = "simulated"  # noqa: S105 - the token of every login
_DATA = "/services/data/{version}"


def _is_authentic(_config: Mapping[str, Json], request: Request) -> bool:
    """Whether there is a token. Which ones are valid only Salesforce knows: they outlive a run."""
    return bool(request.headers.get("authorization", "").removeprefix("Bearer").strip())


simulation = Simulation(
    "Salesforce",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=lambda _: {"authorization": f"Bearer {_TOKEN}"},
    auth="sf.auth",
    is_authentic=_is_authentic,
)
PEOPLE = simulation.table("profiles", ids=(("type", "Id"),), objects=("Lead", "Contact"))
RECORDS = simulation.table("objects", ids=(("type", "id"),), objects=("*",))
_PREFIXES = {"Lead": "00Q", "Contact": "003"}


@simulation.on("POST /services/oauth2/token", is_open=True)
def log_in(visit: Visit, request: Request) -> Response:
    """Return a token for the user's name and password."""
    given, config = request.object, visit.config
    password = text(config.get("password")) + text(config.get("initialAccessToken"))
    is_right = (given.get("username"), given.get("password")) == (config.get("userName"), password)
    is_login = given.get("grant_type") == "password" and "userName" in config
    return visit.answer("no_grant" if is_login and not is_right and visit.report("sf.auth") else "token")


# --- records


def _table(kind: str) -> tuple[str, str]:
    """Return the table of an object type, and the name of its records' ID there."""
    return (PEOPLE, "Id") if kind in _PREFIXES else (RECORDS, "id")


def _find(visit: Visit, kind: str, id: str) -> Row | None:
    table, name = _table(kind)
    return visit.find(table, {"type": kind, name: id})


@simulation.on(f"POST {_DATA}/sobjects/{{kind}}")
def create(visit: Visit, request: Request) -> Response:
    """Create a record."""
    kind = request.parts[1]
    table, name = _table(kind)
    id = f"{_PREFIXES.get(kind, 'a00')}{visit.tables[table].next_number:015d}"
    row = visit.create(table, {"type": kind, name: id})
    visit.write(table, row, request.object, op.set_value)
    return visit.answer("created", id=id)


@simulation.on(f"POST {_DATA}/sobjects/{{kind}}/{{id}}", f"PATCH {_DATA}/sobjects/{{kind}}/{{id}}")
def change(visit: Visit, request: Request) -> Response:
    """Change a record. One that is not known here exists in the account."""
    _, kind, id = request.parts
    table, name = _table(kind)
    row = _find(visit, kind, id) or visit.create(table, {"type": kind, name: id})
    visit.write(table, row, request.object, op.set_value)
    return visit.answer("done")


@simulation.on(f"DELETE {_DATA}/sobjects/{{kind}}/{{id}}")
def delete(visit: Visit, request: Request) -> Response:
    """Delete a record."""
    _, kind, id = request.parts
    row = _find(visit, kind, id)
    visit.delete(_table(kind)[0], row)
    return visit.answer("done") if row is not None else visit.answer("not_found")


# --- reading


def _shown(row: Row, kind: str, names: list[str]) -> dict[str, Json]:
    id = row.ids[_table(kind)[1]]
    own = {name.lower(): name for name in row.values["attributes"]}
    values = {own.get(name, name): row.values["attributes"].get(own.get(name, name)) for name in names if name != "id"}
    return {"attributes": {"type": kind, "url": f"/services/data/v50.0/sobjects/{kind}/{id}"}, "Id": id, **values}


@simulation.on(f"GET {_DATA}/sobjects/{{kind}}/{{id}}")
def read(visit: Visit, request: Request) -> Response:
    """Return a record."""
    _, kind, id = request.parts
    row = _find(visit, kind, id)
    if row is None:
        return visit.answer("not_found")
    return visit.answer("object", object=_shown(row, kind, [name.lower() for name in row.values["attributes"]]))


@simulation.on(f"GET {_DATA}/parameterizedSearch", f"POST {_DATA}/parameterizedSearch")
def search(visit: Visit, request: Request) -> Response:
    """Return the records whose field `in`, or e-mail address, is the text that is searched for."""
    query = request.query
    kind, field = query.get("sobject", ""), query.get("in") or "Email"
    asked = query.get(f"{kind}.fields", "id").lower()
    names = [name for name in re.split(r"[,\s]+", asked) if name]
    rows = [
        row
        for row in visit.tables[_table(kind)[0]].find_by(field, query.get("q", ""))
        if row.ids["type"] == kind and row.shown
    ]
    return visit.answer("found", records=[_shown(row, kind, names) for row in rows])
