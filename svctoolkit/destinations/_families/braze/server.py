"""Braze's server: attributes, events and purchases of users, their identities and subscriptions, and exports.

Rules with their checks and answers are in `facts.yaml`. Which profile an email address or phone number means if several
have it is not documented: here it is the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.destinations._families.braze import host_of
from svctoolkit.destinations._families.braze.profile_changes import (
    country_code,
    invalid_nested,
    is_country,
    is_time_zone,
    set_attributes,
)
from svctoolkit.json_types import Json
from svctoolkit.simulations import (
    Alias,
    Request,
    Response,
    Row,
    Simulation,
    Visit,
    bearer,
    filled,
    member,
    object_at,
)
from svctoolkit.simulations.credentials import same_headers
from svctoolkit.simulations.formats import is_filled, is_number

_KINDS = ("attributes", "events", "purchases")
_NAMES = ("braze_id", "external_id", "user_alias", "email", "phone")


def _is_authentic(config: Mapping[str, Any], request: Request) -> bool:
    """Whether the key is right, and that of the cluster."""
    host = host_of(str(config.get("dataCenter") or ""))
    is_other = bool(host) and request.host.startswith("rest.") and ".braze." in request.host and request.host != host
    return same_headers(bearer("restApiKey"))(config, request) and not is_other


def _has_id(item: Any) -> bool:
    alias = object_at(item, "user_alias")
    by_alias = alias.get("alias_name") and alias.get("alias_label")
    return bool(by_alias) or any(is_filled(item.get(name)) for name in _NAMES if name != "user_alias")


def _is_location(value: Any) -> bool:
    return is_number(member(value, "latitude")) and is_number(member(value, "longitude"))


simulation = Simulation(
    "Braze",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=bearer("restApiKey"),
    auth="bz.auth",
    is_authentic=_is_authentic,
    formats={
        "identified": _has_id,
        "location": _is_location,
        "group_with_id": lambda group: bool(member(group, "subscription_group_id")),
        "group_with_state": lambda group: member(group, "subscription_state") in ("subscribed", "unsubscribed"),
        "one_kind": lambda body: len([ids for ids in object_at(body).values() if ids]) == 1,
        "one_address": lambda entry: not (entry.get("emails") and entry.get("phones")),
        "country": is_country,
        "time_zone": is_time_zone,
    },
    conversions={"country_code": lambda value, _limit, _now: country_code(value)},
)
PROFILES = simulation.table(
    "profiles",
    ids=("braze_id", "external_id", Alias("aliases", "alias_label", "alias_name")),
    weak=("email", "phone"),
    makes=lambda number: {"braze_id": f"br-{number:06d}"},
    blank={"attributes": {}, "subscriptions": {}},
)
EVENTS = simulation.table("events", owner=PROFILES)
PURCHASES = simulation.table("purchases", owner=PROFILES)


@simulation.on_unknown
def unknown(visit: Visit, request: Request) -> Response | None:
    """Answer 404 to an address that Braze does not have. Others succeed."""
    return visit.refuse("request.unknown", {"root": request.path.split("/")[1]})


# --- tracking


@simulation.on("POST /users/track", checks="request.track")
@simulation.on("POST /users/track/bulk", checks="request.bulk")
def track(visit: Visit, request: Request) -> Response:
    """Keep the valid objects, and list the others. A request without a valid object is refused."""
    if _is_too_long(visit, request):
        return visit.answer("too_long")
    invalid: dict[str, set[str]] = {}
    for item in request.items("attributes"):
        invalid.setdefault(_owner_key(item), set()).update(invalid_nested(item))
    batch = visit.batch()
    for kind in _KINDS:
        for place, item in batch.judge(kind, request.items(kind)):
            row = _user(visit, item, kind, place)
            if row is not None and kind == "attributes":
                set_attributes(visit, row, item, place, invalid.get(_owner_key(item), set()))
            elif row is not None:
                _record(visit, kind, item, row, place)
    errors = [{"type": e["type"], "input_array": e["kind"], "index": e["place"]} for e in batch.errors]
    counts = {kind: batch.good[kind] for kind in _KINDS}
    return visit.answer("tracked" if batch.good else "all_bad", **filled(errors=errors, **counts))


def _is_too_long(visit: Visit, request: Request) -> bool:
    """Whether a request has too many objects; if so, each of them is reported."""
    counts = {kind: len(request.items(kind)) for kind in _KINDS}
    rule, total = "bz.limit.total", sum(counts.values())
    if request.path.endswith("/bulk"):
        rule = "bz.limit.bulk"
        owners = Counter(_owner_key(item) for kind in _KINDS for item in request.items(kind))
        too_long = total > visit.limit(rule, "objects") or max(owners.values(), default=0) > visit.limit(rule, "user")
    elif visit.account.get("contract", "mau") == "legacy":
        too_long = max(counts.values()) > visit.limit(rule)
    else:
        too_long = total > visit.limit(rule)
    reported = [visit.report_each(rule, kind, request.items(kind), value=total) for kind in counts if too_long]
    return any(reported)


def _owner_key(item: Mapping[str, Any]) -> str:
    return next((f"{name}:{item[name]}" for name in _NAMES if item.get(name) not in (None, "")), "")


def _record(visit: Visit, kind: str, item: Mapping[str, Any], row: Row, place: int) -> None:
    values = {"name": item.get("name")}
    if kind == PURCHASES:
        values = {name: item.get(name) for name in ("product_id", "price", "currency")}
        values["quantity"] = 1 if item.get("quantity") is None else item["quantity"]
    visit.record(kind, {**values, "properties": item.get("properties") or {}, "time": item.get("time")}, row, place)


# --- identities


def _user(visit: Visit, item: Mapping[str, Any], kind: str, place: int) -> Row | None:
    """Return the profile that an object is about, created if necessary; None if Braze does not create it."""
    only = item.get("_update_existing_only")
    if item.get("braze_id"):
        return visit.find(PROFILES, {"braze_id": item["braze_id"]})
    if item.get("external_id") not in (None, ""):
        ids: dict[str, Any] = {"external_id": item["external_id"]}
        rule, creates = "bz.update_only.id", only is not True
    elif object_at(item, "user_alias").get("alias_name"):
        ids = {"aliases": [_alias(object_at(item, "user_alias"))]}
        rule, creates = "bz.update_only.alias", only is False
    else:
        name = "email" if item.get("email") else "phone"
        value = item["email"].lower() if isinstance(item.get("email"), str) and name == "email" else item.get(name)
        found = visit.tables[PROFILES].find_weak(name, value)
        if found or only is True:
            return found[0] if found else None
        row = visit.create(PROFILES, {})
        visit.write(PROFILES, row, {name: value})
        return row
    known, is_lost = visit.find(PROFILES, ids), not creates and visit.account.is_new
    if known is None and is_lost and visit.report(rule, kind, place, value=next(iter(ids.values()))):
        return None
    return known or visit.create(PROFILES, ids)


def _alias(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item.get(name) for name in ("alias_name", "alias_label")}


def _labels(row: Row) -> list[Any]:
    return [alias.get("alias_label") for alias in row.ids.get("aliases") or ()]


def _named(visit: Visit, identifier: Mapping[str, Any]) -> Row | None:
    """Return the profile that an identifier names; by an address the first that has it."""
    alias = identifier.get("user_alias")
    found = visit.find(PROFILES, {**identifier, "aliases": [alias] if isinstance(alias, dict) else []})
    for name in ("email", "phone"):
        if found is None and identifier.get(name):
            found = next(iter(visit.tables[PROFILES].find_weak(name, identifier[name])), None)
    return found


@simulation.on("POST /users/identify", checks="request.identify")
def identify(visit: Visit, request: Request) -> Response:
    """Join alias profiles to those of an external_id."""
    aliases, emails = request.items("aliases_to_identify"), request.items("emails_to_identify")
    for place, item in enumerate(aliases):
        _join(visit, _named(visit, {"user_alias": item.get("user_alias")}), item.get("external_id"), place)
    for place, item in enumerate(emails):
        found = visit.tables[PROFILES].find_weak("email", item.get("email"))
        source = next((row for row in found if "external_id" not in row.ids), None)
        _join(visit, source, item.get("external_id"), place)
    counts = {"emails": len(emails)} if emails and not aliases else {"aliases": len(aliases)}
    return visit.answer("identified", **counts)


def _join(visit: Visit, source: Row | None, external_id: Json, place: int) -> None:
    if source is None or external_id in (None, ""):
        return
    target = visit.find(PROFILES, {"external_id": external_id})
    if target is None and "external_id" not in source.ids:
        visit.identify(PROFILES, source, {"external_id": external_id})
        visit.report("bz.identify.new", PROFILES, place, value=external_id)
    if target is None or target is source:
        return
    shared = [label for label in _labels(source) if label in _labels(target)]
    if shared and visit.report("bz.identify.same_label", PROFILES, place, value=shared[0]):
        return
    visit.merge(PROFILES, source, target)
    visit.report("bz.identify.merge", PROFILES, place, value=external_id)


@simulation.on("POST /users/merge", checks="request.merge")
def merge(visit: Visit, request: Request) -> Response:
    """Merge profiles, which removes the merged ones."""
    for place, update in enumerate(request.items("merge_updates")):
        source = _named(visit, object_at(update, "identifier_to_merge"))
        target = _named(visit, object_at(update, "identifier_to_keep"))
        if source is not None and target is not None and source is not target:
            visit.merge(PROFILES, source, target)
            visit.report("bz.merge", PROFILES, place)
    return visit.answer("merged")


@simulation.on("POST /users/alias/new")
def new_alias(visit: Visit, request: Request) -> Response:
    """Give profiles aliases, or create profiles that have only an alias."""
    aliases = request.items("user_aliases")
    for item in aliases:
        alias, id = _alias(item), item.get("external_id")
        if visit.find(PROFILES, {"aliases": [alias]}) is not None:
            continue
        row = visit.find(PROFILES, {"external_id": id}) if id else visit.create(PROFILES, {})
        if row is not None and alias["alias_label"] not in _labels(row):
            visit.tables[PROFILES].identify(row, {"aliases": [*(row.ids.get("aliases") or ()), alias]})
    return visit.answer("identified", aliases=len(aliases))


@simulation.on("POST /users/delete", checks="request.delete")
def delete(visit: Visit, request: Request) -> Response:
    """Delete users with their events and purchases."""
    ids = [(kind, id) for kind, listed in request.object.items() for id in (listed if isinstance(listed, list) else ())]
    for kind, id in ids:
        row = _by_kind(visit, kind, id)
        if row is not None:
            visit.delete(PROFILES, row)
    return visit.answer("deleted", count=len(ids))


def _by_kind(visit: Visit, kind: str, id: Json) -> Row | None:
    if kind == "user_aliases":
        return _named(visit, {"user_alias": id})
    if kind == "email_addresses":
        return _named(visit, {"email": id.get("email") if isinstance(id, dict) else id})
    return _named(visit, {kind.removesuffix("s"): id})


# --- subscriptions


@simulation.on("POST /v2/subscription/status/set", "POST /subscription/status/set")
def set_subscription(visit: Visit, request: Request) -> Response:
    """Set the state of subscription groups for users, by external_id, email or phone. Older requests have one entry."""
    entries = request.items("subscription_groups") or [_entry(request.object)]
    refusals = [visit.refuse("profiles.subscriptions", entry, place) for place, entry in enumerate(entries)]
    for refusal in filter(None, refusals):
        return refusal
    for entry in entries:
        group = {str(entry.get("subscription_group_id")): entry.get("subscription_state")}
        for name in ("external_id", "email", "phone"):
            for value in entry.get(f"{name}s") or ():
                row = _named(visit, {name: value})
                if row is not None:
                    row.values["subscriptions"] = {**row.values.get("subscriptions", {}), **group}
                    visit.touch(PROFILES, row)
    return visit.answer("success")


def _entry(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of the older form, whose members may be single values."""
    names = {"external_id": "external_ids", "email": "emails", "phone": "phones"}
    lists = {n: v if isinstance(v, list) else [v] for name, n in names.items() if (v := body.get(name)) is not None}
    return {**body, **lists}


