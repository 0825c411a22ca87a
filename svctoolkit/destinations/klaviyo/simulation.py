"""Klaviyo's server: events, profiles, subscriptions and lists, and the endpoints that read.

Rules with their checks and answers are in `facts.yaml`. Which profile an event belongs to if its identifiers belong to
several is not documented: here it is the first in the order of `IDS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.simulations import (
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
from svctoolkit.simulations.formats import moment, time_of

IDS = ("id", "email", "phone_number", "external_id", "anonymous_id", "_kx")
#: members of a profile that are not attributes
_APART = frozenset((*IDS, "properties", "meta", "subscriptions"))


def _second(time: datetime) -> str:
    return f"{time.isoformat(timespec='seconds')[:19]}Z"


def _whole_second(value: Json, _limit: Json, now: datetime) -> Json:
    return _second(time_of(value) or now)


simulation = Simulation(
    "Klaviyo",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=bearer("privateApiKey", prefix="Klaviyo-API-Key "),
    auth="kl.auth",
    formats={
        "whole_second": lambda value: not (time := time_of(value)) or not time.microsecond,
        "consented": lambda consent: moment(member(consent, "consented_at")) is not None,
    },
    conversions={"second": _whole_second},
)
PROFILES = simulation.table(
    "profiles",
    ids=IDS,
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
_CHANGES: dict[str, op.Operation] = {"append": op.append, "unappend": op.remove, "unset": op.unset}
#: names of profile members in events of the older revision
_OLDER = {"$id": "external_id", "$email": "email", "$phone_number": "phone_number", "$exchange_id": "_kx"}
_ADDRESSES = {"email": "email", "sms": "phone_number", "whatsapp": "phone_number"}


# --- events


@simulation.on("POST /api/events", checks="request.event")
@simulation.on("POST /client/events", checks="request.event", is_open=True)
def create_event(visit: Visit, request: Request) -> Response:
    """Keep one event; its profile is created or changed."""
    return _event(visit, _event_of(object_at(request.object, "data", "attributes")), 0) or visit.answer("accepted")


@simulation.on("POST /api/event-bulk-create-jobs", checks="request.event")
def create_events(visit: Visit, request: Request) -> Response:
    """Keep the events of a job; a repeated unique_id fails the whole job."""
    events = []
    for job in objects(member(request.object, "data", "attributes", "events-bulk-create", "data")):
        profile = object_at(job, "attributes", "profile")
        listed = objects(member(job, "attributes", "events", "data"))
        events += [_event_of({**object_at(event, "attributes"), "profile": profile}) for event in listed]
    keys = [(event["id"], event["name"]) for event in events if event["id"] is not None]
    if len(set(keys)) < len(keys) and visit.report("kl.fold.unique", EVENTS, what="refused"):
        return visit.answer("refused", detail="unique_id is repeated", pointer="/data/")
    for place, event in enumerate(events):
        _event(visit, event, place)
    return visit.answer("accepted")


def _event_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with its profile, of either revision, as its checks read it."""
    metric, profile = object_at(attributes, "metric"), object_at(attributes, "profile")
    if "data" in profile:
        data = object_at(profile, "data")
        person = {"id": data.get("id"), **object_at(data, "attributes")}
        changes = object_at(person, "meta", "patch_properties") or object_at(data, "meta", "patch_properties")
    else:
        person, changes = {_OLDER.get(n, n.removeprefix("$")): v for n, v in profile.items()}, {}
    ids, others = _split(person)
    values = {name: attributes[name] for name in ("value", "value_currency") if attributes.get(name) is not None}
    name, properties = metric.get("name") or member(metric, "data", "attributes", "name"), attributes.get("properties")
    kept = {"name": name, "properties": properties or {}, "time": attributes.get("time"), **values}
    return {**kept, "id": attributes.get("unique_id"), "ids": ids, "others": others, "changes": changes}


