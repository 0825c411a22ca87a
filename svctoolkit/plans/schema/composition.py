"""Checks that combine other schemas. Like RudderStack, each reports the violations inside."""

from __future__ import annotations

from typing import Any

from svctoolkit.plans.schema.node import Check, Errors, Node, Trace
from svctoolkit.plans.violation import Violation, type_of


def all_of(nodes: list[Node]) -> Check:
    """Report the violations of every branch."""

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        for node in nodes:
            node.run(value, path, errors, trace)

    return check


def any_of(nodes: list[Node], schema_path: str) -> Check:
    """If no branch matches, report the violations of every branch, and one more."""
    kind = type_of("anyOf")

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        start, fits = len(errors), False
        for node in nodes:
            if _holds(node, value, path, errors, trace):
                fits = True
                if trace is None:
                    break
        if fits:
            del errors[start:]
        else:
            errors.append(Violation(kind, "must match a schema in anyOf", "", path, schema_path))

    return check


def one_of(nodes: list[Node], schema_path: str) -> Check:
    """If no branch or more than one matches, report the violations of the branches that do not, and one more."""
    kind = type_of("oneOf")

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        start, fitting = len(errors), 0
        for node in nodes:
            fitting += _holds(node, value, path, errors, trace)
            if fitting > 1:
                break
        if fitting == 1:
            del errors[start:]
        else:
            errors.append(Violation(kind, "must match exactly one schema in oneOf", "", path, schema_path))

    return check


def _holds(node: Node, value: Any, path: str, errors: Errors, trace: Trace | None) -> bool:
    """Whether a branch matches. Only then is what it evaluated recorded."""
    before, own = len(errors), None if trace is None else Trace()
    node.run(value, path, errors, own)
    fits = len(errors) == before
    if fits and trace is not None and own is not None:
        trace.add(own)
    return fits


def not_(node: Node, schema_path: str) -> Check:
    """Report a violation if the schema inside matches."""
    kind = type_of("not")

    def check(value: Any, path: str, errors: Errors, _trace: Trace | None) -> None:
        inside: Errors = []
        node.run(value, path, inside, None)
        if not inside:
            errors.append(Violation(kind, "must NOT be valid", "", path, schema_path))

    return check


def if_(condition: Node, then: Node | None, other: Node | None, schema_path: str) -> Check:
    """Report the violations of `then` or `else`, and one more. What `if` evaluated is recorded in either case."""
    kind = type_of("if")

    def check(value: Any, path: str, errors: Errors, trace: Trace | None) -> None:
        inside: Errors = []
        condition.run(value, path, inside, trace)
        node, name = (other, "else") if inside else (then, "then")
        if node is not None and not _holds(node, value, path, errors, trace):
            errors.append(Violation(kind, f'must match "{name}" schema', "", path, schema_path))

    return check
