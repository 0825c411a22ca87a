"""Changes of Python, from its syntax tree."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from svctoolkit.edits.edit import ARITHMETIC, COMPARISONS, Edit, arrow, other_number

_Change: TypeAlias = tuple[str, int, int, str]  # kind, first byte, byte after the last, new text
_Body: TypeAlias = tuple[int, int, bytes]  # first byte, byte after the last, a shorter one
_COMPARISON_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_ARITHMETIC_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%", ast.Pow: "**", ast.FloorDiv: "//",
}  # fmt: skip
#: Methods with one that gives another result; without one, the call is dropped.
_METHODS = {
    "upper": "lower", "lower": "upper", "strip": "", "lstrip": "", "rstrip": "", "startswith": "endswith",
    "endswith": "startswith", "title": "lower", "casefold": "upper", "append": "", "keys": "values",
}  # fmt: skip
_FUNCTIONS = {"round": "int", "min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "abs": ""}
_KEYED = {"get", "pop", "setdefault"}  # methods whose first argument is a key
_LOGS = {"print", "log"}
_LISTS = (ast.List, ast.Set, ast.Dict, ast.Call, ast.keyword)
_COMMENT = re.compile(rb"#[^\n]*")
_COMMON = {"event", "properties", "context", "traits", "type", "message"}


def edits(code: str) -> Iterator[Edit]:
    """Yield each change of the code that parses, in its order. Code that cannot be parsed is not changed."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return
    raw = code.encode()
    yield from _Walker(raw).walk(tree, _Around(_Unit(raw, 0, len(raw), [])))


