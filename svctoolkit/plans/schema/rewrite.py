"""Apply a change to every schema inside a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from svctoolkit.json_types import Json
from svctoolkit.plans.schema.dialect import keywords

_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = [
    "not",
    "if",
    "then",
    "else",
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
]
_DRAFT_2019: Final = "https://json-schema.org/draft/2019-09/schema"
_DRAFT_2020: Final = "https://json-schema.org/draft/2020-12/schema"


def rewrite(schema: Json, change: Callable[[dict[str, Json]], dict[str, Json]]) -> Json:
    """Return a copy with `change` applied to every schema in it, the outer ones first."""
    if not isinstance(schema, Mapping):
        return schema
    changed = change(dict(schema))
    for key, value in changed.items():
        if key in _MAPS and isinstance(value, Mapping):
            changed[key] = {name: rewrite(inner, change) for name, inner in value.items()}
        elif (key in _LISTS or key == "items") and isinstance(value, list):
            changed[key] = [rewrite(inner, change) for inner in value]
        elif key in _SINGLE:
            changed[key] = rewrite(value, change)
    return changed


def without_unknown(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return a copy without the keywords that RudderStack rejects: notes of the tool that exported it."""
    draft_4 = "draft-04" in str(schema.get("$schema", ""))
    known = keywords(draft_4=draft_4)
    return dict(rewrite(schema, lambda inner: {key: value for key, value in inner.items() if key in known}))


def as_2019(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Convert a schema of draft 2020-12, which RudderStack does not support, to 2019-09. Return others unchanged."""
    if str(schema.get("$schema", "")).removesuffix("#") != _DRAFT_2020:
        return schema
    return {**rewrite(schema, _older), "$schema": _DRAFT_2019}


def _older(schema: dict[str, Any]) -> dict[str, Any]:
    if "prefixItems" in schema:
        rest = schema.pop("items", None)
        schema["items"] = schema.pop("prefixItems")
        if rest is not None:
            schema["additionalItems"] = rest
    if "$dynamicRef" in schema:
        schema["$ref"] = schema.pop("$dynamicRef")
    return schema
