"""Signatures as readers write them: types without quotes and without the modules that define them."""

from __future__ import annotations

import inspect
import re
from typing import Any, ForwardRef

_LINE = 88
_MODULES = re.compile(r"\b(?:svctoolkit\.json_types|collections\.abc|typing|types|pathlib)\.(?=[A-Z])")
_OBJECT = re.compile(r"<class '([\w.]+)'>|<[^=]*? at 0x[0-9a-f]+>")


class _Plain(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


# Any: whatever is part of the public interface
def signature(value: Any) -> str:
    """`(name: str, *, size: int = 3) -> int` of something callable, one parameter per line if it is long.

    `self` is left out. Empty if the value has no signature.
    """
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [
        parameter.replace(annotation=_plain(parameter.annotation))
        for parameter in found.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    found = inspect.Signature(parameters, return_annotation=_plain(found.return_annotation))
    line = _readable(str(found))
    if len(line) <= _LINE:
        return line
    returned = line.rpartition(" -> ")[2] if found.return_annotation is not inspect.Signature.empty else ""
    shown = "".join(f"    {part},\n" for part in _parts(parameters))
    return f"(\n{shown})" + (f" -> {returned}" if returned else "")


def _parts(parameters: list[inspect.Parameter]) -> list[str]:
    """The parameters as text, with the marks `/` and `*` between them."""
    parts: list[str] = []
    before: Any = None
    for parameter in parameters:
        kind = parameter.kind
        if before is parameter.POSITIONAL_ONLY and kind is not before:
            parts.append("/")
        if kind is parameter.KEYWORD_ONLY and before not in (kind, parameter.VAR_POSITIONAL):
            parts.append("*")
        parts.append(_readable(str(parameter)))
        before = kind
    return parts


def _plain(annotation: Any) -> Any:
    if isinstance(annotation, ForwardRef):  # in named tuples
        annotation = annotation.__forward_arg__
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _readable(text: str) -> str:
    """Without modules of well-known types; the name of a class, and `...` for other objects as defaults."""
    return _OBJECT.sub(lambda match: match[1].rpartition(".")[2] if match[1] else "...", _MODULES.sub("", text))
