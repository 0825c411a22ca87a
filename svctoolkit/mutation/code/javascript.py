"""Changes of JavaScript, from its syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from svctoolkit.mutation.code.edit import ARITHMETIC, COMPARISONS, Edit, arrow, other_number

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


@cache
def _parser() -> Parser:
    import tree_sitter_javascript
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_javascript.language()))


def is_valid(code: str) -> bool:
    """Return whether the code has no syntax error."""
    return not _parser().parse(code.encode()).root_node.has_error


def edits(code: str) -> Iterator[Edit]:
    """Yield each change of the code, in its order. Code that cannot be parsed is not changed."""
    root = _parser().parse(code.encode()).root_node
    if not root.has_error:
        yield from _walk(root, 0)


def _walk(node: Node, statement: int) -> Iterator[Edit]:
    """Yield the changes below a node; `statement` is the line of the innermost statement inside a function."""
    if _is_ignored(node):
        return
    if node.parent is not None and node.parent.type in _BLOCKS and _is_in_function(node):
        statement = node.start_point[0] + 1
    for edit in _of(node):
        kind, start, end, new = edit
        raw = _text_of_root(node)
        before, after = _sides(node, raw, start, end, new)
        line = raw.count(b"\n", 0, start) + 1
        reached = node.named_children[0].start_point[0] + 1 if kind == "early return" else statement
        text = f"{new.strip(' ;')} at once" if kind == "early return" else arrow(before, after)
        yield Edit(kind, start, end, new, line, reached, text, _words(node))
    for child in node.named_children:
        yield from _walk(child, statement)
        if child.type in ("return_statement", "throw_statement") and node.type == "statement_block":
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


def _of(node: Node) -> Iterator[tuple[str, int, int, str]]:
    """Yield the changes of one node: kind, place and new text."""
    change = _CHANGES.get(node.type)
    if change is not None:
        yield from change(node)
    if node.parent is not None and node.type in _REMOVABLE and _is_removable(node):
        yield "removed statement", node.start_byte, node.end_byte, ";"


def _binary(node: Node) -> Iterator[tuple[str, int, int, str]]:
    left, operator, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
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


def _unary(node: Node) -> Iterator[tuple[str, int, int, str]]:
    argument = node.child_by_field_name("argument")
    if argument is not None and _text(node).startswith(("!", "-")) and not _is_in_negated_condition(node):
        yield "negation", node.start_byte, argument.start_byte, ""


def _is_in_negated_condition(node: Node) -> bool:
    """Return whether the negation of the whole condition is the same change."""
    parent = node.parent
    return parent is not None and parent.type == "parenthesized_expression" and _owner_has_condition(parent)


def _owner_has_condition(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "if_statement"


def _if(node: Node) -> Iterator[tuple[str, int, int, str]]:
    condition = node.child_by_field_name("condition")
    if condition is not None and not _is_comparison(condition):
        kind = "swapped branches" if node.child_by_field_name("alternative") else "negation"
        yield kind, condition.start_byte, condition.end_byte, f"(!{_text(condition)})"


def _is_comparison(condition: Node) -> bool:
    """Return whether another comparison is the same change as the negation."""
    inner = condition.named_children[0] if condition.named_children else None
    operator = inner.child_by_field_name("operator") if inner is not None else None
    return operator is not None and _text(operator) in COMPARISONS


def _ternary(node: Node) -> Iterator[tuple[str, int, int, str]]:
    yes, no = (node.child_by_field_name(name) for name in ("consequence", "alternative"))
    if yes is not None and no is not None and _text(yes) != _text(no):
        yield "swapped branches", yes.start_byte, no.end_byte, f"{_text(no)} : {_text(yes)}"


def _number(node: Node) -> Iterator[tuple[str, int, int, str]]:
    if node.parent is not None and _text(node.parent) == "void 0":  # `undefined`, whatever the number
        return
    yield "literal", node.start_byte, node.end_byte, other_number(_text(node))


def _boolean(node: Node) -> Iterator[tuple[str, int, int, str]]:
    yield "literal", node.start_byte, node.end_byte, "false" if node.type == "true" else "true"


def _string(node: Node) -> Iterator[tuple[str, int, int, str]]:
    parent = node.parent
    if parent is None or (parent.type == "expression_statement"):  # "use strict"
        return
    text = _text(node)
    is_key = parent.type == "subscript_expression" or (
        parent.type == "pair" and parent.child_by_field_name("key") == node
    )
    if is_key:
        yield "property", node.start_byte, node.end_byte, f"{text[:-1]}_x{text[-1]}"
    else:
        yield "literal", node.start_byte, node.end_byte, '"x"' if len(text) == 2 else '""'


def _property(node: Node) -> Iterator[tuple[str, int, int, str]]:
    """Another name for a member that is read, written or created; methods have their own changes."""
    parent, name = node.parent, _text(node)
    if parent is None or name in _BUILT_IN or parent.type == "method_definition":
        return
    call = parent.parent
    if call is not None and call.type == "call_expression" and call.child_by_field_name("function") == parent:
        yield from _method(node, parent, call)
        return
    if parent.type == "member_expression" and _text(parent).startswith(("Math.", "Object.", "JSON.")):
        return
    yield "property", node.start_byte, node.end_byte, f"{name}_x"


def _method(name: Node, member: Node, call: Node) -> Iterator[tuple[str, int, int, str]]:
    other = _METHODS.get(_text(name))
    owner, arguments = member.child_by_field_name("object"), call.child_by_field_name("arguments")
    if other is None or owner is None or arguments is None or _is_same(_text(name), call, arguments):
        return
    if other:
        yield "operation", name.start_byte, name.end_byte, other
    else:
        kept = _text(arguments) if _text(owner) == "Math" else _text(owner)
        yield "operation", call.start_byte, call.end_byte, kept


def _is_same(method: str, call: Node, arguments: Node) -> bool:
    """Return whether the other method gives the same result here."""
    parent = call.parent
    if method == "replaceAll":  # a regular expression has the flag `g`, with which `replace` replaces all, too
        return bool(arguments.named_children) and arguments.named_children[0].type == "regex"
    if method == "indexOf" and parent is not None and parent.type == "binary_expression":  # is it in there?
        return _text(parent)[len(_text(call)) :].replace(" ", "") in _IS_FOUND
    # a call that is a whole statement is removed anyway
    return not _METHODS[method] and parent is not None and parent.type == "expression_statement"


def _shorthand(node: Node) -> Iterator[tuple[str, int, int, str]]:
    yield "property", node.start_byte, node.end_byte, f"{_text(node)}_x: {_text(node)}"


def _await(node: Node) -> Iterator[tuple[str, int, int, str]]:
    operand = node.named_children[0]
    yield "dropped await", node.start_byte, operand.start_byte, ""


def _optional(node: Node) -> Iterator[tuple[str, int, int, str]]:
    is_member = node.parent is not None and node.parent.type == "member_expression"
    yield "optional chaining", node.start_byte, node.end_byte, "." if is_member else ""


def _augmented(node: Node) -> Iterator[tuple[str, int, int, str]]:
    operator = node.child_by_field_name("operator")
    other = ARITHMETIC.get(_text(operator).removesuffix("=")) if operator is not None else None
    if operator is not None and other:
        yield "arithmetic", operator.start_byte, operator.end_byte, f"{other}="


def _regex(node: Node) -> Iterator[tuple[str, int, int, str]]:
    flags = node.child_by_field_name("flags")
    if flags is not None and not (_text(flags) == "g" and _is_used_once(node)):
        yield "text", flags.start_byte, flags.end_byte, ""


def _is_used_once(node: Node) -> bool:
    """Return whether `g` has no effect on a regular expression: it is tested, or a text is split by it."""
    parent = node.parent
    if parent is not None and parent.type == "member_expression":
        return _text(parent).endswith(".test")
    call = parent.parent if parent is not None and parent.type == "arguments" else None
    function = call.child_by_field_name("function") if call is not None else None
    return function is not None and _text(function).endswith((".split", ".search"))


def _template(node: Node) -> Iterator[tuple[str, int, int, str]]:
    if len(_text(node)) > 2:
        yield "text", node.start_byte, node.end_byte, '""'


def _return(node: Node) -> Iterator[tuple[str, int, int, str]]:
    """A return before the end of its function is removed; the last one returns nothing."""
    block = node.parent
    inner = block is not None and block.type == "statement_block" and block.parent is not None
    if block is not None and (not inner or block.parent.type not in _FUNCTIONS):  # type: ignore[union-attr]
        yield "removed return", node.start_byte, node.end_byte, ";"


def _block(node: Node) -> Iterator[tuple[str, int, int, str]]:
    """The function returns its first argument unchanged."""
    function = node.parent
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
    return not text.startswith((*_LOGS, '"', "'", "module.exports", "await log")) and _is_in_function(node)


def _is_in_function(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in _FUNCTIONS - {"statement_block"}:
            return True
        parent = parent.parent
    return False


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _text_of_root(node: Node) -> bytes:
    while node.parent is not None:
        node = node.parent
    return b"\n" * node.start_point[0] + b" " * (node.start_byte - node.start_point[0]) + (node.text or b"")


def _sides(node: Node, raw: bytes, start: int, end: int, new: str) -> tuple[str, str]:
    """Return the node before and after the change; for a name, with the expression that it is part of."""
    if new == ";":
        return _text(node), ""
    shown = node
    if node.type in ("property_identifier", "number", "true", "false", "string", "optional_chain"):
        parent = node.parent
        if parent is not None and parent.end_byte - parent.start_byte <= 40 and parent.type != "program":
            shown = parent
    if node.type == "if_statement":
        shown = node.child_by_field_name("condition") or node
    first, last = min(shown.start_byte, start), max(shown.end_byte, end)
    return raw[first:last].decode(), (raw[first:start] + new.encode() + raw[end:last]).decode()


def _words(node: Node) -> frozenset[str]:
    """Return the names of members in the statement of a node."""
    while node.parent is not None and node.parent.type not in _BLOCKS:
        node = node.parent
    names: set[str] = set()
    pending = [node] if node.end_point[0] - node.start_point[0] < 3 else []
    while pending:
        each = pending.pop()
        if each.type in ("property_identifier", "string_fragment", "shorthand_property_identifier"):
            names.add(_text(each))
        pending += each.named_children
    return frozenset(name for name in names if name not in _COMMON and len(name) > 1)


_COMMON = {"event", "properties", "context", "traits", "type", "message", *_METHODS, *_BUILT_IN}
