"""The declarations of a project: properties, custom types, events and categories, checked and indexed by id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.plans.formats._contract import RULE_TYPES
from svctoolkit.plans.formats.rudder_cli._files import Item, SpecFile
from svctoolkit.plans.schema.patterns import problem as pattern_problem

TYPES: Final = ("string", "number", "integer", "boolean", "null", "array", "object")
_FORMATS: Final = ("date-time", "date", "time", "email", "uuid", "hostname", "ipv4", "ipv6")
_NUMERIC: Final = ("enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_CONFIG: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("enum", "minLength", "maxLength", "pattern", "format"),
    "number": _NUMERIC,
    "integer": _NUMERIC,
    "boolean": ("enum",),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "object": (),
    "null": (),
}
_COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems")
_CUSTOM_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9_-]{1,64}")
#: kind of a reference -> its spelling in the old version
_OLD_KINDS: Final = {
    "property": "properties",
    "event": "events",
    "category": "categories",
    "custom-type": "custom-types",
    "tracking-plan": "tp",
}


@dataclass
class Shape:
    """The allowed values: types, or a custom type by id; the same for list items; and limits."""

    types: list[str] = field(default_factory=list)
    custom: str = ""
    item_types: list[str] = field(default_factory=list)
    item_custom: str = ""
    limits: dict[str, Any] = field(default_factory=dict)

    @property
    def holds_properties(self) -> bool:
        """Whether it can contain properties: as an object, or as a list of objects."""
        lists = "array" in self.types and (not (self.item_types or self.item_custom) or "object" in self.item_types)
        return "object" in self.types or lists


@dataclass
class Declaration:
    """Something with an id. `item` is its part of the file."""

    id: str
    name: str
    item: Item
    shape: Shape = field(default_factory=Shape)
    event_type: str = ""
    description: str = ""


D = TypeVar("D", bound=Declaration)


@dataclass
class Catalog:
    """All declarations of a project, by kind and id."""

    kinds: dict[str, dict[str, Declaration]] = field(default_factory=lambda: {kind: {} for kind in _OLD_KINDS})

    def add(self, kind: str, declaration: Declaration) -> None:
        """Add a declaration. A problem is noted if its id is already in use."""
        first = self.kinds[kind].get(declaration.id)
        if first is not None:
            message = f"{kind.replace('-', ' ')} {declaration.id!r} is already defined in {first.item.where}"
            declaration.item.note(message, "id")
        elif declaration.id:
            self.kinds[kind][declaration.id] = declaration

    def refer(self, item: Item, kind: str, reference: Json, *steps: str | int) -> Declaration | None:
        """Return the target of a reference; None if it does not exist, which is noted."""
        id = reference_id(item, kind, reference, *steps)
        if id is None:
            return None
        declaration = self.kinds[kind].get(id)
        if declaration is None:
            what = kind.replace("-", " ")
            item.note(f"no {what} has the id {id!r}.{did_you_mean(id, self.kinds[kind])}", *steps)
        return declaration


def reference_id(item: Item, kind: str, reference: Json, *steps: str | int) -> str | None:
    """Return the id in a reference, in the spelling of its file's version; None, and a note, for an invalid one."""
    if item.file.old:
        pattern, right = rf"#/{_OLD_KINDS[kind]}/[^/]+/([^/]+)", f"#/{_OLD_KINDS[kind]}/<group>/<id>"
    else:
        pattern, right = rf"#{kind}:([^:/\s]+)", f"#{kind}:<id>"
    match = re.fullmatch(pattern, reference) if isinstance(reference, str) else None
    if match is None:
        item.note(f"a reference to a {kind.replace('-', ' ')} must be written {right}, not {reference!r}", *steps)
        return None
    return match[1]


