"""Find what makes RudderStack reject a schema. It then lets every event pass unchecked, and only logs the reason.

The walk follows RudderStack's compiler, so that it finds the same problems: a part of a schema that no keyword
leads to is not checked, and `required` must name properties that the compiler has already seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.plans.schema import patterns
from svctoolkit.plans.schema.dialect import DEFAULT_OPTIONS, Options, has_rules, is_draft_4, is_known, keywords
from svctoolkit.plans.schema.formats import FORMAT_LIMITS, FORMATS, NUMBER_FORMATS, ORDERED_FORMATS
from svctoolkit.plans.schema.references import References, is_inline

#: limit on subschemas when references are followed: a few kilobytes of references can expand without bound
MAX_SUBSCHEMAS: Final = 50_000
MAX_DEPTH: Final = 60
_LONGEST: Final = 80  # characters of a pattern to quote

Path: TypeAlias = tuple[str | int, ...]


class Refusal(NamedTuple):
    """A reason to reject a schema, and its path in the schema; with `key`, it refers to the key there."""

    path: Path
    message: str
    key: bool = False


class _Full(Exception):
    """The schema is too large to check."""


def refusals(schema: Json, options: Options = DEFAULT_OPTIONS) -> list[Refusal]:
    """Return everything that RudderStack would reject in a schema, or that cannot be checked within the limits."""
    if not isinstance(schema, dict):
        return [Refusal((), "a rule's schema must be an object")]
    if _too_deep(schema):
        return [Refusal((), f"the schema nests more than {MAX_DEPTH} levels deep")]
    address = schema.get("$schema", "")
    if address != "" and not (isinstance(address, str) and is_known(address)):
        return [Refusal(("$schema",), f"RudderStack does not support {address!r}, only drafts 4, 6, 7 and 2019-09")]
    wrong = list(_shape(schema))
    return wrong or _Walk(schema, options).refusals()


def _too_deep(schema: Any) -> bool:
    level = [schema]
    for _ in range(MAX_DEPTH * 2):  # a property costs two levels: its name and its schema
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


@cache
def _metaschema(draft: str) -> Any:
    import jsonschema_rs

    validators = {
        "draft-04": jsonschema_rs.Draft4Validator,
        "draft-06": jsonschema_rs.Draft6Validator,
        "draft-07": jsonschema_rs.Draft7Validator,
    }
    if draft in validators:
        return validators[draft]({"$ref": f"http://json-schema.org/{draft}/schema#"}, validate_formats=False)
    return jsonschema_rs.Draft201909Validator({"$ref": "https://json-schema.org/draft/2019-09/schema"})


def _shape(schema: Mapping[str, Any]) -> Iterator[Refusal]:
    """Yield violations of the draft's own schema: keywords with wrong types."""
    draft = str(schema.get("$schema", "")).removesuffix("/schema").removesuffix("/schema#").rpartition("/")[2]
    places: set[Path] = set()
    for error in _metaschema(draft).iter_errors(schema):
        path: Path = tuple(error.instance_path)
        if path not in places:
            places.add(path)
            message = error.message.replace("\n", " ")
            short = message if len(message) <= 200 else f"{message[:199]}…"
            yield Refusal(path, f"not what JSON Schema allows: {short}")


class _Place:
    """The position in an event that a schema applies to. `names` are the properties planned there so far."""

    def __init__(self, names: set[str]) -> None:
        self.names = names


