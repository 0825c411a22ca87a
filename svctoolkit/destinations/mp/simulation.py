"""Mixpanel's server: import, engage and groups, identities of both merge APIs, and the endpoints that read.

Rules with their sources are in `facts.yaml`. Invalid records are refused only by a strict import: what becomes of them
otherwise is not documented, so they are kept here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.simulations import Fold, Request, Response, Row, Simulation, Visit, objects
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.limits import containers, cut_texts, depth, has_longer, is_unicode, json_size


def _credentials(config: Mapping[str, Any]) -> dict[str, str]:
    login = base64.b64encode(f"{config.get('token') or ''}:".encode()).decode()
    return {"authorization": f"Basic {login}"}


simulation = Simulation("Mixpanel", facts=Path(__file__).with_name("facts.yaml"), credentials=_credentials)
PROFILES = simulation.table("profiles", ids=("distinct_id",))
EVENTS = simulation.table(
    "events",
    owner=PROFILES,
    folds=(Fold("mp.fold.query", ("name", "distinct_id", "time", "id"), "last", needs=("id",), keep_older=True),),
)
GROUPS = simulation.table("groups", ids=(("key", "id"),))

_ID_EVENTS = ("$merge", "$identify", "$create_alias")
_OPERATIONS: dict[str, op.Operation] = {
    "$set": op.set_value, "$set_once": op.set_once, "$add": op.add, "$append": op.append_one, "$union": op.union,
    "$remove": op.remove, "$unset": op.unset,
}  # fmt: skip
_CREATE = frozenset({"$set", "$set_once", "$add", "$append", "$union"})
_INSERT_ID = re.compile(r"[A-Za-z0-9-]+", re.ASCII)
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.I)
_EARLIEST = datetime(1971, 1, 1, tzinfo=UTC).timestamp()
_MILLISECONDS = 1e11  # larger times are in milliseconds, as Mixpanel reads them


# --- events


@simulation.on("POST /import")
def import_events(visit: Visit, request: Request) -> Response:
    """Keep the valid events; a strict import lists the others."""
    if not _is_authentic(visit, request):
        visit.report("mp.auth")
        return Response(401, {"code": 401, "error": "Invalid credentials", "status": "Unauthorized"})
    records = objects(request.body if isinstance(request.body, list) else [request.body])
    if visit.over("mp.import.size", request.size):
        limit = visit.limit("mp.import.size")
        error = f"request exceeds max limit of {limit} bytes"
        return Response(413, {"code": 413, "error": error, "status": "Request Entity Too Large"})
    if visit.over("mp.import.count", len(records)):
        return Response(400, {"code": 400, "error": "request has too many records", "status": "Bad Request"})
    strict = request.query.get("strict") == "1"
    failed = [f for place, record in enumerate(records) if (f := _import(visit, request, record, place, strict))]
    taken = len(records) - len(failed)
    if failed:
        error = "some data points in the request failed validation"
        body = {"code": 400, "error": error, "failed_records": failed, "num_records_imported": taken}
        return Response(400, {**body, "status": "Bad Request"})
    return Response(200, {"code": 200, "num_records_imported": taken, "status": "OK"})


@simulation.on("POST /track")
def track(visit: Visit, request: Request) -> Response:
    """Keep events of browsers and SDKs, without validation; the token is in each of them."""
    for place, record in enumerate(_posted(request)):
        _import(visit, request, record, place, strict=False)
    return _profile_answer(request, "")


def _is_authentic(visit: Visit, request: Request) -> bool:
    kind, _, encoded = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return False
    try:
        user, _, password = base64.b64decode(encoded).decode().partition(":")
    except ValueError:
        return False
    config = visit.config
    account = (config.get("serviceAccountUserName"), config.get("serviceAccountSecret"))
    valid = [config.get("token"), config.get("apiSecret")]
    return bool(user and (user in valid or (user, password) == account))


def _import(visit: Visit, request: Request, record: dict[str, Any], place: int, strict: bool) -> dict[str, Any] | None:
    """Keep one event. Returns the failed record if a strict import refuses it."""
    visit.events = _events_of(request, record, place)
    given = record.get("properties")
    properties: dict[str, Any] = given if isinstance(given, dict) else {}
    if strict:
        problem = _problem(record, properties, visit)
        if problem:
            rule, field, message = problem
            value = properties.get(field.rpartition(".")[2]) if field.startswith("properties.") else None
            if visit.report(rule, EVENTS, place, value=value):
                insert_id = properties.get("$insert_id")
                ids = {"insert_id": insert_id, "$insert_id": insert_id}
                return {"index": place, **ids, "field": field, "message": message}
    name = record.get("event")
    if name in _ID_EVENTS:
        _join(visit, str(name), properties)
    elif properties.get("$ignore"):
        visit.report("mp.import.ignore", EVENTS, place, value=name)
    elif "bucket" in properties or "$bucket" in properties:
        visit.report("mp.import.bucket", EVENTS, place, value=name)
    else:
        _keep(visit, name, properties, place)
    return None


def _events_of(request: Request, record: Mapping[str, Any], place: int) -> tuple[str, ...]:
    """Return the message id of the event that a record comes from: the mapping sends its last 36 characters."""
    events = request.events
    if len(events) <= 1:
        return events
    properties = record.get("properties")
    insert_id = properties.get("$insert_id") if isinstance(properties, dict) else None
    own = tuple(event for event in events if insert_id and event.endswith(str(insert_id)))
    return own[:1] or events[place : place + 1] or events


def _problem(record: Mapping[str, Any], properties: dict[str, Any], visit: Visit) -> tuple[str, str, str] | None:
    """Return the rule that a strict import refuses the record by, the field and the message."""
    if record.get("event") in _ID_EVENTS:
        return None
    return (
        _missing(record, properties)
        or _bad_time(properties["time"])
        or _bad_ids(properties, visit)
        or _too_large(record, properties, visit)
    )


def _missing(record: Mapping[str, Any], properties: Mapping[str, Any]) -> tuple[str, str, str] | None:
    if not record.get("event"):
        return "mp.import.required", "event", "'event' must not be missing or empty"
    for name in ("time", "distinct_id", "$insert_id"):
        if properties.get(name) is None:
            return "mp.import.required", f"properties.{name}", f"'properties.{name}' must not be missing"
    return None


def _bad_time(time: Json) -> tuple[str, str, str] | None:
    seconds = _seconds(time)
    if seconds is None:
        message = "'properties.time' is invalid: must be specified as seconds since epoch"
        return "mp.import.time_text", "properties.time", message
    if seconds < _EARLIEST:
        return "mp.import.time_past", "properties.time", "'properties.time' is invalid: must be after 1971-01-01"
    return None


def _seconds(time: Json) -> float | None:
    if isinstance(time, str) and re.fullmatch(r"-?\d+(\.\d+)?", time):
        time = float(time)
    if isinstance(time, bool) or not isinstance(time, (int, float)):
        return None
    return time / 1000 if abs(time) > _MILLISECONDS else float(time)


def _bad_ids(properties: Mapping[str, Any], visit: Visit) -> tuple[str, str, str] | None:
    forbidden = visit.values("mp.import.distinct_id")
    if _text(properties["distinct_id"]) in forbidden:
        return "mp.import.distinct_id", "properties.distinct_id", "'properties.distinct_id' is invalid"
    insert_id = _text(properties["$insert_id"])
    if insert_id in forbidden or len(insert_id.encode("utf-8", "replace")) > visit.limit("mp.import.insert_id"):
        return "mp.import.insert_id", "properties.$insert_id", "'$insert_id' is invalid"
    if not _INSERT_ID.fullmatch(insert_id):
        message = "'$insert_id' is invalid: must only contain alphanumeric or hyphen '-' characters"
        return "mp.import.insert_id", "properties.$insert_id", message
    return None


def _too_large(record: Mapping[str, Any], properties: dict[str, Any], visit: Visit) -> tuple[str, str, str] | None:
    if len(properties) > visit.limit("mp.import.properties"):
        return "mp.import.properties", "properties", "'properties' has too many properties"
    nested = [value for value in properties.values() if isinstance(value, (dict, list))]
    if depth(properties, lists=False) > visit.limit("mp.import.depth"):
        return "mp.import.depth", "properties", "'properties' is nested too deeply"
    bound = visit.limit("mp.import.keys")
    if any(len(item) > bound - isinstance(item, list) for value in nested for item in containers(value)):
        return "mp.import.keys", "properties", "'properties' has a list or object with too many elements"
    if json_size(record) > visit.limit("mp.import.record_size"):
        return "mp.import.record_size", "properties", "the record is too large"
    if not is_unicode(properties):
        return "mp.import.utf8", "properties", "'properties' contains text that is not UTF-8"
    return None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _keep(visit: Visit, name: Json, properties: dict[str, Any], place: int) -> None:
    kept = {key: value for key, value in properties.items() if key != "token"}
    limit = visit.limit("mp.import.text")
    if has_longer(kept, limit) and visit.applies("mp.import.text"):
        whole, kept = kept, cut_texts(kept, limit)
        cut = next((name for name, value in whole.items() if kept.get(name) != value), "")
        visit.report("mp.import.text", EVENTS, place, value=cut)
    if kept.get("ip") and visit.report("mp.import.ip", EVENTS, place, value=kept["ip"]):
        kept = {key: value for key, value in kept.items() if key != "ip"}
    distinct_id = _distinct_id(visit, kept)
    owner = _person(visit, distinct_id) if distinct_id else None
    values = {"name": name, "properties": kept, "time": kept.get("time"), "id": kept.get("$insert_id")}
    visit.record(EVENTS, {**values, "distinct_id": distinct_id}, owner, place)


# --- identities


def _is_simplified(visit: Visit) -> bool:
    return bool(visit.account.get("merge", visit.config.get("identityMergeApi") or "original") == "simplified")


def _distinct_id(visit: Visit, properties: Mapping[str, Any]) -> str:
    """Return the id that an event belongs to. With simplified merge, join user and device first."""
    if _is_simplified(visit):
        user, device = properties.get("$user_id"), properties.get("$device_id")
        if user and device:
            _join_device(visit, _text(user), _text(device))
        if user or device:
            return _text(user) if user else f"$device:{_text(device)}"
    distinct_id = properties.get("distinct_id")
    # A lenient import makes an id from the sender's address: one for everybody here.
    return "$ip" if distinct_id is None else _text(distinct_id)


def _person(visit: Visit, distinct_id: str) -> Row:
    ids = {"distinct_id": distinct_id}
    return visit.tables[PROFILES].find(ids) or visit.create(PROFILES, ids, shown=False)


def _join_device(visit: Visit, user: str, device: str) -> None:
    """Move a device's events to its first user. The properties of its profile stay where they are."""
    people, id = visit.tables[PROFILES], f"$device:{device}"
    known = people.find({"distinct_id": id})
    if known is not None and known.number in people.moved:
        return
    if known is not None:
        visit.report("mp.id.simplified", PROFILES, value=id)
    people.move_rows(known or _person(visit, id), _person(visit, user))


