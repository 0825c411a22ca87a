"""HubSpot's server: contacts and other CRM objects, their associations, and events.

Rules with their checks and answers are in `facts.yaml`. An account that declares no `properties` has HubSpot's usual
ones of contacts. What happens to an event of an unknown e-mail address is not documented: here it has no owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.destinations.hs import _crm
from svctoolkit.destinations.hs._crm import CONTACTS, OBJECTS, find, shown, table_of, type_of
from svctoolkit.json_types import Json
from svctoolkit.simulations import Fold, Request, Response, Row, Simulation, Visit, member, object_at, objects
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.credentials import Credentials, bearer, same_headers, text
from svctoolkit.simulations.formats import is_email, is_filled
from svctoolkit.simulations.json_text import text_of

_bearer: Credentials = bearer("accessToken")


def _credentials(config: Mapping[str, Any]) -> Mapping[str, str]:
    return _bearer(config) if config.get("authorizationType") == "newPrivateAppApi" else {}


def _is_authentic(config: Mapping[str, Any], request: Request) -> bool:
    """Whether the token is right; an account with a key, which HubSpot has retired, sends it in the query."""
    key = request.query.get("hapikey")
    return same_headers(_credentials)(config, request) and key in (None, text(config.get("apiKey")))


simulation = Simulation(
    "HubSpot",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=_credentials,
    auth="hs.auth",
    is_authentic=_is_authentic,
)
simulation.table(
    CONTACTS,
    ids=("id", "email"),
    makes=lambda number: {"id": str(100_000_000 + number)},
    objects=("contacts",),
    more={"email": "hs_additional_emails"},
)
simulation.table(OBJECTS, ids=(("type", "id"),), objects=("*",))
EVENTS = simulation.table(
    "events",
    owner=CONTACTS,
    folds=(Fold("hs.event.uuid", ("name", "id"), "first", within=365 * 86_400, needs=("id",)),),
)
ASSOCIATIONS = simulation.table("associations", ids=("key",), blank={})
BLOCKED = simulation.table("blocked", ids=("email",), blank={})


def _no_scope(visit: Visit, scope: str) -> Response | None:
    is_missing = visit.account.entry("scopes", scope) is None
    return visit.answer("no_scope", scope=scope) if is_missing and visit.report("hs.scope", value=scope) else None


# --- objects


@simulation.on("POST /crm/v3/objects/{kind}/batch/create", checks="request.batch")
@simulation.on("POST /crm/v3/objects/{kind}/batch/update", checks="request.batch")
@simulation.on("POST /crm/v3/objects/{kind}/batch/upsert", checks="request.batch")
def write_batch(visit: Visit, request: Request) -> Response:
    """Create, update or upsert objects. Only upserts keep the valid inputs of a request that has others."""
    kind, action = type_of(request.parts[0]), request.path.rpartition("/")[2]
    inputs = request.items("inputs")
    refusal = _no_scope(visit, f"crm.objects.{kind}.write") or _refusal(visit, kind, action, inputs)
    return refusal or _write(visit, kind, action, inputs)


def _write(visit: Visit, kind: str, action: str, inputs: list[dict[str, Any]]) -> Response:
    batch, results, errors = visit.batch(), [], []
    for place, entry in batch.judge(f"objects.{action}", inputs):
        error = _error(visit, kind, action, entry, place)
        if error is None:
            results.append(_save(visit, kind, action, entry, place))
        else:
            trace = {"objectWriteTraceId": [entry["objectWriteTraceId"]]} if "objectWriteTraceId" in entry else {}
            errors.append({"status": "error", **error, "context": {**error["context"], **trace}})
    at = visit.now.isoformat().replace("+00:00", "Z")
    if errors:
        return visit.answer("partial", results=results, errors=errors, count=len(errors), at=at)
    return visit.answer("created" if action == "create" and results else "written", results=results, at=at)


def _error(visit: Visit, kind: str, action: str, entry: Mapping[str, Any], place: int) -> dict[str, Any] | None:
    """Return the error of one input; None if it is kept."""
    if action == "upsert" and kind == "contacts":
        address = {"email": entry.get("id")} if entry.get("idProperty") == "email" else {}
        _, broken = visit.judge("profiles.upsert", {"properties": {**address, **object_at(entry, "properties")}}, place)
        if broken:
            return {"category": "VALIDATION_ERROR", "message": broken.values["message"], "context": {}}
    is_unknown = action == "update" and visit.account.is_new and not _known(visit, kind, entry)
    if is_unknown and visit.report("hs.update.unknown_id", table_of(kind), place, value=entry.get("id")):
        context = {"ids": [entry.get("id")]}
        return {"category": "OBJECT_NOT_FOUND", "message": "Could not get some objects", "context": context}
    return None


def _known(visit: Visit, kind: str, entry: Mapping[str, Any]) -> Row | None:
    return next(iter(find(visit, kind, entry.get("idProperty") or "id", entry.get("id"))), None)


def _save(visit: Visit, kind: str, action: str, entry: Mapping[str, Any], place: int) -> dict[str, Json]:
    known, key = None, entry.get("idProperty") or "id"
    if action != "create":
        known = _known(visit, kind, entry)
    elif kind == "contacts":  # at level `answers` a conflict is not refused
        known = visit.find(CONTACTS, {"email": object_at(entry, "properties").get("email")})
    row = known or _crm.create(visit, kind, entry.get("id") if key in ("id", "hs_object_id") else None)
    own = {key: entry.get("id")} if known is None and action == "upsert" and key != "id" else {}
    _crm.write(visit, kind, row, {**own, **object_at(entry, "properties")}, place)
    trace = {"objectWriteTraceId": entry["objectWriteTraceId"]} if "objectWriteTraceId" in entry else {}
    return {**shown(row, visit), **({"new": known is None, **trace} if action == "upsert" else {})}


@simulation.on("POST /crm/v3/objects/{kind}", "PATCH /crm/v3/objects/{kind}/{id}")
def write_one(visit: Visit, request: Request) -> Response:
    """Create or change one object."""
    kind, action = type_of(request.parts[0]), "create" if request.method == "POST" else "update"
    entry = {"properties": request.object.get("properties")}
    if action == "update":
        entry |= {"id": request.parts[1], "idProperty": request.query.get("idProperty")}
    refusal = _no_scope(visit, f"crm.objects.{kind}.write") or _refusal(visit, kind, action, [entry])
    if refusal is not None:
        return refusal
    body: Any = _write(visit, kind, action, [entry]).body
    if not body["results"]:
        return visit.answer("not_found")
    return visit.answer("new_object" if action == "create" else "object", object=body["results"][0])


# --- what refuses a whole request

_ERRORS = {
    "hs.property.unknown": "PROPERTY_DOESNT_EXIST",
    "hs.property.read_only": "READ_ONLY_VALUE",
    "hs.property.enum": "INVALID_OPTION",
}


def _refusal(visit: Visit, kind: str, action: str, inputs: list[dict[str, Any]]) -> Response | None:
    table = table_of(kind)
    ids = [text(entry["id"]) for entry in inputs if action == "update" and is_filled(entry.get("id"))]
    twice = list(dict.fromkeys(id for id in ids if ids.count(id) > 1)) if len(set(ids)) < len(ids) else []
    if twice and visit.report_each("hs.update.duplicate", table, inputs, value=twice[0]):
        message = f"Duplicate IDs found in batch input: [{', '.join(twice)}]. IDs must be unique"
        return visit.answer("refused", message=message, context={"ids": twice})
    if kind != "contacts":
        return None
    for entry in inputs:
        for name, value in object_at(entry, "properties").items():
            rule, error = _invalid(visit, name, value)
            if rule and visit.report_each(rule, table, inputs, value=name):
                problem = [{"isValid": False, "message": error, "error": _ERRORS[rule], "name": name}]
                listed = text_of(problem)
                return visit.answer("refused", message=f"Property values were not valid: {listed}")
    return _conflict(visit, inputs) if action == "create" else None


def _invalid(visit: Visit, name: str, value: Json) -> tuple[str, str]:
    """Return the rule that a property breaks and the message; empty if it breaks none."""
    declared = visit.account.entry("properties", name)
    if declared is None:
        return "hs.property.unknown", f'Property "{name}" does not exist'
    if declared.get("readOnly") or object_at(declared, "modificationMetadata").get("readOnlyValue"):
        return "hs.property.read_only", f'"{name}" is a read only property'
    options = [item.get("value") if isinstance(item, dict) else item for item in declared.get("options") or ()]
    unknown = [part for part in text(value).split(";") if part and part not in options] if options else []
    return ("hs.property.enum", f"{value} was not one of the allowed options: {options}") if unknown else ("", "")


def _conflict(visit: Visit, inputs: list[dict[str, Any]]) -> Response | None:
    """Return the refusal of contacts that exist, that are blocked, or that a request creates twice."""
    blocked, seen = visit.account.get("blocked") or (), set()
    for entry in inputs:
        email = object_at(entry, "properties").get("email")
        if email in (None, ""):
            continue
        is_blocked = email in blocked or visit.find(BLOCKED, {"email": email}) is not None
        if is_blocked and visit.report_each("hs.gdpr", CONTACTS, inputs, value=email):
            return visit.answer("refused", message=f"{email} cannot be created: it was deleted permanently")
        known = visit.find(CONTACTS, {"email": email})
        is_new = known is not None and not visit.visible(known, visit.limit("hs.search.lag"))
        rule = "hs.create.twice" if email in seen else "hs.search.lag" if is_new else "hs.create.conflict"
        if (known is not None or email in seen) and visit.report_each(rule, CONTACTS, inputs, value=email):
            return visit.answer("conflict", id=known.ids["id"] if known else "unknown")
        seen.add(email)
    return None


# --- deletion and merges


def _remove(visit: Visit, kind: str, row: Row | None) -> None:
    """Remove an object with its events and associations."""
    if row is None:
        return
    end = {"type": kind, "id": row.ids["id"]}
    for linked in _linked(visit, end):
        visit.delete(ASSOCIATIONS, linked)
    visit.delete(table_of(kind), row)


def _linked(visit: Visit, end: dict[str, str]) -> list[Row]:
    """Return the associations of an object."""
    return visit.shown(ASSOCIATIONS, lambda row: end in (row.values["from"], row.values["to"]))


@simulation.on("DELETE /crm/v3/objects/{kind}/{id}")
@simulation.on("POST /crm/v3/objects/{kind}/batch/archive", checks="request.batch")
def archive(visit: Visit, request: Request) -> Response:
    """Archive objects: they are not found any more."""
    kind, one = type_of(request.parts[0]), request.parts[1:]
    ids: list[Json] = [*one] or [entry.get("id") for entry in request.items("inputs")]
    for id in ids:
        _remove(visit, kind, next(iter(find(visit, kind, "id", id)), None))
    return visit.answer("done")


@simulation.on("POST /crm/v3/objects/contacts/gdpr-delete")
def delete(visit: Visit, request: Request) -> Response:
    """Delete a contact permanently. An unknown e-mail address is blocked."""
    id, key = request.object.get("objectId"), request.object.get("idProperty") or "id"
    row = next(iter(find(visit, "contacts", key, id)), None)
    if row is None and key == "email":
        visit.resolve(BLOCKED, {"email": id})
    _remove(visit, "contacts", row)
    return visit.answer("done")


@simulation.on("POST /crm/v3/objects/{kind}/merge")
def merge(visit: Visit, request: Request) -> Response:
    """Merge one object into another one of its type."""
    kind, table = type_of(request.parts[0]), table_of(type_of(request.parts[0]))
    target, source = (
        next(iter(find(visit, kind, "id", request.object.get(name))), None)
        for name in ("primaryObjectId", "objectIdToMerge")
    )
    if target is None or source is None or target is source:
        return visit.answer("not_found")
    others = [target.values["attributes"].get("hs_additional_emails"), source.ids.get("email")]
    visit.merge(table, source, target)
    if kind == "contacts" and others[1]:
        _crm.write(visit, kind, target, {"hs_additional_emails": ";".join(filter(None, others))})
    visit.report("hs.merge", table, value=source.ids["id"])
    return visit.answer("object", object=shown(target, visit))


# --- associations


@simulation.on("POST /crm/v3/associations/{from}/{to}/batch/create", checks="request.batch")
def associate(visit: Visit, request: Request) -> Response:
    """Associate objects that are known."""
    types, results = [type_of(part) for part in request.parts], []
    for place, visit.record_of in enumerate(request.items("inputs")):
        entry = visit.record_of
        ends = [
            {"type": kind, "id": text(member(entry, end, "id"))}
            for kind, end in zip(types, ("from", "to"), strict=True)
        ]
        missing = next((end["id"] for end in ends if not find(visit, end["type"], "id", end["id"])), None)
        if (
            missing is not None
            and visit.account.is_new
            and visit.report("hs.assoc", ASSOCIATIONS, place, value=missing)
        ):
            continue
        key = " ".join([*(f"{end['type']}:{end['id']}" for end in ends), text(entry.get("type"))])
        row = visit.resolve(ASSOCIATIONS, {"key": key})
        op.fill(row.values, {"from": ends[0], "to": ends[1], "type": entry.get("type")})
        visit.touch(ASSOCIATIONS, row)
        results.append({"from": {"id": ends[0]["id"]}, "to": {"id": ends[1]["id"]}, "type": entry.get("type")})
    at = visit.now.isoformat().replace("+00:00", "Z")
    return visit.answer("created" if results else "written", results=results, at=at)


@simulation.on("GET /crm/v4/objects/{from}/{id}/associations/{to}")
def read_associations(visit: Visit, request: Request) -> Response:
    """Return the objects of a type that are associated with an object."""
    start, other = {"type": type_of(request.parts[0]), "id": request.parts[1]}, type_of(request.parts[2])
    ends = [(row.values["from"], row.values["to"]) for row in _linked(visit, start)]
    linked = [to if of == start else of for of, to in ends]
    return visit.answer("results", results=[{"toObjectId": end["id"]} for end in linked if end["type"] == other])


# --- events


@simulation.on("POST /events/v3/send")
@simulation.on("POST /events/v3/send/batch", checks="request.events")
def send_events(visit: Visit, request: Request) -> Response:
    """Keep events of contacts."""
    events = request.items("inputs") if request.path.endswith("/batch") else [request.object]
    refusal = _no_scope(visit, "analytics.behavioral_events.send")
    for place, event in enumerate(events):
        refusal = refusal or _event(visit, event, place)
    return refusal or visit.answer("done")


def _event(visit: Visit, event: dict[str, Any], place: int) -> Response | None:
    properties, name = object_at(event, "properties"), event.get("eventName")
    values = [(key.removeprefix("hs_") in ("url", "referrer"), value) for key, value in properties.items()]
    sizes = {
        "links": [value for is_link, value in values if is_link],
        "texts": [v for is_link, v in values if not is_link],
    }
    refusal = visit.refuse(EVENTS, {**event, **sizes}, place)
    if refusal is not None:
        return refusal
    if visit.account.entry("events", name) is None and visit.report("hs.event.unknown", EVENTS, place, value=name):
        return visit.answer("refused", message=f"Event with fully qualified name {name} does not exist.")
    kept = {key.lower(): key for key in sorted(properties)}
    for key in [key for key in properties if kept[key.lower()] != key]:
        if visit.report("hs.event.limits", EVENTS, place, value=key, what="dropped"):
            properties = {name: value for name, value in properties.items() if name != key}
    owner = find(visit, "contacts", "email", event.get("email")) or find(visit, "contacts", "id", event.get("objectId"))
    kept_event = {"name": name, "properties": properties, "time": event.get("occurredAt"), "id": event.get("uuid")}
    visit.record(EVENTS, kept_event, owner[0] if owner else None, place)
    return None


# --- the legacy API


@simulation.on("POST /contacts/v1/contact/batch", checks="request.contacts")
def write_contacts(visit: Visit, request: Request) -> Response:
    """Create or update contacts, if all their e-mail addresses are valid."""
    contacts = objects(request.body)
    bad = {n: c["email"] for n, c in enumerate(contacts) if is_filled(c.get("email")) and not is_email(c["email"])}
    if bad and visit.report_each("hs.v1.batch", CONTACTS, contacts, value=next(iter(bad.values()))):
        errors = {n: {"status": "error", "message": f"Email address {email} is invalid"} for n, email in bad.items()}
        failures = [{"index": place, "error": error} for place, error in errors.items()]
        return visit.answer("v1_refused", emails=list(bad.values()), failures=failures)
    for place, visit.record_of in enumerate(contacts):
        email, vid = visit.record_of.get("email"), visit.record_of.get("vid")
        known = find(visit, "contacts", "id", vid) or find(visit, "contacts", "email", email)
        row = known[0] if known else _crm.create(visit, "contacts", vid)
        listed = {text(item.get("property")): item.get("value") for item in objects(visit.record_of.get("properties"))}
        own = {"email": email} if is_filled(email) and not known else {}
        _crm.write(visit, "contacts", row, {**own, **listed}, place)
    return visit.answer("v1_written")


@simulation.on("GET /v1/event", is_open=True)
def track(visit: Visit, request: Request) -> Response:
    """Keep an event of the tracking pixel, if the account has it."""
    name, email = request.query.get("_n"), request.query.get("email")
    if visit.account.entry("events", name) is None and visit.report("hs.v1.event", EVENTS, 0, value=name):
        return visit.answer("tracked")
    properties = {key: value for key, value in request.query.items() if key not in ("_a", "_n")}
    owner = find(visit, "contacts", "email", email)
    visit.record(EVENTS, {"name": name, "properties": properties}, owner[0] if owner else None, 0)
    return visit.answer("tracked")


# --- reading


@simulation.on("GET /crm/v3/properties/{kind}")
def read_properties(visit: Visit, _request: Request) -> Response:
    """Return the properties of the account's objects; it declares them without their types."""
    return visit.answer("results", results=_crm.properties_of(visit))


