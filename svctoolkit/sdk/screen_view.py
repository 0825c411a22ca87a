"""Screens that are recorded around a piece of code."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from svctoolkit.sdk.client import ServiceClient

_F = TypeVar("_F", bound=Callable[..., Any])


class ScreenView:
    """A context manager and decorator; see `ServiceClient.screen_view`."""

    def __init__(self, client: ServiceClient, name: str) -> None:
        self._client, self._name = client, name

    def __enter__(self) -> Self:
        self._client.record_screen_view(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, function: _F) -> _F:
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
