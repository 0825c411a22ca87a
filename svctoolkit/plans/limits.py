"""What a schema demands of a value besides its type: bounds, patterns, no unplanned members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.plans.schema.javascript import text_of

_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_OTHERS: Final = ("multipleOf", "pattern", "uniqueItems")
_LIMITS: Final = (*_LOWER, *_UPPER, *_OTHERS)
_MEMBERS: Final = ("unevaluatedProperties", "additionalProperties")
_NOTES: Final = frozenset({
    "$comment", "$id", "$schema", "default", "deprecated", "description", "examples", "id", "readOnly", "title",
    "writeOnly",
})  # fmt: skip
#: What `svctoolkit.plans.fields` has of a property.
_OF_FIELDS: Final = frozenset({"type", "enum", "const", "format", "nullable", *_LIMITS})


class LimitChange(NamedTuple):
    """A change of one limit: whether it excludes values that were allowed, and whether it allows others."""

    text: str
    excludes: bool
    allows: bool


def is_closed(schema: Mapping[str, Json]) -> bool:
    """Whether an object may have only planned members."""
    return next((schema[name] for name in _MEMBERS if name in schema), True) is False


def limit_changes(old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[LimitChange]:
    """Yield the changes of the limits of one value. Whether it is closed is not one of them."""
    for name in _LIMITS:
        before, after = old.get(name), new.get(name)
        if name == "uniqueItems":
            before, after = before or None, after or None
        if before != after:
            was = f"not {text_of(before)}" if before is not None else "and had none before"
            text = f"has {name} {text_of(after)} now, {was}" if after is not None else f"has no {name} now"
            change = LimitChange(text, not _contains(name, after, before), not _contains(name, before, after))
            if change.excludes or change.allows:
                yield change


def _contains(name: str, wide: Any, narrow: Any) -> bool:  # Any: the value of a keyword
    """Whether one limit allows all values that another one allows; None is no limit."""
    if wide is None:
        return True
    if narrow is None:
        return bool(name.startswith("min") and name != "minimum" and wide == 0)  # the default
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (wide, narrow)):
        return bool(wide == narrow)
    if name == "multipleOf":
        return bool(wide) and (Fraction(str(narrow)) / Fraction(str(wide))).denominator == 1
    return bool(wide <= narrow if name in _LOWER else wide >= narrow)


# Any: schemas
def have_other_changes(old: Mapping[str, Any], new: Mapping[str, Any], *, is_field: bool = True) -> bool:
    """Whether two schemas differ in anything but notes, planned members and what `Field` and limits have.

    `is_field` is whether the schema is that of a property, and not a part of it.
    """
    known = _NOTES | _OF_FIELDS if is_field else _NOTES
    return any(_differ(name, old, new) for name in dict.fromkeys((*old, *new)) if name not in known)


def _differ(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    before, after = old.get(name), new.get(name)
    if name in _MEMBERS and not isinstance(before, Mapping) and not isinstance(after, Mapping):
        return False
    if name == "required":
        return _unplanned(old) != _unplanned(new)
    if name in ("properties", "$defs", "definitions"):
        one, other = before or {}, after or {}
        return any(
            have_other_changes(one[key], other[key])
            for key in one.keys() & other.keys()
            if _are_maps(one[key], other[key])
        )
    if name in ("items", "then") and isinstance(before, Mapping) and isinstance(after, Mapping):
        return have_other_changes(before, after, is_field=name == "items")
    if name == "allOf" and isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        parts = zip(before, after, strict=True)
        return any(have_other_changes(one, other, is_field=False) for one, other in parts if _are_maps(one, other))
    if name in ("items", "then") and (before is None or after is None):
        return False  # the properties in it are planned now, or are not any more
    return bool(without_notes(before) != without_notes(after))


def _are_maps(one: Any, other: Any) -> bool:
    return isinstance(one, Mapping) and isinstance(other, Mapping)


def _unplanned(schema: Mapping[str, Any]) -> set[str]:
    return {*map(str, schema.get("required", ()))} - {*schema.get("properties", ())}


def without_notes(schema: Any) -> Any:  # Any: a schema
    """Return a schema without descriptions and other texts that reject nothing."""
    if isinstance(schema, Mapping):
        return {name: without_notes(value) for name, value in schema.items() if name not in _NOTES}
    return [without_notes(value) for value in schema] if isinstance(schema, list) else schema
