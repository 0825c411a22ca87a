"""JavaScript that leaves nothing behind: the next call may run in the same realm.

Each call runs the module from the top, so a call can only affect a later one through the objects of the realm:
prototypes, constructors and functions of the language, and those that the glue provides. Code is called stateless if no
expression has such an object as its value, so that it cannot be changed, stored or passed on:

- identifiers are the code's own, or listed functions that are called where they are named;
- properties whose names lead to such an object are not read, and of methods only listed ones are called;
- properties whose names are computed at run time are only written, or become a number, text or Boolean value at once;
- nothing has a `this`, and nothing can run later: no classes, generators, promises or asynchronous functions;
- no function can call itself: how deep V8's stack is depends on whether the function has been optimized before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

TYPE_CHECKING = False  # `typing` takes longer to import than this package's modules
if TYPE_CHECKING:
    from typing import Any

    Names = Callable[[Any], Iterator[str]]

#: Evaluated once: the global names, and the names that lead from a value to an object of the realm.
NAMES = """(function () {
  const deny = new Set(['__proto__', 'callee', 'caller', 'arguments', 'prototype', 'toJSON']);
  for (let of of [{}, [], '', 0, true, 0n, Symbol(), () => 0, function () {}, new Date(0), /x/, new Map(), new Set(),
      new Error(), new TypeError(), new RangeError(), [].values(), new Map().entries(), new Set().values(),
      ''[Symbol.iterator](), 'a'.matchAll(/a/g), Promise.resolve(),
      ...([].values().map ? [[].values().map(() => 0)] : [])])
    for (of = Object.getPrototypeOf(of); of !== null; of = Object.getPrototypeOf(of))
      for (const name of Object.getOwnPropertyNames(of)) {
        const { value } = Object.getOwnPropertyDescriptor(of, name);
        if (typeof value === 'function' || typeof value === 'object' && value !== null) deny.add(name);
      }
  return JSON.stringify([Object.getOwnPropertyNames(globalThis), [...deny]]);
})"""
_PROVIDED = {"log", "fetch", "fetchV2", "geolocation", "getCredential", "extractStackTrace", "global", "console"}
_NODES = frozenset(
    """
    program comment export_statement export_clause export_specifier lexical_declaration variable_declaration
    variable_declarator function_declaration function_expression arrow_function formal_parameters statement_block
    return_statement if_statement else_clause for_statement for_in_statement while_statement do_statement
    break_statement continue_statement switch_statement switch_body switch_case switch_default try_statement
    catch_clause finally_clause throw_statement expression_statement empty_statement parenthesized_expression
    sequence_expression assignment_expression augmented_assignment_expression update_expression unary_expression
    binary_expression ternary_expression call_expression new_expression member_expression subscript_expression arguments
    optional_chain object pair shorthand_property_identifier spread_element array object_pattern array_pattern
    pair_pattern assignment_pattern object_assignment_pattern shorthand_property_identifier_pattern rest_pattern
    identifier property_identifier string string_fragment escape_sequence number true false null undefined
    template_string template_substitution regex regex_pattern regex_flags computed_property_name
    """.split()  # noqa: SIM905
)
_CALLED = {"Boolean", "Number", "String", "decodeURIComponent", "encodeURIComponent", "getCredential", "isFinite",
           "isNaN", "log", "parseFloat", "parseInt"}  # fmt: skip
_MADE = {"Date", "Error", "Map", "RangeError", "RegExp", "Set", "TypeError"}
_STATIC = {
    "Array": {"from", "isArray", "of"},
    "Date": {"UTC", "now", "parse"},
    "JSON": {"parse", "stringify"},
    "Math": {"abs", "ceil", "floor", "log", "log10", "max", "min", "pow", "random", "round", "sqrt", "trunc"},
    "Number": {"isFinite", "isInteger", "isNaN", "isSafeInteger", "parseFloat", "parseInt"},
    "Object": {"assign", "entries", "fromEntries", "keys", "values"},
    "console": {"debug", "error", "info", "log", "warn"},
}
_METHODS = frozenset(
    """
    add at charAt charCodeAt clear codePointAt concat delete endsWith entries every exec fill filter find findIndex
    findLast findLastIndex flat flatMap forEach get getDate getDay getFullYear getHours getMilliseconds getMinutes
    getMonth getSeconds getTime getUTCDate getUTCDay getUTCFullYear getUTCHours getUTCMilliseconds getUTCMinutes
    getUTCMonth getUTCSeconds has includes indexOf join keys lastIndexOf localeCompare map match matchAll normalize
    padEnd padStart pop push reduce reduceRight repeat replace replaceAll reverse search set setUTCDate setUTCHours
    shift slice some sort splice split startsWith substring test toFixed toISOString toLowerCase toPrecision toString
    toUpperCase trim trimEnd trimStart unshift values
    """.split()  # noqa: SIM905
)
#: Parents of an `undefined` that is certainly a value. A parameter, for example, may have the same name.
_USES_UNDEFINED = {"arguments", "array", "assignment_expression", "binary_expression", "pair", "return_statement",
                   "ternary_expression", "variable_declarator"}  # fmt: skip
_FUNCTIONS = {"function_declaration", "function_expression", "arrow_function"}
#: method -> the position of the function that it calls and does not keep
_CALLBACK_OF = {"from": 1, "parse": 1, "replace": 1, "replaceAll": 1, "stringify": 1} | dict.fromkeys(
    """
    every filter find findIndex findLast findLastIndex flatMap forEach map reduce reduceRight some sort
    """.split(),  # noqa: SIM905
    0,
)
_KEYWORDS = {"async", "await"}
_KEEPING = {"&&", "||", "??"}  # operators whose result is one of the operands
_BINDS = {"variable_declarator": "name", "catch_clause": "parameter", "for_in_statement": "left"}


class Judge:
    """Judges programs for one engine. `names` yields the variables that a pattern of tree-sitter's tree binds."""

    def __init__(self, known: tuple[list[str], list[str]], names: Names) -> None:
        self._globals, self._denied, self._names = {*known[0], *_PROVIDED}, set(known[1]), names

    def is_stateless(self, root: Any) -> bool:
        """Whether a module with this tree leaves nothing to a later call."""
        if root.has_error or b"-->" in root.text or b"<!--" in root.text:  # V8 sees comments in scripts there
            return False
        nodes = list(_walk(root))
        bound = Counter(name for node in nodes for name in self._bound(node))
        own = set(bound)
        if any(name in self._globals or name.startswith("__") or "\\" in name for name in own):
            return False
        functions = {_text(node): node for node in map(_name_of_function, nodes) if node is not None}
        if any(bound[name] > 1 for name in functions) or _recurs(functions):
            return False
        if not all(_is_kept_simple(node, functions, bound) for node in nodes):
            return False
        return all(node.type not in _KEYWORDS and (not node.is_named or self._is_harmless(node, own)) for node in nodes)

    def _bound(self, node: Any) -> Iterator[str]:
        if node.type in _FUNCTIONS:
            for field in ("name", "parameter", "parameters"):
                yield from self._names(node.child_by_field_name(field))
        elif node.type in _BINDS:
            yield from self._names(node.child_by_field_name(_BINDS[node.type]))

    def _is_harmless(self, node: Any, own: set[str]) -> bool:
        kind, parent = node.type, node.parent
        if kind == "undefined":
            return parent.type in _USES_UNDEFINED
        if kind not in _NODES:
            return False
        if kind in {"identifier", "shorthand_property_identifier"}:
            return _text(node) in own or _is_listed(node, parent)
        if kind == "shorthand_property_identifier_pattern":
            return self._may_read(_text(node))
        if kind == "pair_pattern":
            return self._is_plain_key(node.child_by_field_name("key"))
        if kind == "computed_property_name":
            return bool(parent.type == "pair")
        if kind == "member_expression":
            return self._is_harmless_member(node, own)
        if kind == "subscript_expression":
            index = node.child_by_field_name("index")
            return _is_written(node) or _is_operand(node) or self._is_plain_key(index)
        if kind == "call_expression":
            return bool(node.child_by_field_name("arguments").type == "arguments")  # else a tagged template
        return not (kind == "new_expression" and _text(node.child_by_field_name("constructor")) not in _MADE)

    def _is_harmless_member(self, node: Any, own: set[str]) -> bool:
        of, name = node.child_by_field_name("object"), _text(node.child_by_field_name("property"))
        called = node.parent.type == "call_expression" and _is_field(node, "function")
        if of.type == "identifier" and _text(of) not in own:
            return called and name in _STATIC.get(_text(of), ())
        return name in _METHODS if called else self._may_read(name)

    def _may_read(self, name: str) -> bool:
        return name not in self._denied and "\\" not in name

    def _is_plain_key(self, key: Any) -> bool:
        """Whether the key of a property that is read is known, and leads to no object of the realm."""
        if key.type == "string":
            return self._may_read(_text(key)[1:-1])
        return bool(key.type == "number") or (key.type == "property_identifier" and self._may_read(_text(key)))


