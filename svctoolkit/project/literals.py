"""The texts that the user's code and settings mention: names of events, currencies, values that code compares."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json
from svctoolkit.workspace import Language

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST = 60  # characters; longer texts are messages, queries or keys
_MOST = 60  # texts of one piece of code or configuration
_RULES = {"consentManagement", "oneTrustCookieCategories", "ketchConsentPurposes", "connectionMode", "useNativeSDK"}


@dataclass(frozen=True, slots=True)
class Literals:
    """`compared`: texts that values may be compared with. `members`: all texts and names that may be members.

    The names of methods that are called are not among them.
    """

    compared: tuple[str, ...] = ()
    members: frozenset[str] = frozenset()


def settings_literals(config: Mapping[str, Json]) -> Literals:
    """Return the texts in the lists of a configuration, such as names of events. Secrets and URLs are left out."""
    rows = (value for name, value in config.items() if isinstance(value, (list, Mapping)) and name not in _RULES)
    texts = _unique(text for row in rows for text in _texts(row))
    return Literals(tuple(texts), frozenset(texts))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def code_literals(code: str, language: Language | None) -> Literals:
    """Return the string literals of code. Nothing for code that cannot be parsed: running it says what is wrong."""
    found = [*(_python(code) if language == "python" else _javascript(code))]
    return Literals(tuple(_unique(t for compared, t in found if compared)), frozenset(text for _, text in found))


def _unique(texts: Iterator[str]) -> list[str]:
    usable = (text for text in texts if text.strip() and len(text) <= _LONGEST and "://" not in text)
    return list(dict.fromkeys(usable))[:_MOST]


_ACCESS = {"get", "pop", "setdefault"}  # methods whose arguments name members


def _python(code: str) -> Iterator[tuple[bool, str]]:
    """Yield each text, and whether it is part of a comparison, a collection, or an argument of a call."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    methods = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        compares = isinstance(node, (ast.Compare, ast.Call, ast.List, ast.Tuple, ast.Set, ast.Dict))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ACCESS:
            compares = False
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Constant) and isinstance(child.value, str) and not isinstance(node, ast.Expr):
                yield compares, child.value
            elif isinstance(child, ast.MatchValue) and isinstance(child.value, ast.Constant):
                yield True, str(child.value.value)
        if isinstance(node, ast.Attribute) and id(node) not in methods:
            yield False, node.attr


_COMPARING = {"switch_case", "arguments", "array", "pair"}
_EQUALITY = {"==", "===", "!=", "!=="}
_NAMES = {"property_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"}


def _javascript(code: str) -> Iterator[tuple[bool, str]]:
    """Yield each text or member, and whether it is part of a comparison, a collection, or an argument of a call."""
    import tree_sitter  # with its grammar 10 ms, which only an import of JavaScript needs
    import tree_sitter_javascript

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))
    pending = [parser.parse(code.encode("utf-8", "replace")).root_node]
    methods: set[int] = set()
    while pending:
        node = pending.pop()
        if node.type == "import_statement" or node.text is None:
            continue
        text = node.text.decode("utf-8", "replace")
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if function is not None and (name := function.child_by_field_name("property")) is not None:
            methods.add(name.id)
        if node.type == "string":
            yield _is_compared(node), _unquote(text)
        elif node.type in _NAMES and node.id not in methods:
            yield False, text
        pending += reversed(node.children)


def _is_compared(string: Node) -> bool:
    parent = string.parent
    if parent is not None and parent.type == "binary_expression":
        return any(child.type in _EQUALITY for child in parent.children)
    return parent is not None and parent.type in _COMPARING


def _unquote(text: str) -> str:
    """Return the value of a JavaScript string; of one with escapes other than quotes, its text."""
    return text[1:-1].replace("\\'", "'").replace('\\"', '"')
