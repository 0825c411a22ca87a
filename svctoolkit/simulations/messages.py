"""A request as a simulation reads it, and its response."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.simulations.measures import json_size

#: `(record of a body)` -> the message ids of the events that it comes from
About: TypeAlias = Callable[[Mapping[str, Json]], tuple[str, ...]]


def events_of(record: Mapping[str, Json], events: tuple[str, ...], about: About | None) -> tuple[str, ...]:
    """Return the message ids of the events of a request that a record comes from: all of them if that is unknown."""
    return events if len(events) <= 1 or about is None or not record else about(record)


class Response(msgspec.Struct, frozen=True):
    """What the vendor's server answers. `body` is JSON, a text, or None for an empty body."""

    status: int
    body: Json = None
    headers: Mapping[str, str] = {}


@dataclass(eq=False)
class Request:
    """One request. `body` is parsed JSON, the fields of a form, a text or None; header names are in lower case.

    `bytes` are those of the body, or return them. `events` are the message ids of the events that it carries, if they
    are known, and `run` is their run. `about` returns which of them a record of the body comes from.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: Json
    events: tuple[str, ...] = ()
    bytes: int | Callable[[], int] | None = None
    run: str = ""
    about: About | None = None
    parts: tuple[str, ...] = field(default=(), init=False)  # the values of `{...}` in the path

    def __post_init__(self) -> None:
        split = urlsplit(self.url)
        self.host, self._query = split.netloc, split.query
        self._path = split.path.rstrip("/") or "/"
        self.path = unquote(self._path) if "%" in self._path else self._path

    def match(self, pattern: re.Pattern[str]) -> bool:
        """Whether the path has this form; if so, set `parts`. An encoded slash belongs to a part."""
        found = pattern.fullmatch(self._path)
        if found is None:
            return False
        self.parts = tuple(unquote(part) for part in found.groups())
        return True

    @cached_property
    def query(self) -> dict[str, str]:
        """The query; of a name that occurs several times, the last value."""
        return dict(_parse_query(self._query)) if self._query else {}

    @property
    def size(self) -> int:
        """The bytes of the body."""
        if callable(self.bytes):
            return self.bytes()
        return json_size(self.body) if self.bytes is None else self.bytes

    @property
    def object(self) -> dict[str, Json]:
        """The body if it is an object, else an empty one."""
        return self.body if isinstance(self.body, dict) else {}

    def items(self, name: str) -> list[dict[str, Json]]:
        """Return the objects of a list in the body. Anything else in it counts as an empty object."""
        listed = self.object.get(name)
        return objects(listed)


# The requests of a destination often have the same query.
@lru_cache(maxsize=256)
def _parse_query(query: str) -> tuple[tuple[str, str], ...]:
    return tuple(parse_qsl(query, keep_blank_values=True))


def objects(value: Json) -> list[dict[str, Json]]:
    """Return the objects of a list; other items, which keep their place, count as empty objects."""
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []


def member(value: Json, *path: str) -> Json:
    """Return a member of nested objects, or None."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def object_at(value: Json, *path: str) -> dict[str, Json]:
    """Return an object in nested objects, or an empty one."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def filled(**values: Json) -> dict[str, Json]:
    """Return the values that are not empty, for answers that leave the others out."""
    return {name: value for name, value in values.items() if value}
