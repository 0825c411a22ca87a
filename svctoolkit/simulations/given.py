"""What a simulated account can be given: rows of tables, and declarations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.simulations.tables.rows import Alias, TableType

#: The path of each mistake in what is given, and its text.
_Problems: TypeAlias = Iterator[tuple[tuple[str | int, ...], str]]
#: declarations of what an account has
_LISTS = frozenset({
    "blocked", "catalogs", "custom_attributes", "disallowed_events", "events", "fields", "forgotten", "lists",
    "objects", "pixels", "properties", "scopes",
})  # fmt: skip


def given_problems(tables: Mapping[str, TableType], state: Mapping[str, Json]) -> _Problems:
    """Yield what is wrong with rows by table, and with the declarations next to them."""
    for name, rows in state.items():
        if name not in tables:
            if name not in _LISTS and (near := did_you_mean(name, (*tables, *_LISTS))):
                yield (name,), f"unknown table {name!r}: {', '.join(tables)}.{near}"
            yield from account_problems({name: rows})
        elif not isinstance(rows, list):
            yield (name,), "must be a list of rows"
        else:
            for number, row in enumerate(rows):
                for path, text in _row_problems(tables[name], row):
                    yield (name, number, *path), text


def account_problems(declared: Mapping[str, Json]) -> _Problems:
    """Yield the declarations of an account that are not lists; a map of entries by name is one, except of objects."""
    for name in [name for name in declared if name in _LISTS]:
        listed = declared[name]
        if listed is not None and not isinstance(listed, list if name == "objects" else (list, Mapping)):
            yield (name,), "must be a list"


def _row_problems(table: TableType, row: Json) -> Iterator[tuple[tuple[str, ...], str]]:
    if not isinstance(row, Mapping):
        yield (), "must be an object, such as {ids: {...}, attributes: {...}}"
        return
    for member, blank in {"attributes": {}, **table.blank}.items():
        if member in row and not isinstance(row[member], type(blank)):
            yield (member,), f"must be {'a list' if isinstance(blank, list) else 'an object'}"
    for member in ("ids", "under"):
        ids = row.get(member)
        if ids is not None and not isinstance(ids, Mapping):
            yield (member,), "must be an object, such as {id: ada}"
        elif ids:
            for id in [id for id in ids if id not in table.id_members and did_you_mean(id, table.id_members)]:
                yield (
                    (member, id),
                    f"unknown id {id!r}: {', '.join(table.id_members)}.{did_you_mean(id, table.id_members)}",
                )
            for alias in [id for id in table.ids if isinstance(id, Alias)]:
                listed = ids.get(alias.member) or []
                if not isinstance(listed, list) or not all(isinstance(item, Mapping) for item in listed):
                    yield (member, alias.member), f"must be a list of {{{alias.label}, {alias.name}}}"
