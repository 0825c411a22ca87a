"""Checks of objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from svctoolkit.plans.schema.javascript import number_text, pointer_token
from svctoolkit.plans.schema.node import Check, Errors, Node, Trace, demand
from svctoolkit.plans.schema.scalars import Checks, Schema
from svctoolkit.plans.violation import ADDITIONAL_PROPERTIES, REQUIRED_MISSING, Violation, type_of

_OBJECT = (dict,)
#: names that JavaScript objects inherit: they never count as missing
_INHERITED_TEXT = """
    __proto__ constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString
    valueOf __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__
"""
INHERITED = frozenset(_INHERITED_TEXT.split())


def size_checks(schema: Schema, where: str) -> Checks:
    """Check `minProperties`, `maxProperties`."""
    if "maxProperties" in schema:
        most = schema["maxProperties"]
        message = f"must NOT have more than {number_text(most)} properties"
        yield _OBJECT, demand("maxProperties", message, f"{where}/maxProperties", lambda value: len(value) <= most)
    if "minProperties" in schema:
        least = schema["minProperties"]
        message = f"must NOT have fewer than {number_text(least)} properties"
        yield _OBJECT, demand("minProperties", message, f"{where}/minProperties", lambda value: len(value) >= least)


def require(names: list[str], schema_path: str) -> Check:
    """Report one violation per missing name."""
    needed = [(name, f"must have required property '{name}'") for name in names if name not in INHERITED]

    def check(value: Any, path: str, errors: Errors, _trace: Trace | None) -> None:
        for name, message in needed:
            if name not in value:
                errors.append(Violation(REQUIRED_MISSING, message, name, path, schema_path))

    return check


def properties(nodes: Mapping[str, Node]) -> Check:
    """Check each present property against its schema."""
    names = set(nodes)
    members = [
        (name, f"/{pointer_token(name)}", node.run, node.trivial)
        for name, node in nodes.items()
        if len(node.trivial) < 7  # a schema that accepts everything can be skipped
    ]

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        for name, step, run, trivial in members:
            if name in value:
                item = value[name]
                if item.__class__ not in trivial:
                    run(item, path + step, errors, None)
        if trace is not None:
            trace.names |= names

    return check


def pattern_properties(nodes: list[tuple[Callable[[str], bool], Node]]) -> Check:
    """Check each property whose name matches a pattern against its schema."""

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        for fits, node in nodes:
            for name, item in value.items():
                if fits(name):
                    node.run(item, f"{path}/{pointer_token(name)}", errors, None)
                    if trace is not None:
                        trace.names.add(name)

    return check


def additional_properties(
    node: Node | None, names: Collection[str], patterns: list[Callable[[str], bool]], schema_path: str
) -> Check:
    """Check `additionalProperties`: with a schema, or false (None)."""
    planned = frozenset(names)

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        if trace is not None:
            trace.all_names = True
        if value.keys() <= planned:
            return
        for name in value:
            if name not in planned and not any(fits(name) for fits in patterns):
                if node is None:
                    errors.append(extra("additional", name, path, schema_path))
                else:
                    node.run(value[name], f"{path}/{pointer_token(name)}", errors, None)

    return check


def unevaluated_properties(node: Node | None, names: Collection[str] | None, schema_path: str) -> Check:
    """Check `unevaluatedProperties`: with a schema, or false (None). `names` are the evaluated ones, if known."""
    planned = frozenset(names or ())

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        if trace is not None and names is None:
            if trace.all_names:
                return
            looked_at: Collection[str] = trace.names
        else:
            looked_at = planned
        if trace is not None:
            trace.all_names = True
        if all(map(looked_at.__contains__, value)):
            return
        for name in value:
            if name not in looked_at:
                if node is None:
                    errors.append(extra("unevaluated", name, path, schema_path))
                else:
                    node.run(value[name], f"{path}/{pointer_token(name)}", errors, None)

    return check


def extra(kind: str, name: str, path: str, schema_path: str) -> Violation:
    """Return the violation for an unplanned property. RudderStack reports an empty name as 'undefined'."""
    message = f"must NOT have {kind} properties '{name or 'undefined'}'"
    return Violation(ADDITIONAL_PROPERTIES, message, name, path, schema_path)


def property_names(node: Node, schema_path: str) -> Check:
    """Check `propertyNames`: reports the violations of a name, and one more for the name itself."""
    kind = type_of("propertyNames")

    def check(value: Any, path: str, errors: Errors, _trace: Trace | None) -> None:
        for name in value:
            before = len(errors)
            node.run(name, path, errors, None)
            if len(errors) > before:
                errors.append(Violation(kind, "property name must be valid", "", path, schema_path))

    return check


def dependent_required(keyword: str, needs: Mapping[str, list[str]], schema_path: str) -> Check:
    """Report one violation per missing property that another requires. Each message lists all required ones."""
    kind = type_of(keyword)
    rules = []
    for name, others in needs.items():
        word = "property" if len(others) == 1 else "properties"
        rules.append((name, others, f"must have {word} {', '.join(others)} when property {name} is present"))

    def check(value: Any, path: str, errors: Errors, _trace: Trace | None) -> None:
        for name, others, message in rules:
            if name in value:
                for other in others:
                    if other not in value and other not in INHERITED:
                        errors.append(Violation(kind, message, "", path, schema_path))

    return check


def dependent_schemas(nodes: Mapping[str, Node]) -> Check:
    """Apply a schema to an object that has a certain property."""

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        for name, node in nodes.items():
            if name in value:
                before, own = len(errors), None if trace is None else Trace()
                node.run(value, path, errors, own)
                if trace is not None and own is not None and len(errors) == before:
                    trace.add(own)

    return check
