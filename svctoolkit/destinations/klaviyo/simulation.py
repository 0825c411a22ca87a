"""Klaviyo's server: events, profiles, subscriptions and lists, and the endpoints that read.

The rules are in `facts.yaml`. Which profile an event belongs to if its identifiers belong to several is not documented:
here it is the first in the order of `_IDS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.simulations import (
    Confidence,
    Fold,
    Request,
    Response,
    Row,
    Simulation,
    Visit,
    bearer,
    member,
    object_at,
    objects,
)
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.limits import depth, is_email, is_phone, members_over, texts, time_of

simulation = Simulation(
    "Klaviyo",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=bearer("privateApiKey", prefix="Klaviyo-API-Key "),
)
_IDS = ("id", "email", "phone_number", "external_id", "anonymous_id", "_kx")
PROFILES = simulation.table(
    "profiles",
    ids=_IDS,
    makes=lambda number: {"id": f"01SIMULATED{number:015d}"},
    blank={"attributes": {}, "subscriptions": {}, "lists": []},
)
EVENTS = simulation.table(
    "events",
    owner=PROFILES,
    folds=(
        Fold("kl.fold.unique", ("owner", "name", "id"), "first", needs=("id",)),
        Fold("kl.fold.second", ("owner", "name", "time"), "last", lacks=("id",)),
    ),
)

_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_CHANGES: dict[str, op.Operation] = {"append": op.append, "unappend": op.remove, "unset": op.unset}
#: names of profile members in events of the older revision
_OLDER = {"$id": "external_id", "$email": "email", "$phone_number": "phone_number", "_kx": "_kx", "$exchange_id": "_kx"}
_SMALL = 8_000  # bytes of a request in which no text or list can be too long
_PROFILE = "/data/attributes/profile/data/attributes"
_ADDRESSES = {"email": "email", "sms": "phone_number", "whatsapp": "phone_number"}


def _error(status: int, code: str, detail: str, pointer: str = "/data/", **more: Json) -> Response:
    error = {"id": "simulated", "status": status, "code": code, "title": code, "detail": detail}
    return Response(status, {"errors": [{**error, "source": {"pointer": pointer}, **more}]})


@simulation.on_every_request
def authenticate(visit: Visit, request: Request) -> Response | None:
    """Refuse requests without the account's key. Those of browsers name the company instead."""
    key, company = visit.config.get("privateApiKey") or "", request.path.startswith("/client/")
    given = request.headers.get("authorization", "")
    if company or given.partition(" ")[2].strip() == key:
        return None
    visit.report("kl.auth")
    code = "authentication_failed" if given else "not_authenticated"
    return _error(401, code, "Missing or invalid private key.")


# --- events


@simulation.on("POST /api/events", "POST /client/events")
def create_event(visit: Visit, request: Request) -> Response:
    """Keep one event; its profile is created or changed."""
    attributes = object_at(request.object, "data", "attributes")
    if visit.over("kl.event.string", request.size, EVENTS, 0, name="body"):
        return _error(413, "payload_too_large", "the body is too large")
    return _event(visit, attributes, 0, request.size) or Response(202)


@simulation.on("POST /api/event-bulk-create-jobs")
def create_events(visit: Visit, request: Request) -> Response:
    """Keep the events of a job; a repeated unique_id fails the whole job."""
    jobs = objects(member(request.object, "data", "attributes", "events-bulk-create", "data"))
    ids: set[tuple[str, str]] = set()
    pairs = []
    for job in jobs:
        profile = object_at(job, "attributes", "profile")
        for event in objects(member(job, "attributes", "events", "data")):
            attributes = {**object_at(event, "attributes"), "profile": profile}
            pairs.append(attributes)
            id = attributes.get("unique_id")
            key = str(id), str(_metric(attributes))
            if id is not None and key in ids and visit.report("kl.fold.unique", EVENTS, len(pairs) - 1, what="refused"):
                return _error(400, "invalid", "unique_id is repeated")
            ids.add(key)
    for place, attributes in enumerate(pairs):
        _event(visit, attributes, place, request.size)
    return Response(202)


def _metric(attributes: Mapping[str, Any]) -> Any:
    metric = object_at(attributes, "metric")
    return metric.get("name") or member(metric, "data", "attributes", "name")


