"""Routes whose paths are compiled once per process, however many data planes it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import lru_cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, request_response

_MOST = 512  # a data plane has about 100


# Any: the coroutine of a handler
def route(path: str, handle: Callable[[Request], Any], methods: Iterable[str] = ("GET",), name: str = "") -> Route:
    """Return the route of a handler.

    Python remembers only some hundreds of patterns. In a process that uses more, each data plane would compile those of
    all its routes again, which takes longer than the rest of its start.
    """
    made = copy(_compiled(path, frozenset(methods), name))
    made.endpoint, made.app = handle, request_response(handle)
    return made


@lru_cache(_MOST)
def _compiled(path: str, methods: frozenset[str], name: str) -> Route:
    return Route(path, _nowhere, methods=sorted(methods), name=name)


async def _nowhere(_: Request) -> Response:
    raise NotImplementedError
