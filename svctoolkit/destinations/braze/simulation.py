"""Braze's server: attributes, events and purchases of users, their identities and subscriptions, and exports.

The rules are in `facts.yaml`. Which profile an email address or phone number means if several have it is not
documented: here it is the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.destinations.braze._object_rules import problem
from svctoolkit.destinations.braze._profile_changes import invalid_nested, set_attributes
from svctoolkit.json_types import Json
from svctoolkit.simulations import Alias, Items, Request, Response, Row, Simulation, Visit, bearer, object_at, objects
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.limits import time_of

simulation = Simulation("Braze", facts=Path(__file__).with_name("facts.yaml"), credentials=bearer("restApiKey"))
PROFILES = simulation.table(
    "profiles",
    ids=("braze_id", "external_id", Alias("aliases", "alias_label", "alias_name")),
    weak=("email", "phone"),
    makes=lambda number: {"braze_id": f"br-{number:06d}"},
    blank={"attributes": {}, "subscriptions": {}},
)
EVENTS = simulation.table("events", owner=PROFILES)
PURCHASES = simulation.table("purchases", owner=PROFILES)

_KINDS = ("attributes", "events", "purchases")
_ALL_BAD = "Valid data must be provided in the 'attributes', 'events', or 'purchases' fields."
_HOSTS = {"US": "rest.iad-{}.braze.com", "EU": "rest.fra-{}.braze.eu", "AU": "rest.au-{}.braze.com"}
#: first parts of the addresses that Braze's API has
# fmt: off
_ADDRESSES = frozenset((
    "app_group", "campaigns", "canvas", "catalogs", "cdi", "content_blocks", "custom_attributes", "email",
    "events", "feed", "kpi", "live_activities", "media_library", "messages", "preference_center", "purchases",
    "scim", "sdk_authentication", "segments", "sends", "sessions", "sms", "subscription", "templates",
    "transactional", "users", "v2",
))
# fmt: on


@simulation.on_every_request
def authenticate(visit: Visit, request: Request) -> Response | None:
    """Refuse a wrong key, and a key of another cluster."""
    expected = simulation.credentials(visit.config)["authorization"]
    region, _, number = str(visit.config.get("dataCenter") or "").upper().partition("-")
    host = _HOSTS.get(region, "").format(number)
    elsewhere = bool(host) and request.host.startswith("rest.") and ".braze." in request.host and request.host != host
    if request.headers.get("authorization") != expected or elsewhere:
        visit.report("bz.auth")
        return Response(401, {"message": "Invalid API Key"})
    return None


@simulation.on_unknown
def unknown(visit: Visit, request: Request) -> Response | None:
    """Answer 404 to an address that Braze does not have. Others succeed."""
    known = request.path.split("/")[1] in _ADDRESSES
    if known or not visit.report("bz.url", value=request.path):
        return None
    return Response(404, {"message": "Invalid URL"})


# --- tracking


@simulation.on("POST /users/track", "POST /users/track/bulk")
def track(visit: Visit, request: Request) -> Response:
    """Keep the valid objects, and list the others. A request without a valid object is refused."""
    refusal = _too_large(visit, request)
    if refusal is not None:
        return refusal
    items = Items()
    invalid: dict[str, set[str]] = {}
    for item in request.items("attributes"):
        invalid.setdefault(_owner_key(item), set()).update(invalid_nested(item))
    for kind in _KINDS:
        for place, item in enumerate(request.items(kind)):
            visit.record_of = item
            wrong = problem(visit, kind, item)
            if wrong is not None and visit.report(wrong[0], kind, place, value=wrong[2]):
                items.refuse(kind, place, type=wrong[1])
            else:
                items.good[kind] += 1
                _keep(visit, kind, item, place, invalid.get(_owner_key(item), set()))
    errors = [{**details, "input_array": kind, "index": place} for kind, place, details in items.refused]
    if not items.good:
        return Response(400, {"message": _ALL_BAD, **({"errors": errors} if errors else {})})
    counts = {f"{kind}_processed": items.good[kind] for kind in _KINDS if items.good[kind]}
    return Response(201, {"message": "success", **counts, **({"errors": errors} if errors else {})})


def _too_large(visit: Visit, request: Request) -> Response | None:
    is_bulk = request.path.endswith("/bulk")
    if visit.over("bz.limit.size", request.size, name="bulk" if is_bulk else "track"):
        return Response(413, {"message": "Request entity too large"})
    counts = {kind: len(request.items(kind)) for kind in _KINDS}
    if is_bulk:
        owners = [_owner_key(item) for kind in _KINDS for item in request.items(kind)]
        most = max((owners.count(owner) for owner in set(owners)), default=0) if len(owners) <= 1000 else 0
        too_many = len(owners) > visit.limit("bz.limit.bulk", "objects") or most > visit.limit("bz.limit.bulk", "user")
        rule = "bz.limit.bulk"
    else:
        legacy = visit.account.get("contract", "mau") == "legacy"
        rule = "bz.limit.total"
        too_many = (max if legacy else sum)(counts.values()) > visit.limit(rule)
    if not too_many or not visit.applies(rule):
        return None
    for kind in counts:
        for place, visit.record_of in enumerate(request.items(kind)):
            visit.report(rule, kind, place, value=sum(counts.values()))
    return Response(400, {"message": "The request exceeds the maximum input length."})


def _owner_key(item: Mapping[str, Any]) -> str:
    names = ("braze_id", "external_id", "user_alias", "email", "phone")
    return next((f"{name}:{item[name]}" for name in names if item.get(name) not in (None, "")), "")


def _keep(visit: Visit, kind: str, item: dict[str, Any], place: int, invalid: set[str]) -> None:
    row = _user(visit, item, kind, place)
    if row is None:
        return
    if kind == "attributes":
        set_attributes(visit, row, item, place, invalid)
        return
    time = _time(visit, item.get("time"), kind, place)
    properties = item.get("properties") or {}
    if kind == "events":
        visit.record(EVENTS, {"name": item.get("name"), "properties": properties, "time": time}, row, place)
        return
    members = {name: item.get(name) for name in ("product_id", "price", "currency")}
    quantity = 1 if item.get("quantity") is None else item["quantity"]
    visit.record(PURCHASES, {**members, "quantity": quantity, "properties": properties, "time": time}, row, place)


def _time(visit: Visit, value: Json, kind: str, place: int) -> Json:
    time = time_of(value)
    if time is not None and time > visit.now and visit.report("bz.future", kind, place, value=value):
        return visit.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


# --- identities


def _user(visit: Visit, item: Mapping[str, Any], kind: str, place: int) -> Row | None:
    """Return the profile that an object is about, created if necessary; None if Braze does not create it."""
    people, only = visit.tables[PROFILES], item.get("_update_existing_only")
    alias = item.get("user_alias")
    if item.get("braze_id"):
        return people.find({"braze_id": item["braze_id"]})
    if item.get("external_id") not in (None, ""):
        ids: dict[str, Any] = {"external_id": item["external_id"]}
        rule, creates = "bz.update_only.id", only is not True
    elif isinstance(alias, dict) and alias.get("alias_name"):
        ids = {"aliases": [{name: alias.get(name) for name in ("alias_name", "alias_label")}]}
        rule, creates = "bz.update_only.alias", only is False
    else:
        name = "email" if item.get("email") else "phone"
        value = item[name].lower() if name == "email" and isinstance(item.get(name), str) else item.get(name)
        found = people.find_weak(name, value)
        if found or only is True:
            return found[0] if found else None
        row = visit.create(PROFILES, {})
        row.values["attributes"][name] = value
        people.touch(row)
        return row
    row_or_none = people.find(ids)
    if row_or_none is None and not creates and visit.account.is_new:
        value = next(iter(ids.values()))
        if visit.report(rule, kind, place, value=value):
            return None
    return row_or_none or visit.create(PROFILES, ids)


@simulation.on("POST /users/identify")
def identify(visit: Visit, request: Request) -> Response:
    """Join alias profiles to those of an external_id."""
    aliases = request.items("aliases_to_identify")
    emails = request.items("emails_to_identify")
    if visit.over("bz.identify.answer", len(aliases) + len(emails)):
        return Response(400, {"message": "a single request may not contain more than 50 aliases"})
    people = visit.tables[PROFILES]
    for place, item in enumerate(aliases):
        source = people.find({"aliases": [object_at(item, "user_alias")]})
        _join(visit, source, item.get("external_id"), place)
    for place, item in enumerate(emails):
        found = [row for row in people.find_weak("email", item.get("email")) if "external_id" not in row.ids]
        _join(visit, found[0] if found else None, item.get("external_id"), place)
    counts = {"aliases_processed": len(aliases)} if aliases or not emails else {"emails_processed": len(emails)}
    return Response(201, {**counts, "message": "success"})


def _join(visit: Visit, source: Row | None, external_id: Json, place: int) -> None:
    people = visit.tables[PROFILES]
    if source is None or external_id in (None, ""):
        return
    target = people.find({"external_id": external_id})
    if target is source:
        return
    if target is None:
        if "external_id" not in source.ids:
            people.identify(source, {"external_id": external_id})
            visit.report("bz.identify.new", PROFILES, place, value=external_id)
        return
    labels = {alias.get("alias_label") for alias in target.ids.get("aliases") or ()}
    shared = [alias for alias in source.ids.get("aliases") or () if alias.get("alias_label") in labels]
    if shared and visit.report("bz.identify.same_label", PROFILES, place, value=shared[0].get("alias_name")):
        return
    _merge(visit, source, target)
    visit.report("bz.identify.merge", PROFILES, place, value=external_id)


def _merge(visit: Visit, source: Row, target: Row) -> None:
    """Merge a profile into another one: missing attributes, events, purchases and aliases."""
    op.fill(target.values["attributes"], source.values["attributes"])
    target.values["subscriptions"] = {
        **source.values.get("subscriptions", {}),
        **target.values.get("subscriptions", {}),
    }
    visit.tables[PROFILES].merge(source, target)


@simulation.on("POST /users/merge")
def merge(visit: Visit, request: Request) -> Response:
    """Merge profiles, which removes the merged ones."""
    updates = request.items("merge_updates")
    if len(updates) > visit.limit("bz.merge") and visit.report("bz.merge", what="refused", value=len(updates)):
        return Response(400, {"message": "a single request may not contain more than 50 merge updates"})
    for place, update in enumerate(updates):
        source = _named(visit, object_at(update, "identifier_to_merge"))
        target = _named(visit, object_at(update, "identifier_to_keep"))
        if source is not None and target is not None and source is not target:
            _merge(visit, source, target)
            visit.report("bz.merge", PROFILES, place)
    return Response(202, {"message": "success"})


def _named(visit: Visit, identifier: Mapping[str, Any]) -> Row | None:
    people = visit.tables[PROFILES]
    alias = identifier.get("user_alias")
    found = people.find({**identifier, "aliases": [alias] if isinstance(alias, dict) else []})
    for name in ("email", "phone"):
        if found is None and identifier.get(name):
            found = next(iter(people.find_weak(name, identifier[name])), None)
    return found


@simulation.on("POST /users/alias/new")
def new_alias(visit: Visit, request: Request) -> Response:
    """Give profiles aliases, or create profiles that have only an alias."""
    aliases, people = request.items("user_aliases"), visit.tables[PROFILES]
    for item in aliases:
        alias = {name: item.get(name) for name in ("alias_name", "alias_label")}
        if people.find({"aliases": [alias]}) is not None:
            continue
        row = (
            people.find({"external_id": item["external_id"]}) if item.get("external_id") else visit.create(PROFILES, {})
        )
        labels = [other.get("alias_label") for other in (row.ids.get("aliases") or ())] if row else []
        if row is not None and alias["alias_label"] not in labels:
            people.identify(row, {"aliases": [*(row.ids.get("aliases") or ()), alias]})
    return Response(201, {"aliases_processed": len(aliases), "message": "success"})


@simulation.on("POST /users/delete")
def delete(visit: Visit, request: Request) -> Response:
    """Delete users with their events and purchases."""
    names = ("external_ids", "user_aliases", "braze_ids", "email_addresses")
    kinds = [name for name in names if request.object.get(name)]
    ids = request.object.get(kinds[0]) if len(kinds) == 1 else None
    wrong = not isinstance(ids, list) or len(ids) > visit.limit("bz.delete")
    if wrong and visit.report("bz.delete", PROFILES, value=", ".join(kinds)):
        return Response(400, {"message": "one kind of at most 50 IDs is required"})
    for id in ids or []:
        row = _by_kind(visit, kinds[0], id)
        if row is not None:
            visit.delete(PROFILES, row)
    return Response(201, {"deleted": len(ids or []), "message": "success"})


def _by_kind(visit: Visit, kind: str, id: Json) -> Row | None:
    if kind == "user_aliases":
        return _named(visit, {"user_alias": id})
    if kind == "email_addresses":
        return _named(visit, {"email": object_at(id).get("email") if isinstance(id, dict) else id})
    return _named(visit, {kind.removesuffix("s"): id})


# --- subscriptions


@simulation.on("POST /v2/subscription/status/set", "POST /subscription/status/set")
def set_subscription(visit: Visit, request: Request) -> Response:
    """Set the state of subscription groups for users, by external_id, email or phone."""
    entries = request.items("subscription_groups") if request.path.startswith("/v2") else [_entry(request.object)]
    for place, entry in enumerate(entries):
        users = [entry.get(name) or [] for name in ("external_ids", "emails", "phones")]
        too_many = any(len(listed) > visit.limit("bz.subscription") for listed in users)
        unclear = bool(users[1] and users[2]) or entry.get("subscription_state") not in ("subscribed", "unsubscribed")
        if (too_many or unclear) and visit.report("bz.subscription", PROFILES, place):
            return Response(400, {"message": "invalid subscription group update"})
    for entry in entries:
        for name, value in _subscribers(entry):
            row = _named(visit, {name: value})
            if row is not None:
                group = {str(entry.get("subscription_group_id")): entry.get("subscription_state")}
                row.values["subscriptions"] = {**row.values.get("subscriptions", {}), **group}
                visit.touch(PROFILES, row)
    return Response(201, {"message": "success"})


def _entry(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of the first version, whose members may be single values."""
    lists = {"external_id": "external_ids", "email": "emails", "phone": "phones"}
    values = {lists.get(name, name): value for name, value in body.items()}
    return {n: [v] if n in lists.values() and not isinstance(v, list) else v for n, v in values.items()}


