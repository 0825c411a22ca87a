"""ActiveCampaign's server: contacts with tags and lists, and their events.

Rules are in `facts.yaml`. Nearly all are general knowledge without a source, so this server loses nothing: it holds
what it gets. An event of an unknown e-mail address belongs to no contact.
"""

from __future__ import annotations

from pathlib import Path

from svctoolkit.json_codec import decode
from svctoolkit.json_types import Json
from svctoolkit.simulations import Request, Response, Row, Simulation, Visit, header, object_at, objects
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.credentials import text

simulation = Simulation(
    "ActiveCampaign", facts=Path(__file__).with_name("facts.yaml"), credentials=header("Api-Token", "apiKey")
)
CONTACTS = simulation.table(
    "profiles",
    ids=("id", "email"),
    makes=lambda number: {"id": str(number)},
    blank={"attributes": {}, "tags": [], "lists": [], "subscriptions": {}},
)
EVENTS = simulation.table("events", owner=CONTACTS)
TAGS = simulation.table("tags", ids=(("tag",), ("id",)), makes=lambda number: {"id": str(number)}, blank={})
NAMES = simulation.table("event_names", ids=(("name",),), blank={})
SITES = simulation.table("sites", ids=(("name",),), blank={})
_STATES = {"1": "subscribed", "2": "unsubscribed"}


def _fields(visit: Visit) -> dict[str, str]:
    """Return the titles of the account's custom fields by ID."""
    declared = visit.account.get("fields") or []
    return {text(field.get("id")): text(field.get("title")) for field in objects(declared)}


def _contact(visit: Visit, id: Json) -> Row:
    return visit.resolve(CONTACTS, {"id": text(id)})


def _shown(row: Row) -> dict[str, Json]:
    return {**row.values["attributes"], **row.ids}


@simulation.on("POST /api/3/contact/sync")
def sync(visit: Visit, request: Request) -> Response:
    """Create or change the contact with an e-mail address."""
    given, titles = object_at(request.object, "contact"), _fields(visit)
    known = visit.find(CONTACTS, {"email": given.get("email")})
    row = known or visit.create(CONTACTS, {"email": given.get("email")})
    own = {name: value for name, value in given.items() if name not in ("email", "fieldValues")}
    listed = {text(each.get("field")): each.get("value") for each in objects(given.get("fieldValues"))}
    visit.write(CONTACTS, row, {**own, **{titles.get(id, f"field {id}"): v for id, v in listed.items()}}, op.set_value)
    values = [{"contact": row.ids["id"], "field": id, "value": value} for id, value in listed.items()]
    return visit.answer("object" if known else "created", object={"contact": _shown(row), "fieldValues": values})


@simulation.on("POST /api/3/tags")
def create_tag(visit: Visit, request: Request) -> Response:
    """Create a tag."""
    name = object_at(request.object, "tag").get("tag")
    row = visit.find(TAGS, {"tag": name}) or visit.create(TAGS, {"tag": name})
    return visit.answer("created", object={"tag": dict(row.ids)})


@simulation.on("POST /api/3/contactTags")
def tag_contact(visit: Visit, request: Request) -> Response:
    """Give a contact a tag."""
    given = object_at(request.object, "contactTag")
    row, tag = _contact(visit, given.get("contact")), visit.find(TAGS, {"id": text(given.get("tag"))})
    op.union(row.values, "tags", tag.ids["tag"] if tag else given.get("tag"))
    visit.touch(CONTACTS, row)
    return visit.answer("created", object={"contactTag": {**given, "id": text(visit.number)}})


@simulation.on("POST /api/3/contactLists")
def join_list(visit: Visit, request: Request) -> Response:
    """Subscribe a contact to a list, or unsubscribe it."""
    given = object_at(request.object, "contactList")
    row, id = _contact(visit, given.get("contact")), text(given.get("list"))
    state = _STATES.get(text(given.get("status")), text(given.get("status")))
    row.values["subscriptions"] = {**row.values["subscriptions"], id: state}
    (op.union if state == "subscribed" else op.remove)(row.values, "lists", id)
    visit.touch(CONTACTS, row)
    return visit.answer("created", object={"contacts": [_shown(row)], "contactList": given})


@simulation.on("POST /api/3/eventTrackingEvents")
def name_event(visit: Visit, request: Request) -> Response:
    """Register the name of an event."""
    name = object_at(request.object, "eventTrackingEvent").get("name")
    visit.resolve(NAMES, {"name": name})
    return visit.answer("created", object={"eventTrackingEvent": {"name": name}})


@simulation.on("POST /api/3/siteTrackingDomains")
def add_site(visit: Visit, request: Request) -> Response:
    """Add a site to the tracked sites."""
    name = object_at(request.object, "siteTrackingDomain").get("name")
    visit.resolve(SITES, {"name": name})
    return visit.answer("created", object={"siteTrackingDomain": {"name": name}})


@simulation.on("POST /event")
def track(visit: Visit, request: Request) -> Response:
    """Keep an event of the visitor with an e-mail address."""
    form = request.object
    try:
        visitor = decode(text(form.get("visit")))
    except ValueError:
        visitor = {}
    owner = visit.find(CONTACTS, {"email": object_at({"visit": visitor}, "visit").get("email")})
    data = {"eventdata": form["eventdata"]} if "eventdata" in form else {}
    visit.record(EVENTS, {"name": form.get("event"), "properties": data, "time": visit.now.isoformat()}, owner, 0)
    return visit.answer("spawned")


# --- reading


@simulation.on("GET /api/3/tags")
def read_tags(visit: Visit, _request: Request) -> Response:
    """Return the tags."""
    return visit.answer("object", object={"tags": [dict(row.ids) for row in visit.shown(TAGS)]})


@simulation.on("GET /api/3/fields")
def read_fields(visit: Visit, _request: Request) -> Response:
    """Return the custom fields that the account declares."""
    return visit.answer("object", object={"fields": [{"id": id, "title": t} for id, t in _fields(visit).items()]})


@simulation.on("GET /api/3/eventTrackingEvents")
def read_names(visit: Visit, _request: Request) -> Response:
    """Return the names of events."""
    return visit.answer("object", object={"eventTrackingEvents": [dict(row.ids) for row in visit.shown(NAMES)]})


@simulation.on("GET /api/3/contacts")
def read_contacts(visit: Visit, request: Request) -> Response:
    """Return all contacts, or the one with an e-mail address."""
    rows = visit.shown(CONTACTS)
    if "email" in request.query:
        rows = visit.tables[CONTACTS].find_all({"email": request.query["email"]})
    return visit.answer("object", object={"contacts": [_shown(row) for row in rows], "meta": {"total": str(len(rows))}})


@simulation.on("GET /api/3/contacts/{id}")
def read_contact(visit: Visit, request: Request) -> Response:
    """Return one contact."""
    row = visit.find(CONTACTS, {"id": request.parts[0]})
    if row is None:
        return visit.answer("not_found", id=request.parts[0])
    return visit.answer("object", object={"contact": _shown(row)})
