"""Personal data in recorded events: replaced by made-up values, the same for the same value everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_NUMBER = re.compile(r"(?<![\w-])\+?\d[\d ()/-]{7,}\d(?![\w-])")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
#: What the key of a value says about it, whatever it looks like; in lower case, without _ and -.
_KINDS = {
    "email": "email", "phone": "phone", "mobile": "phone", "firstname": "name", "lastname": "name", "fullname": "name",
    "username": "name", "birthday": "date", "dateofbirth": "date", "street": "text", "address": "text", "zip": "text",
    "postalcode": "text", "ip": "ip", "requestip": "ip", "userid": "user", "previousid": "user", "token": "device",
    "anonymousid": "anonymous", "advertisingid": "device", "idfa": "device", "deviceid": "device", "password": "text",
    "ssn": "text", "iban": "text", "latitude": "place", "longitude": "place",
}  # fmt: skip
_MADE_UP: dict[str, Callable[[int], str]] = {
    "email": "user{}@mail.example".format,
    "phone": "+1-555-{:04d}".format,
    "name": "Name {}".format,
    "text": "text-{}".format,
    "date": lambda n: f"1990-01-{n % 28 + 1:02d}",
    "ip": lambda n: f"192.0.2.{n % 254 + 1}",
    "user": "user-{}".format,
    "anonymous": "anonymous-{}".format,
    "device": "device-{}".format,
}


class Personal:
    """Replaces personal data. What was replaced once is replaced alike wherever it stands alone.

    >>> mask = Personal()
    >>> mask.masked({"userId": "ada@x.example", "context": {"traits": {"email": "ada@x.example", "plan": "pro"}}})
    {'userId': 'user1@mail.example', 'context': {'traits': {'email': 'user1@mail.example', 'plan': 'pro'}}}
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def masked(self, value: Any, key: str = "") -> Any:
        """A copy of a JSON value without personal data, as far as names of members and the look of values tell."""
        if isinstance(value, dict):
            return {k: self.masked(v, _plain(k, key)) for k, v in value.items()}
        if isinstance(value, list):
            return [self.masked(v, key) for v in value]
        kind = _KINDS.get(key, "")
        if kind == "place" and isinstance(value, int | float):
            return 0
        if isinstance(value, str) and value:
            return self._text(value, kind)
        return 0 if kind and isinstance(value, int | float) and not isinstance(value, bool) else value

    def _text(self, text: str, kind: str) -> str:
        if text in self._known:
            return self._known[text]
        if _EMAIL.fullmatch(text):
            kind = "email"
        if kind in _MADE_UP:
            return self._made_up(text, kind)
        text = _EMAIL.sub(lambda found: self._made_up(found[0], "email"), text)
        text = _ADDRESS.sub(lambda found: self._made_up(found[0], "ip"), text)
        if _DATE.fullmatch(text):
            return text
        return _NUMBER.sub(lambda found: self._made_up(found[0], "phone"), text)

    def _made_up(self, text: str, kind: str) -> str:
        if text not in self._known:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._known[text] = _MADE_UP[kind](self._counts[kind])
        return self._known[text]


def _plain(key: str, above: str) -> str:
    """A key as `_KINDS` has it. `name` is a person's in traits, and an event's or a product's elsewhere."""
    plain = re.sub(r"[_\-\s]", "", key).lower()
    if plain == "name" and above in ("traits", "user", "customer"):
        return "fullname"
    return plain
