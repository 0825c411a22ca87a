"""The specification's argument names, accepted as keywords in addition to Python's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from svctoolkit.errors import InvalidCall

_R = TypeVar("_R")


# Any: the arguments of the call, whose overloads list them in both spellings
def also_spelled(**names: str) -> Callable[[Callable[..., _R]], Callable[..., _R]]:
    """Make a call accept `specified=...` for its argument `python`: `@also_spelled(specified="python")`."""

    def decorate(function: Callable[..., _R]) -> Callable[..., _R]:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> _R:
            for specified, python in names.items():
                if specified in keywords:
                    if python in keywords:
                        raise InvalidCall(f"{function.__name__}: {specified} and {python} are one argument")
                    keywords[python] = keywords.pop(specified)
            return function(*arguments, **keywords)

        return call

    return decorate