@simulation.on("GET /subscription/user/status")
def read_subscriptions(visit: Visit, request: Request) -> Response:
    """Return the subscription groups of a user."""
    row = _named(visit, request.query)
    groups = row.values.get("subscriptions") or {} if row else {}
    listed = [{"id": id, "name": id, "channel": "email", "status": str(state).title()} for id, state in groups.items()]
    return visit.answer("subscriptions", users=[{**_plain_ids(row), "subscription_groups": listed}])


# --- reading


@simulation.on("POST /users/export/ids")
def export(visit: Visit, request: Request) -> Response:
    """Return users with the fields that are asked for. At level `strict` a new profile shows after seconds."""
    asked, fields = request.object, request.object.get("fields_to_export")
    lookups = [(kind, id) for kind in ("external_ids", "user_aliases") for id in asked.get(kind) or ()]
    lookups += [(f"{n}s", asked[n]) for n in ("braze_id", "phone") if asked.get(n)]
    lookups += [("email_addresses", asked["email_address"])] if asked.get("email_address") else []
    found = [(id, _by_kind(visit, kind, id)) for kind, id in lookups]
    rows = [row for _, row in found if row is not None and visit.visible(row, visit.limit("bz.async"))]
    users = [_exported(visit, row) for row in rows]
    if isinstance(fields, list):
        users = [{name: value for name, value in user.items() if name in fields} for user in users]
    return visit.answer("exported", users=users, **filled(missing=[id for id, row in found if row not in rows]))


def _plain_ids(row: Row | None) -> dict[str, Any]:
    return {name: row.ids[name] for name in ("external_id", "braze_id") if name in row.ids} if row else {}


def _exported(visit: Visit, row: Row) -> dict[str, Any]:
    own, attributes = visit.values("bz.attr.reserved"), row.values["attributes"]
    standard = {name: value for name, value in attributes.items() if name in own}
    custom = {name: value for name, value in attributes.items() if name not in own}
    return {**_plain_ids(row), **standard, "custom_attributes": custom, "user_aliases": row.ids.get("aliases") or []}
