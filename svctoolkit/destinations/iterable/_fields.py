"""The fields of an Iterable project: each keeps the type of its first value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from svctoolkit.json_types import Json
from svctoolkit.simulations import Visit, object_at

FIELDS = "field_types"
#: types that the account may declare, by the kind of values that they accept
_KINDS = {"long": "number", "double": "number", "date": "string"}


def kept_fields(
    visit: Visit, kind: str, scope: str, record: Mapping[str, Json], place: int
) -> tuple[dict[str, Json], tuple[str, str]]:
    """Return the fields of a record that are kept; or the rule by which the record is refused, and the field.

    `scope` is whose fields they are: those of users, of purchases, or of events with one name.
    """
    given = object_at(record, "dataFields")
    declared = _declared(visit) if scope == "users" else None
    row = visit.resolve(FIELDS, {"scope": scope})
    known: dict[str, str] = {**row.values["types"], **(declared or {})}
    creates = record.get("createNewFields") is not False and visit.account.get("create_new_fields") is not False
    is_known = visit.account.is_new or declared is not None
    unknown = [name for name in given if name not in known] if is_known and not creates else []
    for name in unknown:
        visit.report("it.fields", kind, place, value=name, what="dropped")
    fields = {name: value for name, value in given.items() if name not in unknown or not visit.applies("it.fields")}
    found = dict(_types(fields))
    for name, type in found.items():
        is_other = bool(known.get(name)) and _KINDS.get(known[name], known[name]) != _KINDS.get(type, type)
        if is_other and is_known and visit.report("it.type", kind, place, value=name):
            return {}, ("it.type", name)
    new = {name: type for name, type in found.items() if name not in known}
    limit = "users" if scope == "users" else "events"
    if new and visit.over("it.fields", len(known) + len(new), kind, place, name=limit):
        return {}, ("it.fields", next(iter(new)))
    if new:
        row.values["types"] = {**row.values["types"], **new}
        visit.touch(FIELDS, row)
    return fields, ("", "")


def _declared(visit: Visit) -> dict[str, str] | None:
    """Return the types of the fields that the account declares; of a list of names, none."""
    fields = visit.account.get("fields")
    if isinstance(fields, Mapping):
        return {name: str(type) for name, type in fields.items()}
    return None if fields is None else {str(name): "" for name in fields}


def _types(fields: Mapping[str, Json], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield each field, also inside objects, and its type. Lists have the type of their items; null is left out."""
    for name, value in fields.items():
        item = next((each for each in value if each is not None), None) if isinstance(value, list) else value
        if item is None:
            continue
        type = "boolean" if isinstance(item, bool) else "long" if isinstance(item, int) else "double"
        type = {str: "string", dict: "object"}.get(item.__class__, type)
        yield f"{before}{name}", type
        if isinstance(item, dict):
            yield from _types(item, f"{before}{name}.")
