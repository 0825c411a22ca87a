"""The planned properties of a rule, one by one, for tables, coverage, reports and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from svctoolkit.json_types import Json
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.javascript import text_of
from svctoolkit.plans.schema.references import References
from svctoolkit.plans.schema.scalars import types_of

_MOST_LEVELS: Final = 12
ITEMS: Final = "[]"


@dataclass(frozen=True, slots=True)
class Field:
    """A planned property. `path` has the names below the rule's section, with `[]` for the items of a list.

    `values` are those of an enum or a const, `schema` is all that the plan says of it; `case` is the condition under
    which it is planned (for a variant).
    """

    path: tuple[str, ...]
    types: tuple[str, ...]
    required: bool
    values: tuple[Any, ...] | None = None
    format: str = ""
    case: Case | None = None
    where: str = ""
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """`items[].price`"""
        return field_name(self.path)


def field_name(path: Sequence[str]) -> str:
    """Return a path as text: `items[].price`."""
    return ".".join(path).replace(f".{ITEMS}", ITEMS)


@dataclass(frozen=True, slots=True)
class Case:
    """A variant: the properties of a `then`, planned if the property at `path` has one of `values`.

    With `negated` it applies if the property has none of them: the default.
    """

    path: tuple[str, ...]
    values: tuple[Any, ...]
    negated: bool

    @property
    def text(self) -> str:
        values = ", ".join(text_of(value) for value in self.values)
        return f"{'.'.join(self.path)} {'is not' if self.negated else 'is'} {values}"

    def holds(self, properties: Json) -> bool:
        """Whether an event's properties match this variant."""
        value = properties
        for step in self.path:
            if not isinstance(value, Mapping) or step not in value:
                return False
            value = value[step]
        return any(type(value) is type(other) and value == other for other in self.values) is not self.negated


@lru_cache(maxsize=2048)
def fields(rule: Rule) -> tuple[Field, ...]:
    """Return the planned properties of a rule, each once per variant that has it."""
    return tuple(_Walk(rule).walk(rule.body, rule.section_path, (), None, 0))


def section_of(rule: Rule, event: Mapping[str, Json]) -> Json:
    """Return the part of an event that the rule's properties are in; None if it is missing."""
    node: Any = event
    for step in rule.section.split("."):
        node = node.get(step) if isinstance(node, Mapping) else None
    return node


def values_at(value: Json, path: Sequence[str]) -> Iterator[Json]:
    """Yield every value at a field's path."""
    if not path:
        yield value
    elif path[0] == ITEMS:
        for item in value if isinstance(value, list) else ():
            yield from values_at(item, path[1:])
    elif isinstance(value, Mapping) and path[0] in value:
        yield from values_at(value[path[0]], path[1:])


class _Walk:
    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._references = References(rule.schema)

    def walk(
        self, schema: Any, at: tuple[str | int, ...], path: tuple[str, ...], case: Case | None, level: int
    ) -> Iterator[Field]:
        """Yield the fields inside an object or a list."""
        schema, at = self._resolve(schema, at)
        if not isinstance(schema, Mapping) or level > _MOST_LEVELS:
            return
        required = schema.get("required", ())
        for name, inner in schema.get("properties", {}).items():
            place = (*at, "properties", name)
            inner, place = self._resolve(inner, place)
            if isinstance(inner, Mapping):
                yield self._field((*path, name), inner, place, case, required=name in required)
            yield from self.walk(inner, place, (*path, name), case, level + 1)
        items = schema.get("items")
        if isinstance(items, Mapping):
            inner, place = self._resolve(items, (*at, "items"))
            if isinstance(inner, Mapping) and path:
                yield self._field((*path, ITEMS), inner, place, case, required=False)
            yield from self.walk(inner, place, (*path, ITEMS), case, level + 1)
        for index, inner in enumerate(schema.get("allOf", ())):
            yield from self.walk(inner, (*at, "allOf", index), path, case, level + 1)
        if "then" in schema:
            yield from self.walk(schema["then"], (*at, "then"), path, _case(schema.get("if"), path) or case, level + 1)

    def _resolve(self, schema: Any, at: tuple[str | int, ...]) -> tuple[Any, tuple[str | int, ...]]:
        for _ in range(_MOST_LEVELS):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                break
            target = self._references.target(schema["$ref"], self._references.base)
            if target is None:
                break
            schema, at = target.schema, target.path
        return schema, at

    def _field(
        self,
        path: tuple[str, ...],
        schema: Mapping[str, Any],
        at: tuple[str | int, ...],
        case: Case | None,
        *,
        required: bool,
    ) -> Field:
        return Field(
            path,
            tuple(types_of(schema)),
            required,
            _values(schema),
            str(schema.get("format", "")),
            case,
            self._rule.place(at),
            str(schema.get("description", "")),
            schema,
        )


def _case(condition: Any, path: tuple[str, ...]) -> Case | None:
    """Return the variant that a condition describes, if the condition has the form `properties: {x: {enum}}`."""
    members = condition.get("properties") if isinstance(condition, Mapping) else None
    if not isinstance(members, Mapping) or len(members) != 1:
        return None
    name, rule = next(iter(members.items()))
    negated = isinstance(rule, Mapping) and isinstance(rule.get("not"), Mapping)
    rule = rule["not"] if negated else rule
    values = _values(rule) if isinstance(rule, Mapping) else None
    return None if values is None else Case((*path, name), values, negated)


def _values(schema: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the values that an `enum` or a `const` allows; None if neither restricts them."""
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return tuple(values) if isinstance(values, list) else None