def _join(visit: Visit, name: str, properties: Mapping[str, Any]) -> None:
    """Join ids by an event of the original merge API. Such events are not kept."""
    if _is_simplified(visit):
        return
    if name == "$merge":
        ids = properties.get("$distinct_ids")
        if isinstance(ids, list) and len(ids) == 2:
            _merge(visit, _text(ids[0]), _text(ids[1]), "mp.id.original_merge")
    elif name == "$identify":
        anonymous, user = properties.get("$anon_id"), properties.get("$identified_id")
        known = visit.tables[PROFILES].find({"distinct_id": anonymous}) if anonymous else None
        if user and anonymous and _UUID4.fullmatch(_text(anonymous)) and not (known and _is_joined(known)):
            _merge(visit, _text(user), _text(anonymous), "mp.id.original_merge")
    elif properties.get("alias") and properties.get("distinct_id"):
        alias = visit.tables[PROFILES].find({"distinct_id": _text(properties["alias"])})
        if alias is None or not _is_joined(alias):
            _merge(visit, _text(properties["distinct_id"]), _text(properties["alias"]), "mp.id.alias")


def _is_joined(row: Row) -> bool:
    return bool(row.also)


def _merge(visit: Visit, first: str, second: str, rule: str) -> None:
    people = visit.tables[PROFILES]
    target, source = _person(visit, first), _person(visit, second)
    if target is source or 2 + len(target.also) + len(source.also) > visit.limit("mp.id.original_merge"):
        return
    op.fill(target.values["attributes"], source.values["attributes"])
    target.shown = target.shown or source.shown
    people.merge(source, target)
    visit.report(rule, PROFILES, value=second)


