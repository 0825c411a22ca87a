"""Compiles a JSON Schema to closures, with the semantics of RudderStack's validator (ajv 8: all errors, strict)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from svctoolkit.json_types import Json
from svctoolkit.plans.schema import alterations, composition, lists, objects, patterns, scalars
from svctoolkit.plans.schema.dialect import DEFAULT_OPTIONS, Options, has_rules, is_draft_4
from svctoolkit.plans.schema.javascript import pointer_token
from svctoolkit.plans.schema.node import ANYTHING, CLASSES, Check, Errors, Node, TooMuch, Trace, refusal
from svctoolkit.plans.schema.references import References, is_inline
from svctoolkit.plans.violation import Violation

#: how many references may be followed for one event: enough for a tree of thousands of nodes
MAX_REFERENCES: Final = 20_000

#: keywords that evaluate members of an object, other than `properties`: without them the names are known in advance
_EVALUATING_TEXT: Final = """
    $ref $recursiveRef $dynamicRef allOf anyOf oneOf if additionalProperties patternProperties dependencies
    dependentSchemas unevaluatedItems
"""
_EVALUATING: Final = frozenset(_EVALUATING_TEXT.split())


class Checker:
    """A compiled schema. `violations` returns a value's violations."""

    def __init__(self, schema: Json, options: Options = DEFAULT_OPTIONS) -> None:
        self._options = options
        self._compiler = _Compiler(schema, options)
        self._run = self._compiler.node(schema, "#", self._compiler.references.base).run

    def violations(self, value: Json) -> Errors:
        """Return every violation of an event, which must be plain JSON. Some options alter the event.

        Raises `TooMuch` if a recursive schema takes too long.
        """
        errors: Errors = []
        self._compiler.steps = MAX_REFERENCES
        try:
            self._run(value, "", errors, None)
        except RecursionError as error:
            raise TooMuch("the event and the schema nest too deeply") from error
        return errors if self._options.all_errors else errors[:1]


