"""Replace personal data in recorded events with made-up values; equal values get the same replacement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from svctoolkit import personal
from svctoolkit.json_types import Json
from svctoolkit.personal import Kind

_MADE_UP: dict[Kind, Callable[[int], str]] = {
    "email": "user{}@mail.example".format,
    "phone": "+1-555-{:04d}".format,
    "name": "Name {}".format,
    "text": "text-{}".format,
    "date": lambda n: f"1990-01-{n % 28 + 1:02d}",
    "ip": lambda n: f"192.0.2.{n % 254 + 1}",
    "user": "user-{}".format,
    "anonymous": "anonymous-{}".format,
    "device": "device-{}".format,
    "place": lambda n: "0",  # noqa: ARG005 - all places get the same value
}


class Pseudonyms:
    """Replaces personal data. A value that was replaced once is replaced the same way wherever it is a whole value.

    >>> pseudonyms = Pseudonyms()
    >>> event = {"userId": "ada@x.example", "context": {"traits": {"email": "ada@x.example", "plan": "pro"}}}
    >>> pseudonyms.replace(event)
    {'userId': 'user1@mail.example', 'context': {'traits': {'email': 'user1@mail.example', 'plan': 'pro'}}}
    """

    def __init__(self) -> None:
        self._pseudonyms: dict[str, str] = {}
        self._counts: dict[Kind, int] = {}

    def replace(self, value: Json) -> Json:
        """Return a copy of a JSON value without personal data (see `svctoolkit.personal`). A number becomes 0."""
        return personal.replace(value, self._pseudonym)

    def _pseudonym(self, value: Any, kind: Kind) -> Any:
        if not isinstance(value, str):
            return 0
        if value not in self._pseudonyms:
            if not kind:
                return value
            if personal.is_email(value):
                kind = "email"  # a user id, or a name
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._pseudonyms[value] = _MADE_UP[kind](self._counts[kind])
        return self._pseudonyms[value]