# --- profiles and groups


@simulation.on("POST /engage")
def engage(visit: Visit, request: Request) -> Response:
    """Change profiles. Errors are answered with status 200."""
    updates = _posted(request)
    if visit.over("mp.engage.count", len(updates), PROFILES):
        return _profile_answer(request, "too many updates")
    error = ""
    for place, update in enumerate(updates):
        if not update.get("$token") or not update.get("$distinct_id"):
            missing = "$distinct_id" if update.get("$token") else "$token"
            if visit.report("mp.engage.answer", PROFILES, place, value=missing):
                error = f"{missing}, missing or empty"
                continue
        if update.get("$token") != visit.config.get("token") and visit.report("mp.auth.token", PROFILES, place):
            continue
        _change_profile(visit, update)
    return _profile_answer(request, error)


def _change_profile(visit: Visit, update: Mapping[str, Any]) -> None:
    ids = {"distinct_id": _text(update.get("$distinct_id"))}
    row = visit.tables[PROFILES].find(ids)
    if "$delete" in update:
        if row is not None and row.shown:
            row.shown, row.values = False, {"attributes": {}}  # its events stay under the id
            visit.touch(PROFILES, row)
        return
    if row is None or not row.shown:
        if not _CREATE & update.keys():
            return
        row = row or visit.create(PROFILES, ids)
        row.shown = True
    op.apply(row.values["attributes"], update, _OPERATIONS)
    visit.touch(PROFILES, row)


