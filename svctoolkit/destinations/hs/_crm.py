"""HubSpot's CRM objects as they are held: types, properties, searches, and how an object is answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.simulations import Row, Visit, objects
from svctoolkit.simulations.json_text import text_of
from svctoolkit.simulations.operations import unset

CONTACTS, OBJECTS = "profiles", "objects"
_TYPES = {"contact": "contacts", "company": "companies", "deal": "deals", "ticket": "tickets"}
_TYPES |= {"0-1": "contacts", "0-2": "companies", "0-3": "deals", "0-5": "tickets"}
#: properties of contacts in an account that declares none
_STANDARD = (
    "address", "annualrevenue", "city", "company", "country", "email", "fax", "firstname", "hs_additional_emails",
    "hs_lead_status", "hs_object_id", "industry", "jobtitle", "lastname", "lifecyclestage", "message", "mobilephone",
    "numemployees", "phone", "salutation", "state", "twitterhandle", "website", "zip",
)  # fmt: skip


def type_of(name: str) -> str:
    """Return an object type by its usual name: `contacts` for `contact` and `0-1`."""
    return _TYPES.get(name.lower(), name)


def table_of(kind: str) -> str:
    """Return the table of an object type."""
    return CONTACTS if kind == "contacts" else OBJECTS


def find(visit: Visit, kind: str, property: str, value: Json) -> list[Row]:
    """Return the objects of a type that have a value of a property."""
    if value in (None, ""):
        return []
    if property in ("id", "hs_object_id"):
        ids = {"id": text_of(value)} if kind == "contacts" else {"type": kind, "id": text_of(value)}
        rows = visit.tables[table_of(kind)].find_all(ids)
    elif property == "email" and kind == "contacts":
        rows = visit.tables[CONTACTS].find_all({"email": value})
    else:
        rows = visit.tables[table_of(kind)].find_by(property, text_of(value))
    return [row for row in rows if kind == "contacts" or row.ids.get("type") == kind]


def create(visit: Visit, kind: str, id: Json = None) -> Row:
    """Add an object, with this ID or one that HubSpot gives."""
    if kind == "contacts":
        return visit.create(CONTACTS, {"id": text_of(id)} if id else {})
    made = text_of(id) if id else str(100_000_000 + visit.tables[OBJECTS].next_number)
    return visit.create(OBJECTS, {"type": kind, "id": made})


def write(visit: Visit, kind: str, row: Row, properties: Mapping[str, Json], place: int | None = None) -> None:
    """Change properties of an object. All are kept as texts; an empty text clears one."""
    before = row.values["attributes"]
    changes = {name: None if value in (None, "") else _text(value) for name, value in properties.items()}
    changes.pop("hs_object_id", None)
    stages = visit.values("hs.lifecycle")
    stage, now = changes.get("lifecyclestage"), before.get("lifecyclestage")
    is_back = stage in stages and now in stages and stages.index(stage) < stages.index(now)
    if is_back and visit.report("hs.lifecycle", table_of(kind), place, value=stage):
        unset(changes, "lifecyclestage")
    if kind == "contacts" and changes.get("email") and not visit.identify(CONTACTS, row, {"email": changes["email"]}):
        unset(changes, "email")  # its own address already, or that of another contact
    visit.write(table_of(kind), row, changes)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else text_of(value)


def shown(row: Row, visit: Visit, names: Iterable[str] = ()) -> dict[str, Json]:
    """Return an object as it is answered: with the properties of these names, or with all."""
    at = visit.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    attributes, asked = {**row.values["attributes"], **_own(row)}, list(names)
    properties = {name: attributes.get(name) for name in asked} if asked else attributes
    properties = {**properties, "hs_object_id": row.ids["id"], "lastmodifieddate": at}
    return {"id": row.ids["id"], "properties": properties, "createdAt": at, "updatedAt": at, "archived": False}


def _own(row: Row) -> dict[str, Json]:
    return {"email": row.ids["email"]} if "email" in row.ids else {}


def properties_of(visit: Visit) -> list[dict[str, Json]]:
    """Return the properties that the account declares, or the usual ones of contacts and the look-up field."""
    declared = visit.account.get("properties")
    if declared is None:
        names = dict.fromkeys((*_STANDARD, str(visit.config.get("lookupField") or "email")))
        return [{"name": n, "label": n, "type": "string", "hasUniqueValue": n == "email"} for n in names]
    named = [item if isinstance(item, dict) else {"name": item, "type": "string"} for item in declared or ()]
    return [{"label": item.get("name"), "hasUniqueValue": False, **item} for item in named]


def search(visit: Visit, kind: str, groups: Json) -> Iterator[Row]:
    """Yield the objects that match one of the groups of filters; all without any."""
    seen: set[int] = set()
    for group in objects(groups) or [{}]:
        filters = objects(group.get("filters"))
        for row in _candidates(visit, kind, filters):
            if row.number not in seen and all(_matches(row, each) for each in filters):
                seen.add(row.number)
                yield row


def _candidates(visit: Visit, kind: str, filters: list[dict[str, Any]]) -> list[Row]:
    for each in filters:
        if each.get("operator") in ("EQ", "IN"):
            values = [each.get("value")] if each["operator"] == "EQ" else each.get("values") or ()
            rows = [row for value in values for row in find(visit, kind, str(each.get("propertyName")), value)]
            return list(dict.fromkeys(rows))
    return visit.shown(table_of(kind), lambda row: kind == "contacts" or row.ids.get("type") == kind)


def _matches(row: Row, condition: Mapping[str, Any]) -> bool:
    name, operator = condition.get("propertyName"), condition.get("operator")
    value = {**row.values["attributes"], **_own(row), "hs_object_id": row.ids["id"]}.get(name)
    if operator in ("EQ", "IN"):  # the rows were found by an index; other addresses of a contact count, too
        asked = [condition.get("value")] if operator == "EQ" else condition.get("values") or ()
        texts = {_text(item) for item in asked}
        return value in texts or (name == "email" and any(("email", text) in row.also for text in texts))
    if operator in ("HAS_PROPERTY", "NOT_HAS_PROPERTY"):
        return (value is not None) is (operator == "HAS_PROPERTY")
    return operator == "NEQ" and value is not None and value != _text(condition.get("value"))
