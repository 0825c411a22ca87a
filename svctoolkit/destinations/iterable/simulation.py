"""Iterable's server: users, events, purchases and carts, tokens of devices, and items of catalogs.

Rules with their checks and answers are in `facts.yaml`. Whether an event makes its user is not documented: the event
belongs to a user whose profile is not shown before another request makes it. A project is identified by e-mail address
unless the account says `project: userId` or `project: hybrid`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from svctoolkit.destinations.iterable._fields import FIELDS, kept_fields
from svctoolkit.json_types import Json
from svctoolkit.simulations import Broken, Request, Response, Row, Simulation, Visit, header, object_at
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.credentials import text
from svctoolkit.simulations.formats import is_filled

_PLACEHOLDER = "@placeholder.email"
#: changes what is held by one user or event, at this place, and returns the fields that are kept; raises `_Refused`
_Change: TypeAlias = Callable[[Visit, Mapping[str, Any], int], Mapping[str, Json]]
_LISTS = (
    "invalidEmails", "invalidDataEmails", "invalidDataUserIds", "conflictEmails", "conflictUserIds", "forgottenEmails",
    "forgottenUserIds", "notFoundUserIds", "disallowed",
)  # fmt: skip


def _is_authentic(config: Mapping[str, Any], request: Request) -> bool:
    """Whether a request has the project's key, or the one for devices and browsers."""
    keys = (text(config.get(name)) for name in ("apiKey", "registerDeviceOrBrowserApiKey"))
    given = request.headers.get("api_key", request.headers.get("api-key"))
    return given is not None and given in [key for key in keys if key]


simulation = Simulation(
    "Iterable",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=header("api_key", "apiKey"),
    auth="it.auth",
    is_authentic=_is_authentic,
)
USERS = simulation.table("profiles", ids=("email", "userId"), blank={"attributes": {}, "devices": []})
EVENTS = simulation.table("events", ids=("id",), owner=USERS)
PURCHASES = simulation.table("purchases", ids=("id",), owner=USERS)
ITEMS = simulation.table("objects", ids=(("type", "id"),))
simulation.table(FIELDS, ids=("scope",), blank={"types": {}})
FORGOTTEN = simulation.table("forgotten", ids=("id",), blank={})


class _Refused(Exception):
    """One user or event that is not kept: the answer to a single request, and the list of a bulk answer."""

    def __init__(self, list: str, message: str, code: str, form: str = "refused") -> None:
        super().__init__(message)
        self.list, self.message, self.code, self.form = list, message, code, form


# --- what is refused


def _malformed(
    visit: Visit, request: Request, kind: str, records: list[dict[str, Any]], where: str = ""
) -> Response | None:
    """Return the refusal of a request in which a known member of a record has a wrong type."""
    batch = visit.batch()
    for _ in batch.judge(f"{kind}.json", records):
        pass
    if not batch.refused:
        return None
    batch.report_others("it.body", kind, records)
    params = {f"obj{_at(where, broken)}.{broken.check.member}": broken.values["message"] for broken in batch.refused}
    return visit.answer("refused", message=f"[{request.path}] Invalid JSON body", code="BadJsonBody", params=params)


def _at(where: str, broken: Broken) -> str:
    return f".{where}[{broken.place}]" if where else ""


def _check(visit: Visit, kind: str, record: Mapping[str, Any], place: int) -> None:
    """Raise `_Refused` for a forgotten user."""
    for name in ("email", "userId"):
        value = record.get(name)
        is_forgotten = value in (visit.account.get("forgotten") or ()) or visit.find(FORGOTTEN, {"id": value})
        if is_filled(value) and is_forgotten and visit.report("it.user.forgotten", kind, place, value=value):
            listed = "forgottenEmails" if name == "email" else "forgottenUserIds"
            raise _Refused(listed, f"User is forgotten: {value}", "ForgottenUserError")