def _name_of_function(node: Any) -> Any:
    """Return the name that a function is declared with, or that of a constant with a function; None otherwise."""
    if node.type == "function_declaration":
        return node.child_by_field_name("name")
    if node.type == "variable_declarator" and node.parent.children[0].type == "const":
        value, name = node.child_by_field_name("value"), node.child_by_field_name("name")
        return name if value is not None and value.type in _FUNCTIONS and name.type == "identifier" else None
    return None


def _recurs(functions: Mapping[str, Any]) -> bool:
    """Whether a function can reach itself through the names in its body."""
    left = {
        name: {_text(node) for node in _walk(at.parent) if node.type == "identifier" and node != at} & set(functions)
        for name, at in functions.items()
    }
    while ends := [name for name, used in left.items() if not used & set(left)]:
        for name in ends:
            del left[name]
    return bool(left)


def _is_kept_simple(node: Any, functions: Mapping[str, Any], bound: Mapping[str, int]) -> bool:
    """Whether a function is only named, called and passed as a callback, so that no other value is a function.

    The parameter with the metadata is a function, too, but calls none of the code's.
    """
    parent = node.parent
    if node.type == "call_expression":
        callee = node.child_by_field_name("function")
        if callee.type == "parenthesized_expression":
            return callee.named_child_count == 1 and callee.named_children[0].type in _FUNCTIONS
        if callee.type == "identifier" and _text(callee) in bound and _text(callee) not in functions:
            return bound[_text(callee)] == 1 and _is_metadata(_text(callee), functions)
        return callee.type in {"identifier", "member_expression"}
    if node.type == "identifier" and _text(node) in functions and node != functions[_text(node)]:
        called = parent.type == "call_expression" and _is_field(node, "function")
        return (called and not _text(node).startswith("transform")) or _is_callback(node)
    if node.type in {"arrow_function", "function_expression"}:
        is_callee = parent.type == "parenthesized_expression" and parent.parent.type == "call_expression"
        return node.child_by_field_name("name") is None and (
            _is_callback(node) or (is_callee and _is_field(parent, "function")) or _name_of_function(parent) is not None
        )
    return not (node.type == "shorthand_property_identifier" and _text(node) in functions)


