"""Parse query parameters: numbers, times, and known names."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.server.web.json import refuse
from svctoolkit.server.web.operation import Parameter
from svctoolkit.server.worker import Engine

#: Maximum number of records on a page.
MAX_PAGE = 1000
MAX_NUMBER = 2**53
INTEGER = {"type": "integer", "minimum": 0, "maximum": MAX_NUMBER}


async def settle(engine: Engine) -> None:
    """Wait until everything accepted before is in the tables."""
    accepted = engine.pending.accepted
    await engine.notifier.wait_async(lambda: engine.pending.is_routed(accepted), 5.0)
    await asyncio.wrap_future(engine.store.start_flush())


def text_parameter(name: str, description: str, format: str = "") -> Parameter:
    return Parameter(name, "query", description, {"type": "string", **({"format": format} if format else {})})


def only(query: dict[str, str], *names: str) -> None:
    """Refuse the remaining parameters of a query, after the known ones (`names`) were removed from it."""
    for name in query:
        choice = f"The parameters are {', '.join(names)}" if names else "There are no parameters here"
        refuse(f"unknown parameter {name[:50]!r}.{did_you_mean(name, names)} {choice}")


def flag(query: dict[str, str], name: str) -> bool | None:
    """Return `any` or `none` as true or false; None if the parameter is absent. Raises `RequestError` (400)."""
    text = query.pop(name, None)
    if text not in (None, "any", "none"):
        refuse(f"{name} must be any or none, not {str(text)[:50]!r}")
    return None if text is None else text == "any"


def moment(query: dict[str, str], name: str) -> float | None:
    """Return an ISO 8601 time as seconds since 1970. Raises `RequestError` (400)."""
    text = query.pop(name, None)
    try:
        return None if text is None else datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError):
        refuse(f"{name} must be an ISO 8601 time, not {str(text)[:50]!r}")


def number(query: dict[str, str], name: str, default: int, *, least: int = 0, most: int = MAX_NUMBER) -> int:
    """Return a whole number. Raises `RequestError` (400)."""
    text = query.pop(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and least <= int(text) <= most):
        refuse(f"{name} must be a whole number from {least} to {most}, not {text[:50]!r}")
    return int(text)


def seconds(value: Json) -> float:
    """Return the seconds of a timeout, from a string or a number. Raises `RequestError` (400)."""
    try:
        return float(msgspec.convert(value, Annotated[float, Meta(ge=0)], strict=False))
    except (msgspec.ValidationError, UnicodeEncodeError):
        refuse(f"timeout must be a number of seconds, not {str(value)[:50]!r}")