def _typed(visit: Visit, kind: str, scope: str, record: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return the fields that are kept. Raises `_Refused` for a field of another type, or for too many fields."""
    fields, (rule, field) = kept_fields(visit, kind, scope, record, place)
    if not rule:
        return fields
    if rule == "it.fields":
        raise _Refused("invalidDataEmails", f"Too many unique fields: {field}", "UniqueFieldsLimitExceeded")
    listed = "invalidDataEmails" if is_filled(record.get("email")) else "invalidDataUserIds"
    raise _Refused(listed, f"The request does not have the same data types: {field}", "RequestFieldsTypesMismatched")


# --- users


def _ids(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("email", "userId") if is_filled(record.get(name))}


def _user(visit: Visit, record: Mapping[str, Any], *, shown: bool = True, place: int = 0, form: str = "") -> Row:
    """Return the user of a request, created if necessary. With `form`, two different users are a conflict."""
    ids, project = _ids(record), visit.account.get("project")
    rows = visit.tables[USERS].find_all(ids)
    if len(rows) > 1 and form and visit.report("it.user.conflict", USERS, place, value=ids["userId"]):
        raise _Refused("conflictEmails", "email and userId belong to different users", "Conflict", form)
    row = rows[0] if rows else None
    if row is not None and project != "userId" and "email" in ids and _address(row) not in (None, ids["email"]):
        row = None  # found by its user ID only, and an e-mail address wins
    prefers = "email" in ids or record.get("preferUserId") is True or project != "email" or not shown
    if row is None and not prefers and visit.report("it.user.prefer", USERS, place, value=ids.get("userId")):
        raise _Refused("notFoundUserIds", f"User not found: {ids.get('userId')}", "UserNotFound")
    row = row or visit.create(USERS, {}, shown=shown)
    row.shown = row.shown or shown
    visit.identify(USERS, row, ids)
    if shown and project in (None, "email") and "email" not in row.ids:
        visit.identify(USERS, row, {"email": f"simulated-{row.number}{_PLACEHOLDER}"})
    return row


def _address(row: Row) -> str | None:
    """Return the user's own e-mail address."""
    address = row.ids.get("email")
    return None if address is None or text(address).endswith(_PLACEHOLDER) else text(address)


def _update(visit: Visit, record: Mapping[str, Any], place: int, form: str = "") -> Mapping[str, Json]:
    _check(visit, USERS, record, place)
    fields = _typed(visit, USERS, "users", record, place)
    row = _user(visit, record, place=place, form=form)
    is_merged = record.get("mergeNestedObjects") is True
    visit.write(USERS, row, fields, op.merge_object if is_merged else op.set_value)
    return fields


def _single(
    visit: Visit, request: Request, record: dict[str, Any], kind: str, change: _Change, **values: Json
) -> Response:
    """Answer a request about one user or event."""
    refusal = _malformed(visit, request, kind, [record]) or visit.refuse(kind, record, 0)
    if refusal is not None:
        return refusal
    try:
        change(visit, record, 0)
    except _Refused as refused:
        return visit.answer(refused.form, message=refused.message, code=refused.code, params=None)
    return visit.answer("success", **{"message": "", "params": None, **values})


def _bulk(visit: Visit, request: Request, name: str, kind: str, change: _Change) -> Response:
    """Answer a request about many users or events. `createNewFields` is said once, for all of them."""
    shared = {key: request.object[key] for key in ("createNewFields",) if key in request.object}
    records = [{**shared, **record} for record in request.items(name)]
    refusal = _malformed(visit, request, kind, records, name)
    if refusal is not None:
        return refusal
    batch, lists, bad = visit.batch(), {name: list[Json]() for name in _LISTS}, 0
    filtered: dict[str, None] = {}
    for place, record in batch.judge(f"{kind}.bulk", records):
        try:
            kept = change(visit, record, place)
            filtered.update(dict.fromkeys(name for name in object_at(record, "dataFields") if name not in kept))
        except _Refused as refused:
            bad += 1
            member = "userId" if refused.list.endswith("UserIds") else "email"
            lists[refused.list].append(record.get("eventName" if refused.list == "disallowed" else member))
            if refused.list == "conflictEmails":
                lists["conflictUserIds"].append(record.get("userId"))
    lists["invalidEmails"] += [error["value"] for error in batch.errors]
    counts = {"good": len(records) - bad - len(batch.refused), "bad": bad + len(batch.refused)}
    return visit.answer("bulk", **counts, **lists, filtered=list(filtered), created=[])


@simulation.on("POST /api/users/update")
def update_user(visit: Visit, request: Request) -> Response:
    """Create or change a user."""
    return _single(visit, request, request.object, USERS, _update)


@simulation.on("POST /api/users/bulkUpdate", checks="request.bulk")
def update_users(visit: Visit, request: Request) -> Response:
    """Create or change the valid users, and list the others."""

    def change(visit: Visit, record: Mapping[str, Any], place: int) -> Mapping[str, Json]:
        return _update(visit, record, place, "refused")

    return _bulk(visit, request, "users", USERS, change)


@simulation.on("POST /api/users/updateEmail")
def change_email(visit: Visit, request: Request) -> Response:
    """Change the e-mail address of a user."""
    body = request.object
    refusal = visit.refuse("profiles.change", body, 0)
    if refusal is not None:
        return refusal
    ids, new = {"email": body.get("currentEmail"), "userId": body.get("currentUserId")}, body.get("newEmail")
    row = visit.find(USERS, ids)
    known, value = next(((name, value) for name, value in ids.items() if is_filled(value)), ("email", None))
    if row is None and visit.account.is_new and visit.report("it.user.email_change", USERS, 0, value=value):
        message = f"Invalid current{known[0].upper()}{known[1:]} {value}"
        return visit.answer("refused", message=message, code="InvalidEmailAddressError")
    other = visit.find(USERS, {"email": new})
    if other not in (None, row) and visit.report("it.user.email_change", USERS, 0, value=new):
        return visit.answer("refused", message=f"Email already exists: {new}", code="EmailAlreadyExists")
    row = row or visit.create(USERS, _ids({"userId": body.get("currentUserId")}))
    visit.identify(USERS, row, {"email": new})
    return visit.answer("success", message="", params=None)


@simulation.on("POST /api/users/registerDeviceToken", "POST /api/users/registerBrowserToken")
def register(visit: Visit, request: Request) -> Response:
    """Add the token of a device or browser to its user."""
    device = object_at(request.object, "device") or {"token": request.object.get("browserToken"), "platform": "WEB"}

    def change(visit: Visit, record: Mapping[str, Any], place: int) -> Mapping[str, Json]:
        _check(visit, USERS, record, place)
        row = _user(visit, record)
        others = [known for known in row.values["devices"] if known.get("token") != device.get("token")]
        row.values["devices"] = [*others, device]
        visit.touch(USERS, row)
        return {}

    return _single(visit, request, request.object, USERS, change)


# --- events, purchases and carts


def _put(visit: Visit, table: str, rule: str, id: Json, values: dict[str, Any], owner: Row, place: int) -> None:
    """Add an event, or replace the one with its id."""
    key = {"id": text(id)} if is_filled(id) else {}
    earlier = visit.find(table, key) if visit.applies(rule) else None
    if earlier is not None:
        if not (visit.events and visit.events == earlier.events):
            visit.report(rule, table, place, value=id)
        earlier.values = values
        visit.give(table, earlier, owner)
        return
    row = visit.record(table, values, owner, place)
    visit.tables[table].claim(row, key)


def _track(visit: Visit, record: Mapping[str, Any], place: int) -> Mapping[str, Json]:
    name = record.get("eventName")
    if name in (visit.account.get("disallowed_events") or ()) and visit.report(
        "it.event.disallowed", EVENTS, place, value=name
    ):
        raise _Refused("disallowed", f"Event name is disallowed: {name}", "DisallowedEventName")
    _check(visit, EVENTS, record, place)
    fields = _typed(visit, EVENTS, f"event {name}", record, place)
    values = {"name": name, "properties": fields, "time": record.get("createdAt"), "id": record.get("id")}
    _put(visit, EVENTS, "it.event.id", record.get("id"), values, _user(visit, record, shown=False), place)
    return fields


@simulation.on("POST /api/events/track")
def track(visit: Visit, request: Request) -> Response:
    """Keep an event."""
    id = request.object.get("id")
    answer = {"message": f"Event with id: {id} tracked.", "params": {"id": id}} if is_filled(id) else {}
    return _single(visit, request, request.object, EVENTS, _track, **answer)


@simulation.on("POST /api/events/trackBulk", checks="request.bulk")
def track_many(visit: Visit, request: Request) -> Response:
    """Keep the valid events, and list the others."""
    return _bulk(visit, request, "events", EVENTS, _track)


@simulation.on("POST /api/commerce/trackPurchase")
def purchase(visit: Visit, request: Request) -> Response:
    """Keep a purchase, and empty the cart of its user."""
    order = request.object

    def change(visit: Visit, user: Mapping[str, Any], place: int) -> Mapping[str, Json]:
        _check(visit, PURCHASES, user, place)
        properties = _typed(visit, PURCHASES, "purchases", order, place)
        row = _user(visit, user, form="conflict")
        visit.write(USERS, row, object_at(user, "dataFields"), op.set_value)
        visit.write(USERS, row, {"shoppingCartItems": []})
        names = {"total": "total", "items": "items", "time": "createdAt", "id": "id"}
        values = {"name": "purchase", "properties": properties, **{n: order.get(of) for n, of in names.items()}}
        _put(visit, PURCHASES, "it.purchase", order.get("id"), values, row, place)
        return properties

    return _malformed(visit, request, EVENTS, [order]) or _single(
        visit, request, object_at(order, "user"), USERS, change
    )


@simulation.on("POST /api/commerce/updateCart")
def update_cart(visit: Visit, request: Request) -> Response:
    """Replace the cart of a user."""
    items = request.object.get("items")

    def change(visit: Visit, user: Mapping[str, Any], place: int) -> Mapping[str, Json]:
        _check(visit, USERS, user, place)
        row = _user(visit, user, form="conflict")
        visit.write(USERS, row, {**object_at(user, "dataFields"), "shoppingCartItems": items}, op.set_value)
        return {}

    return _single(visit, request, object_at(request.object, "user"), USERS, change)


# --- catalogs


@simulation.on("POST /api/catalogs/{name}/items", checks="request.catalog")
def save_items(visit: Visit, request: Request) -> Response:
    """Create or change items of a catalog."""
    name = request.parts[0]
    if visit.account.entry("catalogs", name) is None and visit.report("it.catalog", ITEMS, value=name):
        return visit.answer("no_catalog", name=name)
    for id, document in object_at(request.object, "documents").items():
        row = visit.resolve(ITEMS, {"type": name, "id": id})
        if request.object.get("replaceUploadedFieldsOnly") is not True:
            row.values["attributes"] = {}
        visit.write(ITEMS, row, document if isinstance(document, dict) else {}, op.set_value)
    message = f"Request to bulk-upload documents into {name} processed successfully"
    return visit.answer("success", message=message, params=None)


# --- deletion and reading


@simulation.on("DELETE /api/users/{email}", "DELETE /api/users/byUserId/{id}")
def delete(visit: Visit, request: Request) -> Response:
    """Delete a user with the events."""
    visit.delete(USERS, visit.find(USERS, _named(request)))
    return visit.answer("success", message="", params=None)


@simulation.on("POST /api/users/forget")
def forget(visit: Visit, request: Request) -> Response:
    """Delete a user, who is not made again."""
    for value in _ids(request.object).values():
        visit.resolve(FORGOTTEN, {"id": value})
    visit.delete(USERS, visit.find(USERS, request.object))
    return visit.answer("success", message="", params=None)


def _named(request: Request) -> dict[str, Json]:
    name = "userId" if "/byUserId/" in request.path else "email"
    return {name: request.parts[0] if request.parts else request.query.get("email")}


@simulation.on("GET /api/users/getFields")
def read_fields(visit: Visit, _request: Request) -> Response:
    """Return the fields of users and their types."""
    row = visit.find(FIELDS, {"scope": "users"})
    return visit.answer("object", object={"fields": row.values["types"] if row else {}})


@simulation.on("GET /api/users/getByEmail")
@simulation.on("GET /api/users/{email}", "GET /api/users/byUserId/{id}")
def read_user(visit: Visit, request: Request) -> Response:
    """Return a user; an empty object for an unknown one."""
    row = visit.find(USERS, _named(request))
    if row is None or not row.shown:
        return visit.answer("object", object={})
    return visit.answer("object", object={"user": {**row.ids, "dataFields": {**row.values["attributes"], **row.ids}}})


@simulation.on("GET /api/events/{email}", "GET /api/events/byUserId/{id}")
def read_events(visit: Visit, request: Request) -> Response:
    """Return the latest events of a user."""
    row, limit = visit.find(USERS, _named(request)), request.query.get("limit", "30")
    events = [event.values for event in visit.rows_of(EVENTS, row)] if row else []
    chosen = events[-int(limit) :] if limit.isdecimal() else events
    listed = [{"eventName": e["name"], "createdAt": e["time"], "dataFields": e["properties"]} for e in chosen]
    return visit.answer("object", object={"events": listed})