def declare(files: list[SpecFile]) -> Catalog:
    """Return what the files declare. Problems are noted."""
    catalog = Catalog()
    for file in files:
        spec = file.spec
        if file.kind == "categories" and spec.fits("categories"):
            for item in spec.items("categories"):
                if item.fits("id", "name", needs=("id", "name")):
                    catalog.add("category", Declaration(item.text("id"), item.text("name"), item))
        elif file.kind == "events" and spec.fits("events"):
            for item in spec.items("events"):
                _declare_event(catalog, item)
        elif file.kind == "properties" and spec.fits("properties"):
            for item in spec.items("properties"):
                _declare_property(catalog, item)
        elif file.kind == "custom-types" and spec.fits("types"):
            for item in spec.items("types"):
                _declare_type(catalog, item)
    _check_references(catalog)
    return catalog


def _declare_event(catalog: Catalog, item: Item) -> None:
    if not item.fits("id", "name", "event_type", "description", "category", needs=("id", "event_type")):
        return
    kind, name = item.text("event_type"), item.text("name")
    if kind and kind not in RULE_TYPES:
        item.note(f"'event_type' must be one of {', '.join(RULE_TYPES)}.{did_you_mean(kind, RULE_TYPES)}", "event_type")
    elif kind == "track" and not 1 <= len(name) <= 64:
        item.note("a track event's name must have 1 to 64 characters", *(["name"] if "name" in item.data else []))
    elif kind != "track" and name:
        item.note(f"only track events have names: a {kind} event is planned by its type", "name")
    catalog.add(
        "event", Declaration(item.text("id"), name, item, event_type=kind, description=item.text("description"))
    )


def _declare_property(catalog: Catalog, item: Item) -> None:
    old = item.file.old
    names = ("propConfig",) if old else ("types", "item_type", "item_types", "config")
    if not item.fits("id", "name", "type", "description", *names, needs=("id", "name")):
        return
    name = item.text("name")
    if len(name) > 65:
        item.note("a property's name must have 1 to 65 characters", "name")
    catalog.add("property", Declaration(item.text("id"), name, item, _shape(item, "propConfig" if old else "config")))


def _declare_type(catalog: Catalog, item: Item) -> None:
    names = () if item.file.old else ("item_type", "item_types")
    known = ("id", "name", "description", "type", "config", "properties", "variants", *names)
    if not item.fits(*known, needs=("id", "name", "type")):
        return
    name = item.text("name")
    if name and not _CUSTOM_NAME.fullmatch(name):
        item.note("a custom type's name must be a capital letter and 1 to 64 more letters, digits, '_' or '-'", "name")
    shape = _shape(item, "config")
    if shape.custom:
        item.note("a custom type must be based on one of JSON's types", "type")
    for member in ("properties", "variants"):
        if item.data.get(member) and "object" not in shape.types:
            item.note(f"{member!r} requires the type 'object'", member, key=True)
    catalog.add("custom-type", Declaration(item.text("id"), name, item, shape))


def _shape(item: Item, config: str) -> Shape:
    """Return types and limits, in the spelling of the file's version."""
    shape = Shape()
    limits = item.data.get(config) or {}
    if not isinstance(limits, dict):
        item.note(f"{config!r} must be an object", config)
        limits = {}
    if "type" in item.data and "types" in item.data:
        item.note("'type' and 'types' cannot be combined: use one of them", "types", key=True)
    elif "type" not in item.data and "types" not in item.data and not item.file.old:
        shape.types = list(TYPES)
    elif "type" in item.data:
        shape.types, shape.custom = _types(item, item.data["type"], "type")
    else:
        shape.types, shape.custom = _types(item, item.data["types"], "types")
    if item.file.old:
        for name in ("itemTypes", "item_types"):
            if name in limits:
                shape.item_types, shape.item_custom = _types(item, limits[name], config, name)
        limits = {key: value for key, value in limits.items() if key not in ("itemTypes", "item_types")}
    elif "item_type" in item.data and "item_types" in item.data:
        item.note("'item_type' and 'item_types' cannot be combined: use one of them", "item_types", key=True)
    else:
        for name in ("item_type", "item_types"):
            if name in item.data:
                shape.item_types, shape.item_custom = _types(item, item.data[name], name)
    if (shape.item_types or shape.item_custom) and shape.types and "array" not in shape.types:
        item.note("item types require the type 'array'")
    shape.limits = _limits(item, shape, limits, config)
    return shape


