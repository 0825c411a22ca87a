"""Rules of the catalog: categories, events, properties and custom types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._definitions import Release
from svctoolkit.rudder_cli._files import SpecFile
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._shapes import (
    ANY,
    BOOLEAN,
    DISPLAY_NAME,
    DISPLAY_NAME_RULE,
    OBJECT,
    TEXT,
    Checker,
    duplicates,
    is_open,
    reference,
    reference_form,
)
from svctoolkit.rudder_cli._variants import SHAPE as VARIANTS
from svctoolkit.rudder_cli._variants import check_variants, discriminator_faults

RULE: Final = "datacatalog/"
TYPES: Final = ("string", "number", "integer", "boolean", "null", "array", "object")
_FORMATS: Final = ("date-time", "date", "time", "email", "uuid", "hostname", "ipv4", "ipv6")
_NUMERIC: Final = ("enum", "minimum", "maximum", "exclusive_minimum", "exclusive_maximum", "multiple_of")
_CONFIG: Final = {
    "string": ("enum", "min_length", "max_length", "pattern", "format"),
    "number": _NUMERIC,
    "integer": _NUMERIC,
    "boolean": ("enum",),
    "array": ("min_items", "max_items", "unique_items"),
    "object": (),
    "null": (),
}
_COUNTS: Final = ("min_length", "max_length", "min_items", "max_items")
_LIMITS: Final = ("minimum", "maximum", "exclusive_minimum", "exclusive_maximum", "multiple_of")
_OLD_CONFIG: Final = {
    "minLength": "min_length",
    "maxLength": "max_length",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
}
CATEGORIES: Final = {"categories": [{"id": TEXT, "name": TEXT}]}
EVENTS: Final = {"events": [{"id": TEXT, "name": TEXT, "event_type": TEXT, "description": TEXT, "category": TEXT}]}
_PROPERTY: Final = {"id": TEXT, "name": TEXT, "description": TEXT, "type": TEXT}
PROPERTIES: Final = {
    "properties": [{**_PROPERTY, "types": [TEXT], "item_type": TEXT, "item_types": [TEXT], "config": OBJECT}]
}
OLD_PROPERTIES: Final = {"properties": [{**_PROPERTY, "propConfig": OBJECT}]}
_MEMBER: Final = {"property": TEXT, "required": BOOLEAN}
CUSTOM: Final = {
    "types": [
        {
            **_PROPERTY,
            "item_type": TEXT,
            "item_types": [TEXT],
            "config": OBJECT,
            "properties": [_MEMBER],
            "variants": VARIANTS,
        }
    ]
}
OLD_CUSTOM: Final = {
    "types": [{**_PROPERTY, "config": OBJECT, "properties": [{"$ref": TEXT, "required": BOOLEAN}], "variants": ANY}]
}
SHAPES: Final = {
    ("categories", False): CATEGORIES,
    ("categories", True): CATEGORIES,
    ("events", False): EVENTS,
    ("events", True): EVENTS,
    ("properties", False): PROPERTIES,
    ("properties", True): OLD_PROPERTIES,
    ("custom-types", False): CUSTOM,
    ("custom-types", True): OLD_CUSTOM,
}


def check(file: SpecFile, _release: Release) -> list[Finding]:
    """Return the findings of a file of the catalog."""
    checker = Checker(file, f"{RULE}{file.kind}/spec-syntax-valid")
    if not checker.fits(SHAPES[file.kind, file.old]):
        return checker.findings
    key = "types" if file.kind == "custom-types" else file.kind
    for i, item in enumerate(file.spec.get(key) or ()):
        _ITEMS[file.kind](checker, item or {}, (key, i))
    return checker.findings


def _category(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...]) -> None:
    checker.needs(item, path, "id", "name")
    checker.text(item, path, "name", pattern=DISPLAY_NAME, rule=DISPLAY_NAME_RULE)


def _event(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...]) -> None:
    checker.needs(item, path, "id", "event_type")
    checker.one_of(item, path, "event_type", ("track", "screen", "identify", "group", "page"))
    kind, name = item.get("event_type"), item.get("name") or ""
    if kind == "track" and not 1 <= len(name) <= 64 and not is_open(name):
        checker.add((*path, "name"), "the name of a track event must have 1 to 64 characters")
    elif kind in ("screen", "identify", "group", "page") and name:
        checker.add((*path, "name"), f"only track events have names: remove it from this {kind} event")
    description(checker, item, path)
    _reference(checker, item, path, "category", "category")


def description(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...]) -> None:
    """Check a description: its length and first character."""
    checker.text(item, path, "description", least=3, most=2000, pattern="^[a-zA-Z]", rule="must start with a letter")


def _reference(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...], key: str, kind: str) -> None:
    written, old = item.get(key), checker.file.old
    if written and not is_open(written) and reference(kind, written, old=old) is None:
        checker.add((*path, key), f"{key!r} must be written {reference_form(kind, old=old)}")


def _property(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...]) -> None:
    checker.needs(item, path, "id", "name")
    checker.text(item, path, "name", most=65)
    name = item.get("name")
    if isinstance(name, str) and name != name.strip() and len(name) <= 65:
        checker.add((*path, "name"), "'name' must not start or end with a space")
    checker.text(item, path, "description", least=3, most=2000)
    _types(checker, item, path)
    _config(checker, item, path, "propConfig" if checker.file.old else "config", "propConfig")


def _types(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...]) -> None:
    for one, several in (("type", "types"), ("item_type", "item_types")):
        if item.get(one) and item.get(several):
            checker.add((*path, one), f"{one!r} and {several!r} cannot be specified together")
            checker.add((*path, several), f"{several!r} and {one!r} cannot be specified together")
            continue
        _type(checker, item, path, one)
        names = item.get(several) or []
        for i, name in enumerate(names):
            if name not in TYPES and not is_open(name):
                checker.add((*path, several, i), f"'{several}[{i}]' must be one of {', '.join(TYPES)}")
        if len({*map(str, names)}) < len(names):
            checker.add((*path, several), f"{several!r} must not name a type twice")


def _type(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...], key: str) -> None:
    written = item.get(key)
    if not isinstance(written, str) or not written or is_open(written):
        return
    old = checker.file.old
    parts = [part.strip() for part in written.split(",")] if old else [written]
    if reference("custom-type", written, old=old) is None and any(part not in TYPES for part in parts):
        form = reference_form("custom-type", old=old)
        checker.add((*path, key), f"{key!r} must be one of {', '.join(TYPES)}, or {form}")


def primitive_types(item: dict[str, Json], *, old: bool) -> list[str]:
    """Return the primitive types of a property; an empty list for a custom type, all if there is no type."""
    if item.get("types"):
        return list(item["types"])
    written = item.get("type")
    if not written:
        return list(TYPES)
    parts = [part.strip() for part in written.split(",")] if old else [written]
    return [part for part in parts if part in TYPES]


def _config(
    checker: Checker, item: dict[str, Json], path: tuple[str | int, ...], key: str, shown: str, *, custom: bool = False
) -> None:
    config = item.get(key)
    if not isinstance(config, dict) or not config:
        return
    rule = f"{RULE}{checker.file.kind}/config-valid"
    types = primitive_types(item, old=checker.file.old)
    written = item.get("type")
    if not types and written and reference("custom-type", written, old=checker.file.old) is None:
        return  # an unknown type, which is reported
    allowed = {name for type_ in types for name in _CONFIG.get(type_, ())}
    if custom and types == ["object"]:
        allowed = {"additional_properties"}
    if not allowed:
        if not custom or types != ["object"]:
            checker.add((*path, shown), "the type has no config", rule=rule)
        return
    for name, value in config.items():
        known = _OLD_CONFIG.get(name, name) if checker.file.old else name
        if checker.file.old and known in ("itemTypes", "item_types"):
            continue
        fault = _config_fault(known, value) if known in allowed else f"{name!r} does not apply to the type"
        if fault:
            checker.add((*path, shown, name), fault, rule=rule)
    _ranges(checker, config, (*path, shown), rule)


def _ranges(checker: Checker, config: dict[str, Json], path: tuple[str | int, ...], rule: str) -> None:
    spelled = {_OLD_CONFIG.get(name, name): name for name in config} if checker.file.old else {n: n for n in config}
    for low, high in (("min_length", "max_length"), ("minimum", "maximum"), ("min_items", "max_items")):
        least, most = config.get(spelled.get(low, "")), config.get(spelled.get(high, ""))
        if least is not None and most is not None and _is_number(least) and _is_number(most) and least > most:
            checker.add((*path, spelled[low]), f"{low!r} must not be above {high!r}", rule=rule)


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _config_fault(name: str, value: Json) -> str:
    if is_open(value):
        return ""
    if name in _COUNTS:
        if not _is_number(value) or value != int(value):
            return f"{name!r} must be a whole number"
        return f"{name!r} must be 0 or more" if value < 0 else ""
    if name in _LIMITS:
        if not _is_number(value):
            return f"{name!r} must be a number"
        return f"{name!r} must be above 0" if name == "multiple_of" and value <= 0 else ""
    if name == "format":
        return "" if value in _FORMATS else f"'format' must be one of {', '.join(_FORMATS)}"
    if name == "pattern":
        return "" if isinstance(value, str) else "'pattern' must be text"
    if name in ("unique_items", "additional_properties"):
        return "" if isinstance(value, bool) else f"{name!r} must be true or false"
    if name == "enum":
        if not isinstance(value, list):
            return "'enum' must be a list"
        return "" if len({repr(item) for item in value}) == len(value) else "'enum' must not contain a value twice"
    return ""


def _custom_type(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...]) -> None:
    checker.needs(item, path, "id", "name", "type")
    rule = "must start with a capital letter, then letters, digits, _ or -"
    name = item.get("name")
    if isinstance(name, str) and name and not is_open(name):
        if not 2 <= len(name) <= 65:
            checker.add((*path, "name"), "'name' must have 2 to 65 characters")
        else:
            checker.text(item, path, "name", pattern="^[A-Z][A-Za-z0-9_-]*$", rule=rule)
    description(checker, item, path)
    type_ = item.get("type")
    if type_ and not is_open(type_) and type_ not in TYPES:
        checker.add((*path, "type"), f"'type' must be one of {', '.join(TYPES)}")
        return
    _items_of_custom(checker, item, path)
    _config(checker, item, path, "config", "config", custom=True)
    key = "$ref" if checker.file.old else "property"
    for i, member in enumerate(item.get("properties") or ()):
        checker.needs(member or {}, (*path, "properties", i), key)
        _reference(checker, member or {}, (*path, "properties", i), key, "property")
    if item.get("variants"):
        if type_ != "object":
            checker.add((*path, "variants"), "'variants' requires the type object")
        else:
            check_variants(checker, item["variants"], path)


def _items_of_custom(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...]) -> None:
    one, several = item.get("item_type"), item.get("item_types") or []
    if one and several:
        checker.add((*path, "item_type"), "'item_type' and 'item_types' cannot be specified together")
        checker.add((*path, "item_types"), "'item_types' and 'item_type' cannot be specified together")
        return
    _type(checker, item, path, "item_type")
    for i, name in enumerate(several):
        if name not in TYPES and not is_open(name):
            checker.add((*path, "item_types", i), f"'item_types[{i}]' must be one of {', '.join(TYPES)}")


_ITEMS: Final = {
    "categories": _category,
    "events": _event,
    "properties": _property,
    "custom-types": _custom_type,
}


class Declared:
    """What the catalog of a project declares, by id, each with its file and path."""

    def __init__(self, files: list[SpecFile]) -> None:
        self.kinds: dict[str, dict[str, tuple[SpecFile, tuple[str | int, ...], dict[str, Json]]]] = {}
        for file in files:
            if file.kind in _ITEMS:
                key = "types" if file.kind == "custom-types" else file.kind
                known = self.kinds.setdefault(file.kind, {})
                for i, item in enumerate(file.spec.get(key) or ()):
                    if isinstance(item, dict) and item.get("id"):
                        known.setdefault(str(item["id"]), (file, ("spec", key, i), item))

    def has(self, kind: str, id_: str | None) -> bool:
        """Whether something of a kind is declared."""
        return id_ in self.kinds.get(kind, {})

    def all(self, kind: str) -> Iterator[tuple[SpecFile, tuple[str | int, ...], dict[str, Json]]]:
        """Yield everything of a kind."""
        yield from self.kinds.get(kind, {}).values()

    def property(self, id_: str | None) -> dict[str, Json] | None:
        """Return a declared property, or None."""
        found = self.kinds.get("properties", {}).get(id_ or "")
        return found[2] if found else None


def semantic(declared: Declared) -> Iterator[Finding]:
    """Yield dangling references, and names that are not unique."""
    for file, path, item in declared.all("events"):
        yield from _dangling(declared, file, (*path, "category"), item.get("category"), "category", "events")
    for kind in ("properties", "custom-types"):
        for file, path, item in declared.all(kind):
            for key in ("type", "item_type"):
                yield from _dangling(declared, file, (*path, key), item.get(key), "custom-type", kind)
    yield from _custom_semantic(declared)
    yield from _unique(declared)


_KINDS: Final = {"category": "categories", "custom-type": "custom-types", "property": "properties", "event": "events"}


def _dangling(
    declared: Declared, file: SpecFile, path: tuple[str | int, ...], written: Json, target: str, kind: str
) -> Iterator[Finding]:
    id_ = reference(target, written, old=file.old)
    if id_ is not None and not declared.has(_KINDS[target], id_):
        yield file.finding(f"{RULE}{kind}/semantic-valid", path, f"{target} {id_!r} not found in the project")


def _custom_semantic(declared: Declared) -> Iterator[Finding]:
    rule = f"{RULE}custom-types/semantic-valid"
    for file, path, item in declared.all("custom-types"):
        key = "$ref" if file.old else "property"
        members = [member or {} for member in item.get("properties") or ()]
        for i, member in enumerate(members):
            at = (*path, "properties", i, key)
            yield from _dangling(declared, file, at, member.get(key), "property", "custom-types")
        own = {reference("property", member.get(key), old=file.old) for member in members}
        for at, message in discriminator_faults(item, path, own, declared.property, old=file.old):
            yield file.finding(rule, at, message)


def _unique(declared: Declared) -> Iterator[Finding]:
    for kind in ("categories", "custom-types"):
        names = [(item.get("name"), file, (*path, "name")) for file, path, item in declared.all(kind)]
        yield from duplicates(names, f"{RULE}{kind}/semantic-valid", lambda name: f"duplicate name {name!r}")
    events = [
        ((item.get("event_type"), item.get("name") or ""), file, path) for file, path, item in declared.all("events")
    ]
    yield from duplicates(
        events, f"{RULE}events/semantic-valid", lambda name: f"duplicate event {' '.join(filter(None, name))!r}"
    )
    properties = [(_identity(item), file, path) for file, path, item in declared.all("properties")]
    yield from duplicates(
        properties,
        f"{RULE}properties/semantic-valid",
        lambda key: f"duplicate property {key[0]!r} with the same type",
    )


def _identity(item: dict[str, Json]) -> tuple[Json, ...]:
    types = tuple(sorted(map(str, item.get("types") or [item.get("type") or ""])))
    items = tuple(sorted(map(str, item.get("item_types") or [item.get("item_type") or ""])))
    return item.get("name"), types, items


def cycle(declared: Declared) -> list[str]:
    """Return the URNs of a cycle of custom types and properties; an empty list without a cycle."""
    done: set[str] = set()

    def visit(urn: str, path: list[str]) -> list[str]:
        if urn in path:
            return [*path[path.index(urn) :], urn]
        if urn in done:
            return []
        for target in _targets(declared, urn):
            if found := visit(target, [*path, urn]):
                return found
        done.add(urn)
        return []

    for id_ in declared.kinds.get("custom-types", {}):
        if found := visit(f"custom-type:{id_}", []):
            return found
    return []


def _targets(declared: Declared, urn: str) -> Iterator[str]:
    kind, _, id_ = urn.partition(":")
    found = declared.kinds.get(_KINDS[kind], {}).get(id_)
    if found is None:
        return
    file, _, item = found
    if kind == "property":
        for key in ("type", "item_type"):
            target = reference("custom-type", item.get(key), old=file.old)
            if target:
                yield f"custom-type:{target}"
        return
    key = "$ref" if file.old else "property"
    for member in item.get("properties") or ():
        target = reference("property", (member or {}).get(key), old=file.old)
        if target:
            yield f"property:{target}"