def _event(visit: Visit, event: dict[str, Any], place: int) -> Response | None:
    """Keep one event, or return the refusal."""
    event, refused = visit.judge(EVENTS, event, place)
    if refused:
        return visit.refusal(refused)
    values = {name: value for name, value in event.items() if name not in ("ids", "others", "changes")}
    time = visit.now if values["time"] is None else time_of(values["time"])
    values["time"] = values["time"] if time is None else _second(time)
    row = visit.find(PROFILES, event["ids"]) or visit.create(PROFILES, _own(event["ids"]))
    _write(visit, row, event["ids"], event["others"], event["changes"])
    visit.record(EVENTS, values, row, place)
    return None


# --- profiles


def _split(attributes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the ids and the other attributes of a profile, with custom properties next to standard ones."""
    ids = {name: attributes[name] for name in IDS if attributes.get(name) not in (None, "")}
    others = {n: v for n, v in attributes.items() if n not in _APART}
    cleared = {name: None for name in IDS if name != "id" and attributes.get(name, "") is None}
    return ids, {**cleared, **others, **object_at(attributes, "properties")}


def _own(ids: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ID that a request gives a new profile; the other ids are set with the attributes."""
    return {"id": ids["id"]} if ids.get("id") else {}


def _write(visit: Visit, row: Row, ids: Mapping[str, Any], others: Mapping[str, Any], changes: Json) -> None:
    new = visit.identify(PROFILES, row, {name: value for name, value in ids.items() if name != "id"})
    visit.write(PROFILES, row, {**new, **others})
    for name in [name for name, value in others.items() if value is None]:
        row.ids.pop(name, None)
    op.apply(row.values["attributes"], changes if isinstance(changes, dict) else {}, _CHANGES)


@simulation.on("POST /api/profile-import", "POST /api/profiles", checks="request.profile")
@simulation.on("PATCH /api/profiles/{id}", checks="request.profile")
def change_profile(visit: Visit, request: Request) -> Response:
    """Create or change a profile. Only imports do both, creating one that exists is answered with its ID."""
    data = object_at(request.object, "data")
    given = {**object_at(data, "attributes"), "id": data.get("id")}
    ids, others = _split(given)
    refusal = visit.refuse(PROFILES, given, 0)
    rows = visit.tables[PROFILES].find_all(ids)
    if request.method == "PATCH":
        id = request.parts[0]
        known = visit.find(PROFILES, {"id": id})
        if known is None and visit.account.is_new and visit.report("kl.profile.patch", PROFILES, 0, value=id):
            return visit.answer("not_found", id=id)
        own = known or visit.create(PROFILES, {"id": id})
        rows = [own, *(row for row in visit.tables[PROFILES].find_all({**ids, "id": None}) if row is not own)]
    if refusal is not None:
        return refusal
    if request.path == "/api/profiles" and rows:  # the mapping asks in this way for the ID: nothing is lost
        return visit.answer("duplicate", id=rows[0].ids["id"])
    if len(rows) > 1 and visit.report("kl.profile.import", PROFILES, 0, value=rows[1].ids["id"]):
        return visit.answer("duplicate", id=rows[1].ids["id"])
    row = rows[0] if rows else visit.create(PROFILES, _own(ids) if request.path != "/api/profiles" else {})
    _write(visit, row, ids, others, object_at(data, "meta", "patch_properties"))
    return visit.answer("profile" if rows else "created", profile=_shown(row))


@simulation.on("POST /api/profile-merge")
def merge(visit: Visit, request: Request) -> Response:
    """Merge one profile into another one."""
    data = object_at(request.object, "data")
    ids = [item.get("id") for item in objects(member(data, "relationships", "profiles", "data"))]
    target, source = visit.find(PROFILES, {"id": data.get("id")}), visit.find(PROFILES, {"id": ids[0] if ids else None})
    if target is None or source is None or len(ids) != 1:
        return visit.answer("not_found", id=data.get("id"))
    visit.merge(PROFILES, source, target)
    visit.report("kl.merge", PROFILES, 0, value=source.ids["id"])
    return visit.answer("created", profile={"type": "profile-merge", "id": target.ids["id"]})


@simulation.on("POST /api/data-privacy-deletion-jobs")
def delete(visit: Visit, request: Request) -> Response:
    """Delete a profile and its events."""
    profile = object_at(request.object, "data", "attributes", "profile", "data")
    given = {**object_at(profile, "attributes"), "id": profile.get("id")}
    ids = {name: given[name] for name in ("email", "phone_number", "id") if given.get(name) is not None}
    if len(ids) != 1 and visit.report("kl.delete", PROFILES, 0, value=", ".join(ids)):
        detail = "Exactly one of email, phone_number and id must be provided."
        return visit.answer("refused", detail=detail, pointer="/data/")
    visit.delete(PROFILES, visit.find(PROFILES, ids))
    return visit.answer("accepted")


# --- subscriptions and lists


@simulation.on("POST /api/profile-subscription-bulk-create-jobs", checks="request.subscribe")
def subscribe(visit: Visit, request: Request) -> Response:
    """Subscribe profiles, at once or, for lists of double opt-in, not before they confirm."""
    attributes, list_id, profiles = _job(request)
    declared = visit.account.entry("lists", list_id) if list_id is not None else {}
    if declared is None and visit.report("kl.list", PROFILES, value=list_id):
        return visit.answer("no_list", id=list_id)
    is_historical = bool(attributes.get("historical_import"))
    kinds = ["profiles", "profiles.channels", *(["profiles.history"] if is_historical else [])]
    for place, profile in enumerate(profiles):
        refusal = next(filter(None, (visit.refuse(kind, profile, place) for kind in kinds)), None)
        if refusal is not None:
            return refusal
    is_pending = (declared or {}).get("opt_in") == "double" and not is_historical
    for _, profile, row in _subscribers(visit, request, profiles):
        if not is_pending:
            row.values["subscriptions"].update(dict.fromkeys(profile["channels"], "SUBSCRIBED"))
            op.move_to_end(row.values, "lists", list_id)
    return visit.answer("accepted")


@simulation.on("POST /api/profile-subscription-bulk-delete-jobs", checks="request.unsubscribe")
def unsubscribe(visit: Visit, request: Request) -> Response:
    """Unsubscribe profiles from a list, or from everything if they are not in it."""
    _, list_id, profiles = _job(request)
    for place, profile, row in _subscribers(visit, request, profiles):
        if list_id in row.values["lists"]:
            op.remove(row.values, "lists", list_id)
            continue
        if list_id is not None:
            visit.report("kl.unsubscribe.global", PROFILES, place, value=list_id)
        channels = {*row.values["subscriptions"], *profile["channels"]}
        row.values.update(subscriptions=dict.fromkeys(channels, "UNSUBSCRIBED"), lists=[])
    return visit.answer("accepted")


def _job(request: Request) -> tuple[dict[str, Any], Any, list[dict[str, Any]]]:
    """Return the attributes, the list and the profiles of a job, in either revision, with channels and consents."""
    data = object_at(request.object, "data")
    attributes = object_at(data, "attributes")
    if "subscriptions" in attributes:  # the older revision
        older = [{**item, "subscriptions": item.get("channels")} for item in objects(attributes["subscriptions"])]
        return attributes, attributes.get("list_id"), [_channels(item) for item in older]
    listed = objects(member(attributes, "profiles", "data"))
    profiles = [_channels({"id": item.get("id"), **object_at(item, "attributes")}) for item in listed]
    return attributes, member(data, "relationships", "list", "data", "id"), profiles


def _channels(profile: Mapping[str, Any]) -> dict[str, Any]:
    given = profile.get("subscriptions")
    if not isinstance(given, dict):
        given = {name: {} for name in ("email", "sms") if profile.get(_ADDRESSES[name])}
    return {**profile, "channels": list(given), "consents": [object_at(kinds, "marketing") for kinds in given.values()]}


def _subscribers(
    visit: Visit, request: Request, profiles: list[dict[str, Any]]
) -> Iterator[tuple[int, dict[str, Any], Row]]:
    """Yield place, profile and row of each profile of a job."""
    for place, profile in enumerate(profiles):
        visit.events = request.events[place : place + 1] if len(request.events) == len(profiles) else request.events
        ids, _ = _split(profile)
        row = visit.find(PROFILES, ids) or visit.create(PROFILES, _own(ids))
        _write(visit, row, ids, {}, None)
        yield place, profile, row


@simulation.on("POST /api/lists/{id}/relationships/profiles", checks="request.list")
@simulation.on("DELETE /api/lists/{id}/relationships/profiles", checks="request.list")
def change_list(visit: Visit, request: Request) -> Response:
    """Add profiles to a list, or remove them from it."""
    list_id = request.parts[0]
    if visit.account.entry("lists", list_id) is None and visit.report("kl.list", PROFILES, value=list_id):
        return visit.answer("no_list", id=list_id)
    for item in request.items("data"):
        row = visit.find(PROFILES, {"id": item.get("id")})
        if row is not None:
            (op.move_to_end if request.method == "POST" else op.remove)(row.values, "lists", list_id)
            visit.touch(PROFILES, row)
    return visit.answer("changed")


# --- reading

_EQUALS = re.compile(r"""equals\((\w+),\s*+["']?([^()]*?)["']?\)""")


@simulation.on("GET /api/profiles")
def read_profiles(visit: Visit, request: Request) -> Response:
    """Return profiles, with `filter=equals(email,"ada@shop.example")` those that match."""
    wanted = dict(_EQUALS.findall(request.query.get("filter", "")))
    rows = visit.tables[PROFILES].find_all(wanted) if wanted.keys() & set(IDS) else visit.shown(PROFILES)
    found = [row for row in rows if wanted.items() <= {n: str(v) for n, v in _attributes(row).items()}.items()]
    return visit.answer("list", data=[_listed(row, request) for row in found])


@simulation.on("GET /api/profiles/{id}")
def read_profile(visit: Visit, request: Request) -> Response:
    """Return one profile."""
    id = request.parts[0]
    row = visit.find(PROFILES, {"id": id})
    return visit.answer("profile", profile=_listed(row, request)) if row else visit.answer("not_found", id=id)


def _attributes(row: Row) -> dict[str, Any]:
    return {**row.values["attributes"], **row.ids}


def _shown(row: Row) -> dict[str, Any]:
    attributes = {name: value for name, value in _attributes(row).items() if name != "id"}
    return _resource("profile", row.ids["id"], attributes)


def _resource(type: str, id: str, attributes: dict[str, Any]) -> dict[str, Any]:
    # Klaviyo's own libraries refuse a resource without a link to itself.
    links = {"self": f"https://a.klaviyo.com/api/{type}s/{id}/"}
    return {"type": type, "id": id, "attributes": attributes, "links": links}


def _listed(row: Row, request: Request) -> dict[str, Any]:
    shown = _shown(row)
    if "subscriptions" in request.query.get("additional-fields[profile]", ""):
        consents = row.values["subscriptions"].items()
        shown["attributes"]["subscriptions"] = {name: {"marketing": {"consent": consent}} for name, consent in consents}
    return shown


@simulation.on("GET /api/events")
def read_events(visit: Visit, request: Request) -> Response:
    """Return events, with `filter=equals(profile_id,"...")` those of a profile; at most 200."""
    wanted, rows = dict(_EQUALS.findall(request.query.get("filter", ""))), visit.shown(EVENTS)
    if "profile_id" in wanted:
        owner = visit.find(PROFILES, {"id": wanted["profile_id"]})
        rows = visit.rows_of(EVENTS, owner) if owner else []
    data = []
    for row in rows[:200]:
        attributes = {"event_properties": row.values["properties"], "datetime": row.values["time"]}
        owner = visit.owner(EVENTS, row)
        person = {"data": {"type": "profile", "id": owner.ids["id"] if owner else None}}
        relationships = {"profile": person}
        event = _resource("event", f"simulated-{row.number}", attributes)
        data.append({**event, "relationships": relationships})
    return visit.answer("list", data=data)
