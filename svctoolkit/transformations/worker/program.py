"""A transformation in Python, compiled once; each call runs it afresh."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from typing import Any

import stateless  # type: ignore[import-not-found]  # in this folder; this file runs as a script


class NameClashError(Exception):
    """A library has the name of one of Python's own modules."""

    def __init__(self, file: str, module: str) -> None:
        super().__init__(f"the library cannot be named {module!r}: Python has a module of that name")
        self.file = file


class Program:
    """The compiled code of a transformation and its libraries. Raises like `compile`, and `NameClashError`."""

    def __init__(self, message: Mapping[str, Any]) -> None:
        self.limits: Mapping[str, Any] = message["limits"]
        self.credentials: Mapping[str, str] = message["credentials"]
        self.coverage: bool = message["coverage"]
        sources = [message["main"], *message["libraries"]]
        self.files = [source["file"] for source in sources]
        self.libraries: dict[str, types.CodeType] = {}
        #: by file, the place and outcome of each counter of branches
        self.branches: dict[str, list[list[Any]]] = {file: [] for file in self.files}
        for library in message["libraries"]:
            self.libraries[library["import"]] = self._compile(library)
            if library["import"] in sys.modules:
                raise NameClashError(library["file"], library["import"])
        self.code = self._compile(message["main"])
        #: whether the next call may run in the process of this one
        self.is_stateless: bool = stateless.is_stateless(message["main"]["code"])

    def lines(self) -> list[list[int]]:
        """Return the executable lines of each file."""
        return [sorted(_lines(code)) for code in [self.code, *self.libraries.values()]]

    def _compile(self, source: Mapping[str, str]) -> types.CodeType:
        code, file = source["code"], source["file"]
        if not self.coverage:
            return compile(code, file, "exec", dont_inherit=True)
        tree = _BranchCounters(file, self.branches[file]).visit(ast.parse(code, file))
        return compile(tree, file, "exec", dont_inherit=True)


#: The built-in function that counts a branch: `COUNTER(file, number, test)` returns `test`.
COUNTER = "__count_branch"


class _BranchCounters(ast.NodeTransformer):
    """Makes every `if`, conditional expression and `case` count its outcomes. Lines and columns stay."""

    def __init__(self, file: str, branches: list[list[Any]]) -> None:
        self._file, self._branches = file, branches

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._test(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._test(node)

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        first = node.body[0]
        counted = self._counted(node.pattern, node.guard or ast.Constant(True), ["case"])
        node.guard = ast.fix_missing_locations(ast.copy_location(counted, node.guard or first))
        return self.generic_visit(node)

    def _test(self, node: ast.If | ast.IfExp) -> ast.AST:
        counted = self._counted(node, node.test, ["true", "false"])
        node.test = ast.fix_missing_locations(ast.copy_location(counted, node.test))
        return self.generic_visit(node)

    def _counted(self, node: ast.stmt | ast.expr | ast.pattern, test: ast.expr, outcomes: list[str]) -> ast.Call:
        number = len(self._branches)
        self._branches += [[node.lineno, node.col_offset + 1, outcome] for outcome in outcomes]
        arguments: list[ast.expr] = [ast.Constant(self._file), ast.Constant(number), test]
        return ast.Call(ast.Name(COUNTER, ast.Load()), arguments, [])


def _lines(code: types.CodeType) -> set[int]:
    lines = {line for _, _, line in code.co_lines() if line}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            lines |= _lines(constant) - {constant.co_firstlineno}
    return lines


class LibraryFinder:
    """Imports the user's libraries by name: a finder and a loader. `importlib.abc` would import 30 modules."""

    def __init__(self, libraries: Mapping[str, types.CodeType]) -> None:
        self._libraries = libraries

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> ModuleSpec | None:
        if fullname not in self._libraries:
            return None
        return ModuleSpec(fullname, self)  # type: ignore[arg-type]  # a loader by its methods

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leave it to Python to create the module."""

    def exec_module(self, module: types.ModuleType) -> None:
        exec(self._libraries[module.__name__], module.__dict__)  # noqa: S102 - running user code is what this is for
