"""JSON Schemas generated from the types that validate, so that editors apply the same rules."""

from __future__ import annotations

from typing import Any

import msgspec

from svctoolkit.json_types import Json


def schema(struct: type[msgspec.Struct]) -> dict[str, Json]:
    """Return the JSON Schema (2020-12) of a Struct. One with `forbid_unknown_fields` has `additionalProperties: false`.

    A member annotated with `Meta(extra_json_schema={"writeOnly": True})` is secret: no error shows its value. Patterns
    are written in Python's syntax: their `\\Z` is the `$` of JSON Schema, which matches only at the very end.
    """
    generated = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(struct)}
    translated: dict[str, Json] = _translate(generated)
    return translated


def fits(data: Json, struct: type[msgspec.Struct]) -> bool:
    """Return whether `data` can be converted to a Struct; it then also matches the Struct's schema.

    That takes a tenth of the time of `misfits`, which has to generate and compile the schema first. Data that is given
    in an unusual form, such as 1.0 for an integer, may match the schema although it does not fit.
    """
    try:
        msgspec.convert(data, struct)
    except msgspec.ValidationError:
        return False
    return True


def _translate(node: Any) -> Any:
    if isinstance(node, dict):
        pattern = node.get("pattern")
        ends = {"pattern": f"{pattern[:-2]}$"} if isinstance(pattern, str) and pattern.endswith(r"\Z") else {}
        return {key: _translate(value) for key, value in node.items()} | ends
    return [_translate(item) for item in node] if isinstance(node, list) else node