class _Compiler:
    def __init__(self, schema: Any, options: Options) -> None:
        self.references = References(schema)
        self.steps = MAX_REFERENCES
        self._options = options
        self._draft_4 = is_draft_4(schema)
        self._called: dict[int, Node] = {}

    def node(self, schema: Any, where: str, base: str) -> Node:
        """Return the node of a schema; `where` is its JSON pointer as used in violations."""
        if not has_rules(schema):
            return ANYTHING
        if schema is False:
            false = refusal("false schema", "boolean schema is false", f"{where}/false schema")
            return Node(false, frozenset())
        base = self.references.base_of(schema, base)
        table: dict[type, list[Check]] = {kind: [] for kind in CLASSES}
        for classes, check in self._checks(schema, where, base):
            for kind in classes:
                table[kind].append(check)
        tracks = "unevaluatedItems" in schema or (
            "unevaluatedProperties" in schema and bool(_EVALUATING & schema.keys())
        )
        trivial = frozenset(kind for kind, checks in table.items() if not checks)
        return Node(_runner({kind: tuple(checks) for kind, checks in table.items()}, tracks=tracks), trivial)

    def _checks(self, schema: Mapping[str, Any], where: str, base: str) -> scalars.Checks:
        yield from scalars.type_checks(schema, where)
        yield from scalars.number_checks(schema, where)
        yield from scalars.text_checks(schema, where)
        if self._options.formats:
            yield from scalars.format_checks(schema, where)
        for keyword in ("$ref", "$recursiveRef", "$dynamicRef"):
            if keyword in schema:
                yield CLASSES, self._reference(schema[keyword], base)
        yield from scalars.value_checks(schema, where)
        yield from self._compositions(schema, where, base)
        for check in self._of_lists(schema, where, base):
            yield (list,), check
        yield from lists.size_checks(schema, where)
        yield from objects.size_checks(schema, where)
        for check in self._of_objects(schema, where, base):
            yield (dict,), check

    def _reference(self, reference: str, base: str) -> Check:
        target = self.references.target(reference, base)
        if target is None:  # only if the schema was not checked first
            raise ValueError(f"{reference!r} does not exist")
        if is_inline(target.schema):
            return self.node(target.schema, reference, target.base).run
        key, called = id(target.schema), self._called

        def call(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
            self.steps -= 1
            if self.steps < 0:
                raise TooMuch(f"checking the event follows more than {MAX_REFERENCES:,} references")
            called[key].run(value, path, errors, trace)

        if key not in called:
            called[key] = ANYTHING  # so that a schema that contains itself ends here
            called[key] = self.node(target.schema, "#", target.base)
        return call

    def _compositions(self, schema: Mapping[str, Any], where: str, base: str) -> scalars.Checks:
        if "not" in schema:
            yield CLASSES, composition.not_(self.node(schema["not"], f"{where}/not", base), f"{where}/not")
        if "anyOf" in schema:
            nodes = self._several(schema["anyOf"], f"{where}/anyOf", base)
            yield CLASSES, composition.any_of(nodes, f"{where}/anyOf")
        if "oneOf" in schema:
            nodes = self._several(schema["oneOf"], f"{where}/oneOf", base)
            yield CLASSES, composition.one_of(nodes, f"{where}/oneOf")
        if "allOf" in schema:
            yield CLASSES, composition.all_of(self._several(schema["allOf"], f"{where}/allOf", base))
        if "if" in schema:
            then, other = (self._branch(schema, name, where, base) for name in ("then", "else"))
            if then or other:
                condition = self.node(schema["if"], f"{where}/if", base)
                yield CLASSES, composition.if_(condition, then, other, f"{where}/if")

    def _branch(self, schema: Mapping[str, Any], name: str, where: str, base: str) -> Node | None:
        inner = schema.get(name)
        return self.node(inner, f"{where}/{name}", base) if has_rules(inner) else None

    def _several(self, schemas: list[Any], where: str, base: str) -> list[Node]:
        return [self.node(schema, f"{where}/{place}", base) for place, schema in enumerate(schemas)]

    def _of_lists(self, schema: Mapping[str, Any], where: str, base: str) -> Iterator[Check]:
        items = schema.get("items", True)
        if self._options.coerce and isinstance(items, dict):
            yield alterations.coerce_items(scalars.types_of(items))
        if isinstance(items, list):
            yield lists.tuple_items(self._several(items, f"{where}/items", base))
            if "additionalItems" in schema:
                yield self._additional_items(schema["additionalItems"], len(items), f"{where}/additionalItems", base)
        elif "items" in schema:
            yield lists.every_item(self.node(items, f"{where}/items", base))
        if "contains" in schema:
            least, most = (1, None) if self._draft_4 else (schema.get("minContains", 1), schema.get("maxContains"))
            if least or most is not None:
                node = self.node(schema["contains"], f"{where}/contains", base)
                yield lists.contains(node, int(least), most, f"{where}/contains")
        if "unevaluatedItems" in schema:
            inner, place = schema["unevaluatedItems"], f"{where}/unevaluatedItems"
            yield lists.unevaluated_items(None if inner is False else self.node(inner, place, base), place)

    def _additional_items(self, inner: Any, start: int, where: str, base: str) -> Check:
        if inner is False:
            return lists.no_more_items("additionalItems", start, where)
        return lists.every_item(self.node(inner, where, base), start)

    def _of_objects(self, schema: Mapping[str, Any], where: str, base: str) -> Iterator[Check]:
        own = schema.get("properties", {})
        if self._options.alters:
            yield from alterations.of_objects(schema, self._options)
        if schema.get("required"):
            yield objects.require(schema["required"], f"{where}/required")
        if has_rules(schema.get("propertyNames", True)):
            place = f"{where}/propertyNames"
            yield objects.property_names(self.node(schema["propertyNames"], place, base), place)
        fitting = [(patterns.search(text), text) for text in schema.get("patternProperties", {})]
        if "additionalProperties" in schema:
            inner, place = schema["additionalProperties"], f"{where}/additionalProperties"
            node = None if inner is False else self.node(inner, place, base)
            yield objects.additional_properties(node, own, [fits for fits, _ in fitting], place)
        yield from self._dependencies(schema, where, base)
        if own:
            place = f"{where}/properties"
            yield objects.properties(
                {name: self.node(inner, f"{place}/{pointer_token(name)}", base) for name, inner in own.items()}
            )
        if fitting:
            place, schemas = f"{where}/patternProperties", schema["patternProperties"]
            yield objects.pattern_properties(
                [(fits, self.node(schemas[text], f"{place}/{pointer_token(text)}", base)) for fits, text in fitting]
            )
        if "unevaluatedProperties" in schema:
            inner, place = schema["unevaluatedProperties"], f"{where}/unevaluatedProperties"
            names = None if _EVALUATING & schema.keys() else own
            yield objects.unevaluated_properties(
                None if inner is False else self.node(inner, place, base), names, place
            )

    def _dependencies(self, schema: Mapping[str, Any], where: str, base: str) -> Iterator[Check]:
        for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
            rules = schema.get(keyword, {})
            needs = {name: rule for name, rule in rules.items() if isinstance(rule, list) and rule}
            if needs:
                yield objects.dependent_required(keyword, needs, f"{where}/{keyword}")
            schemas = {name: rule for name, rule in rules.items() if not isinstance(rule, list)}
            if schemas:
                place = f"{where}/{keyword}"
                yield objects.dependent_schemas(
                    {name: self.node(rule, f"{place}/{pointer_token(name)}", base) for name, rule in schemas.items()}
                )


def _runner(table: Mapping[type, tuple[Check, ...]], *, tracks: bool) -> Check:
    """Return a check that runs the checks for a value's class. With `tracks` they share a trace."""

    def run(value: Any, path: str, errors: list[Violation], trace: Trace | None) -> None:
        for check in table[value.__class__]:
            check(value, path, errors, trace)

    def run_tracking(value: Any, path: str, errors: list[Violation], trace: Trace | None) -> None:
        own = Trace()
        for check in table[value.__class__]:
            check(value, path, errors, own)
        if trace is not None:
            trace.add(own)

    return run_tracking if tracks else run
