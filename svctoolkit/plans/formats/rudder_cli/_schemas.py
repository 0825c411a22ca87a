"""Builds the JSON Schemas that a project describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from svctoolkit.json_types import Json
from svctoolkit.plans.formats.rudder_cli._catalog import Catalog, Declaration, Shape
from svctoolkit.plans.formats.rudder_cli._files import Item
from svctoolkit.plans.rule import Place

_DRAFT: Final = "https://json-schema.org/draft/2019-09/schema"
_MOST_LEVELS: Final = 3
_VARIANT_KEYS: Final = ("type", "discriminator", "cases", "default")


class Schemas:
    """Builds the schema of one rule. `places` maps its parts to their declarations. Problems are noted."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._types: dict[str, Declaration] = {}
        self.places: dict[Place, str] = {}

    def event_schema(self, rule: Item, section: str, *, additional: bool) -> dict[str, Json]:
        """Return the schema of one rule, for the whole event."""
        steps = tuple(step for name in section.split(".") for step in ("properties", name))
        body = {"type": "object", **self._members(rule, "properties", steps, level=0)}
        self._add_variants(rule, body, steps)
        body["unevaluatedProperties"] = additional
        self.places[steps] = rule.where
        for name in reversed(section.split(".")):
            body = {"type": "object", "properties": {name: body}}
        return {"$schema": _DRAFT, **body, **self._definitions()}

    def _members(self, item: Item, name: str, steps: Place, level: int) -> dict[str, Any]:
        """Return `properties` and `required` for a list of references."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        ids: set[str] = set()
        for entry in item.items(name) if isinstance(item.data, dict) else ():
            declaration = self._entry(entry, ids)
            if declaration is None:
                continue
            place = (*steps, "properties", declaration.name)
            self.places[place] = entry.where
            properties[declaration.name] = self._property(entry, declaration, place, level)
            if entry.flag("required"):
                required.append(declaration.name)
        return {"properties": properties, "required": required}

    def _entry(self, entry: Item, ids: set[str]) -> Declaration | None:
        """Return the property that a list entry refers to."""
        old = entry.file.old
        key = "$ref" if old else "property"
        others = ("additionalProperties", "additional_properties") if old else ("additional_properties",)
        if not entry.fits(key, "required", "properties", *others, needs=(key,)) or key not in entry.data:
            return None
        declaration = self._catalog.refer(entry, "property", entry.data[key], key)
        if declaration is not None:
            if declaration.id in ids:
                entry.note(f"the property {declaration.id!r} is already in this list", key)
            ids.add(declaration.id)
        return declaration

    def _property(self, entry: Item, declaration: Declaration, steps: Place, level: int) -> dict[str, Any]:
        shape = declaration.shape
        schema = self._shape(shape)
        for name in shape.limits:
            self.places[*steps, name] = declaration.item.where
        nested = entry.data.get("properties")
        spelling = "additionalProperties" if "additionalProperties" in entry.data else "additional_properties"
        if nested is None and spelling not in entry.data:
            if "object" in shape.types:
                schema["additionalProperties"] = True
            return schema
        if not shape.holds_properties:
            what = "nested properties" if nested is not None else repr(spelling)
            entry.note(f"{what} require an object or a list of objects; {declaration.id!r} is neither")
            return schema
        if nested is not None and level == _MOST_LEVELS:
            entry.note(f"properties can nest at most {_MOST_LEVELS} levels deep", "properties", key=True)
            return schema
        inside = "object" in shape.types
        place = steps if inside else (*steps, "items")
        members = self._members(entry, "properties", place, level + 1) if nested is not None else {}
        members["additionalProperties"] = entry.flag(spelling, default=True)
        if inside:
            return {**schema, **members}
        return {**schema, "items": {"type": shape.item_types or ["object"], **members}}

    def _shape(self, shape: Shape) -> dict[str, Any]:
        if shape.custom:
            return self._reference(shape.custom)
        schema: dict[str, Any] = {**shape.limits, "type": shape.types}
        if shape.item_custom:
            schema["items"] = self._reference(shape.item_custom)
        elif shape.item_types:
            schema["items"] = {"type": shape.item_types}
        return schema

    def _reference(self, id: str) -> dict[str, Any]:
        declaration = self._catalog.kinds["custom-type"].get(id)
        if declaration is None:  # noted at the reference
            return {}
        self._types[declaration.name] = declaration
        return {"$ref": f"#/$defs/{declaration.name}"}

    def _definitions(self) -> dict[str, Any]:
        """Return the custom types that are referenced, directly or by each other."""
        definitions: dict[str, Any] = {}
        while missing := [name for name in self._types if name not in definitions]:
            for name in missing:
                declaration = self._types[name]
                self.places["$defs", name] = declaration.item.where
                definitions[name] = self._definition(declaration, ("$defs", name))
        return {"$defs": definitions} if definitions else {}

    def _definition(self, declaration: Declaration, steps: Place) -> dict[str, Any]:
        schema = self._shape(declaration.shape)
        if "object" in declaration.shape.types and declaration.item.data.get("properties"):
            schema |= self._members(declaration.item, "properties", steps, level=_MOST_LEVELS)
        self._add_variants(declaration.item, schema, steps)
        return schema

    def _add_variants(self, item: Item, schema: dict[str, Any], steps: Place) -> None:
        variants = list(item.items("variants"))
        if len(variants) > 1:
            item.note("only one variant is allowed", "variants", 1)
        if variants and variants[0].fits(*_VARIANT_KEYS, needs=("type", "discriminator", "cases")):
            cases = self._cases(variants[0], (*steps, "allOf", 0))
            if cases:
                schema["allOf"] = [{"type": "object", "allOf": cases}]

    def _cases(self, variant: Item, steps: Place) -> list[dict[str, Any]]:
        if variant.data.get("type") != "discriminator":
            variant.note("the type of a variant must be 'discriminator'", "type")
        chooser = self._catalog.refer(variant, "property", variant.data.get("discriminator"), "discriminator")
        cases: list[dict[str, Any]] = []
        matches: list[Any] = []
        for case in variant.items("cases"):
            if not case.fits("display_name", "match", "description", "properties", needs=("display_name", "match")):
                continue
            match = case.data.get("match")
            if not isinstance(match, list) or not match:
                case.note("'match' must be a list with a value", "match")
                continue
            matches += match
            cases.append(self._case(case, chooser, {"enum": match}, "properties", (*steps, "allOf", len(cases))))
        if variant.data.get("default") is not None and chooser is not None:
            default, name = self._default(variant)
            if default is not None:
                place = (*steps, "allOf", len(cases))
                cases.append(self._case(default, chooser, {"not": {"enum": matches}}, name, place))
        return cases if chooser is not None else []

    def _default(self, variant: Item) -> tuple[Item | None, str]:
        """Return the part with the default's properties: in the old version, the variant itself."""
        if variant.file.old:
            return variant, "default"
        default = variant.at("default")
        return (default if default.fits("properties") else None), "properties"

    def _case(
        self, case: Item, chooser: Declaration | None, condition: Mapping[str, Any], name: str, steps: Place
    ) -> dict[str, Any]:
        self.places[steps] = case.where
        members = self._members(case, name, (*steps, "then"), level=_MOST_LEVELS)
        chosen = chooser.name if chooser is not None else ""
        return {"if": {"properties": {chosen: dict(condition)}, "required": [chosen]}, "then": members}


