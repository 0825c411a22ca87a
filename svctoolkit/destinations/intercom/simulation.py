"""Intercom's server: contacts, companies, tags and events, and users of version 1 of the API.

Rules with their checks and answers are in `facts.yaml`. An event's contact is the first of those with its user ID,
e-mail address and ID.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.simulations import Fold, Request, Response, Row, Simulation, Visit, bearer, object_at, objects
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.credentials import same_headers, text
from svctoolkit.simulations.formats import is_filled

_TOKEN = bearer("apiKey")
simulation = Simulation(
    "Intercom",
    facts=Path(__file__).with_name("facts.yaml"),
    credentials=lambda config: {**_TOKEN(config), "accept": "application/json"},
    auth="ic.auth",
    is_authentic=same_headers(_TOKEN),
)
CONTACTS = simulation.table(
    "profiles",
    ids=("id", "external_id", "email"),
    makes=lambda number: {"id": f"{number:024x}"},
    blank={"attributes": {}, "groups": [], "tags": []},
    objects=("contacts",),
)
#: companies by their own `id` (company_id) and by `key`, the ID that Intercom gives
COMPANIES = simulation.table(
    "groups",
    ids=(("id",), ("key",)),
    makes=lambda number: {"key": f"c{number:023x}"},
    blank={"attributes": {}, "tags": []},
)
EVENTS = simulation.table(
    "events",
    owner=CONTACTS,
    folds=(Fold("ic.event.fold", ("owner", "name", "time"), "first", needs=("user_id", "time")),),
)
NAMES = simulation.table("event_names", ids=(("name",),), blank={})
_STANDARD = frozenset({
    "avatar", "browser", "browser_version", "created_at", "industry", "language_override", "last_seen_at",
    "last_seen_user_agent", "monthly_spend", "name", "os", "owner_id", "phone", "plan", "remote_created_at", "role",
    "signed_up_at", "size", "unsubscribed_from_emails", "update_last_request_at", "website",
})  # fmt: skip


def _unknown(visit: Visit, what: str = "User Not Found", code: str = "not_found") -> Response:
    return visit.answer("not_found", code=code, message=what)


# --- contacts


def _contact(visit: Visit, id: Json) -> Row | None:
    row = visit.find(CONTACTS, {"id": id})
    return row if row is not None and row.shown else None


def _invalid(visit: Visit, rule: str, table: str, body: Mapping[str, Any]) -> Response | None:
    """Return the refusal of custom attributes: of one that the account does not have, or a value it does not allow."""
    for name, value in object_at(body, "custom_attributes").items():
        declared = visit.account.entry("custom_attributes", name)
        if declared is None and visit.report(rule, table, 0, value=name):
            message = f"Custom attribute '{name}' does not exist"
            return visit.answer("refused", code="parameter_invalid", message=message)
        options = (declared or {}).get("options") or ()
        is_other = bool(options) and value is not None and value not in options
        if is_other and visit.report("ic.contact.custom_type", table, 0, value=value):
            message = f"Custom attribute '{name}' does not allow the value {value}"
            return visit.answer("refused", code="parameter_invalid", message=message)
    return None


def _write(visit: Visit, row: Row, body: Mapping[str, Any]) -> None:
    """Change a contact. An ID of another one stays with that."""
    ids = {name: body[name] for name in ("external_id", "email") if is_filled(body.get(name))}
    visit.identify(CONTACTS, row, ids)
    others = {name: value for name, value in body.items() if name not in _NOT_ATTRIBUTES}
    visit.write(CONTACTS, row, {**others, **object_at(body, "custom_attributes")}, op.set_value)


_NOT_ATTRIBUTES = frozenset({"id", "user_id", "external_id", "email", "custom_attributes", "companies"})


@simulation.on("POST /contacts", checks="request.json")
def create_contact(visit: Visit, request: Request) -> Response:
    """Create a contact, unless a user has its external ID or e-mail address."""
    body = request.object
    refusal = _invalid(visit, "ic.contact.custom", CONTACTS, body)
    ids = {name: body[name] for name in ("external_id", "email") if is_filled(body.get(name))}
    known = None if body.get("role") == "lead" else visit.find(CONTACTS, ids)
    is_user = known is not None and known.values["attributes"].get("role", "user") == "user"
    if refusal is None and known is not None and is_user:
        is_new = known.shown and not visit.visible(known, visit.limit("ic.contact.search_lag"))
        rule = "ic.contact.search_lag" if is_new else "ic.contact.conflict"
        if visit.report(rule, CONTACTS, 0, value=next(iter(ids.values()))):
            what = "A contact" if known.shown else "An archived contact"
            return visit.answer("conflict", what=what, id=known.ids["id"])
    if refusal is None:
        row = known if known is not None and is_user else visit.create(CONTACTS, {})
        _write(visit, row, {"role": "user", **body})
        return visit.answer("object", object=_shown(row))
    return refusal


@simulation.on("PUT /contacts/{id}", checks="request.json")
def change_contact(visit: Visit, request: Request) -> Response:
    """Change a contact."""
    id = request.parts[0]
    row = visit.find(CONTACTS, {"id": id})
    refusal = _invalid(visit, "ic.contact.custom", CONTACTS, request.object)
    if refusal is None:
        row = row or visit.create(CONTACTS, {"id": id})
        _write(visit, row, request.object)
        return visit.answer("object", object=_shown(row))
    return refusal


@simulation.on("DELETE /contacts/{id}", checks="request.json")
def delete(visit: Visit, request: Request) -> Response:
    """Delete a contact with its events."""
    row = visit.find(CONTACTS, {"id": request.parts[0]})
    if row is None:
        return _unknown(visit)
    visit.delete(CONTACTS, row)
    return visit.answer("deleted", **_ids(row))


@simulation.on("POST /user_delete_requests", checks="request.json")
def request_deletion(visit: Visit, request: Request) -> Response:
    """Delete a contact by the ID that Intercom gave it, at once; Intercom takes up to 90 days."""
    row = visit.find(CONTACTS, {"id": request.object.get("intercom_user_id")})
    if row is None:
        return _unknown(visit)
    visit.delete(CONTACTS, row)
    return visit.answer("deleting")


@simulation.on("POST /contacts/{id}/archive", "POST /contacts/{id}/unarchive", checks="request.json")
def archive(visit: Visit, request: Request) -> Response:
    """Archive a contact: it is not found, but its external ID and e-mail address stay in use."""
    row = visit.find(CONTACTS, {"id": request.parts[0]})
    if row is None:
        return _unknown(visit)
    row.shown = request.path.endswith("/unarchive")
    visit.touch(CONTACTS, row)
    return visit.answer("archived", archived=not row.shown, **_ids(row))


@simulation.on("POST /contacts/merge", checks="request.json")
def merge(visit: Visit, request: Request) -> Response:
    """Merge a lead into a user."""
    source, target = _contact(visit, request.object.get("from")), _contact(visit, request.object.get("into"))
    if source is None or target is None:
        return _unknown(visit)
    roles = [row.values["attributes"].get("role") for row in (source, target)]
    if roles != ["lead", "user"] and visit.report("ic.contact.merge", CONTACTS, 0, what="refused"):
        return visit.answer("refused", code="parameter_invalid", message="Only a lead can be merged into a user")
    visit.merge(CONTACTS, source, target, with_ids=False)
    visit.report("ic.contact.merge", CONTACTS, 0, value=source.ids["id"])
    return visit.answer("object", object=_shown(target))


# --- events


@simulation.on("POST /events", checks="request.json")
def track(visit: Visit, request: Request) -> Response:
    """Keep an event of a known contact."""
    is_v1 = request.headers.get("intercom-version", "").startswith("1.") or visit.config.get("apiVersion") == "v1"
    event, refused = visit.judge("events.v1" if is_v1 else EVENTS, request.object, 0)
    if refused:
        return visit.refusal(refused)
    name, id = event.get("event_name"), event.get("user_id", event.get("email"))
    lookups: list[dict[str, Json]] = [{"external_id": event.get("user_id")}, {"email": event.get("email")}]
    owner = next((row for ids in [*lookups, {"id": event.get("id")}] if (row := visit.find(CONTACTS, ids))), None)
    if owner is None and visit.account.is_new and visit.report("ic.event.unknown", EVENTS, 0, value=id):
        return _unknown(visit)
    known = visit.find(NAMES, {"name": name})
    if known is None and visit.over("ic.event.names", len(visit.tables[NAMES].rows) + 1, EVENTS, 0):
        return visit.answer("too_many_names")
    if known is None:
        visit.create(NAMES, {"name": name})
    values = {"name": name, "properties": event.get("metadata") or {}, "time": event.get("created_at")}
    person = owner.ids.get("external_id") if owner else None
    values["time"] = event.get("created") if values["time"] is None else values["time"]
    visit.record(EVENTS, {**values, "user_id": person}, owner, 0)
    return visit.answer("accepted")


# --- companies and tags


def _company(visit: Visit, id: Json) -> Row | None:
    return visit.find(COMPANIES, {"key": id}) or visit.find(COMPANIES, {"id": id})


@simulation.on("POST /companies", checks="request.json")
def save_company(visit: Visit, request: Request) -> Response:
    """Create or change a company."""
    refusal = _invalid(visit, "ic.company.custom", COMPANIES, request.object)
    return refusal or visit.answer("object", object=_shown_company(_save_company(visit, request.object)))


def _save_company(visit: Visit, body: Mapping[str, Any]) -> Row:
    id = body.get("company_id", body.get("id"))
    row = visit.resolve(COMPANIES, {"id": id if id is None else text(id)})
    others = {name: value for name, value in body.items() if name not in ("id", "company_id", "custom_attributes")}
    visit.write(COMPANIES, row, {**others, **object_at(body, "custom_attributes")}, op.set_value)
    return row


@simulation.on("POST /contacts/{id}/companies", checks="request.json")
def attach(visit: Visit, request: Request) -> Response:
    """Add a contact to a company."""
    refusal = visit.refuse("groups.member", request.object, 0)
    id, company_id = request.parts[0], request.object.get("id")
    company, row = _company(visit, company_id), _contact(visit, id)
    if refusal is not None:
        return refusal
    if company is None and visit.account.is_new and visit.report("ic.attach", COMPANIES, 0, value=company_id):
        return _unknown(visit, "Company Not Found", "company_not_found")
    row = row or visit.resolve(CONTACTS, {"id": id})
    company = company or visit.create(COMPANIES, {"id": text(company_id)})
    if visit.over("ic.attach", len({*row.values["groups"], company.ids["id"]}), COMPANIES, 0):
        message = f"Contact cannot have more than {visit.limit('ic.attach')} companies"
        return visit.answer("refused", code="contact_company_limit_exceeded", message=message)
    op.union(row.values, "groups", company.ids["id"])
    visit.touch(CONTACTS, row)
    return visit.answer("object", object=_shown_company(company))


@simulation.on("DELETE /contacts/{id}/companies/{company}", checks="request.json")
def detach(visit: Visit, request: Request) -> Response:
    """Remove a contact from a company."""
    row, company = _contact(visit, request.parts[0]), _company(visit, request.parts[1])
    if row is None or company is None:
        return _unknown(visit, "Company Not Found", "company_not_found")
    op.remove(row.values, "groups", company.ids["id"])
    visit.touch(CONTACTS, row)
    return visit.answer("object", object=_shown_company(company))


@simulation.on("POST /tags", checks="request.json")
def tag(visit: Visit, request: Request) -> Response:
    """Tag contacts and companies, or remove the tag from those with `untag`."""
    name = request.object.get("name")
    tagged = [(CONTACTS, next(_people(visit, user), None), user) for user in objects(request.object.get("users"))]
    for place, (_, row, user) in enumerate(tagged):
        value = next(iter(user.values()), None)
        if row is None and visit.account.is_new and visit.report("ic.tag", CONTACTS, place, value=value):
            return _unknown(visit)
    companies = objects(request.object.get("companies"))
    tagged += [(COMPANIES, _company(visit, item.get("id") or item.get("company_id")), item) for item in companies]
    for table, row, about in tagged:
        if row is not None:
            (op.remove if about.get("untag") is True else op.union)(row.values, "tags", name)
            visit.touch(table, row)
    return visit.answer("object", object={"type": "tag", "id": text(name), "name": name})


def _people(visit: Visit, person: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the contacts that an ID, a user ID or an e-mail address means."""
    for ids in ({"id": person.get("id")}, {"external_id": person.get("user_id")}, {"email": person.get("email")}):
        row = visit.find(CONTACTS, ids)
        if row is not None and row.shown:
            yield row