@simulation.on("POST /groups")
def change_groups(visit: Visit, request: Request) -> Response:
    """Change groups, each kept by its key and id."""
    error, groups = "", visit.tables[GROUPS]
    for place, update in enumerate(_posted(request)):
        complete = all(update.get(name) for name in ("$group_key", "$group_id", "$token"))
        if not complete and visit.report("mp.engage.answer", GROUPS, place):
            error = "$group_key, $group_id or $token is missing"
            continue
        ids = {"key": update.get("$group_key"), "id": update.get("$group_id")}
        row = groups.find(ids)
        if "$delete" in update:
            if row is not None:
                groups.remove(row)
            continue
        if row is None and not _CREATE & update.keys():
            continue
        row = row or visit.create(GROUPS, ids)
        op.apply(row.values["attributes"], update, _OPERATIONS)
        groups.touch(row)
    return _profile_answer(request, error)


def _posted(request: Request) -> list[dict[str, Any]]:
    """Return the records of a request: a JSON list or object, or a form with them in `data`."""
    body = request.body
    if isinstance(body, dict) and isinstance(body.get("data"), str):
        try:
            body = msgspec.json.decode(body["data"])
        except msgspec.DecodeError:
            try:
                body = msgspec.json.decode(base64.b64decode(body["data"]))
            except ValueError:
                body = []
    return objects(body if isinstance(body, list) else [body])


def _profile_answer(request: Request, error: str) -> Response:
    if request.query.get("verbose") in ("1", "2"):
        return Response(200, {"status": 0 if error else 1, "error": error or None})
    return Response(200, "0" if error else "1")


@simulation.on("POST /api/app/data-deletions/v3.0")
def delete(visit: Visit, request: Request) -> Response:
    """Delete people and their events at once; Mixpanel takes up to 30 days."""
    ids = request.object.get("distinct_ids")
    ids = ids if isinstance(ids, list) else []
    if visit.over("mp.delete", len(ids), PROFILES):
        return Response(400, {"status": "error", "error": "too many distinct_ids"})
    for id in ids:
        row = visit.tables[PROFILES].find({"distinct_id": _text(id)})
        if row is not None:
            visit.delete(PROFILES, row)
    return Response(200, {"status": "ok", "results": {"task_id": f"task-{visit.number:06d}"}})


# --- reading


@simulation.on("GET /export", "GET /api/2.0/export")
def export(visit: Visit, request: Request) -> Response:
    """Return the events between two days as lines of JSON, including those that reports fold."""
    first, last = request.query.get("from_date", ""), request.query.get("to_date", "9999")
    lines = []
    for row in visit.tables[EVENTS].rows.values():
        seconds = _seconds(row.values["time"])
        day = datetime.fromtimestamp(seconds, UTC).date().isoformat() if seconds and abs(seconds) < 2e11 else ""
        if not day or first <= day <= last:
            event = {"event": row.values["name"], "properties": row.values["properties"]}
            lines.append(msgspec.json.encode(event).decode())
    return Response(200, "\n".join(lines))


_WHERE = re.compile(r"""properties\[["'](.+?)["']\]\s*==\s*["'](.*?)["']""")


@simulation.on("POST /query/engage", "POST /api/query/engage", "GET /query/engage", "GET /api/query/engage")
def query(visit: Visit, request: Request) -> Response:
    """Return profiles: all, one by `distinct_id`, or those with `where=properties["$email"] == "a@b.example"`."""
    asked = {**request.query, **request.object}
    wanted = asked.get("distinct_ids", [asked["distinct_id"]] if "distinct_id" in asked else None)
    if isinstance(wanted, str):
        wanted = re.findall(r'"([^"]+)"', wanted)
    where = _WHERE.search(str(asked.get("where", "")))
    rows = [row for row in visit.tables[PROFILES].rows.values() if row.shown]
    if wanted is not None:
        found = [visit.tables[PROFILES].find({"distinct_id": _text(id)}) for id in wanted]
        rows = [row for row in found if row is not None and row.shown]
    if where:
        rows = [row for row in rows if str(row.values["attributes"].get(where[1])) == where[2]]
    people = [{"$distinct_id": row.ids["distinct_id"], "$properties": row.values["attributes"]} for row in rows]
    counts = {"page": 0, "page_size": 1000, "total": len(people), "session_id": "simulated"}
    return Response(200, {**counts, "status": "ok", "results": people})
