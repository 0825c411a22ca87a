"""The specification's argument names, accepted as keywords in addition to Python's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from svctoolkit.errors import InvalidCall

_F = TypeVar("_F", bound=Callable[..., Any])


def also_spelled(**names: str) -> Callable[[_F], _F]:
    """Make a call accept `specified=...` for its argument `python`: `@also_spelled(specified="python")`."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            for specified, python in names.items():
                if specified in keywords:
                    if python in keywords:
                        raise InvalidCall(f"{function.__name__}: {specified} and {python} are one argument")
                    keywords[python] = keywords.pop(specified)
            return function(*arguments, **keywords)

        return cast("_F", call)

    return decorate
