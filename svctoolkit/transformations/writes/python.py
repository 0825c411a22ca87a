"""The writes of Python, from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import accumulate

from svctoolkit.transformations.writes.write import Write

_SETTERS = ("setdefault", "__setitem__")


def python_writes(code: str) -> Iterator[Write]:
    """Yield the writes and removals of the code, in its order; none if it has a syntax error."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    places = _Places(code)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt | ast.keyword)]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        yield from _writes(node, places)


class _Places:
    """Positions in bytes of the source."""

    def __init__(self, code: str) -> None:
        self._source = code.encode()
        self._lines = [0, *accumulate(len(line) for line in self._source.splitlines(keepends=True))]

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def text(self, node: ast.expr) -> str:
        return self._source[self.start(node) : self.end(node)].decode()

    def value(self, name: str, node: ast.expr, line: int = 0) -> Write:
        """Return the write of a value."""
        return Write(name, line or node.lineno, self.start(node), self.end(node), "(", ")")


def _writes(node: ast.AST, places: _Places) -> Iterator[Write]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if (name := _target(target)) is not None:
                yield places.value(name, node.value, node.lineno)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        if node.value is not None and (name := _target(node.target)) is not None:
            yield places.value(name, node.value, node.lineno)
    elif isinstance(node, ast.AugAssign) and (name := _target(node.target)) is not None:
        before = f"{places.text(node.target)} = "
        yield Write(name, node.lineno, places.start(node), places.end(node), before)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                yield places.value(_constant(key), value, key.lineno)
    elif isinstance(node, ast.DictComp):
        yield places.value("", node.value)
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            if (name := _target(target)) is not None and len(node.targets) == 1:
                yield Write(name, node.lineno, places.start(node), places.end(node), "pass", removes=True)
    elif isinstance(node, ast.Call):
        yield from _calls(node, places)


def _calls(node: ast.Call, places: _Places) -> Iterator[Write]:
    """Yield what `update(total=1)`, `setdefault("total", 1)` and `pop("total", None)` write and remove."""
    for keyword in node.keywords:
        if keyword.arg is not None:
            yield places.value(keyword.arg, keyword.value)
    if not isinstance(node.func, ast.Attribute) or not node.args:
        return
    name = _constant(node.args[0])
    if node.func.attr in _SETTERS and len(node.args) == 2:
        yield places.value(name, node.args[1], node.lineno)
    elif node.func.attr == "pop" and name:
        of, key = places.text(node.func.value), places.text(node.args[0])
        at = places.start(node), places.end(node)
        yield Write(name, node.lineno, *at, before=f"{of}.get({key})", removes=True)


def _target(node: ast.expr) -> str | None:
    """Return the member or variable that an assignment changes, empty if it is computed; None for several."""
    if isinstance(node, ast.Subscript):
        return _constant(node.slice)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
