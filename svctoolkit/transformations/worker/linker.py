"""ES modules for an engine that runs scripts: imports become arguments, exports become getters.

Removed code is replaced by spaces of the same length, so that lines and columns match the user's code. V8 checks the
syntax; this only finds the statements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import bindings  # type: ignore[import-not-found]  # in this folder; the worker runs as a script

TYPE_CHECKING = False  # `typing` takes longer to import than this package's modules
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node

_PARSER = bindings.javascript_parser()
_FUNCTIONS = {
    "arrow_function",
    "function_declaration",
    "function_expression",
    "generator_function",
    "generator_function_declaration",
    "method_definition",
}
_NOT_COUNTED = {
    "class_declaration",
    "comment",
    "empty_statement",
    "export_statement",
    "function_declaration",
    "generator_function_declaration",
    "import_statement",
    "statement_block",
}
_EXPORT = re.compile(rb"^([ \t]*)export(?=\s+(?:async|function|const|let|var|class)\b)", re.M)
_DEFAULT = b"const __deflt="  # same length as `export default`


class UnknownImportError(Exception):
    """`module` is imported at `line`, `column` (from 1), but there is no such library."""

    def __init__(self, module: str, line: int, column: int) -> None:
        super().__init__(module)
        self.module, self.line, self.column = module, line, column


class _Edits:
    """Changes to a source text, collected and applied at the end."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._changes: list[tuple[int, int, int, bytes]] = []  # start, order there, end, text

    def blank(self, start: int, end: int, instead: bytes = b"") -> None:
        """Overwrite a range with `instead` and spaces. Line ends stay."""
        blanks = re.sub(rb"[^\r\n]", b" ", self.source[start + len(instead) : end])
        self._changes.append((start, len(self._changes) + 1, end, instead + blanks))

    def insert(self, at: int, text: bytes) -> None:
        self._changes.append((at, len(self._changes) + 1, at, text))

    def close(self, at: int, text: bytes) -> None:
        """Like `insert`, but at the same position, the text for what began last comes first."""
        self._changes.append((at, -len(self._changes) - 1, at, text))

    def apply(self) -> tuple[str, list[list[int]]]:
        """Return the changed text, and where it is longer: `[line, column in the changed line, by how much]`."""
        pieces, inserted, at = [], [], 0
        for start, _, end, text in sorted(self._changes):
            pieces.append(self.source[at:start])
            if start == end:
                before = b"".join(pieces)
                column = before.rfind(b"\n") + 1
                inserted.append([before.count(b"\n") + 1, _units(before[column:]) + 1, _units(text)])
            pieces.append(text)
            at = end
        return b"".join([*pieces, self.source[at:]]).decode(), inserted


def _units(text: bytes) -> int:
    """Return the length of a string in UTF-16 units, which V8 counts."""
    return sum(1 + (char > "\uffff") for char in text.decode("utf-8", "replace"))