@simulation.on("GET /properties/v1/contacts/properties")
def read_contact_properties(visit: Visit, _request: Request) -> Response:
    """Return the properties of contacts, as the legacy API does."""
    return visit.answer("listed", results=_crm.properties_of(visit))


@simulation.on("POST /crm/v3/objects/{kind}/search", checks="request.search")
def search(visit: Visit, request: Request) -> Response:
    """Return objects that match filters. At level `strict` a new object is found after seconds."""
    kind, asked = type_of(request.parts[0]), request.object
    lag = visit.limit("hs.search.lag")
    rows = [row for row in _crm.search(visit, kind, asked.get("filterGroups")) if visit.visible(row, lag)]
    names, most = asked.get("properties"), asked.get("limit")
    chosen = rows[: most if isinstance(most, int) else 10]
    listed = [shown(row, visit, names if isinstance(names, list) else ()) for row in chosen]
    return visit.answer("found", total=len(rows), results=listed)


@simulation.on("GET /crm/v3/objects/{kind}/{id}")
def read(visit: Visit, request: Request) -> Response:
    """Return one object, by its ID or by the property that `idProperty` names."""
    kind, id = type_of(request.parts[0]), request.parts[1]
    row = next(iter(find(visit, kind, request.query.get("idProperty") or "id", id)), None)
    if row is None:
        return visit.answer("not_found")
    names = [name for name in request.query.get("properties", "").split(",") if name]
    return visit.answer("object", object=shown(row, visit, names))
