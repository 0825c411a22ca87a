"""On whose behalf the user's code runs: the run and the destination of its requests and log lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec


class Caller(msgspec.Struct, frozen=True):
    """A run, and the key of a destination; empty if unknown."""

    run: str = ""
    destination: str = ""


_CALLER: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039 - it is immutable


def caller() -> Caller:
    """Return the caller of the code that runs in this thread."""
    return _CALLER.get()


@contextmanager
def calling(run: str, destination: str) -> Iterator[None]:
    """Let code that runs in the block belong to this run and destination."""
    token = _CALLER.set(Caller(run, destination))
    try:
        yield
    finally:
        _CALLER.reset(token)
