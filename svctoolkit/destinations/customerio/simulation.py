"""Customer.io's Track API: persons found by ID and e-mail address, their events and devices, merges, batches.

Rules with their checks and answers are in `facts.yaml`. The workspace identifies persons by ID and e-mail address, as
new ones do. What a merge does with events of more than 30 days ago is not simulated: they move, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.simulations import Fold, Request, Response, Row, Simulation, Visit, basic, object_at, objects
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.measures import MEASURES

simulation = Simulation(
    "Customer.io",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=basic("siteID", "apiKey"),
    auth="cio.auth",
)
PERSONS = simulation.table(
    "profiles",
    ids=("cio_id", "id", "email"),
    makes=lambda number: {"cio_id": f"{number:012x}"},
    blank={"attributes": {}, "devices": []},
)
EVENTS = simulation.table("events", owner=PERSONS, folds=(Fold("cio.event.dedupe", ("id",), "first", needs=("id",)),))
OBJECTS = simulation.table("objects", ids=(("type", "id"),))
SUPPRESSED = simulation.table("suppressed", ids=("id",), blank={})
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_NOT_ATTRIBUTES = frozenset({"_update", "_timestamp", "id", "cio_id"})


# --- persons


def _ids(name: str) -> dict[str, str]:
    """Return the identifier that the path of a request has."""
    if name.startswith("cio_"):
        return {"cio_id": name.removeprefix("cio_")}
    return {"email": name.lower()} if "@" in name else {"id": name}


def _is_lost(visit: Visit, ids: Mapping[str, Any], *, update_only: bool = False) -> bool:
    """Whether a request about a person is dropped: the person is suppressed, or does not exist and is not made."""
    if visit.find(SUPPRESSED, {"id": next(iter(ids.values()), None)}):
        return visit.report("cio.suppress", PERSONS, 0)
    if visit.find(PERSONS, ids) or not visit.account.is_new:
        return False
    if "cio_id" in ids:
        return visit.report("cio.person.cio_id", PERSONS, 0, value=ids["cio_id"])
    return update_only and visit.report("cio.person.update_only", PERSONS, 0, value=next(iter(ids.values()), None))


def _identify(visit: Visit, ids: dict[str, Any], attributes: Mapping[str, Any]) -> None:
    if _is_lost(visit, ids, update_only=attributes.get("_update") is True):
        return
    given = attributes.get("email")
    email = given.lower() if isinstance(given, str) else ""
    known, other = visit.find(PERSONS, ids), visit.find(PERSONS, {"email": email} if email else {})
    row = known or other or visit.create(PERSONS, {})
    if known is None:
        if other is not None:
            visit.report("cio.person.email", PERSONS, 0, value=email)
        visit.tables[PERSONS].claim(row, ids)
    is_conflict = known is not None and other not in (None, known)
    if is_conflict and visit.report("cio.person.conflict", PERSONS, 0, value=email):
        attributes = {name: value for name, value in attributes.items() if name != "email"}
    elif email:
        visit.tables[PERSONS].claim(row, {"email": email})
    id = attributes.get("id")
    if id not in (None, "", row.ids.get("id")):
        if "cio_id" not in ids and "id" in row.ids:
            visit.report("cio.person.change", PERSONS, 0, value=id)
        elif visit.find(PERSONS, {"id": id}) in (None, row):
            visit.tables[PERSONS].claim(row, {"id": id})
    visit.write(PERSONS, row, {name: value for name, value in attributes.items() if name not in _NOT_ATTRIBUTES})
    _join_anonymous(visit, row, attributes.get("anonymous_id"))


def _join_anonymous(visit: Visit, row: Row, id: Json) -> None:
    """Let the anonymous events of the last 30 days belong to a person, if the account merges events."""
    if id in (None, "") or not visit.account.get("event_merging", False):
        return
    earliest = visit.now.timestamp() - 86_400 * visit.limit("cio.anonymous")
    joined = visit.shown(
        EVENTS, lambda row: row.values.get("anonymous_id") == id and not row.owner and row.at >= earliest
    )
    for event in joined:
        visit.give(EVENTS, event, row)
    if joined:
        visit.report("cio.anonymous", PERSONS, 0, value=id)


@simulation.on("PUT /api/v1/customers/{id}")
def change(visit: Visit, request: Request) -> Response:
    """Create or change a person."""
    _identify(visit, _ids(request.parts[0]), request.object)
    return visit.answer("done")


@simulation.on("DELETE /api/v1/customers/{id}")
def delete(visit: Visit, request: Request) -> Response:
    """Delete a person with the events. A later request makes the person again."""
    visit.delete(PERSONS, visit.find(PERSONS, _ids(request.parts[0])))
    return visit.answer("done")


@simulation.on("POST /api/v1/customers/{id}/suppress", "POST /api/v1/customers/{id}/unsuppress")
def suppress(visit: Visit, request: Request) -> Response:
    """Delete a person and ignore later requests, until the person is unsuppressed."""
    id, is_suppressed = request.parts[0], request.path.endswith("/suppress")
    row = visit.resolve(SUPPRESSED, {"id": id}) if is_suppressed else visit.find(SUPPRESSED, {"id": id})
    if is_suppressed:
        visit.delete(PERSONS, visit.find(PERSONS, _ids(id)))
    else:
        visit.delete(SUPPRESSED, row)
    return visit.answer("done")


def _merge(visit: Visit, primary: Mapping[str, Any], secondary: Mapping[str, Any]) -> None:
    target, source = visit.find(PERSONS, primary), visit.find(PERSONS, secondary)
    if target is None and visit.account.is_new:
        visit.report("cio.merge", PERSONS, 0, what="dropped", value=next(iter(primary.values()), None))
    if target is None or source is None or target is source:
        return
    visit.merge(PERSONS, source, target, with_ids=False)
    visit.report("cio.merge", PERSONS, 0, value=next(iter(secondary.values()), None))


@simulation.on("POST /api/v1/merge_customers")
def merge(visit: Visit, request: Request) -> Response:
    """Merge the second person into the first one."""
    _merge(visit, object_at(request.object, "primary"), object_at(request.object, "secondary"))
    return visit.answer("done")


# --- devices


def _set_device(visit: Visit, ids: dict[str, Any], device: Mapping[str, Any] | None, id: Json) -> None:
    if _is_lost(visit, ids):
        return
    row = visit.resolve(PERSONS, ids)
    others = [known for known in row.values["devices"] if known.get("id") != id]
    row.values["devices"] = [*others, dict(device)] if device else others
    visit.touch(PERSONS, row)


@simulation.on("PUT /api/v1/customers/{id}/devices")
def add_device(visit: Visit, request: Request) -> Response:
    """Add a device to a person, or change it."""
    device = object_at(request.object, "device")
    _set_device(visit, _ids(request.parts[0]), device, device.get("id"))
    return visit.answer("done")


@simulation.on("DELETE /api/v1/customers/{id}/devices/{token}")
def remove_device(visit: Visit, request: Request) -> Response:
    """Remove a device of a person."""
    _set_device(visit, _ids(request.parts[0]), None, request.parts[1])
    return visit.answer("done")


# --- events


def _record(visit: Visit, event: Mapping[str, Any], row: Row | None, properties: Json, place: int) -> None:
    id = event.get("id")
    values = {"name": event.get("name"), "properties": properties or {}, "time": event.get("timestamp")}
    values |= {"id": id if isinstance(id, str) and _ULID.fullmatch(id) else None}
    visit.record(EVENTS, {**values, "anonymous_id": event.get("anonymous_id")}, row, place)


@simulation.on("POST /api/v1/customers/{id}/events")
def track(visit: Visit, request: Request) -> Response:
    """Keep an event of a person, who is made if necessary."""
    event, refused = visit.judge(EVENTS, request.object, 0)
    if refused:
        return visit.refusal(refused)
    ids = _ids(request.parts[0])
    if not _is_lost(visit, ids):
        _record(visit, event, visit.resolve(PERSONS, ids), event.get("data"), 0)
    return visit.answer("done")


@simulation.on("POST /api/v1/events")
def track_anonymous(visit: Visit, request: Request) -> Response:
    """Keep an anonymous event; its name stays as it is."""
    refusal = visit.refuse("events.anonymous", request.object, 0)
    if refusal is None:
        _record(visit, request.object, None, request.object.get("data"), 0)
    return refusal or visit.answer("done")


# --- batches


@simulation.on("POST /api/v2/batch", checks="request.batch")
def take_batch(visit: Visit, request: Request) -> Response:
    """Apply the valid entries; the others are named in the answer."""
    # The mapping's payload is one entry, which delivery wraps in a list.
    entries = request.items("batch") if "batch" in request.object else [request.object]
    batch = visit.batch()
    for place, entry in batch.judge("entries", entries):
        _apply(visit, entry, place)
    errors = [
        {"batch_index": e["place"], "reason": "invalid", "field": _field(visit, entries[e["place"]], e["field"])}
        | {"message": e["message"]}
        for e in batch.errors
    ]
    return visit.answer("partial", errors=errors) if errors else visit.answer("done")


def _field(visit: Visit, entry: Mapping[str, Any], field: str) -> str:
    """Return the path of the attribute that is too long."""
    most, size = visit.limit("cio.attr.value"), MEASURES["bytes"]
    long = [name for name, value in object_at(entry, field).items() if size(value, visit.now) > most]
    return f"{field}.{long[0]}" if long else field


def _apply(visit: Visit, entry: Mapping[str, Any], place: int) -> None:
    ids = {name: value for name, value in object_at(entry, "identifiers").items() if value not in (None, "")}
    action, attributes = entry.get("action"), object_at(entry, "attributes")
    if entry.get("type") == "object":
        if action == "identify":
            row = visit.resolve(OBJECTS, {"type": ids.get("object_type_id"), "id": ids.get("object_id")})
            visit.write(OBJECTS, row, attributes)
            op.union(row.values, "relationships", objects(entry.get("cio_relationships")))
        return
    person = {name: str(value).lower() if name == "email" else value for name, value in ids.items()}
    if action == "identify":
        _identify(visit, person, attributes)
    elif action in ("event", "page", "screen"):
        if not person or not _is_lost(visit, person):
            owner = visit.resolve(PERSONS, person) if person else None
            _record(visit, entry, owner, attributes, place)
    elif action == "delete":
        visit.delete(PERSONS, visit.find(PERSONS, person))
    elif action in ("add_device", "delete_device"):
        device = object_at(entry, "device")
        _set_device(visit, person, device if action == "add_device" else None, device.get("id"))
    elif action == "merge":
        _merge(visit, object_at(entry, "primary"), object_at(entry, "secondary"))


# --- reading


@simulation.on("GET /v1/customers/{id}/attributes", is_open=True)
def read(visit: Visit, request: Request) -> Response:
    """Return a person, as the App API does."""
    row = visit.find(PERSONS, _ids(request.parts[0]))
    if row is None:
        return visit.answer("unknown")
    attributes = {name: str(value) for name, value in row.values["attributes"].items()}
    customer = {"id": row.ids.get("id", ""), "identifiers": row.ids, "attributes": attributes}
    return visit.answer("person", customer={**customer, "devices": row.values["devices"]})