def note_cycles(catalog: Catalog) -> bool:
    """Note custom types that contain themselves through their properties or items. Returns whether there are any."""
    types = catalog.kinds["custom-type"]
    done: set[str] = set()
    cycles = False
    for id, declaration in types.items():
        if id not in done:
            cycle = _cycle(catalog, id, [], done)
            if cycle:
                cycles = True
                names = " > ".join(cycle)
                declaration.item.note(f"the custom type {declaration.name!r} contains itself: {names}")
    return cycles


def _cycle(catalog: Catalog, id: str, path: list[str], done: set[str]) -> list[str]:
    if id in path:
        return [*path[path.index(id) :], id]
    if id in done or id not in catalog.kinds["custom-type"]:
        return []
    done.add(id)
    for place, inner in _inner_types(catalog, catalog.kinds["custom-type"][id]):
        cycle = _cycle(catalog, inner, [*path, id, *([place] if place else [])], done)
        if cycle:
            return cycle
    return []


def _inner_types(catalog: Catalog, declaration: Declaration) -> Iterator[tuple[str, str]]:
    """Yield the custom types inside a custom type, each with the position of the property between them."""
    if declaration.shape.item_custom:
        yield "", declaration.shape.item_custom
    for reference in _references(declaration.item.data):
        id = reference.rpartition("/")[2].rpartition(":")[2]
        inner = catalog.kinds["property"].get(id)
        for custom in (inner.shape.custom, inner.shape.item_custom) if inner else ():
            if custom and inner:
                yield f"{id} ({inner.item.where})", custom


def _references(data: Any) -> Iterator[str]:
    """Yield every string under `property` or `$ref`."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key in ("property", "$ref") and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(data, list):
        for value in data:
            yield from _references(value)