def _is_metadata(name: str, functions: Mapping[str, Any]) -> bool:
    """Whether this is the second parameter of an entry point."""
    for entry in ("transformEvent", "transformBatch"):
        if entry in functions:
            declared = functions[entry].parent
            function = declared.child_by_field_name("value") or declared
            parameters = function.child_by_field_name("parameters")
            if parameters is not None and [_text(one) for one in parameters.named_children[1:2]] == [name]:
                return True
    return False


def _is_callback(node: Any) -> bool:
    """Whether this is an argument that a listed method calls and does not keep."""
    if node.parent.type != "arguments" or node.parent.parent.type != "call_expression":
        return False
    callee = node.parent.parent.child_by_field_name("function")
    if callee.type != "member_expression":
        return False
    at = _CALLBACK_OF.get(_text(callee.child_by_field_name("property")))
    return at is not None and node.parent.named_children[at : at + 1] == [node]


def _is_listed(node: Any, parent: Any) -> bool:
    """Whether an identifier that is not the code's own is used as its list says."""
    name = _text(node)
    if parent.type == "call_expression" and _is_field(node, "function"):
        return name in _CALLED
    if parent.type == "new_expression" and _is_field(node, "constructor"):
        return name in _MADE
    if parent.type == "member_expression" and _is_field(node, "object"):
        return name in _STATIC
    return name in {"NaN", "Infinity"}


def _is_written(node: Any) -> bool:
    """Whether a member is assigned, and not read."""
    return bool(node.parent.type == "assignment_expression") and _is_field(node, "left")


def _is_operand(node: Any) -> bool:
    """Whether the value of a member only goes into an operation whose result is a primitive value."""
    if node.parent.type in {"unary_expression", "update_expression"}:
        return True
    operator = _text(node.parent.child_by_field_name("operator"))
    if node.parent.type == "binary_expression":
        return operator not in _KEEPING
    return node.parent.type == "augmented_assignment_expression" and operator.removesuffix("=") not in _KEEPING


def _is_field(node: Any, field: str) -> bool:
    return bool(node.parent.child_by_field_name(field) == node)


def _text(node: Any) -> str:
    return "" if node is None else str(node.text.decode())


def _walk(root: Any) -> Iterator[Any]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)