def _subscribers(entry: Mapping[str, Any]) -> list[tuple[str, Any]]:
    by_id = [("external_id", id) for id in entry.get("external_ids") or ()]
    addresses = [("email", e) for e in entry.get("emails") or ()] + [("phone", p) for p in entry.get("phones") or ()]
    return by_id or addresses


@simulation.on("GET /subscription/user/status")
def read_subscriptions(visit: Visit, request: Request) -> Response:
    """Return the subscription groups of a user."""
    row = _named(visit, request.query)
    groups = (row.values.get("subscriptions") or {}) if row else {}
    listed = [{"id": id, "name": id, "channel": "email", "status": str(state).title()} for id, state in groups.items()]
    users = [{**(_plain_ids(row) if row else {}), "subscription_groups": listed}]
    return Response(200, {"message": "success", "users": users, "total_count": len(users)})


# --- reading


@simulation.on("POST /users/export/ids")
def export(visit: Visit, request: Request) -> Response:
    """Return users with the fields that are asked for. At level `strict` a new profile shows after seconds."""
    asked, fields = request.object, request.object.get("fields_to_export")
    lookups = [("external_ids", id) for id in asked.get("external_ids") or ()]
    lookups += [("user_aliases", alias) for alias in objects(asked.get("user_aliases"))]
    lookups += [(f"{n}s", asked[n]) for n in ("braze_id", "phone") if asked.get(n)]
    if asked.get("email_address"):
        lookups.append(("email_addresses", asked["email_address"]))
    users, missing = [], []
    for kind, id in lookups:
        row = _by_kind(visit, kind, id)
        if row is None or not visit.visible(row, visit.limit("bz.async")):
            missing.append(id)
            continue
        user = _exported(visit, row)
        users.append({name: user[name] for name in user if not isinstance(fields, list) or name in fields})
    unknown = {"invalid_user_ids": missing} if missing else {}
    return Response(201, {"users": users, "message": "success", **unknown})


def _plain_ids(row: Row) -> dict[str, Any]:
    return {name: row.ids[name] for name in ("external_id", "braze_id") if name in row.ids}


def _exported(visit: Visit, row: Row) -> dict[str, Any]:
    own, attributes = visit.values("bz.attr.reserved"), row.values["attributes"]
    return {
        **_plain_ids(row),
        **{name: value for name, value in attributes.items() if name in own},
        "custom_attributes": {name: value for name, value in attributes.items() if name not in own},
        "user_aliases": row.ids.get("aliases") or [],
    }
