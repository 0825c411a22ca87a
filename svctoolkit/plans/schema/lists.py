"""Checks of lists."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from svctoolkit.plans.schema.javascript import identity, number_text
from svctoolkit.plans.schema.node import Check, Errors, Node, Trace, classes_of, demand
from svctoolkit.plans.schema.scalars import Checks, Schema, types_of
from svctoolkit.plans.violation import Violation, type_of

_LIST = (list,)
_SCALARS = {str, int, float, bool, type(None)}


def size_checks(schema: Schema, where: str) -> Checks:
    """Check `minItems`, `maxItems`, `uniqueItems`."""
    if "maxItems" in schema:
        most = schema["maxItems"]
        message = f"must NOT have more than {number_text(most)} items"
        yield _LIST, demand("maxItems", message, f"{where}/maxItems", lambda items: len(items) <= most)
    if "minItems" in schema:
        least = schema["minItems"]
        message = f"must NOT have fewer than {number_text(least)} items"
        yield _LIST, demand("minItems", message, f"{where}/minItems", lambda items: len(items) >= least)
    if schema.get("uniqueItems"):
        yield _LIST, _unique(schema, f"{where}/uniqueItems")


def _unique(schema: Schema, schema_path: str) -> Check:
    """Check `uniqueItems`. As in RudderStack, the pair that is reported depends on whether the item type is simple."""
    items = schema.get("items")
    types = classes_of(types_of(items)) if isinstance(items, dict) else frozenset[type]()
    simple = bool(types) and types <= _SCALARS
    kind = type_of("uniqueItems")

    def check(value: Any, path: str, errors: Errors, _trace: Trace | None) -> None:
        doubles = _last_double(value, types) if simple else _first_double(value)
        if doubles:
            message = f"must NOT have duplicate items (items ## {doubles[0]} and {doubles[1]} are identical)"
            errors.append(Violation(kind, message, "", path, schema_path))

    return check


def _first_double(items: list[Any]) -> tuple[int, int] | None:
    """Return the indexes of the last item that has an equal one before it, after that one's index."""
    last: dict[Hashable, int] = {}
    doubles = None
    for place, item in enumerate(items):
        key = identity(item)
        if key in last:
            doubles = last[key], place
        last[key] = place
    return doubles


def _last_double(items: list[Any], types: frozenset[type]) -> tuple[int, int] | None:
    """Return the index of the last item with an equal one after it, preceded by that one's. Ignores other types."""
    later: dict[Hashable, int] = {}
    for place in range(len(items) - 1, -1, -1):
        item = items[place]
        if item.__class__ not in types:
            continue
        key = identity(item)
        if key in later:
            return later[key], place
        later[key] = place
    return None


def every_item(node: Node, start: int = 0) -> Check:
    """Check `items` with a single schema, for all items from `start` on."""
    run, trivial = node.run, node.trivial

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        if trace is not None:
            trace.all_items = True
        for place, item in enumerate(value[start:] if start else value, start):
            if item.__class__ not in trivial:
                run(item, f"{path}/{place}", errors, None)

    return check


def tuple_items(nodes: list[Node]) -> Check:
    """Check `items` with a list of schemas."""

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        if trace is not None:
            trace.items = max(trace.items, len(nodes))
        for place, (item, node) in enumerate(zip(value, nodes, strict=False)):
            node.run(item, f"{path}/{place}", errors, None)

    return check


def no_more_items(keyword: str, most: int, schema_path: str) -> Check:
    """Check `additionalItems: false`."""
    kind, message = type_of(keyword), f"must NOT have more than {most} items"

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        if trace is not None:
            trace.all_items = True
        if len(value) > most:
            errors.append(Violation(kind, message, "", path, schema_path))

    return check


def unevaluated_items(node: Node | None, schema_path: str) -> Check:
    """Check `unevaluatedItems`: with a schema, or false (None)."""
    kind = type_of("unevaluatedItems")

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        if trace is None or trace.all_items:
            return
        count = trace.items
        trace.all_items = True
        if node is None:
            if len(value) > count:
                message = f"must NOT have more than {count} items"
                errors.append(Violation(kind, message, "", path, schema_path))
            return
        for place, item in enumerate(value[count:], count):
            node.run(item, f"{path}/{place}", errors, None)

    return check


def contains(node: Node, least: int, most: int | None, schema_path: str) -> Check:
    """Check `contains`, with the limits on matching items. Violations of items that do not match are also reported."""
    more = f" and no more than {most}" if most is not None else ""
    kind, message = type_of("contains"), f"must contain at least {least}{more} valid item(s)"

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        if trace is not None:
            trace.all_items = True
        start, fitting = len(errors), 0
        for place, item in enumerate(value):
            before = len(errors)
            node.run(item, f"{path}/{place}", errors, None)
            fitting += len(errors) == before
            if most is None and fitting >= least:
                break
        if fitting >= least and (most is None or fitting <= most):
            del errors[start:]
        else:
            errors.append(Violation(kind, message, "", path, schema_path))

    return check
