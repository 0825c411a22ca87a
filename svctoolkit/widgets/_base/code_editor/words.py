"""Completions besides event fields: the functions available to transformations, and `metadata`."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Literal

from svctoolkit.transformations import type_files

_FUNCTION = re.compile(r"/\*\* ([^\n]*) \*/\ndeclare function (\w+)(\([^\n]*);")
_METADATA = re.compile(r"interface EventMetadata \{(.*?)\}", re.S)


@cache
def functions(language: Literal["javascript", "python"]) -> tuple[dict[str, str], ...]:
    """For each function its `label`, `detail` (parameters and result) and `info` (a sentence)."""
    if language == "javascript":
        found = _FUNCTION.findall(type_files()["transformation.d.ts"])
        return tuple({"label": name, "detail": rest, "info": text} for text, name, rest in found)
    module = ast.parse(type_files()["transformation_types.pyi"])
    return tuple(
        {"label": node.name, "detail": f"({ast.unparse(node.args)})", "info": ast.get_docstring(node) or ""}
        for node in module.body
        if isinstance(node, ast.FunctionDef)
    )


@cache
def metadata() -> dict[str, None]:
    """The names of the event's metadata."""
    (block,) = _METADATA.findall(type_files()["transformation.d.ts"])
    return dict.fromkeys(re.findall(r"\b(\w++)\?:", block))