class _Walk:
    def __init__(self, root: Mapping[str, Any], options: Options) -> None:
        self._root, self._options = root, options
        self._references = References(root)
        self._draft_4 = is_draft_4(root)
        self._keywords = keywords(draft_4=self._draft_4)
        self._seen: set[int] = set()
        self._open: list[int] = []
        self._count = 0
        self._refusals: dict[tuple[Path, str], Refusal] = {}

    def refusals(self) -> list[Refusal]:
        try:
            self._visit(self._root, (), _Place(set()), self._references.base)
        except _Full:
            self._refuse((), f"the schema has more than {MAX_SUBSCHEMAS:,} subschemas once references are resolved")
        except RecursionError:
            self._refuse((), "the schema nests too deeply once references are resolved")
        return list(self._refusals.values())

    def _refuse(self, path: Path, message: str, *, key: bool = False) -> None:
        self._refusals.setdefault((path, message), Refusal(path, message, key))

    def _visit(self, schema: Any, path: Path, place: _Place, base: str) -> None:
        if not isinstance(schema, dict):
            return
        self._count += 1
        if self._count > MAX_SUBSCHEMAS:
            raise _Full
        if self._options.strict:
            self._check_keywords(schema, path)
        if not has_rules(schema):
            self._check_ignored(schema, path)
            return
        base = self._references.base_of(schema, base)
        self._check_values(schema, path)
        for keyword in ("$ref", "$recursiveRef", "$dynamicRef"):
            if keyword in schema:
                self._follow(schema[keyword], (*path, keyword), place, base)
        self._compose(schema, path, place, base)
        self._visit_items(schema, path, place, base)
        self._check_required(schema, path, place)
        self._visit_properties(schema, path, place, base)
        for keyword in ("dependencies", "dependentSchemas"):
            for name, inner in schema.get(keyword, {}).items():
                self._visit(inner, (*path, keyword, name), _Place(place.names), base)
        for keyword in ("unevaluatedItems", "unevaluatedProperties"):
            self._inside(schema.get(keyword), (*path, keyword), place, base)

    def _check_keywords(self, schema: Mapping[str, Any], path: Path) -> None:
        for name in schema:
            if name == "id" and not self._draft_4:
                self._refuse((*path, name), "'id' belongs to draft 4: RudderStack rejects it in other drafts", key=True)
            elif name not in self._keywords:
                near = did_you_mean(name, self._keywords)
                self._refuse((*path, name), f"unknown keyword {name!r}.{near}", key=True)

    def _check_ignored(self, schema: Mapping[str, Any], path: Path) -> None:
        """Check keywords that RudderStack rejects because they have no effect."""
        if not self._options.strict:
            return
        for name in ("then", "else"):
            if name in schema and "if" not in schema:
                self._refuse((*path, name), f"{name!r} without 'if' is ignored, so RudderStack rejects it", key=True)

    def _check_values(self, schema: Mapping[str, Any], path: Path) -> None:
        self._check_ignored(schema, path)
        strict = self._options.strict
        if strict and "if" in schema and "then" not in schema and "else" not in schema:
            self._refuse(
                (*path, "if"), "'if' without 'then' and 'else' is ignored, so RudderStack rejects it", key=True
            )
        for name in ("minContains", "maxContains"):
            if strict and name in schema and "contains" not in schema:
                self._refuse((*path, name), f"{name!r} without 'contains' is ignored", key=True)
        if strict and "additionalItems" in schema and not isinstance(schema.get("items"), list):
            message = "'additionalItems' is ignored if 'items' is not a list of schemas"
            self._refuse((*path, "additionalItems"), message, key=True)
        self._check_contains(schema, path)
        self._check_types(schema, path)
        if schema.get("enum") == []:
            self._refuse((*path, "enum"), "'enum' must have at least one value")
        form = schema.get("format", "date")
        if self._options.formats and strict and form not in FORMATS and form not in NUMBER_FORMATS:
            near = did_you_mean(str(form), [*FORMATS, *NUMBER_FORMATS])
            self._refuse((*path, "format"), f"unknown format {form!r}.{near}")
        self._check_format_limits(schema, path)
        for keyword, text in _patterns(schema):
            wrong = patterns.problem(text)
            if wrong:
                excerpt = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
                self._refuse((*path, *keyword), f"the pattern {excerpt!r} does not compile: {wrong}")

    def _check_format_limits(self, schema: Mapping[str, Any], path: Path) -> None:
        for name in FORMAT_LIMITS.keys() & schema.keys():
            if "format" not in schema:
                self._refuse((*path, name), f"{name!r} requires a 'format' in the same schema", key=True)
            elif not isinstance(schema[name], str):
                self._refuse((*path, name), f"{name!r} must be a string")
            elif self._options.formats and schema["format"] not in ORDERED_FORMATS:
                known = ", ".join(ORDERED_FORMATS)
                self._refuse((*path, name), f"the format {schema['format']!r} cannot be compared; these can: {known}")

    def _check_contains(self, schema: Mapping[str, Any], path: Path) -> None:
        if self._draft_4 or "contains" not in schema or not self._options.strict:
            return
        least, most = schema.get("minContains", 1), schema.get("maxContains")
        if least == 0 and most is None:
            self._refuse((*path, "contains"), "'contains' with 'minContains: 0' alone is ignored", key=True)
        elif most is not None and least > most:
            self._refuse((*path, "minContains"), "'minContains' is greater than 'maxContains'")

    def _check_types(self, schema: Mapping[str, Any], path: Path) -> None:
        if "nullable" not in schema:
            return
        types = schema.get("type", [])
        if not types:
            self._refuse((*path, "nullable"), "'nullable' requires a 'type' in the same schema", key=True)
        elif schema["nullable"] is False and "null" in (types if isinstance(types, list) else [types]):
            self._refuse((*path, "nullable"), "'nullable: false' contradicts a type that can be null")

    def _check_required(self, schema: Mapping[str, Any], path: Path, place: _Place) -> None:
        if not (self._options.strict and self._options.strict_required):
            return
        own = schema.get("properties", {})
        for index, name in enumerate(schema.get("required", [])):
            if name not in own and name not in place.names:
                near = did_you_mean(name, own) if len(own) <= 500 else ""
                message = f"required property {name!r} is not among the 'properties' of the same schema.{near}"
                self._refuse((*path, "required", index), message)

    def _follow(self, reference: Json, path: Path, place: _Place, base: str) -> None:
        if not isinstance(reference, str):
            self._refuse(path, f"a reference must be a string, not {reference!r}")
            return
        target = self._references.target(reference, base)
        if target is None:
            self._refuse(path, f"{reference!r} is not in this schema; external references are not fetched")
            return
        key = id(target.schema)
        if is_inline(target.schema):
            self._visit(target.schema, target.path, _Place(place.names), target.base)
            return
        if key in self._open:
            self._refuse(path, f"the reference {reference!r} leads back to itself")
        if key not in self._seen:
            self._seen.add(key)
            self._open.append(key)
            self._visit(target.schema, target.path, _Place(set()), target.base)
            self._open.pop()

    def _compose(self, schema: Mapping[str, Any], path: Path, place: _Place, base: str) -> None:
        self._visit(schema.get("not"), (*path, "not"), _Place(place.names), base)
        for keyword in ("anyOf", "oneOf", "allOf"):
            for index, inner in enumerate(schema.get(keyword, [])):
                self._visit(inner, (*path, keyword, index), _Place(place.names), base)
        if "then" in schema or "else" in schema:
            for keyword in ("if", "then", "else"):
                if "if" in schema:
                    self._visit(schema.get(keyword), (*path, keyword), _Place(place.names), base)

    def _visit_items(self, schema: Mapping[str, Any], path: Path, place: _Place, base: str) -> None:
        items = schema.get("items")
        for index, inner in enumerate(items if isinstance(items, list) else []):
            self._inside(inner, (*path, "items", index), place, base)
        for keyword in ("additionalItems", "items", "contains"):
            self._inside(schema.get(keyword), (*path, keyword), place, base)

    def _visit_properties(self, schema: Mapping[str, Any], path: Path, place: _Place, base: str) -> None:
        for keyword in ("propertyNames", "additionalProperties"):
            self._inside(schema.get(keyword), (*path, keyword), place, base)
        own, fitting = schema.get("properties", {}), schema.get("patternProperties", {})
        place.names |= own.keys()
        for name, inner in own.items():
            self._inside(inner, (*path, "properties", name), place, base)
        for text, inner in fitting.items():
            self._inside(inner, (*path, "patternProperties", text), place, base)
            if self._options.strict and not patterns.problem(text):
                for name in filter(patterns.search(text), own):
                    message = f"the property {name!r} also matches the pattern {text!r}; RudderStack rejects that"
                    self._refuse((*path, "patternProperties", text), message, key=True)

    def _inside(self, schema: Any, path: Path, place: _Place, base: str) -> None:
        """Visit the schema of a member or an item with new planned names; those of the parent are reset, too."""
        if isinstance(schema, dict) and has_rules(schema):
            place.names = set()
            opened, self._open = self._open, []
            self._visit(schema, path, _Place(place.names), base)
            self._open = opened
        else:
            self._visit(schema, path, place, base)


def _patterns(schema: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    if "pattern" in schema:
        yield ("pattern",), schema["pattern"]
    for text in schema.get("patternProperties", {}):
        yield ("patternProperties", text), text
