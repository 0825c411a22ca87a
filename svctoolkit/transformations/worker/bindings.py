"""The JavaScript parser, from the extension modules of its two packages.

Their Python layers import `importlib.resources` and `typing`, for what is not needed here: a third of all imports.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType

TYPE_CHECKING = False  # `typing` takes longer to import than this package's modules
if TYPE_CHECKING:
    from typing import Any


def javascript_parser() -> Any:
    """Return a parser for JavaScript."""
    tree_sitter, grammar = _binding("tree_sitter"), _binding("tree_sitter_javascript")
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))


def _binding(package: str) -> Any:
    """Import a package's extension module without its `__init__`; the whole package if it has no such module."""
    if package in sys.modules:
        return sys.modules[package]
    spec = PathFinder.find_spec(package)
    if spec is not None and spec.submodule_search_locations:
        bare = sys.modules[package] = ModuleType(package)
        bare.__path__ = list(spec.submodule_search_locations)
        try:
            return import_module(f"{package}._binding")
        except ImportError:
            del sys.modules[package]
    return import_module(package)