def _types(item: Item, value: Any, *steps: str | int) -> tuple[list[str], str]:
    """Return JSON types, or the id of a custom type."""
    if isinstance(value, str):
        if value.startswith("#"):
            return [], reference_id(item, "custom-type", value, *steps) or ""
        value = [name.strip() for name in value.split(",")] if item.file.old and value else [value] if value else []
    if not isinstance(value, list):
        item.note(f"must be one of {', '.join(TYPES)}, or a custom type", *steps)
        return [], ""
    if len(value) == 1 and isinstance(value[0], str) and value[0].startswith("#"):
        return [], reference_id(item, "custom-type", value[0], *steps) or ""
    types = []
    for name in value:
        if name not in TYPES:
            message = "a custom type must be the only type" if str(name).startswith("#") else f"unknown type {name!r}."
            item.note(f"{message}{did_you_mean(str(name), TYPES)}", *steps)
        else:
            types.append(name)
    return sorted(set(types)), ""


def _limits(item: Item, shape: Shape, limits: Mapping[str, Any], config: str) -> dict[str, Any]:
    allowed = {name for kind in shape.types for name in _CONFIG[kind]}
    everything = {name for names in _CONFIG.values() for name in names}
    kept: dict[str, Any] = {}
    for key, value in limits.items():
        name = _camel(key) if not item.file.old or "_" in key else key
        if name not in everything or (key != _spelling(name, old=item.file.old) and key != name):
            names = sorted(_spelling(known, old=item.file.old) for known in allowed or everything)
            item.note(f"unknown key {key!r}.{did_you_mean(key, names)}", config, key, key=True)
        elif name not in allowed and (shape.types or shape.custom):
            what = "a custom type" if shape.custom else " or ".join(shape.types)
            item.note(f"{key!r} does not apply to {what}", config, key, key=True)
        elif wrong := _value_problem(name, value):
            item.note(f"{key!r} {wrong}", config, key)
        else:
            kept[name] = value
    return kept


def _camel(name: str) -> str:
    head, *others = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in others)


def _spelling(name: str, *, old: bool) -> str:
    return name if old else re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)


def _value_problem(name: str, value: Any) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "enum":
        return "" if isinstance(value, list) and value else "must be a list with a value"
    if name in _COUNTS:
        return "" if number and value >= 0 and value == int(value) else "must be a whole number, 0 or more"
    if name == "uniqueItems":
        return "" if isinstance(value, bool) else "must be true or false"
    if name == "format":
        return "" if value in _FORMATS else f"must be one of {', '.join(_FORMATS)}.{did_you_mean(str(value), _FORMATS)}"
    if name == "pattern":
        wrong = pattern_problem(value) if isinstance(value, str) else "it is not a string"
        return f"does not compile: {wrong}" if wrong else ""
    if name == "multipleOf" and number and value <= 0:
        return "must be more than 0"
    return "" if number else "must be a number"


def _check_references(catalog: Catalog) -> None:
    """Check that every referenced custom type and category exists."""
    for kind in ("property", "custom-type"):
        for declaration in catalog.kinds[kind].values():
            for id in filter(None, (declaration.shape.custom, declaration.shape.item_custom)):
                if id not in catalog.kinds["custom-type"]:
                    near = did_you_mean(id, catalog.kinds["custom-type"])
                    declaration.item.note(f"no custom type has the id {id!r}.{near}")
    for event in catalog.kinds["event"].values():
        if "category" in event.item.data:
            catalog.refer(event.item, "category", event.item.data["category"], "category")