def _event(visit: Visit, attributes: Mapping[str, Any], place: int, size: int) -> Response | None:
    """Keep one event, or return the refusal."""
    name = _metric(attributes)
    ids, profile, changes = _event_profile(attributes)
    properties = object_at(attributes, "properties")
    time = time_of(attributes.get("time"))
    refusal = (
        _required(visit, name, ids, place)
        or _bad_addresses(visit, ids, EVENTS, place, _PROFILE)
        or _too_large(visit, properties, place, size)
        or _bad_time(visit, time, place)
    )
    if refusal is not None:
        return refusal
    row = _write_event_profile(visit, ids, profile, changes)
    kept = attributes.get("time") if time is None and attributes.get("time") is not None else _cut(visit, time, place)
    values: dict[str, Any] = {"name": name, "properties": properties, "time": kept, "id": attributes.get("unique_id")}
    values |= {key: attributes[key] for key in ("value", "value_currency") if attributes.get(key) is not None}
    visit.record(EVENTS, values, row, place)
    return None


def _event_profile(attributes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the ids of an event's profile, its attributes, and its changes of properties, in either revision."""
    profile = object_at(attributes, "profile")
    if "data" in profile:
        data = object_at(profile, "data")
        inner = object_at(data, "attributes")
        ids, others = _split({"id": data.get("id"), **inner})
        return ids, others, object_at(inner, "meta", "patch_properties") or object_at(data, "meta", "patch_properties")
    renamed = {_OLDER.get(name, name.removeprefix("$")): value for name, value in profile.items()}
    ids, others = _split(renamed)
    return ids, others, {}


def _required(visit: Visit, name: Json, ids: Mapping[str, Any], place: int) -> Response | None:
    if not name and visit.report("kl.event.required", EVENTS, place, value="metric"):
        return _error(400, "invalid", "'name' is a required field", "/data/attributes/metric/data/attributes/name")
    if not ids and visit.report("kl.event.required", EVENTS, place, value="profile"):
        detail = "One of email, phone_number, external_id, anonymous_id, _kx or id must be provided."
        return _error(400, "invalid", detail, _PROFILE)
    return None


def _bad_addresses(
    visit: Visit, ids: Mapping[str, Any], table: str, place: int, pointer: str = "/data/attributes"
) -> Response | None:
    email, phone = ids.get("email"), ids.get("phone_number")
    bad = email is not None and (not is_email(email) or len(email) > visit.limit("kl.profile.email"))
    if bad and visit.report("kl.profile.email", table, place, value=email):
        return _error(400, "invalid", "Invalid email address", f"{pointer}/email")
    if phone is not None and not is_phone(phone) and visit.report("kl.profile.phone", table, place, value=phone):
        return _error(400, "invalid", "Invalid phone number format", f"{pointer}/phone_number")
    return None


def _too_large(visit: Visit, properties: dict[str, Any], place: int, size: int) -> Response | None:
    pointer = "/data/attributes/properties"
    if visit.over("kl.event.properties", len(properties), EVENTS, place):
        return _error(400, "invalid", "too many properties", pointer)
    if size < _SMALL and not any(isinstance(value, (dict, list)) for value in properties.values()):
        return None
    bound = visit.limit("kl.event.string", "text")
    long = next((text for text in texts(properties) if len(text.encode("utf-8", "replace")) > bound), None)
    if long is not None and visit.report("kl.event.string", EVENTS, place, value=len(long)):
        return _error(400, "invalid", "a text is too long", pointer)
    most, levels = visit.limit("kl.event.array", "items"), visit.limit("kl.event.array", "levels")
    listed = members_over(properties, lambda item: isinstance(item, list) and len(item) > most)
    deep = max((depth(value) for value in properties.values()), default=0)
    too_much = len(listed) if listed is not None else deep if deep > levels else None
    if too_much is not None and visit.report("kl.event.array", EVENTS, place, value=too_much):
        return _error(400, "invalid", "a list is too long, or properties are nested too deeply", pointer)
    return None


def _bad_time(visit: Visit, time: datetime | None, place: int) -> Response | None:
    if time is None:
        return None
    latest = visit.now + timedelta(days=visit.limit("kl.event.time", "days"))
    if (time < _EARLIEST or time > latest) and visit.report("kl.event.time", EVENTS, place, value=time.isoformat()):
        return _error(400, "invalid", "the time is out of range", "/data/attributes/time")
    return None


def _cut(visit: Visit, time: datetime | None, place: int) -> str:
    """Return the time of an event to the second; without one, that of the request."""
    if time is None:
        return _second(visit.now)
    if time.microsecond:
        visit.report("kl.event.time_second", EVENTS, place, value=time.isoformat())
    return _second(time)


def _second(time: datetime) -> str:
    return f"{time.isoformat(timespec='seconds')[:19]}Z"


# --- profiles


def _split(attributes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the ids and the other attributes of a profile, with custom properties next to standard ones."""
    ids = {name: attributes[name] for name in _IDS if attributes.get(name) not in (None, "")}
    others = {n: v for n, v in attributes.items() if n not in (*_IDS, "properties", "meta", "subscriptions")}
    cleared = {name: None for name in _IDS if name in attributes and attributes[name] is None and name != "id"}
    return ids, {**cleared, **others, **object_at(attributes, "properties")}


def _write(visit: Visit, row: Row, ids: Mapping[str, Any], others: Mapping[str, Any], changes: Json) -> None:
    people = visit.tables[PROFILES]
    new = {name: value for name, value in ids.items() if name != "id" and row.ids.get(name) != value}
    if new:
        new = {name: value for name, value in new.items() if people.find({name: value}) in (None, row)}
        people.identify(row, new)
    attributes = row.values["attributes"]
    for name, value in {**new, **others}.items():
        op.set_or_clear(attributes, name, value)
        if value is None:
            row.ids.pop(name, None)
    op.apply(attributes, changes if isinstance(changes, dict) else {}, _CHANGES)
    people.touch(row)


def _own(ids: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ID that a request gives a new profile; the other ids are set with the attributes."""
    return {"id": ids["id"]} if ids.get("id") else {}


def _write_event_profile(visit: Visit, ids: dict[str, Any], others: dict[str, Any], changes: Json) -> Row:
    """Create or change the profile of an event. Which one it is if its ids belong to several is not documented."""
    row = visit.tables[PROFILES].find(ids) or visit.create(PROFILES, _own(ids))
    _write(visit, row, ids, others, changes)
    return row


def _profile_data(request: Request) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    data = object_at(request.object, "data")
    ids, others = _split({**object_at(data, "attributes"), "id": data.get("id")})
    return ids, others, object_at(data, "meta", "patch_properties")


@simulation.on("POST /api/profile-import")
def import_profile(visit: Visit, request: Request) -> Response:
    """Create or change a profile: 201 or 200. null clears."""
    ids, others, changes = _profile_data(request)
    found = visit.tables[PROFILES].find_all(ids)
    refusal = _refuse_profile(visit, request, ids) or _several(visit, found, "kl.profile.import")
    if refusal is not None:
        return refusal
    row = found[0] if found else visit.create(PROFILES, _own(ids))
    _write(visit, row, ids, others, changes)
    return Response(200 if found else 201, {"data": _shown(row)})


@simulation.on("POST /api/profiles")
def create_profile(visit: Visit, request: Request) -> Response:
    """Create a profile; if it exists, answer 409 with its ID."""
    ids, others, changes = _profile_data(request)
    refusal = _refuse_profile(visit, request, ids)
    if refusal is not None:
        return refusal
    known = visit.tables[PROFILES].find(ids)
    if known is not None:
        return _duplicate(known)  # the mapping asks in this way for the ID: nothing is lost
    row = visit.create(PROFILES, {})
    _write(visit, row, ids, others, changes)
    return Response(201, {"data": _shown(row)})


@simulation.on("PATCH /api/profiles/{id}")
def change_profile(visit: Visit, request: Request) -> Response:
    """Change a profile; an unknown one is answered 404."""
    ids, others, changes = _profile_data(request)
    row = visit.tables[PROFILES].find({"id": request.parts[0]})
    if row is None and visit.account.is_new and visit.report("kl.profile.patch", PROFILES, 0, value=request.parts[0]):
        return _error(404, "not_found", f"A profile with id {request.parts[0]} does not exist.")
    row = row or visit.create(PROFILES, {"id": request.parts[0]})
    others_of = [other for other in visit.tables[PROFILES].find_all({**ids, "id": None}) if other is not row]
    refusal = _refuse_profile(visit, request, ids) or _several(visit, [row, *others_of], "kl.profile.import")
    if refusal is not None:
        return refusal
    _write(visit, row, ids, others, changes)
    return Response(200, {"data": _shown(row)})


def _refuse_profile(visit: Visit, request: Request, ids: Mapping[str, Any]) -> Response | None:
    if visit.over("kl.profile.import", request.size, PROFILES, 0):
        return _error(413, "payload_too_large", "the profile is too large")
    return _bad_addresses(visit, ids, PROFILES, 0)


def _several(visit: Visit, rows: list[Row], rule: str) -> Response | None:
    if len(rows) > 1 and visit.report(rule, PROFILES, 0, value=rows[1].ids.get("id")):
        return _duplicate(rows[1])
    return None


def _duplicate(row: Row) -> Response:
    meta = {"duplicate_profile_id": row.ids["id"]}
    return _error(409, "duplicate_profile", "A profile already exists with one of these identifiers.", meta=meta)


def _shown(row: Row) -> dict[str, Any]:
    ids = {name: value for name, value in row.ids.items() if name != "id"}
    return {"type": "profile", "id": row.ids["id"], "attributes": {**row.values["attributes"], **ids}}


@simulation.on("POST /api/profile-merge")
def merge(visit: Visit, request: Request) -> Response:
    """Merge one profile into another one."""
    people, data = visit.tables[PROFILES], object_at(request.object, "data")
    target = people.find({"id": data.get("id")})
    sources = [
        people.find({"id": item.get("id")}) for item in objects(member(data, "relationships", "profiles", "data"))
    ]
    if target is None or len(sources) != 1 or sources[0] is None:
        return _error(404, "not_found", "A profile to merge does not exist.")
    source = sources[0]
    op.fill(target.values["attributes"], source.values["attributes"])
    people.merge(source, target)
    visit.report("kl.merge", PROFILES, 0, value=source.ids["id"])
    return Response(201, {"data": {"type": "profile-merge", "id": target.ids["id"]}})


@simulation.on("POST /api/data-privacy-deletion-jobs")
def delete(visit: Visit, request: Request) -> Response:
    """Delete a profile and its events."""
    profile = object_at(request.object, "data", "attributes", "profile", "data")
    given = {**object_at(profile, "attributes"), "id": profile.get("id")}
    ids = {name: given[name] for name in ("email", "phone_number", "id") if given.get(name) is not None}
    if len(ids) != 1 and visit.report("kl.delete", PROFILES, 0, value=", ".join(ids)):
        return _error(400, "invalid", "Exactly one of email, phone_number and id must be provided.")
    row = visit.tables[PROFILES].find(ids)
    if row is not None:
        visit.delete(PROFILES, row)
    return Response(202)


# --- subscriptions and lists


@simulation.on("POST /api/profile-subscription-bulk-create-jobs")
def subscribe(visit: Visit, request: Request) -> Response:
    """Subscribe profiles, at once or, for lists of double opt-in, not before they confirm."""
    attributes, list_id, profiles = _job(request)
    if visit.over("kl.subscribe", len(profiles), PROFILES, name="subscribe"):
        return _error(400, "invalid", "too many profiles", "/data/attributes/profiles/data")
    listed = visit.account.entry("lists", list_id) if list_id is not None else {}
    if listed is None and visit.report("kl.list", PROFILES, value=list_id):
        return _error(404, "not_found", f"A list with id {list_id} does not exist.")
    history = bool(attributes.get("historical_import"))
    for place, profile in enumerate(profiles):
        refusal = _refuse_subscription(visit, profile, place, history)
        if refusal is not None:
            return refusal
    pending = (listed or {}).get("opt_in") == "double" and not history
    for place, profile in enumerate(profiles):
        visit.events = _events_at(request, place, len(profiles))
        _subscribe(visit, profile, list_id, pending=pending)
    return Response(202)


def _events_at(request: Request, place: int, count: int) -> tuple[str, ...]:
    return request.events[place : place + 1] if len(request.events) == count else request.events


def _job(request: Request) -> tuple[dict[str, Any], Any, list[dict[str, Any]]]:
    """Return the attributes, the list and the profiles of a job, in either revision."""
    data = object_at(request.object, "data")
    attributes = object_at(data, "attributes")
    if "subscriptions" in attributes:  # the older revision
        older = [_from_older(item) for item in objects(attributes["subscriptions"])]
        return attributes, attributes.get("list_id"), older
    profiles = [
        {"id": item.get("id"), **object_at(item, "attributes")}
        for item in objects(member(attributes, "profiles", "data"))
    ]
    return attributes, member(data, "relationships", "list", "data", "id"), profiles


def _from_older(item: Mapping[str, Any]) -> dict[str, Any]:
    channels = item.get("channels")
    consent = {"marketing": {"consent": "SUBSCRIBED"}}
    given = {"subscriptions": dict.fromkeys(channels, consent)} if isinstance(channels, dict) else {}
    return {**{name: value for name, value in item.items() if name != "channels"}, **given}


def _consents(profile: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the channels of a subscription with their consents; without any, those that have an address."""
    channels = profile.get("subscriptions")
    if not isinstance(channels, dict):
        channels = {name: {} for name in ("email", "sms") if profile.get(_ADDRESSES[name])}
    for name, kinds in channels.items():
        yield name, object_at(kinds, "marketing") if isinstance(kinds, dict) else {}


def _refuse_subscription(visit: Visit, profile: Mapping[str, Any], place: int, history: bool) -> Response | None:
    refusal = _bad_addresses(visit, {n: profile.get(n) for n in ("email", "phone_number")}, PROFILES, place)
    if refusal is not None:
        return refusal
    for channel, consent in _consents(profile):
        address = _ADDRESSES.get(channel, "email")
        certainty: Confidence = "rec" if address == "phone_number" else "inf"  # only sms was reported by an account
        missing = not profile.get(address) and not profile.get("id")
        if missing and visit.report("kl.subscribe.sms", PROFILES, place, value=channel, confidence=certainty):
            detail = f"'{address}' must not be empty when the {channel} channel is included in 'subscriptions'."
            return _error(400, "invalid", detail, f"/data/attributes/profiles/data/{place}/attributes/{address}")
        if history:
            given = time_of(consent.get("consented_at"))
            if (given is None or given > visit.now) and visit.report("kl.subscribe.history", PROFILES, place):
                return _error(400, "invalid", "consented_at must be in the past for a historical import")
    return None


def _subscribe(visit: Visit, profile: Mapping[str, Any], list_id: Json, *, pending: bool) -> None:
    ids, _ = _split(profile)
    row = visit.tables[PROFILES].find(ids) or visit.create(PROFILES, _own(ids))
    _write(visit, row, ids, {}, None)
    if pending:
        return
    consents = {channel: "SUBSCRIBED" for channel, _ in _consents(profile)}
    row.values["subscriptions"] = {**row.values.get("subscriptions", {}), **consents}
    if list_id is not None:
        row.values["lists"] = [*(other for other in row.values.get("lists", ()) if other != list_id), list_id]
    visit.touch(PROFILES, row)


@simulation.on("POST /api/profile-subscription-bulk-delete-jobs")
def unsubscribe(visit: Visit, request: Request) -> Response:
    """Unsubscribe profiles from a list, or from everything if they are not in it."""
    _, list_id, profiles = _job(request)
    if visit.over("kl.subscribe", len(profiles), PROFILES, name="unsubscribe"):
        return _error(400, "invalid", "too many profiles", "/data/attributes/profiles/data")
    for place, profile in enumerate(profiles):
        visit.events = _events_at(request, place, len(profiles))
        ids, _ = _split(profile)
        row = visit.tables[PROFILES].find(ids) or visit.create(PROFILES, _own(ids))
        _write(visit, row, ids, {}, None)
        lists = list(row.values.get("lists", ()))
        if list_id in lists:
            row.values["lists"] = [item for item in lists if item != list_id]
        else:
            if list_id is not None:
                visit.report("kl.unsubscribe.global", PROFILES, place, value=list_id)
            channels = [name for name, _ in _consents(profile)]
            gone = {**row.values.get("subscriptions", {}), **dict.fromkeys(channels)}
            row.values["subscriptions"] = dict.fromkeys(gone, "UNSUBSCRIBED")
            row.values["lists"] = []
        visit.touch(PROFILES, row)
    return Response(202)


@simulation.on("POST /api/lists/{id}/relationships/profiles", "DELETE /api/lists/{id}/relationships/profiles")
def change_list(visit: Visit, request: Request) -> Response:
    """Add profiles to a list, or remove them from it."""
    list_id, items = request.parts[0], objects(request.object.get("data"))
    if visit.account.entry("lists", list_id) is None and visit.report("kl.list", PROFILES, value=list_id):
        return _error(404, "not_found", f"A list with id {list_id} does not exist.")
    if visit.over("kl.list", len(items), PROFILES):
        return _error(400, "invalid", "too many profiles")
    for item in items:
        row = visit.tables[PROFILES].find({"id": item.get("id")})
        if row is not None:
            others = [other for other in row.values.get("lists", ()) if other != list_id]
            row.values["lists"] = [*others, list_id] if request.method == "POST" else others
            visit.touch(PROFILES, row)
    return Response(204)


# --- reading


_EQUALS = re.compile(r"""equals\((\w+),\s*+["']?([^()]*?)["']?\)""")


@simulation.on("GET /api/profiles")
def read_profiles(visit: Visit, request: Request) -> Response:
    """Return profiles, with `filter=equals(email,"ada@shop.example")` those that match."""
    wanted = _EQUALS.findall(request.query.get("filter", ""))
    rows = [row for row in visit.tables[PROFILES].rows.values() if row.shown]
    if wanted and all(name in _IDS for name, _ in wanted):
        rows = visit.tables[PROFILES].find_all(dict(wanted))
    with_subscriptions = "subscriptions" in request.query.get("additional-fields[profile]", "")
    chosen = [row for row in rows if all(str(_attributes(row).get(name)) == value for name, value in wanted)]
    return Response(200, {"data": [_listed(row, with_subscriptions) for row in chosen], "links": {"next": None}})


@simulation.on("GET /api/profiles/{id}")
def read_profile(visit: Visit, request: Request) -> Response:
    """Return one profile."""
    row = visit.tables[PROFILES].find({"id": request.parts[0]})
    if row is None:
        return _error(404, "not_found", f"A profile with id {request.parts[0]} does not exist.")
    with_subscriptions = "subscriptions" in request.query.get("additional-fields[profile]", "")
    return Response(200, {"data": _listed(row, with_subscriptions)})


def _attributes(row: Row) -> dict[str, Any]:
    return {**row.values["attributes"], **row.ids}


def _listed(row: Row, with_subscriptions: bool) -> dict[str, Any]:
    shown = _shown(row)
    if with_subscriptions:
        consents = row.values.get("subscriptions", {}).items()
        shown["attributes"]["subscriptions"] = {name: {"marketing": {"consent": consent}} for name, consent in consents}
    return shown


@simulation.on("GET /api/events")
def read_events(visit: Visit, request: Request) -> Response:
    """Return events, with `filter=equals(profile_id,"...")` those of a profile; at most 200."""
    people, wanted = visit.tables[PROFILES], dict(_EQUALS.findall(request.query.get("filter", "")))
    rows = [row for row in visit.tables[EVENTS].rows.values() if row.shown]
    if "profile_id" in wanted:
        owner = people.find({"id": wanted["profile_id"]})
        rows = visit.tables[EVENTS].rows_of(people, [owner.number]) if owner else []
    data = [
        {
            "type": "event",
            "id": f"simulated-{row.number}",
            "attributes": {"event_properties": row.values["properties"], "datetime": row.values["time"]},
            "relationships": {"profile": {"data": {"type": "profile", "id": _owner_id(visit, row)}}},
        }
        for row in rows[:200]
    ]
    return Response(200, {"data": data, "links": {"next": None}})


def _owner_id(visit: Visit, row: Row) -> Any:
    people = visit.tables[PROFILES]
    owner = people.rows.get(people.canonical(row.owner))
    return owner.ids["id"] if owner else None
