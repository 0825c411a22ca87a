"""JSON Schemas generated from the types that validate, so that editors apply the same rules."""

from __future__ import annotations

import msgspec

from svctoolkit.json_types import Json


def schema(struct: type[msgspec.Struct]) -> dict[str, Json]:
    """Return the JSON Schema (2020-12) of a Struct. One with `forbid_unknown_fields` has `additionalProperties: false`.

    A member annotated with `Meta(extra_json_schema={"writeOnly": True})` is secret: no error shows its value.
    """
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(struct)}