# --- version 1 of the API


@simulation.on("POST /users", checks="request.json")
def save_user(visit: Visit, request: Request) -> Response:
    """Create or change a user, and the user's companies."""
    body = request.object
    refusal = _invalid(visit, "ic.contact.custom", CONTACTS, body)
    if refusal is not None:
        return refusal
    ids = {"external_id": body.get("user_id"), "email": body.get("email"), "id": body.get("id")}
    own = {name: value for name, value in ids.items() if is_filled(value)}
    user_id = own.get("external_id")
    found = visit.tables[CONTACTS].find_all(own)
    # A contact that is known by e-mail address only becomes the user.
    same = [each for each in found if user_id is None or each.ids.get("external_id") in (user_id, None)]
    row = same[0] if same else visit.create(CONTACTS, {})
    _write(visit, row, {"role": "user", **body, **own})
    for company in objects(body.get("companies")):
        known = _save_company(visit, {name: value for name, value in company.items() if name != "remove"})
        (op.remove if company.get("remove") else op.union)(row.values, "groups", known.ids["id"])
    return visit.answer("object", object={**_shown(row), "type": "user", "user_id": row.ids.get("external_id")})


# --- reading


def _ids(row: Row) -> dict[str, Json]:
    return {"id": row.ids["id"], "external_id": row.ids.get("external_id")}


