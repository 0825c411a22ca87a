"""The writes of JavaScript, from its syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from svctoolkit.transformations.writes.write import Write

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@cache
def _parser() -> Parser:
    import tree_sitter_javascript
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_javascript.language()))


def javascript_writes(code: str) -> Iterator[Write]:
    """Yield the writes and removals of the code, in its order; none if it has a syntax error."""
    root = _parser().parse(code.encode()).root_node
    waiting = [] if root.has_error else [root]
    while waiting:
        node = waiting.pop()
        if node.type in _WRITES:
            yield from _WRITES[node.type](node)
        waiting += reversed(node.children)


def _assignment(node: Node) -> Iterator[Write]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is not None and right is not None:
        yield _write(left, _target(left), right.start_byte, right.end_byte, "(", ")")


def _augmented(node: Node) -> Iterator[Write]:
    left = node.child_by_field_name("left")
    if left is not None:
        yield _write(left, _target(left), node.start_byte, node.end_byte, f"{_text(left)} = ")


def _update(node: Node) -> Iterator[Write]:
    argument = node.child_by_field_name("argument")
    if argument is not None:
        yield _write(node, _target(argument), node.start_byte, node.end_byte, f"({_text(argument)} = ", ")")


def _pair(node: Node) -> Iterator[Write]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is not None and value is not None:
        name = "" if key.type == "computed_property_name" else _text(key).strip("'\"")
        yield _write(node, name, value.start_byte, value.end_byte, "(", ")")


def _shorthand(node: Node) -> Iterator[Write]:
    name = _text(node)
    yield _write(node, name, node.start_byte, node.end_byte, f"{name}: ")


def _variable(node: Node) -> Iterator[Write]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and value is not None and name.type == "identifier":
        yield _write(node, _text(name), value.start_byte, value.end_byte, "(", ")")


def _unary(node: Node) -> Iterator[Write]:
    argument = node.child_by_field_name("argument")
    if argument is not None and _text(node).startswith("delete"):
        at = node.start_byte, node.end_byte
        yield Write(_target(argument), node.start_point[0] + 1, *at, before="true", removes=True)


_WRITES: dict[str, Callable[[Node], Iterator[Write]]] = {
    "assignment_expression": _assignment,
    "augmented_assignment_expression": _augmented,
    "update_expression": _update,
    "pair": _pair,
    "shorthand_property_identifier": _shorthand,
    "variable_declarator": _variable,
    "unary_expression": _unary,
}


def _write(node: Node, name: str, start: int, end: int, before: str = "", after: str = "") -> Write:
    return Write(name, node.start_point[0] + 1, start, end, before, after)


def _target(node: Node) -> str:
    """Return the member or variable that an assignment changes; an empty string if its name is computed."""
    if node.type == "member_expression":
        return _text(node.child_by_field_name("property"))
    if node.type == "subscript_expression":
        index = node.child_by_field_name("index")
        return _text(index)[1:-1] if index is not None and index.type == "string" else ""
    return _text(node) if node.type == "identifier" else ""


def _text(node: Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""
