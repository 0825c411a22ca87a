"""Changes of JavaScript, from its syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from svctoolkit.edits.edit import ARITHMETIC, COMPARISONS, Edit, arrow, other_number

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

#: Methods, and functions of `Math`, with one that gives another result; without one, the call is dropped.
_METHODS = {
    "toUpperCase": "toLowerCase", "toLowerCase": "toUpperCase", "trim": "", "startsWith": "endsWith",
    "endsWith": "startsWith", "includes": "startsWith", "some": "every", "every": "some", "push": "unshift",
    "unshift": "push", "sort": "", "reverse": "", "round": "floor", "floor": "ceil", "ceil": "floor", "min": "max",
    "max": "min", "abs": "", "indexOf": "lastIndexOf", "keys": "values", "values": "keys", "replaceAll": "replace",
}  # fmt: skip
_FUNCTIONS = {"statement_block", "arrow_function", "function_declaration", "function_expression", "method_definition"}
_LOGS = ("console.", "log(")
_IS_FOUND = {f"{comparison}-1" for comparison in ("===", "!==", "==", "!=", ">")} | {">=0", "<0"}
_BUILT_IN = {"length", "prototype", "constructor"}
_REMOVABLE = {"expression_statement", "continue_statement", "break_statement", "throw_statement"}
_BLOCKS = {"program", "statement_block", "switch_case", "switch_default"}


#: Parts of code whose syntax does not depend on what is around them, with what makes code of them.
_UNITS = {"pair": ("({", "})"), "method_definition": ("class A {", "}")}
_ELEMENTS = ("[", "]")  # around an element of a list, or an argument
_STATEMENT = ("", "")
#: Parts that may be left out, between their brackets, without another part becoming invalid.
_BODIES = {"statement_block", "class_body", "switch_body", "object", "array"}


@cache
def _parser() -> Parser:
    import tree_sitter_javascript
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_javascript.language()))


def edits(code: str) -> Iterator[Edit]:
    """Yield each change of the code that parses, in its order. Code that cannot be parsed is not changed."""
    raw = code.encode()
    root = _parser().parse(raw).root_node
    if root.has_error:
        return
    pending = [_At(root, None, _Unit(raw, root, _STATEMENT))]
    while pending:
        at = pending.pop()
        if not _is_ignored(at.node):
            yield from _edits_at(at)
            pending += reversed(list(_children(at)))


class _Unit:
    """The smallest part of code around a change that shows whether it parses: parsing all of it takes 5 ms."""

    def __init__(self, raw: bytes, node: Node, around: tuple[str, str]) -> None:
        self.raw, self._node, self._around = raw, node, around

    @cached_property
    def _bodies(self) -> list[tuple[int, int]]:
        """The outermost blocks, objects and lists, without their brackets; and branches after `else`."""
        found, pending = [], [*self._node.children]
        while pending:
            node = pending.pop()
            if node.type in _BODIES:
                found.append((node.start_byte + 1, node.end_byte - 1))
            elif node.type == "else_clause":
                found.append((node.start_byte, node.end_byte))
            else:
                pending += node.children
        return sorted(found)

    def allows(self, start: int, end: int, new: str) -> bool:
        """Return whether the code parses with `new` from `start` to `end`."""
        cuts = [(first, last, b"") for first, last in self._bodies if last < start or end < first]
        at, parts = self._node.start_byte, [self._around[0].encode()]
        for first, last, text in sorted([*cuts, (start, end, new.encode())]):
            parts += [self.raw[at:first], text]
            at = last
        parts += [self.raw[at : self._node.end_byte], self._around[1].encode()]
        return not _parser().parse(b"".join(parts)).root_node.has_error


@dataclass(frozen=True, slots=True)
class _At:
    """A node with what is around it: its parent, which a `Node` only finds from the root, and its unit.

    `statement` is the line of the innermost statement inside a function.
    """

    node: Node
    parent: _At | None
    unit: _Unit
    in_function: bool = False
    statement: int = 0

    def child(self, node: Node) -> _At:
        """Return one of the children."""
        around = _ELEMENTS if self.node.type in ("array", "arguments") else _UNITS.get(node.type)
        if node.type.endswith(("_statement", "_declaration")):
            around = _STATEMENT
        unit = _Unit(self.unit.raw, node, around) if around and node.type != "spread_element" else self.unit
        in_function = self.in_function or self.node.type in _FUNCTIONS - {"statement_block"}
        begins = in_function and self.node.type in _BLOCKS
        return _At(node, self, unit, in_function, node.start_point[0] + 1 if begins else self.statement)


def _edits_at(at: _At) -> Iterator[Edit]:
    """Yield the changes of one node."""
    node, raw = at.node, at.unit.raw
    for kind, start, end, new in _of(at):
        if not at.unit.allows(start, end, new):
            continue
        before, after = raw.count(b"\n", start, node.start_byte), raw.count(b"\n", node.start_byte, start)
        line = node.start_point[0] + 1 - before + after
        if kind == "early return":
            reached, text = node.named_children[0].start_point[0] + 1, f"{new.strip(' ;')} at once"
        else:
            reached, text = at.statement, arrow(*_sides(at, start, end, new))
        yield Edit(kind, start, end, new, line, reached, text, _words(at))


def _children(at: _At) -> Iterator[_At]:
    for child in at.node.named_children:
        yield at.child(child)
        if child.type in ("return_statement", "throw_statement") and at.node.type == "statement_block":
            break  # no run reaches what follows


def _is_ignored(node: Node) -> bool:
    if node.type in ("import_statement", "comment"):
        return True
    if node.type == "if_statement":
        condition = node.child_by_field_name("condition")
        return condition is not None and _text(condition) == "(false)"
    text = _text(node) if node.type in ("call_expression", "new_expression") else ""
    if node.type == "new_expression":
        constructor = node.child_by_field_name("constructor")
        return constructor is not None and _text(constructor).endswith("Error")
    return text.startswith(_LOGS)


def _of(at: _At) -> Iterator[tuple[str, int, int, str]]:
    """Yield the changes of one node: kind, place and new text."""
    change = _CHANGES.get(at.node.type)
    if change is not None:
        yield from change(at)
    if at.node.type in _REMOVABLE and at.in_function and _is_removable(at.node):
        yield "removed statement", at.node.start_byte, at.node.end_byte, ";"


def _binary(at: _At) -> Iterator[tuple[str, int, int, str]]:
    left, operator, right = (at.node.child_by_field_name(name) for name in ("left", "operator", "right"))
    if left is None or operator is None or right is None:
        return
    symbol = _text(operator)
    for other in COMPARISONS.get(symbol, ()):
        kind = "boundary" if other.strip("=") == symbol.strip("=") and symbol[0] in "<>" else "comparison"
        yield kind, operator.start_byte, operator.end_byte, other
    if symbol in ("&&", "||"):
        yield "condition", operator.start_byte, operator.end_byte, "||" if symbol == "&&" else "&&"
    elif symbol == "??":
        yield "condition", left.end_byte, right.end_byte, ""
    elif symbol == "+" and {left.type, right.type} & {"string", "template_string"}:
        yield "text", left.end_byte, right.end_byte, ""
    elif symbol in ARITHMETIC:
        yield "arithmetic", operator.start_byte, operator.end_byte, ARITHMETIC[symbol]


def _unary(at: _At) -> Iterator[tuple[str, int, int, str]]:
    argument = at.node.child_by_field_name("argument")
    if argument is not None and _text(at.node).startswith(("!", "-")) and not _is_in_negated_condition(at):
        yield "negation", at.node.start_byte, argument.start_byte, ""


def _is_in_negated_condition(at: _At) -> bool:
    """Return whether the negation of the whole condition is the same change."""
    return _type(at.parent) == "parenthesized_expression" and _type(at.parent, 1) == "if_statement"


def _type(at: _At | None, up: int = 0) -> str:
    """Return the type of a node, or of one that is `up` levels around it; an empty string without one."""
    for _ in range(up):
        at = at.parent if at is not None else None
    return at.node.type if at is not None else ""


def _if(at: _At) -> Iterator[tuple[str, int, int, str]]:
    condition = at.node.child_by_field_name("condition")
    if condition is not None and not _is_comparison(condition):
        kind = "swapped branches" if at.node.child_by_field_name("alternative") else "negation"
        yield kind, condition.start_byte, condition.end_byte, f"(!{_text(condition)})"


def _is_comparison(condition: Node) -> bool:
    """Return whether another comparison is the same change as the negation."""
    inner = condition.named_children[0] if condition.named_children else None
    operator = inner.child_by_field_name("operator") if inner is not None else None
    return operator is not None and _text(operator) in COMPARISONS


def _ternary(at: _At) -> Iterator[tuple[str, int, int, str]]:
    yes, no = (at.node.child_by_field_name(name) for name in ("consequence", "alternative"))
    if yes is not None and no is not None and _text(yes) != _text(no):
        yield "swapped branches", yes.start_byte, no.end_byte, f"{_text(no)} : {_text(yes)}"


def _number(at: _At) -> Iterator[tuple[str, int, int, str]]:
    if _type(at.parent) == "unary_expression" and at.parent and _text(at.parent.node) == "void 0":
        return  # `undefined`, whatever the number
    yield "literal", at.node.start_byte, at.node.end_byte, other_number(_text(at.node))


def _boolean(at: _At) -> Iterator[tuple[str, int, int, str]]:
    yield "literal", at.node.start_byte, at.node.end_byte, "false" if at.node.type == "true" else "true"


def _string(at: _At) -> Iterator[tuple[str, int, int, str]]:
    node, parent = at.node, at.parent
    if parent is None or parent.node.type == "expression_statement":  # "use strict"
        return
    text = _text(node)
    is_key = parent.node.type == "subscript_expression" or (
        parent.node.type == "pair" and parent.node.child_by_field_name("key") == node
    )
    if is_key:
        yield "property", node.start_byte, node.end_byte, f"{text[:-1]}_x{text[-1]}"
    else:
        yield "literal", node.start_byte, node.end_byte, '"x"' if len(text) == 2 else '""'


def _property(at: _At) -> Iterator[tuple[str, int, int, str]]:
    """Another name for a member that is read, written or created; methods have their own changes."""
    node, parent, name = at.node, at.parent, _text(at.node)
    if parent is None or name in _BUILT_IN or parent.node.type == "method_definition":
        return
    call = parent.parent
    if _type(call) == "call_expression" and call and call.node.child_by_field_name("function") == parent.node:
        yield from _method(node, parent.node, call)
        return
    if parent.node.type == "member_expression" and _text(parent.node).startswith(("Math.", "Object.", "JSON.")):
        return
    yield "property", node.start_byte, node.end_byte, f"{name}_x"


def _method(name: Node, member: Node, call: _At) -> Iterator[tuple[str, int, int, str]]:
    other = _METHODS.get(_text(name))
    owner, arguments = member.child_by_field_name("object"), call.node.child_by_field_name("arguments")
    if other is None or owner is None or arguments is None or _is_same(_text(name), call, arguments):
        return
    if other:
        yield "operation", name.start_byte, name.end_byte, other
    else:
        kept = _text(arguments) if _text(owner) == "Math" else _text(owner)
        yield "operation", call.node.start_byte, call.node.end_byte, kept


def _is_same(method: str, call: _At, arguments: Node) -> bool:
    """Return whether the other method gives the same result here."""
    parent = call.parent
    if method == "replaceAll":  # a regular expression has the flag `g`, with which `replace` replaces all, too
        return bool(arguments.named_children) and arguments.named_children[0].type == "regex"
    if method == "indexOf" and parent is not None and parent.node.type == "binary_expression":  # is it in there?
        return _text(parent.node)[len(_text(call.node)) :].replace(" ", "") in _IS_FOUND
    # a call that is a whole statement is removed anyway
    return not _METHODS[method] and _type(parent) == "expression_statement"


def _shorthand(at: _At) -> Iterator[tuple[str, int, int, str]]:
    name = _text(at.node)
    yield "property", at.node.start_byte, at.node.end_byte, f"{name}_x: {name}"


def _await(at: _At) -> Iterator[tuple[str, int, int, str]]:
    operand = at.node.named_children[0]
    yield "dropped await", at.node.start_byte, operand.start_byte, ""


def _optional(at: _At) -> Iterator[tuple[str, int, int, str]]:
    is_member = _type(at.parent) == "member_expression"
    yield "optional chaining", at.node.start_byte, at.node.end_byte, "." if is_member else ""


def _augmented(at: _At) -> Iterator[tuple[str, int, int, str]]:
    operator = at.node.child_by_field_name("operator")
    other = ARITHMETIC.get(_text(operator).removesuffix("=")) if operator is not None else None
    if operator is not None and other:
        yield "arithmetic", operator.start_byte, operator.end_byte, f"{other}="


def _regex(at: _At) -> Iterator[tuple[str, int, int, str]]:
    flags = at.node.child_by_field_name("flags")
    if flags is not None and not (_text(flags) == "g" and _is_used_once(at)):
        yield "text", flags.start_byte, flags.end_byte, ""


def _is_used_once(at: _At) -> bool:
    """Return whether `g` has no effect on a regular expression: it is tested, or a text is split by it."""
    parent = at.parent
    if parent is not None and parent.node.type == "member_expression":
        return _text(parent.node).endswith(".test")
    call = parent.parent if parent is not None and parent.node.type == "arguments" else None
    function = call.node.child_by_field_name("function") if call is not None else None
    return function is not None and _text(function).endswith((".split", ".search"))


def _template(at: _At) -> Iterator[tuple[str, int, int, str]]:
    if len(_text(at.node)) > 2:
        yield "text", at.node.start_byte, at.node.end_byte, '""'


def _return(at: _At) -> Iterator[tuple[str, int, int, str]]:
    """A return before the end of its function is removed; the last one returns nothing."""
    if _type(at.parent) != "statement_block" or _type(at.parent, 1) not in _FUNCTIONS:
        yield "removed return", at.node.start_byte, at.node.end_byte, ";"


def _block(at: _At) -> Iterator[tuple[str, int, int, str]]:
    """The function returns its first argument unchanged."""
    node, function = at.node, at.parent.node if at.parent else None
    if function is None or function.type not in _FUNCTIONS or len(node.named_children) < 2:
        return
    parameters = function.child_by_field_name("parameters") or function.child_by_field_name("parameter")
    names = [] if parameters is None else [parameters] if parameters.type == "identifier" else parameters.named_children
    value = _text(names[0]) if names and names[0].type == "identifier" else ""
    yield "early return", node.start_byte + 1, node.start_byte + 1, f" return {value};" if value else " return;"


_CHANGES = {
    "binary_expression": _binary, "unary_expression": _unary, "if_statement": _if, "ternary_expression": _ternary,
    "number": _number, "true": _boolean, "false": _boolean, "string": _string, "property_identifier": _property,
    "shorthand_property_identifier": _shorthand, "await_expression": _await, "optional_chain": _optional,
    "augmented_assignment_expression": _augmented, "regex": _regex, "template_string": _template,
    "return_statement": _return, "statement_block": _block,
}  # fmt: skip


def _is_removable(node: Node) -> bool:
    text = _text(node)
    return not text.startswith((*_LOGS, '"', "'", "module.exports", "await log"))


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _sides(at: _At, start: int, end: int, new: str) -> tuple[str, str]:
    """Return the node before and after the change; for a name, with the expression that it is part of."""
    node, raw = at.node, at.unit.raw
    if new == ";":
        return _text(node), ""
    shown = node
    if node.type in ("property_identifier", "number", "true", "false", "string", "optional_chain"):
        parent = at.parent.node if at.parent else node
        if parent.end_byte - parent.start_byte <= 40 and parent.type != "program":
            shown = parent
    if node.type == "if_statement":
        shown = node.child_by_field_name("condition") or node
    first, last = min(shown.start_byte, start), max(shown.end_byte, end)
    return raw[first:last].decode(), (raw[first:start] + new.encode() + raw[end:last]).decode()


def _words(at: _At) -> frozenset[str]:
    """Return the names of members in the statement of a node."""
    while at.parent is not None and at.parent.node.type not in _BLOCKS:
        at = at.parent
    node = at.node
    names: set[str] = set()
    pending = [node] if node.end_point[0] - node.start_point[0] < 3 else []
    while pending:
        each = pending.pop()
        if each.type in ("property_identifier", "string_fragment", "shorthand_property_identifier"):
            names.add(_text(each))
        pending += each.named_children
    return frozenset(name for name in names if name not in _COMMON and len(name) > 1)


_COMMON = {"event", "properties", "context", "traits", "type", "message", *_METHODS, *_BUILT_IN}
