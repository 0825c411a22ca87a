"""Record a screen when a block of code or a function is entered."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


class ScreenView:
    """A context manager and decorator; see `ServiceClient.screen_view`."""

    def __init__(self, record: Callable[[str], None], name: str) -> None:
        self._record, self._name = record, name

    def __enter__(self) -> Self:
        self._record(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, function: _F) -> _F:
        import inspect  # 10 ms to import, and only decorators need it

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call_async(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return call_async  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]
