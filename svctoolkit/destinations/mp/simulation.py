"""Mixpanel's server: import, engage and groups, identities of both merge APIs, and the endpoints that read.

Rules with their checks and answers are in `facts.yaml`. Only a strict import refuses invalid records: what happens to
them otherwise is not documented, so they are kept here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.json_codec import decode, encode
from svctoolkit.json_types import Json
from svctoolkit.simulations import (
    Fold,
    Request,
    Response,
    Row,
    Simulation,
    Visit,
    basic,
    basic_login,
    objects,
)
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.formats import moment
from svctoolkit.simulations.json_text import text_of


def _is_authentic(config: Mapping[str, Any], request: Request) -> bool:
    user, password = basic_login(request)
    account = (config.get("serviceAccountUserName"), config.get("serviceAccountSecret"))
    return bool(user) and (user in (config.get("token"), config.get("apiSecret")) or (user, password) == account)


simulation = Simulation(
    "Mixpanel",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=basic("token"),
    auth="mp.auth",
    is_authentic=_is_authentic,
)
PROFILES = simulation.table("profiles", ids=("distinct_id",))
EVENTS = simulation.table(
    "events",
    owner=PROFILES,
    folds=(Fold("mp.fold.query", ("name", "distinct_id", "time", "id"), "last", needs=("id",), keep_older=True),),
)
GROUPS = simulation.table("groups", ids=(("key", "id"),))

_OPERATIONS: dict[str, op.Operation] = {
    "$set": op.set_value, "$set_once": op.set_once, "$add": op.add, "$append": op.append_one, "$union": op.union,
    "$remove": op.remove, "$unset": op.unset,
}  # fmt: skip
_CREATE = frozenset({"$set", "$set_once", "$add", "$append", "$union"})
_ID_EVENTS = ("$merge", "$identify", "$create_alias")
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.I)


# --- events


@simulation.on("POST /import", checks="request.import")
def import_events(visit: Visit, request: Request) -> Response:
    """Keep the valid events; a strict import lists the others."""
    records, failed = _posted(request), []
    for place, record in enumerate(records):
        visit.events = _events_of(request, record, place)
        if request.query.get("strict") == "1" and record.get("event") not in _ID_EVENTS:
            _, broken = visit.judge(EVENTS, record, place)
            if broken:
                id = _properties(record).get("$insert_id")
                failed.append({"index": place, "insert_id": id, "$insert_id": id, **broken.check.answer({})})
                continue
        _keep(visit, record, place)
    form = "partial" if failed else "imported"
    return visit.answer(form, failed=failed, taken=len(records) - len(failed))


@simulation.on("POST /track", is_open=True)
def track(visit: Visit, request: Request) -> Response:
    """Keep events of browsers and SDKs, without validation; the token is in each of them."""
    for place, record in enumerate(_posted(request)):
        visit.events = _events_of(request, record, place)
        _keep(visit, record, place)
    return _done(visit, request)


def _properties(record: Mapping[str, Any]) -> dict[str, Any]:
    properties = record.get("properties")
    return properties if isinstance(properties, dict) else {}


def _events_of(request: Request, record: Mapping[str, Any], place: int) -> tuple[str, ...]:
    """Return the message id of the event that a record comes from: the mapping sends its last 36 characters."""
    insert_id = _properties(record).get("$insert_id") if len(request.events) > 1 else None
    own = tuple(event for event in request.events if insert_id and event.endswith(str(insert_id)))
    return own[:1] or request.events[place : place + 1] or request.events


def _keep(visit: Visit, given: dict[str, Any], place: int) -> None:
    if given.get("event") in _ID_EVENTS:
        _join(visit, given["event"], _properties(given))
        return
    record, dropped = visit.judge("events.kept", {**given, "properties": _properties(given)}, place)
    if dropped:
        return
    kept = {name: value for name, value in record["properties"].items() if name != "token"}
    distinct_id = _distinct_id(visit, kept)
    owner = _person(visit, distinct_id) if distinct_id else None
    values = {"name": given.get("event"), "properties": kept, "time": kept.get("time"), "id": kept.get("$insert_id")}
    visit.record(EVENTS, {**values, "distinct_id": distinct_id}, owner, place)


# --- identities


def _is_simplified(visit: Visit) -> bool:
    return bool(visit.account.get("merge", visit.config.get("identityMergeApi") or "original") == "simplified")


def _distinct_id(visit: Visit, properties: Mapping[str, Any]) -> str:
    """Return the id that an event belongs to. With simplified merge, join user and device first."""
    if _is_simplified(visit):
        user, device = properties.get("$user_id"), properties.get("$device_id")
        if user and device:
            _join_device(visit, text_of(user), f"$device:{text_of(device)}")
        if user or device:
            return text_of(user) if user else f"$device:{text_of(device)}"
    distinct_id = properties.get("distinct_id")
    # A lenient import makes an id from the sender's address: one for everybody here.
    return "$ip" if distinct_id is None else text_of(distinct_id)


def _person(visit: Visit, distinct_id: Json) -> Row:
    return visit.resolve(PROFILES, {"distinct_id": text_of(distinct_id)}, shown=False)


def _join_device(visit: Visit, user: str, device: str) -> None:
    """Move a device's events to its first user. The properties of its profile stay where they are."""
    people, known = visit.tables[PROFILES], visit.find(PROFILES, {"distinct_id": device})
    if known is not None and known.number in people.moved:
        return
    if known is not None:
        visit.report("mp.id.simplified", PROFILES, value=device)
    people.move_rows(known or _person(visit, device), _person(visit, user))


