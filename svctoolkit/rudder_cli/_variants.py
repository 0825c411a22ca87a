"""Rules of variants in custom types and in rules of tracking plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._shapes import ANY, BOOLEAN, TEXT, Checker, is_open, reference, reference_form

_MEMBER: Final = {"property": TEXT, "required": BOOLEAN}
SHAPE: Final = [
    {
        "type": TEXT,
        "discriminator": TEXT,
        "cases": [{"display_name": TEXT, "match": [ANY], "description": TEXT, "properties": [_MEMBER]}],
        "default": {"properties": [_MEMBER]},
    }
]


def check_variants(checker: Checker, variants: list[Json], path: tuple[str | int, ...]) -> None:
    """Check the variants of a custom type or a rule."""
    if len(variants) > 1:
        checker.add((*path, "variants"), "only one variant is allowed")
    for i, variant in enumerate(variants):
        at = (*path, "variants", i)
        variant = variant or {}
        if variant.get("type") != "discriminator":
            checker.add((*at, "type"), "'type' must be 'discriminator'")
        checker.needs(variant, at, "discriminator")
        _property(checker, variant, at, "discriminator")
        if not variant.get("cases"):
            checker.add((*at, "cases"), "'cases' needs at least one case")
        for n, case in enumerate(variant.get("cases") or ()):
            _case(checker, case or {}, (*at, "cases", n))
        default = variant.get("default")
        members = default.get("properties") if isinstance(default, dict) else default
        where = (*at, "default", "properties") if isinstance(default, dict) else (*at, "default")
        _members(checker, members or [], where)


def _case(checker: Checker, case: dict[str, Json], path: tuple[str | int, ...]) -> None:
    checker.needs(case, path, "display_name", "match", "properties")
    for i, value in enumerate(case.get("match") or ()):
        if not isinstance(value, (str, bool, int)) or isinstance(value, float):
            checker.add((*path, "match", i), "a value to match must be text, a whole number, true or false")
    _members(checker, case.get("properties") or [], (*path, "properties"))


def _members(checker: Checker, members: list[Json], path: tuple[str | int, ...]) -> None:
    key = "$ref" if checker.file.old else "property"
    for i, member in enumerate(members):
        checker.needs(member or {}, (*path, i), key)
        _property(checker, member or {}, (*path, i), key)


def _property(checker: Checker, item: dict[str, Json], path: tuple[str | int, ...], key: str) -> None:
    written, old = item.get(key), checker.file.old
    if written and not is_open(written) and reference("property", written, old=old) is None:
        checker.add((*path, key), f"{key!r} must be written {reference_form('property', old=old)}")


def discriminator_faults(
    item: dict[str, Json],
    path: tuple[str | int, ...],
    own: set[str | None],
    property_of: Callable[[str], dict[str, Json] | None],
    *,
    old: bool,
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield discriminators that their parent does not have as a property, or of a type that cannot decide."""
    for i, variant in enumerate(item.get("variants") or ()):
        id_ = reference("property", (variant or {}).get("discriminator"), old=old)
        at = (*path, "variants", i, "discriminator")
        if id_ is None:
            continue
        if id_ not in own:
            yield at, "the discriminator must be a property of the same parent"
        found = property_of(id_)
        if found is None:
            yield at, f"property {id_!r} not found in the project"
        elif not _can_decide(found):
            yield at, f"the discriminator {id_!r} must be a string, an integer or a boolean"


def _can_decide(item: dict[str, Json]) -> bool:
    types = item.get("types") or [part.strip() for part in str(item.get("type") or "").split(",")]
    deciding = {"string", "integer", "boolean"}
    return (not item.get("types") and (not item.get("type") or str(item["type"]).startswith("#"))) or bool(
        deciding & {*types}
    )
