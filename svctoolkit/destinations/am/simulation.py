"""Amplitude's server: events and user properties, groups, user mapping, deletion.

Rules with their checks and answers are in `facts.yaml`. One invalid event refuses a whole request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.json_codec import decode
from svctoolkit.json_types import Json
from svctoolkit.simulations import (
    Broken,
    Fold,
    Request,
    Response,
    Simulation,
    Visit,
    filled,
    object_at,
    objects,
)
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.formats import is_number

# fmt: off
_LANGUAGES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "nb": "Norwegian", "nl": "Dutch", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}
_OPERATIONS: dict[str, op.Operation] = {
    "$set": op.set_value, "$setOnce": op.set_once, "$add": op.add, "$append": op.append, "$prepend": op.prepend,
    "$preInsert": op.union_first, "$postInsert": op.union, "$remove": op.remove, "$unset": op.unset,
}
#: members of an event that describe the user
_PERSONAL = (
    "language", "country", "region", "city", "dma", "platform", "os_name", "os_version", "device_brand",
    "device_manufacturer", "device_model", "carrier", "app_version",
)
# fmt: on


def _language(value: Json) -> str:
    return _LANGUAGES.get(str(value).replace("_", "-").split("-")[0].lower(), str(value))


def _is_authentic(config: Mapping[str, Any], request: Request) -> bool:
    """Whether the key is that of the project; a missing one breaks a check, with another answer."""
    return request.object.get("api_key") in (None, "", config.get("apiKey"))


simulation = Simulation(
    "Amplitude",
    facts=Path(__file__).with_name("facts.yaml"),
    auth="am.auth",
    is_authentic=_is_authentic,
    formats={"language_name": lambda value: _language(value) == value},
    conversions={"language_name": lambda value, _limit, _now: _language(value)},
)
PROFILES = simulation.table("profiles", ids=("user_id", "device_id"))
EVENTS = simulation.table(
    "events",
    owner=PROFILES,
    folds=(Fold("am.fold", ("device_id", "id"), "first", within=7 * 86_400, needs=("id",)),),
)
GROUPS = simulation.table("groups", ids=(("key", "id"),))


@simulation.on("POST /2/httpapi", checks="request.httpapi")
@simulation.on("POST /batch", checks="request.batch")
def take_events(visit: Visit, request: Request) -> Response:
    """Keep the events if all are valid."""
    given = request.items("events")
    throttled = _throttled(visit, given) if request.path == "/batch" else {}
    if throttled:
        return visit.answer("throttled", **throttled)
    batch = visit.batch()
    valid = [(place, _without_short_ids(visit, request, event, place)) for place, event in batch.judge(EVENTS, given)]
    owned = []
    for place, event in valid:
        visit.record_of = event
        kept, broken = visit.judge("events.owned", event, place)
        owned.append((place, kept))
        batch.refused += [broken] if broken else []
    if batch.refused:
        batch.report_others("am.400", EVENTS, given)
        return visit.answer("refused", **_fields(batch.refused))
    for place, event in owned:
        visit.record_of = event
        _keep(visit, event, place)
    now = int(visit.now.timestamp() * 1000)
    return visit.answer("taken", count=len(given), bytes=request.size, now=now)


def _fields(refused: list[Broken]) -> dict[str, Any]:
    """Return the places of invalid events by field, and those of events without a required one."""
    fields: dict[str, dict[str, list[int]]] = {"invalid": {}, "missing": {}}
    for broken in refused:
        kind = "missing" if broken.check.check.needs else "invalid"
        fields[kind].setdefault(broken.check.member, []).append(broken.place or 0)
    return filled(**fields)


def _throttled(visit: Visit, events: list[dict[str, Any]]) -> dict[str, Any]:
    throttled: dict[str, Any] = {}
    for member, name in (("user_id", "users"), ("device_id", "devices")):
        counts = Counter(str(event[member]) for event in events if event.get(member))
        totals = {id: visit.throttle("am.rate", [member, id], count, 30) for id, count in counts.items()}
        throttled[name] = {id: total // 30 for id, total in totals.items() if total is not None}
    if not any(throttled.values()):
        return {}
    visit.report("am.rate", EVENTS)
    return {**throttled, "events": list(range(len(events)))}


def _without_short_ids(visit: Visit, request: Request, event: dict[str, Any], place: int) -> dict[str, Any]:
    asked = object_at(request.object, "options").get("min_id_length")
    shortest = asked if isinstance(asked, int) else visit.limit("am.id_length")
    short = [name for name in ("user_id", "device_id") if event.get(name) and len(str(event[name])) < shortest]
    for name in short:
        if visit.report("am.id_length", EVENTS, place, value=event[name]):
            event = {other: value for other, value in event.items() if other != name}
    return event


def _keep(visit: Visit, event: dict[str, Any], place: int) -> None:
    ids = {name: event.get(name) for name in ("user_id", "device_id")}
    row = visit.resolve(PROFILES, ids, own="user_id", joins="am.identity")
    properties = object_at(event, "user_properties")
    op.apply(row.values["attributes"], properties, _OPERATIONS)
    plain = {name: value for name, value in properties.items() if name not in _OPERATIONS}
    visit.write(PROFILES, row, {**{name: event[name] for name in _PERSONAL if event.get(name) is not None}, **plain})
    if event.get("event_type") == "$identify":
        return
    values = {
        "name": event.get("event_type"),
        "properties": object_at(event, "event_properties"),
        "time": event.get("time"),
    }
    values |= {name: event[name] for name in ("groups", "price", "quantity", "revenue", "productId") if name in event}
    price, quantity, revenue = event.get("price"), event.get("quantity"), event.get("revenue")
    if is_number(price) and is_number(quantity) and revenue is not None:
        values["revenue"] = float(str(price)) * float(str(quantity))
        if values["revenue"] != revenue:
            visit.report("am.revenue", EVENTS, place, value=revenue)
    device = event.get("device_id") or f"hash of {event.get('user_id')}"
    visit.record(EVENTS, {**values, "id": event.get("insert_id"), "device_id": device}, row, place)


def _listed(request: Request, name: str) -> list[dict[str, Any]]:
    """Return the objects in a field of a form: a JSON list or object."""
    try:
        value = decode(str(request.object.get(name)))
    except ValueError:
        value = []
    return objects(value if isinstance(value, list) else [value])


@simulation.on("POST /groupidentify")
def identify_groups(visit: Visit, request: Request) -> Response:
    """Change the properties of groups."""
    groups = _listed(request, "identification")
    kinds = [("request.groups", {"groups": groups}, None), *((GROUPS, group, n) for n, group in enumerate(groups))]
    refusal = next(filter(None, (visit.refuse(kind, record, place) for kind, record, place in kinds)), None)
    if refusal is not None:
        return refusal
    for group in groups:
        row = visit.resolve(GROUPS, {"key": group.get("group_type"), "id": group.get("group_value")})
        properties = object_at(group, "group_properties")
        op.apply(row.values["attributes"], properties, _OPERATIONS)
        visit.write(GROUPS, row, {n: value for n, value in properties.items() if n not in _OPERATIONS})
    return visit.answer("done")


@simulation.on("POST /usermap")
def map_users(visit: Visit, request: Request) -> Response:
    """Let users count as global ones from now on."""
    for place, item in enumerate(_listed(request, "mapping")):
        source = visit.find(PROFILES, {"user_id": item.get("user_id")})
        if source is not None and item.get("global_user_id"):
            target = visit.resolve(PROFILES, {"user_id": item["global_user_id"]})
            if target is not source:
                visit.merge(PROFILES, source, target)
                visit.report("am.usermap", PROFILES, place, value=item["user_id"])
    return visit.answer("done")


@simulation.on("POST /api/2/deletions/users", checks="request.delete", is_open=True)
def delete(visit: Visit, request: Request) -> Response:
    """Delete users at once; Amplitude waits 3 days before it begins."""
    ids = request.object.get("user_ids") or []
    rows = [visit.find(PROFILES, {"user_id": id}) for id in ids]
    is_lenient = str(request.object.get("ignore_invalid_id")).lower() == "true"
    if None in rows and not is_lenient and visit.account.is_new and visit.report("am.delete", PROFILES):
        return visit.answer("unknown_user")
    for row in rows:
        visit.delete(PROFILES, row)
    return visit.answer("deleting", day=visit.now.date().isoformat(), ids=ids)
