"""A transformation in Python, compiled once; each call runs it afresh."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Mapping
from typing import Any


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
        for library in message["libraries"]:
            self.libraries[library["import"]] = _compile(library)
            if library["import"] in sys.modules:
                raise NameClashError(library["file"], library["import"])
        self.code = _compile(message["main"])

    def lines(self) -> list[list[int]]:
        """Return the executable lines of each file."""
        return [sorted(_lines(code)) for code in [self.code, *self.libraries.values()]]


def _compile(source: Mapping[str, str]) -> types.CodeType:
    return compile(source["code"], source["file"], "exec", dont_inherit=True)


def _lines(code: types.CodeType) -> set[int]:
    lines = {line for _, _, line in code.co_lines() if line}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            lines |= _lines(constant) - {constant.co_firstlineno}
    return lines


class LibraryFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the user's libraries by name."""

    def __init__(self, libraries: Mapping[str, types.CodeType]) -> None:
        self._libraries = libraries

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in self._libraries else None

    def exec_module(self, module: types.ModuleType) -> None:
        exec(self._libraries[module.__name__], module.__dict__)  # noqa: S102 - running user code is what this is for
