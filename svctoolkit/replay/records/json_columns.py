"""Columns of Arrow tables that contain JSON as text: those of DuckDB's type JSON, and those that `arrow_table` writes.

DuckDB exports its type as plain strings, so the reader marks these columns in the metadata of the schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.replay.records.json_text import decode
from svctoolkit.results.arrow import JSON_COLUMNS

#: The steps to a value in a row: names, and `*` for the elements of a list.
_Steps: TypeAlias = Sequence[str]


# Any: a relation of DuckDB, and a batch of pyarrow
def mark_json(relation: Any, batch: Any) -> Any:
    """Return the batch of a DuckDB relation with its JSON columns marked."""
    columns = zip(relation.columns, relation.types, strict=True)
    paths = [[name, *steps] for name, type in columns for steps in _json_in(type)]
    return batch.replace_schema_metadata({JSON_COLUMNS: json.dumps(paths)}) if paths else batch


# Any: a type of DuckDB
def _json_in(type: Any) -> Iterator[list[str]]:
    if str(type) == "JSON":
        yield []
    elif type.id in ("list", "array"):
        yield from (["*", *steps] for steps in _json_in(dict(type.children)["child"]))
    elif type.id == "struct":
        yield from ([name, *steps] for name, inner in type.children for steps in _json_in(inner))


# Any: a schema of pyarrow
def decode_json(schema: Any, rows: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Decode the marked columns in rows. Of a column with a column `NAME (type)`, all values except texts are JSON."""
    names = set(schema.names)
    mixed = [name for name in schema.names if f"{name} (type)" in names]
    paths: list[_Steps] = json.loads((schema.metadata or {}).get(JSON_COLUMNS.encode(), b"[]"))
    for row in rows if paths or mixed else ():
        for name in mixed:
            if row.pop(f"{name} (type)") not in (None, "text"):
                row[name] = _decoded(row[name])
        for path in paths:
            _decode_at(row, path)
    return rows


def _decode_at(value: Json, path: _Steps) -> None:
    step, rest = path[0], path[1:]
    places: Sequence[Any] = ()
    if step == "*" and isinstance(value, list):
        places = range(len(value))
    elif isinstance(value, Mapping) and step in value:
        places = [step]
    for place in places:
        if rest:
            _decode_at(value[place], rest)
        else:
            value[place] = _decoded(value[place])


def _decoded(value: Json) -> Json:
    """Return the value of a JSON text; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return decode(value.encode("utf-8", "surrogatepass"))
    except ValueError:
        return value
