"""A function that a result may call later, to run its events again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Again:
    """A function of events and workspaces that a result may call later.

    It is dropped when the result is pickled, because its events may be any object.
    """

    __slots__ = ("_function",)

    # Any: parameters and result of the function
    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    # Any: parameters and result of the function
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return _nothing, ()


def _nothing() -> None:
    return None