def _split(row: Row) -> dict[str, Json]:
    """Return attributes as Intercom answers them: custom ones inside `custom_attributes`."""
    attributes = {name: value for name, value in row.values["attributes"].items() if name not in _NOT_ATTRIBUTES}
    own = {name: value for name, value in attributes.items() if name not in _STANDARD}
    return {**{n: v for n, v in attributes.items() if n in _STANDARD}, "custom_attributes": own}


def _shown(row: Row) -> dict[str, Json]:
    return {"type": "contact", **_ids(row), "email": row.ids.get("email"), "role": "user", **_split(row)}


def _shown_company(row: Row) -> dict[str, Json]:
    return {"type": "company", "id": row.ids.get("key"), "company_id": row.ids["id"], **_split(row)}


@simulation.on("POST /contacts/search", checks="request.json")
def search(visit: Visit, request: Request) -> Response:
    """Return the contacts that match. At level `strict` a new contact is found after minutes."""
    query = object_at(request.object, "query")
    terms, is_any = objects(query.get("value")), query.get("operator") == "OR"
    found = [_contacts_with(visit, term) for term in terms or [query]]
    rows = [row for row in found[0] if all(row in other for other in found[1:])]
    if is_any:
        rows = list(dict.fromkeys(row for each in found for row in each))
    lag = visit.limit("ic.contact.search_lag")
    data = [_shown(row) for row in rows if visit.visible(row, lag)]
    return visit.answer("list", data=data, total=len(data))


