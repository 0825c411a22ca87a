"""How `ajvOptions` can change an event during the check: `coerceTypes`, `useDefaults`, `removeAdditional`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.plans.schema import patterns
from svctoolkit.plans.schema.dialect import Options
from svctoolkit.plans.schema.javascript import text_of
from svctoolkit.plans.schema.node import Check, Errors, Trace, classes_of
from svctoolkit.plans.schema.scalars import types_of


def of_objects(schema: Mapping[str, Json], options: Options) -> Iterator[Check]:
    """Yield checks that report nothing, but alter an object before other checks see it."""
    own = schema.get("properties", {})
    if options.defaults:
        yield _fill_in({name: rule["default"] for name, rule in own.items() if _has_default(rule)})
    if options.coerce:
        yield _coerce({name: types_of(rule) for name, rule in own.items() if isinstance(rule, dict)})
    extra = schema.get("additionalProperties", True)
    if options.remove_additional == "all" or (options.remove_additional and extra is False):
        yield _remove(own, schema.get("patternProperties", {}))


def _has_default(rule: Any) -> bool:
    return isinstance(rule, dict) and "default" in rule


def _fill_in(defaults: Mapping[str, Any]) -> Check:
    def fill_in(value: Any, _path: str, _errors: Errors, _trace: Trace | None) -> None:
        for name, default in defaults.items():
            if name not in value:
                value[name] = deepcopy(default)

    return fill_in


def _coerce(types: Mapping[str, list[str]]) -> Check:
    def coerce(value: Any, _path: str, _errors: Errors, _trace: Trace | None) -> None:
        for name, named in types.items():
            if name in value:
                value[name] = coerce_value(value[name], named)

    return coerce


def coerce_items(types: list[str]) -> Check:
    """Coerce every item of a list."""

    def coerce(value: Any, _path: str, _errors: Errors, _trace: Trace | None) -> None:
        value[:] = [coerce_value(item, types) for item in value]

    return coerce


def _remove(names: Mapping[str, Any], fitting: Mapping[str, Any]) -> Check:
    searches = [patterns.search(text) for text in fitting]

    def remove(value: Any, _path: str, _errors: Errors, _trace: Trace | None) -> None:
        for name in [n for n in value if n not in names and not any(fits(n) for fits in searches)]:
            del value[name]

    return remove


def coerce_value(value: Json, types: list[str]) -> Json:
    """Return the value converted to the first possible type; unchanged if it fits already or none is possible."""
    if value.__class__ in classes_of(types) or (isinstance(value, float) and "integer" in types and value.is_integer()):
        return value
    for name in types:
        other = _as_type(value, name)
        if other is not None:
            return other[0]
    return value


def _as_type(value: Any, name: str) -> tuple[Any] | None:
    if name == "string" and isinstance(value, (bool, int, float)):
        return (text_of(value),)
    if name == "string" and value is None:
        return ("",)
    if name in ("number", "integer"):
        return _as_number(value, whole=name == "integer")
    if name == "boolean":
        for result, alike in ((False, ("false", 0, None)), (True, ("true", 1))):
            if value in alike and not isinstance(value, bool):
                return (result,)
    if name == "null" and (value == "" or value is False or (value == 0 and not isinstance(value, str))):
        return (None,)
    return None


def _as_number(value: Any, *, whole: bool) -> tuple[float] | None:
    if isinstance(value, bool):
        return (int(value),)
    if value is None:
        return (0,)
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    if whole and not number.is_integer():
        return None
    return (int(number) if number.is_integer() and abs(number) < 2**53 else number,)
