"""The notebook display of objects.

A class with a rich display inherits `Displayed`. Its view is a function in the module `_display` of the class's
package, or of the nearest parent package that has one. The module is imported when an object is first shown, so that
models do not depend on their views or load them needlessly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Literal, TypeAlias, TypeVar

from svctoolkit.json_types import Json

T = TypeVar("T")
#: `html` for a notebook, `text` where HTML is not possible, `document` for a complete page in a file
Form: TypeAlias = Literal["html", "text", "document"]
_VIEWS: dict[tuple[type, Form], Callable[[Any], str]] = {}


class Displayed:
    """Shows an object as HTML with the view of its class, or as `display_text` where HTML is not possible."""

    __slots__ = ()

    def display_text(self) -> str:
        """The object as plain text."""
        return repr(self)

    # Any: IPython's signature
    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display

        return display.bundle(display.Html(render(self)), self.display_text())


def shows(kind: type[T], form: Form = "html") -> Callable[[Callable[[T], str]], Callable[[T], str]]:
    """Declare a function as a view of a class and of its subclasses."""

    def register(function: Callable[[T], str]) -> Callable[[T], str]:
        _VIEWS[kind, form] = function
        return function

    return register


def render(shown: object, form: Form = "html") -> str:
    """An object rendered by the view of its class or nearest base class. Raises `LookupError` without a view."""
    for base in type(shown).__mro__:
        for module in _display_modules(base.__module__):
            import_module(module)
            if (base, form) in _VIEWS:
                return _VIEWS[base, form](shown)
    raise LookupError(f"{type(shown).__qualname__} has no {form} view; declare one in a module `_display`")


def _display_modules(module: str) -> Iterator[str]:
    """The `_display` modules of the packages above a module of this package, nearest first."""
    from importlib.util import find_spec

    while module.startswith("svctoolkit."):
        name = f"{module}._display"
        if find_spec(module).submodule_search_locations and find_spec(name):  # type: ignore[union-attr]
            yield name
        module = module.rpartition(".")[0]


def printable(text: str) -> str:
    """`text` with control characters escaped, so that data cannot control a terminal. Line breaks are kept."""
    if text.isprintable():  # fast path: nearly all texts are, and there may be hundreds of long ones
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def shorten(value: Json, width: int) -> str:
    """A string, or another value as JSON, truncated to `width` characters with an ellipsis."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= width else f"{text[: width - 1]}…"
