"""The small changes that can be made to a module's source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True, slots=True)
class Change:
    """One change: the text between `start` and `end` (bytes of the source) becomes `text`."""

    line: int
    start: int
    end: int
    before: str
    text: str

    def apply(self, source: bytes) -> bytes:
        """The changed source."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.line}: {self.before}  ->  {self.text}"


def changes(source: bytes) -> list[Change]:
    """All changes to a module, in line order. Docstrings, annotations and imports stay unchanged."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    out: list[Change] = []
    for node in _walk(tree):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = source[begin:end].decode()
        out += [Change(node.lineno, begin, end, before, text) for text in _texts(node)]
    return sorted(out, key=lambda change: (change.start, change.end))


def _walk(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The nodes that are executed: not annotations, docstrings, imports and f-strings."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        if isinstance(node, ast.Assign) and name == "value" and ast.unparse(node.targets[0]) == "__all__":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _texts(node: ast.AST) -> Iterator[str]:
    """Replacements for a node."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            swapped = ast.Compare(left, [_COMPARISONS[type(operator)]()], [right])
            yield _parenthesised(swapped)
        case ast.BoolOp(op=operator, values=values):
            yield _parenthesised(ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _parenthesised(operand)
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
            yield _parenthesised(ast.BinOp(node.left, _OPERATORS[type(operator)](), node.right))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield _parenthesised(ast.IfExp(test, orelse, body))
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() | float() as value):
            yield repr(value + 1)
        case ast.Constant(value=str() as value) if value:
            yield repr(f"{value}~")
        case ast.Expr(value=ast.Call() | ast.Await() | ast.Yield()) | ast.Raise():
            yield "pass"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"


def _parenthesised(node: ast.expr) -> str:
    return f"({ast.unparse(ast.fix_missing_locations(node))})"