class _Unit:
    """The smallest part of code around a change that shows whether it parses: parsing all of it takes 10 ms.

    `bodies` are the places of its blocks; those that a change does not touch are replaced by a shorter one. `before`
    and `after` make code of it.
    """

    def __init__(
        self,
        raw: bytes,
        start: int,
        end: int,
        bodies: Sequence[_Body],
        before: bytes = b"",
        after: bytes = b"",
    ) -> None:
        self._raw, self._start, self._end, self._bodies = raw, start, end, bodies
        self._before, self._after = before, after

    def allows(self, start: int, end: int, new: str) -> bool:
        """Return whether the code parses with `new` from `start` to `end`."""
        cuts = [body for body in self._bodies if body[1] < start or end < body[0]]
        at, parts = self._start, [self._before]
        for first, last, text in sorted([*cuts, (start, end, new.encode())]):
            parts += [self._raw[at:first], text]
            at = last
        parts += [self._raw[at : self._end], self._after]
        try:
            ast.parse(b"".join(parts).decode())
        except (SyntaxError, ValueError, RecursionError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Around:
    """Where a node is: its unit, the line of its statement inside a function, that statement, and the function."""

    unit: _Unit
    statement: int = 0
    node: ast.AST | None = None
    function: ast.AST | None = None


class _Walker:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._starts = [0]
        for line in self._raw.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def walk(self, node: ast.AST, around: _Around) -> Iterator[Edit]:
        if _is_ignored(node):
            return
        if isinstance(node, ast.stmt):
            unit = self._statement(node)
            around = _Around(unit, node.lineno if around.function else 0, node, around.function)
        for kind, start, end, new in self._of(node, around):
            if not around.unit.allows(start, end, new):
                continue
            shown = self._shown(node, start, end)
            line = bisect_right(self._starts, start)
            before = self._raw[shown[0] : shown[1]].decode()
            after = (self._raw[shown[0] : start] + new.encode() + self._raw[end : shown[1]]).decode()
            text = arrow(before, "" if new == "pass" else after) if before.strip() else f"{after.strip(' ;')} at once"
            reached = line if kind == "early return" else around.statement
            yield Edit(kind, start, end, new, line, reached, text, _words(around.node))
        inner = around
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            inner = replace(around, function=node)
        for child in _children(node):
            yield from self.walk(child, self._element(child, inner) if isinstance(node, _LISTS) else inner)

    def _statement(self, node: ast.stmt) -> _Unit:
        """Return a statement as a unit: its first line keeps its indentation, as its other lines do."""
        bodies = [self._body(statements) for statements in _bodies(node)]
        start, end = self._begin(node), self._end(node)
        indent = self._raw[self._starts[bisect_right(self._starts, start) - 1] : start]
        if indent.strip():  # after another statement in its line
            indent = b""
        is_elif = isinstance(node, ast.If) and self._raw.startswith(b"el", start)
        before = b"if 1:\n" + indent if indent else b""
        return _Unit(self._raw, start + 2 if is_elif else start, end, bodies, before, b"\n")

    def _body(self, statements: Sequence[ast.stmt]) -> _Body:
        start = self._begin(statements[0])
        is_elif = isinstance(statements[0], ast.If) and self._raw.startswith(b"el", start)
        return start, self._end(statements[-1]), b"else: pass" if is_elif else b"pass"

    def _element(self, node: ast.AST, around: _Around) -> _Around:
        """Return an element of a list or an argument as a unit, unless it needs parentheses."""
        if not isinstance(node, ast.expr) or isinstance(node, (ast.Starred, ast.Yield, ast.YieldFrom)):
            return around
        return replace(around, unit=_Unit(self._raw, self._at(node), self._end(node), [], b"[", b"]"))

    def _begin(self, node: ast.stmt) -> int:
        """Return where a statement begins, with its decorators."""
        decorators = getattr(node, "decorator_list", [])
        return self._raw.rfind(b"@", 0, self._at(decorators[0])) if decorators else self._at(node)

    def _of(self, node: ast.AST, around: _Around) -> Iterator[_Change]:
        match node:
            case ast.Compare():
                yield from self._compare(node)
            case ast.BoolOp():
                yield from self._bool(node)
            case ast.BinOp():
                yield from self._binary(node)
            case ast.AugAssign():
                yield from self._augmented(node)
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield "negation", self._at(node), self._at(node.operand), ""
            case ast.If():
                kind = "swapped branches" if node.orelse else "negation"
                yield from self._negated(node.test, kind)
            case ast.IfExp():
                yield from self._ternary(node)
            case ast.comprehension():
                for test in node.ifs:
                    yield from self._negated(test, "negation")
            case ast.Constant():
                yield from self._constant(node, around)
            case ast.Call():
                yield from self._call(node, around)
            case ast.Subscript(slice=ast.Constant(value=str())):
                yield from self._renamed(node.slice)
            case ast.Dict():
                for key in node.keys:
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield from self._renamed(key)
            case ast.Await():
                yield "dropped await", self._at(node), self._at(node.value), ""
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._early_return(node)
        if isinstance(node, ast.stmt) and around.function is not None:
            yield from self._removed(node, around)

    def _compare(self, node: ast.Compare) -> Iterator[_Change]:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            symbol = _COMPARISON_SYMBOLS[type(operator)]
            start, end = self._between(left, right, symbol)
            for other in COMPARISONS[symbol] if end else ():
                near = symbol[0] in "<>" and other.strip("=") == symbol.strip("=")
                yield "boundary" if near else "comparison", start, end, other
            left = right

    def _bool(self, node: ast.BoolOp) -> Iterator[_Change]:
        symbol, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            start, end = self._between(left, right, symbol)
            if end:
                yield "condition", start, end, other

    def _binary(self, node: ast.BinOp) -> Iterator[_Change]:
        symbol = _ARITHMETIC_SYMBOLS.get(type(node.op))
        start, end = self._between(node.left, node.right, symbol) if symbol else (0, 0)
        if symbol is None or not end:
            return
        if _is_text(node.left) or _is_text(node.right):
            yield "text", self._end(node.left), self._end(node.right), ""
        else:
            yield "arithmetic", start, end, ARITHMETIC[symbol]

    def _augmented(self, node: ast.AugAssign) -> Iterator[_Change]:
        symbol = _ARITHMETIC_SYMBOLS.get(type(node.op))
        start, end = self._between(node.target, node.value, f"{symbol}=") if symbol else (0, 0)
        if symbol and end:
            yield "arithmetic", start, end, f"{ARITHMETIC[symbol]}="

    def _negated(self, test: ast.expr, kind: str) -> Iterator[_Change]:
        start, end = self._at(test), self._end(test)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return  # dropping its `not` is the same change
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return  # the opposite comparison is, too
        yield kind, start, end, f"not ({self._raw[start:end].decode()})"

    def _ternary(self, node: ast.IfExp) -> Iterator[_Change]:
        yes, no = (self._raw[self._at(side) : self._end(side)].decode() for side in (node.body, node.orelse))
        if yes != no:
            test = self._raw[self._end(node.body) : self._at(node.orelse)].decode()
            yield "swapped branches", self._at(node.body), self._end(node.orelse), f"{no}{test}{yes}"

    def _constant(self, node: ast.Constant, around: _Around) -> Iterator[_Change]:
        start, end = self._at(node), self._end(node)
        if isinstance(node.value, bool):
            yield "literal", start, end, str(not node.value)
        elif isinstance(node.value, (int, float)):
            yield "literal", start, end, other_number(self._raw[start:end].decode())
        elif isinstance(node.value, str) and not isinstance(around.node, ast.Raise):
            yield "literal", start, end, '""' if node.value else '"x"'

    def _call(self, node: ast.Call, around: _Around) -> Iterator[_Change]:
        function = node.func
        first = node.args[0] if node.args else None
        if isinstance(function, ast.Attribute):
            if function.attr in _KEYED and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield from self._renamed(first)
            other = _METHODS.get(function.attr)
            if other:
                end = self._end(function)
                yield "operation", end - len(function.attr), end, other
            elif other == "" and not (isinstance(around.node, ast.Expr) and around.node.value is node):
                # a call that is a whole statement is removed anyway
                yield "operation", self._end(function.value), self._end(node), ""
        elif isinstance(function, ast.Name) and function.id in _FUNCTIONS:
            yield "operation", self._at(function), self._end(function), _FUNCTIONS[function.id]

    def _renamed(self, key: ast.expr) -> Iterator[_Change]:
        end = self._end(key)
        if self._raw[end - 1 : end] in (b'"', b"'"):
            yield "property", end - 1, end - 1, "_x"

    def _early_return(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[_Change]:
        body = node.body[1:] if _is_docstring(node.body[0]) else node.body
        if len(body) < 2 or (isinstance(node, ast.AsyncFunctionDef) and _yields(node)):  # which returns no value
            return
        first = node.args.args[0].arg if node.args.args else "None"
        start = self._at(body[0])
        yield "early return", start, start, f"return {first}; "

    def _removed(self, node: ast.stmt, around: _Around) -> Iterator[_Change]:
        last = getattr(around.function, "body", [None])
        is_last = isinstance(last, list) and last[-1] is node
        kinds = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete, ast.Continue, ast.Break, ast.Raise)
        if isinstance(node, kinds) and not _is_docstring(node) and not _defines_a_name(node):
            yield "removed statement", self._at(node), self._end(node), "pass"
        elif isinstance(node, ast.Return) and not is_last:
            yield "removed return", self._at(node), self._end(node), "pass"

    def _shown(self, node: ast.AST, start: int, end: int) -> tuple[int, int]:
        """Return the part of the code that shows the change."""
        if isinstance(node, ast.If):
            return self._at(node.test), self._end(node.test)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.comprehension, ast.Dict)):
            return (start, end) if not isinstance(node, ast.Dict) else self._key(start)
        if isinstance(node, ast.Call) and start == end:
            return self._at(node), self._end(node)
        return min(self._at(node), start), max(self._end(node), end)

    def _key(self, end: int) -> tuple[int, int]:
        quote = self._raw[end : end + 1]
        return max(self._raw.rfind(quote, 0, end), 0), end + 1

    def _between(self, left: ast.expr, right: ast.expr, symbol: str | None) -> tuple[int, int]:
        """Return the place of an operator between two operands; (0, 0) if it is not written in the usual form."""
        start, stop = self._end(left), self._at(right)
        between = _COMMENT.sub(lambda comment: b" " * len(comment[0]), self._raw[start:stop])
        at = between.find((symbol or "").encode())
        return (0, 0) if at < 0 else (start + at, start + at + len(symbol or ""))

    def _at(self, node: ast.AST) -> int:
        return self._starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined, no-any-return]

    def _end(self, node: ast.AST) -> int:
        return self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined, no-any-return]


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the outermost blocks of a statement."""
    for field in ("body", "orelse", "finalbody"):
        if body := getattr(node, field, None):
            yield body
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _yields(function: ast.AsyncFunctionDef) -> bool:
    pending: list[ast.AST] = [*function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Yield):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            pending += ast.iter_child_nodes(node)
    return False


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children whose changes have an effect: no names of properties twice, no annotations, no messages."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "msg"):
            continue
        items = value if isinstance(value, list) else [value]
        for position, item in enumerate(items):
            if not isinstance(item, ast.AST) or (isinstance(item, ast.Constant) and _is_key(node, name, position)):
                continue
            yield item
            if isinstance(item, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
                break  # no run reaches what follows in this block


def _is_key(node: ast.AST, field: str, position: int) -> bool:
    """Return whether a constant is the name of a member, which has its own change."""
    if isinstance(node, ast.Dict):
        return field == "keys"
    if isinstance(node, ast.Subscript):
        return field == "slice" and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return field == "args" and position == 0 and node.func.attr in _KEYED
    return False


def _is_ignored(node: ast.AST) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr)) or _is_docstring(node):
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value:
        return True
    call = node.value if isinstance(node, ast.Expr) else node
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _LOGS


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _defines_a_name(node: ast.stmt) -> bool:
    """Return whether removing a statement leaves a name undefined, which breaks every run: no plausible mistake."""
    return isinstance(node, ast.Assign) and any(isinstance(target, (ast.Name, ast.Tuple)) for target in node.targets)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _words(node: ast.AST | None) -> frozenset[str]:
    """Return the texts in a statement that may be names of members."""
    if node is None or (isinstance(node, ast.stmt) and (node.end_lineno or 0) - node.lineno > 3):
        return frozenset()
    found = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return frozenset(text for text in found if text.isidentifier() and text not in _COMMON and len(text) > 1)
