"""Rules of tracking plans: `kind: tracking-plan`, and `kind: tp` of version 0.1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._catalog import RULE, Declared, primitive_types
from svctoolkit.rudder_cli._definitions import Release
from svctoolkit.rudder_cli._files import SpecFile
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._shapes import (
    ANY,
    BOOLEAN,
    DISPLAY_NAME,
    DISPLAY_NAME_RULE,
    TEXT,
    Checker,
    duplicates,
    is_open,
    reference,
    reference_form,
)
from svctoolkit.rudder_cli._variants import SHAPE as VARIANTS
from svctoolkit.rudder_cli._variants import check_variants, discriminator_faults

_SYNTAX: Final = f"{RULE}tracking-plans/spec-syntax-valid"
_SEMANTIC: Final = f"{RULE}tracking-plans/semantic-valid"
_SECTIONS: Final = ("properties", "traits", "context.traits")
_DEEPEST: Final = 3


def _nested(depth: int, key: str, *others: str) -> Json:
    member: dict[str, Json] = {key: TEXT, "required": BOOLEAN, **dict.fromkeys(others, BOOLEAN)}
    member["properties"] = [_nested(depth - 1, key, *others)] if depth else ANY
    return member


_RULE: Final = {
    "type": TEXT,
    "id": TEXT,
    "event": TEXT,
    "identity_section": TEXT,
    "additional_properties": BOOLEAN,
    "properties": [_nested(6, "property", "additional_properties")],
    "variants": VARIANTS,
    "includes": ANY,
}
_HEAD: Final = {"id": TEXT, "display_name": TEXT, "description": TEXT}
PLAN: Final = {**_HEAD, "rules": [_RULE]}
OLD_PLAN: Final = {
    **_HEAD,
    "rules": [
        {
            "type": TEXT,
            "id": TEXT,
            "event": {"$ref": TEXT, "allow_unplanned": BOOLEAN, "identity_section": TEXT},
            "properties": [_nested(6, "$ref", "additionalProperties", "additional_properties")],
            "variants": ANY,
            "includes": ANY,
        }
    ],
}


def check(file: SpecFile, _release: Release) -> list[Finding]:
    """Return the findings of a tracking plan."""
    checker = Checker(file, _SYNTAX)
    spec = file.spec
    if not checker.fits(OLD_PLAN if file.old else PLAN):
        return checker.findings
    checker.needs(spec, (), "id", "display_name")
    checker.text(spec, (), "display_name", pattern=DISPLAY_NAME, rule=DISPLAY_NAME_RULE)
    checker.text(spec, (), "description", least=3, most=2000, pattern="^[a-zA-Z]", rule="must start with a letter")
    for i, rule in enumerate(spec.get("rules") or ()):
        _rule(checker, rule or {}, ("rules", i))
    return checker.findings


def _rule(checker: Checker, rule: dict[str, Json], path: tuple[str | int, ...]) -> None:
    old = checker.file.old
    checker.needs(rule, path, "id")
    if rule.get("type") != "event_rule":
        checker.add((*path, "type"), "'type' is required" if not rule.get("type") else "'type' must be 'event_rule'")
    event = rule.get("event")
    if old and not event and not rule.get("includes"):
        checker.add(path, "'event' or 'includes' is required")
    elif not old:
        checker.needs(rule, path, "event")
        if "includes" in rule:
            checker.add((*path, "includes"), "'includes' is not supported any more: list the properties")
    written, where = (
        (event.get("$ref"), (*path, "event", "$ref")) if isinstance(event, dict) else (event, (*path, "event"))
    )
    if written and not is_open(written) and reference("event", written, old=old) is None:
        checker.add(where, f"'event' must be written {reference_form('event', old=old)}")
    section = event if isinstance(event, dict) else rule
    checker.one_of(section, (*path, "event") if isinstance(event, dict) else path, "identity_section", _SECTIONS)
    _members(checker, rule.get("properties") or [], (*path, "properties"))
    if rule.get("variants") and isinstance(rule["variants"], list):
        check_variants(checker, rule["variants"], path)


def _members(checker: Checker, members: list[Json], path: tuple[str | int, ...]) -> None:
    key, old = _key(checker.file), checker.file.old
    for i, member in enumerate(members):
        member = member or {}
        checker.needs(member, (*path, i), key)
        written = member.get(key)
        if written and not is_open(written) and reference("property", written, old=old) is None:
            checker.add((*path, i, key), f"{key!r} must be written {reference_form('property', old=old)}")
        if isinstance(member.get("properties"), list):
            _members(checker, member["properties"], (*path, i, "properties"))


def _key(file: SpecFile) -> str:
    return "$ref" if file.old else "property"


def _event_id(file: SpecFile, rule: dict[str, Json]) -> str | None:
    event = rule.get("event")
    return reference("event", event.get("$ref") if isinstance(event, dict) else event, old=file.old)


def dangling(file: SpecFile, declared: Declared) -> tuple[tuple[str | int, ...], str] | None:
    """Return the first reference of a plan that cannot be followed: rudder-cli stops at it without a rule."""
    for i, rule in enumerate(file.spec.get("rules") or ()):
        rule = rule or {}
        path = ("spec", "rules", i)
        event = _event_id(file, rule)
        if event is not None and not declared.has("events", event):
            return (*path, "event"), f"event {event!r} not found in the project"
        if found := _dangling_member(file, rule.get("properties") or [], (*path, "properties"), declared):
            return found
    return None


def _dangling_member(
    file: SpecFile, members: list[Json], path: tuple[str | int, ...], declared: Declared
) -> tuple[tuple[str | int, ...], str] | None:
    for i, member in enumerate(members):
        member = member or {}
        id_ = reference("property", member.get(_key(file)), old=file.old)
        if id_ is not None and not declared.has("properties", id_):
            return (*path, i, _key(file)), f"property {id_!r} not found in the project"
        inner = member.get("properties")
        if isinstance(inner, list) and (found := _dangling_member(file, inner, (*path, i, "properties"), declared)):
            return found
    return None


def semantic(files: list[SpecFile], declared: Declared) -> Iterator[Finding]:
    """Yield repeated events and properties, nested properties where there cannot be any, and repeated names."""
    for file in files:
        rules = [rule or {} for rule in file.spec.get("rules") or ()]
        events = [(_event_id(file, rule), file, ("spec", "rules", i, "event")) for i, rule in enumerate(rules)]
        named = [event for event in events if event[0] is not None]
        yield from duplicates(named, _SEMANTIC, lambda id_: f"the event {id_!r} has more than one rule in this plan")
        for i, rule in enumerate(rules):
            path = ("spec", "rules", i)
            members = rule.get("properties") or []
            yield from _semantic_members(file, members, (*path, "properties"), declared, 1)
            own = {reference("property", (m or {}).get(_key(file)), old=file.old) for m in members}
            for at, message in discriminator_faults(rule, path, own, declared.property, old=file.old):
                yield file.finding(_SEMANTIC, at, message)
    names = [(file.spec.get("display_name"), file, ("spec", "display_name")) for file in files]
    yield from duplicates(names, _SEMANTIC, lambda name: f"duplicate display_name {name!r} within tracking plans")


def _semantic_members(
    file: SpecFile, members: list[Json], path: tuple[str | int, ...], declared: Declared, level: int
) -> Iterator[Finding]:
    key = _key(file)
    ids = [reference("property", (member or {}).get(key), old=file.old) for member in members]
    named = [(id_, file, (*path, i, key)) for i, id_ in enumerate(ids) if id_ is not None]
    yield from duplicates(named, _SEMANTIC, lambda id_: f"the property {id_!r} is listed twice")
    for i, member in enumerate(members):
        inner = (member or {}).get("properties")
        if not inner:
            continue
        if level > _DEEPEST:
            yield file.finding(_SEMANTIC, (*path, i), f"properties can nest at most {_DEEPEST} levels deep")
            continue
        item = declared.property(ids[i])
        if item is not None and not _holds_properties(item, old=file.old):
            yield file.finding(_SEMANTIC, (*path, i), f"the property {ids[i]!r} cannot have nested properties")
        yield from _semantic_members(file, inner, (*path, i, "properties"), declared, level + 1)


def _holds_properties(item: dict[str, Json], *, old: bool) -> bool:
    types = primitive_types(item, old=old)
    items = item.get("item_types") or ([item["item_type"]] if item.get("item_type") else [])
    return "object" in types or ("array" in types and (not items or "object" in items))