def _contacts_with(visit: Visit, term: Mapping[str, Any]) -> list[Row]:
    """Return the contacts with a value; for other operators than `=` and `!=` none."""
    field, value = str(term.get("field")).removeprefix("custom_attributes."), term.get("value")
    if field in ("id", "external_id", "email"):
        rows = visit.tables[CONTACTS].find_all({field: value})
    else:
        rows = visit.tables[CONTACTS].find_by(field, value)
    if term.get("operator") == "!=":
        return [row for row in visit.shown(CONTACTS) if row not in rows]
    return rows if term.get("operator") in ("=", "==") else []


@simulation.on("GET /contacts/{id}", "GET /contacts/find_by_external_id/{id}", checks="request.json")
def read_contact(visit: Visit, request: Request) -> Response:
    """Return one contact."""
    name = "external_id" if "/find_by_external_id/" in request.path else "id"
    row = visit.find(CONTACTS, {name: request.parts[0]})
    return visit.answer("object", object=_shown(row)) if row is not None and row.shown else _unknown(visit)


@simulation.on("GET /contacts/{id}/companies", "GET /contacts/{id}/tags", checks="request.json")
def read_lists(visit: Visit, request: Request) -> Response:
    """Return the companies or the tags of a contact."""
    row = _contact(visit, request.parts[0])
    if row is None:
        return _unknown(visit)
    data: list[Json] = [{"type": "tag", "id": text(name), "name": name} for name in row.values["tags"]]
    if request.path.endswith("/companies"):
        companies = [visit.find(COMPANIES, {"id": id}) for id in row.values["groups"]]
        data = [_shown_company(company) for company in companies if company is not None]
    return visit.answer("list", data=data, total=len(data))


@simulation.on("GET /companies", checks="request.json")
def read_company(visit: Visit, request: Request) -> Response:
    """Return the company with a company_id."""
    row = visit.find(COMPANIES, {"id": request.query.get("company_id")})
    if row is None:
        return _unknown(visit, "Company Not Found", "company_not_found")
    return visit.answer("object", object=_shown_company(row))


@simulation.on("GET /events", checks="request.json")
def read_events(visit: Visit, request: Request) -> Response:
    """Return the events of a contact."""
    asked = request.query
    person = {"id": asked.get("intercom_user_id"), "user_id": asked.get("user_id"), "email": asked.get("email")}
    row = next(_people(visit, person), None)
    if row is None:
        return _unknown(visit)
    events = [
        {"type": "event", "event_name": e["name"], "created_at": e["time"], "user_id": e["user_id"]}
        | {"metadata": e["properties"], "intercom_user_id": row.ids["id"]}
        for e in (event.values for event in visit.rows_of(EVENTS, row))
    ]
    return visit.answer("events", events=events)


@simulation.on("POST /messages", checks="request.json")
def send_message(visit: Visit, _request: Request) -> Response | None:
    """Refuse messages of an account without a subscription. Others are not simulated."""
    is_restricted = visit.account.get("subscription", True) is False and visit.report("ic.plan")
    return visit.answer("no_plan") if is_restricted else None