def _join(visit: Visit, name: str, properties: Mapping[str, Any]) -> None:
    """Join ids by an event of the original merge API. Such events are not kept."""
    ids, rule = properties.get("$distinct_ids"), "mp.id.original_merge"
    if name == "$identify":
        ids = [properties.get("$identified_id"), properties.get("$anon_id")]
    elif name == "$create_alias":
        ids, rule = [properties.get("distinct_id"), properties.get("alias")], "mp.id.alias"
    if _is_simplified(visit) or not isinstance(ids, list) or len(ids) != 2 or not all(ids):
        return
    known = visit.find(PROFILES, {"distinct_id": text_of(ids[1])})
    is_joined = known is not None and bool(known.also)
    if (name != "$merge" and is_joined) or (name == "$identify" and not _UUID4.fullmatch(text_of(ids[1]))):
        return
    target, source = _person(visit, ids[0]), _person(visit, ids[1])
    if target is not source and 2 + len(target.also) + len(source.also) <= visit.limit("mp.id.original_merge"):
        visit.merge(PROFILES, source, target)
        visit.report(rule, PROFILES, value=ids[1])


# --- profiles and groups


@simulation.on("POST /engage", checks="request.engage", is_open=True)
def engage(visit: Visit, request: Request) -> Response:
    """Change profiles. Errors are answered with status 200."""
    batch = visit.batch()
    for _, update in batch.judge(PROFILES, _posted(request)):
        if update.get("$token") == visit.config.get("token") or not visit.report("mp.auth.token", PROFILES):
            _change(visit, PROFILES, {"distinct_id": text_of(update.get("$distinct_id"))}, update)
    return _done(visit, request, *batch.errors)


@simulation.on("POST /groups", is_open=True)
def change_groups(visit: Visit, request: Request) -> Response:
    """Change groups, each kept by its key and id."""
    batch = visit.batch()
    for _, update in batch.judge(GROUPS, _posted(request)):
        _change(visit, GROUPS, {"key": update.get("$group_key"), "id": update.get("$group_id")}, update)
    return _done(visit, request, *batch.errors)


def _change(visit: Visit, table: str, ids: Mapping[str, Any], update: Mapping[str, Any]) -> None:
    row = visit.find(table, ids)
    if "$delete" in update:
        if row is not None:  # the events of a profile stay under its id
            row.shown, row.values = False, {"attributes": {}}
            visit.touch(table, row)
    elif (row is not None and row.shown) or _CREATE & update.keys():
        row = row or visit.create(table, ids)
        row.shown = True
        op.apply(row.values["attributes"], update, _OPERATIONS)
        visit.touch(table, row)


def _posted(request: Request) -> list[dict[str, Any]]:
    """Return the records of a request: a JSON list or object, or a form with them in `data`."""
    body = request.body
    if isinstance(body, dict) and isinstance(body.get("data"), str):
        try:
            body = decode(body["data"] if body["data"][:1] in "[{" else base64.b64decode(body["data"]))
        except ValueError:
            body = []
    return objects(body if isinstance(body, list) else [body])


def _done(visit: Visit, request: Request, *errors: Mapping[str, Json]) -> Response:
    # Mixpanel's own libraries send `verbose` as a field of the form, and read the answer as an object.
    asked = request.query.get("verbose") or request.object.get("verbose")
    verbose = "verbose" if asked in ("1", "2") else "short"
    return visit.answer(verbose, status=0 if errors else 1, error=errors[-1]["error"] if errors else None)


@simulation.on("POST /api/app/data-deletions/v3.0", checks="request.delete", is_open=True)
def delete(visit: Visit, request: Request) -> Response:
    """Delete people and their events at once; Mixpanel takes up to 30 days."""
    ids = request.object.get("distinct_ids")
    for id in ids if isinstance(ids, list) else []:
        row = visit.find(PROFILES, {"distinct_id": text_of(id)})
        if row is not None:
            visit.delete(PROFILES, row)
    return visit.answer("deleting", task=f"task-{visit.number:06d}")


# --- reading


@simulation.on("GET /export", "GET /api/2.0/export", is_open=True)
def export(visit: Visit, request: Request) -> Response:
    """Return the events between two days as lines of JSON, including those that reports fold."""
    first, last = request.query.get("from_date", ""), request.query.get("to_date", "9999")
    rows = [row.values for row in visit.tables[EVENTS].rows.values()]
    chosen = [values for values in rows if not _day(values["time"]) or first <= _day(values["time"]) <= last]
    lines = [encode({"event": values["name"], "properties": values["properties"]}) for values in chosen]
    return Response(200, b"\n".join(lines).decode())


def _day(time: Json) -> str:
    at = moment(time)
    return at.date().isoformat() if at else ""


_WHERE = re.compile(r"""properties\[["'](.+?)["']\]\s*==\s*["'](.*?)["']""")


@simulation.on(
    "POST /query/engage", "POST /api/query/engage", "GET /query/engage", "GET /api/query/engage", is_open=True
)
def query(visit: Visit, request: Request) -> Response:
    """Return profiles: all, one by `distinct_id`, or those with `where=properties["$email"] == "a@b.example"`."""
    asked = {**request.query, **request.object}
    wanted = asked.get("distinct_ids", [asked["distinct_id"]] if "distinct_id" in asked else None)
    if isinstance(wanted, str):
        wanted = re.findall(r'"([^"]+)"', wanted)
    rows = visit.shown(PROFILES)
    if wanted is not None:
        found = [visit.find(PROFILES, {"distinct_id": text_of(id)}) for id in wanted]
        rows = [row for row in found if row is not None and row.shown]
    where = _WHERE.search(str(asked.get("where", "")))
    if where:
        rows = [row for row in rows if str(row.values["attributes"].get(where[1])) == where[2]]
    people = [{"$distinct_id": row.ids["distinct_id"], "$properties": row.values["attributes"]} for row in rows]
    return visit.answer("people", people=people, total=len(people))