def _text(node: Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""


def _string(node: Node | None) -> str:
    return _text(node)[1:-1]


def parse(code: str) -> Node:
    """Return the syntax tree of a module."""
    root: Node = _PARSER.parse(code.encode("utf-8", "replace")).root_node
    return root


def names(pattern: Node | None) -> Iterator[str]:
    """Yield the variables that a declaration binds."""
    if pattern is None:
        return
    if pattern.type in {"identifier", "shorthand_property_identifier_pattern"}:
        yield _text(pattern)
    elif pattern.type == "pair_pattern":
        yield from names(pattern.child_by_field_name("value"))
    elif pattern.type in {"assignment_pattern", "object_assignment_pattern"}:
        yield from names(pattern.child_by_field_name("left"))
    else:
        for child in pattern.named_children:
            yield from names(child)


class _Module:
    """Converts one module to a script."""

    def __init__(self, code: str, file: str, libraries: Mapping[str, int]) -> None:
        self.file = file
        self.edits = _Edits(code.encode("utf-8", "replace"))
        self.root = parse(code)
        self.libraries = libraries
        self.imports: list[dict[str, Any]] = []
        self.exports: dict[str, str] = {}

    def _import(self, node: Node, name: str, local: str) -> None:
        source = node.child_by_field_name("source")
        module = _string(source)
        if module not in self.libraries:
            at = source or node
            raise UnknownImportError(module, at.start_point.row + 1, at.start_point.column + 1)
        binding = {"from": module, "library": self.libraries[module], "name": name, "local": local}
        self.imports.append({**binding, "at": [self.file, node.start_point.row + 1, node.start_point.column + 1]})

    def import_statement(self, node: Node) -> None:
        clause = next((child for child in node.named_children if child.type == "import_clause"), None)
        self.edits.blank(node.start_byte, node.end_byte)
        if clause is None:
            return self._import(node, "*", f"__bare{len(self.imports)}")
        for child in clause.named_children:
            if child.type == "identifier":
                self._import(node, "default", _text(child))
            elif child.type == "namespace_import":
                self._import(node, "*", _text(child.named_children[0]))
            elif child.type == "named_imports":
                for specifier in child.named_children:
                    name = specifier.child_by_field_name("name")
                    self._import(node, _text(name), _text(specifier.child_by_field_name("alias") or name))
        return None

    def export_statement(self, node: Node) -> None:
        declaration = node.child_by_field_name("declaration")
        value = node.child_by_field_name("value")
        if any(child.type == "default" for child in node.children):
            self._export_default(node, declaration or value)
        elif declaration is not None:
            self.edits.blank(node.start_byte, declaration.start_byte)
            name = declaration.child_by_field_name("name")
            for target in [name] if name else [d.child_by_field_name("name") for d in declaration.named_children]:
                self.exports.update((bound, bound) for bound in names(target))
        else:
            self._export_names(node)

    def _export_default(self, node: Node, what: Node | None) -> None:
        if what is None:
            return
        name = what.child_by_field_name("name") if what.type.endswith("_declaration") else None
        if name is not None:
            self.edits.blank(node.start_byte, what.start_byte)
        else:
            self.edits.blank(node.start_byte, what.start_byte, _DEFAULT)
            self.edits.close(what.end_byte, b";")
        self.exports["default"] = _text(name) or "__deflt"

    def _export_names(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        self.edits.blank(node.start_byte, node.end_byte)
        for clause in node.named_children:
            for specifier in clause.named_children if clause.type == "export_clause" else ():
                name = specifier.child_by_field_name("name")
                local = _text(name)
                if source is not None:
                    local = f"__again{len(self.imports)}"
                    self._import(node, _text(name), local)
                self.exports[_text(specifier.child_by_field_name("alias") or name)] = local


def _walk(node: Node, into: Callable[[Node], bool]) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        at = waiting.pop()
        yield at
        if into(at):
            waiting.extend(at.children)


def _awaits(root: Node) -> bool:
    """Whether there is an `await` outside all functions."""
    nodes = _walk(root, lambda node: node.type not in _FUNCTIONS)
    return any(node.type == "await_expression" or (node.type == "await" and not node.is_named) for node in nodes)


def _count_statements(module: _Module) -> list[int]:
    """Make every statement count its runs. Returns the line of each counter."""
    lines: list[int] = []
    insert, close = module.edits.insert, module.edits.close

    def counter(node: Node) -> bytes:
        lines.append(node.start_point.row + 1)
        return b"__hits[%d]++" % (len(lines) - 1)

    for node in _walk(module.root, lambda _: True):
        parent = node.parent
        if parent is None or not node.is_named:
            continue
        if node.type == "lexical_declaration" and parent.type in {"for_statement", "for_in_statement"}:
            continue
        declares = node.type in {"lexical_declaration", "variable_declaration"}
        statement = declares or node.type.endswith("_statement")
        if parent.type == "arrow_function" and parent.child_by_field_name("body") == node:
            if node.type != "statement_block":
                insert(node.start_byte, b"(" + counter(node) + b",")
                close(node.end_byte, b")")
        elif not statement or node.type in _NOT_COUNTED:
            continue
        elif parent.type in {"program", "statement_block", "class_static_block", "switch_case", "switch_default"}:
            if not (node.type == "expression_statement" and node.named_children[0].type == "string"):
                insert(node.start_byte, counter(node) + b";")
        elif parent.type == "export_statement":
            insert(node.start_byte, counter(node) + b";")  # where `export` was removed
        elif parent.type != "labeled_statement" and declares is False:
            insert(node.start_byte, b"{" + counter(node) + b";")
            close(node.end_byte, b"}")
    return lines


def _count_branches(module: _Module, first: int) -> list[list[Any]]:
    """Make every `if`, `?:` and `case` count its outcomes, from counter number `first` on.

    Returns line, column and outcome of each counter.
    """
    branches: list[list[Any]] = []
    insert, close = module.edits.insert, module.edits.close

    def counter(node: Node, outcome: str) -> bytes:
        branches.append([node.start_point.row + 1, node.start_point.column + 1, outcome])
        return b"__hits[%d]++" % (first + len(branches) - 1)

    for node in _walk(module.root, lambda _: True):
        condition = node.child_by_field_name("condition")
        if node.type in {"if_statement", "ternary_expression"} and condition is not None:
            insert(condition.start_byte, b"((")
            counted = counter(node, "true"), counter(node, "false")
            close(condition.end_byte, b")?(%s,true):(%s,false))" % counted)
        elif node.type in {"switch_case", "switch_default"}:
            colon = next((child for child in node.children if child.type == ":"), None)
            if colon is not None:
                outcome = "default" if node.type == "switch_default" else "case"
                insert(colon.end_byte, counter(node, outcome) + b";")
    return branches


def link(
    code: str, file: str, script: str, libraries: Mapping[str, int], *, coverage: bool = False, version: str = ""
) -> dict[str, Any]:
    """Return a module in the form that the glue compiles. `libraries` maps import names to indexes.

    `script` is the name of `file` in a form that V8 accepts. `version` is "1" for a module, "0" for a script (in which
    V8 rejects imports and exports); otherwise it is detected. Raises `UnknownImportError`.

    `lines` are the lines of the counted statements, `branches` the outcomes that the counters after those of the
    statements count, as `[line, column, outcome]`; `inserted` says where the script is longer than the module, as
    `[line, column, by how much]`.
    """
    module = _Module(code, file, libraries)
    for node in module.root.children if version != "0" else ():
        if node.type == "import_statement":
            module.import_statement(node)
        elif node.type == "export_statement":
            module.export_statement(node)
    modular = bool(module.imports or module.exports or _EXPORT.search(module.edits.source))
    modular = {"0": False, "1": True}.get(version, modular)
    counts = coverage and not module.root.has_error
    lines = _count_statements(module) if counts else []
    branches = _count_branches(module, len(lines)) if counts else []
    changed, inserted = module.edits.apply()
    if module.root.has_error and modular:  # statements that cannot be parsed would hide the real mistake from V8
        changed = _EXPORT.sub(rb"\1      ", changed.encode()).decode()
    getters = ",".join(f'"{name}":()=>{local}' for name, local in module.exports.items())
    head = f"'use strict';__export({{{getters}}});" if modular else ""
    awaits = b"await" in module.edits.source and _awaits(module.root)
    names = ["__export", "__hits", "__metadata" if modular else "metadata", *(i["local"] for i in module.imports)]
    opening = ("(async function(" if awaits else "(function(") + ",".join(names) + "){" + head
    finish = "" if modular else "\n;return typeof transform==='function'?transform:undefined"
    return {
        "names": ",".join(names),
        "head": head,
        "code": changed,
        "tail": f"{finish}\n//# sourceURL={script}",
        "comment": f"//# sourceURL={script}\n",
        "imports": module.imports,
        "awaits": awaits,
        "modular": modular,
        "counters": len(lines) + len(branches),
        "lines": lines,
        "branches": branches,
        "inserted": [[1, 1, len(opening)], *([at, begin + len(opening) * (at == 1), by] for at, begin, by in inserted)],
    }
