"""Answers of a vendor as data: success, partial success, refusals, 401, 413 and 429.

In `facts.yaml`, `answers` has a form by name: `{status: 400, body: {code: 400, error: $message, failed: $errors}}`.
A member that is `$name` gets that value, or is left out if there is none; `${name}` is replaced inside a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.simulations.messages import Response

Values: TypeAlias = Mapping[str, Json]
_WHOLE = re.compile(r"\$(\w+)")
_INSIDE = re.compile(r"\$\{(\w+)\}")
_MISSING = object()


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One form of an answer: status, body and headers, with placeholders."""

    status: int
    body: Json = None
    headers: dict[str, str] = {}

    def compile(self) -> Callable[[Values], Response]:
        """Return a function that fills the form with values."""
        body, headers, status = filler(self.body), filler(dict(self.headers)), self.status
        if not _has_placeholder([self.body, self.headers]):
            response = Response(status, self.body, self.headers)
            return lambda _: response
        return lambda values: Response(
            status, body(values), {name: str(value) for name, value in headers(values).items()}
        )


def filler(template: Json) -> Callable[[Values], Json]:
    """Return a function that fills a template. Where a whole value is missing it returns None.

    >>> fill = filler({"error": "$message", "field": "$field", "text": "at most ${limit}"})
    >>> fill({"message": "too long", "limit": 5})
    {'error': 'too long', 'text': 'at most 5'}
    """
    fill = _compile(template)

    def filled(values: Values) -> Json:
        value = fill(values)
        return None if value is _MISSING else value

    return filled


def _compile(template: Json) -> Callable[[Values], Json]:
    if not _has_placeholder(template):
        return lambda _: template
    if isinstance(template, dict):
        members = [(name, _compile(inner)) for name, inner in template.items()]
        return lambda values: {n: value for n, fill in members if (value := fill(values)) is not _MISSING}
    if isinstance(template, list):
        items = [_compile(inner) for inner in template]
        return lambda values: [value for fill in items if (value := fill(values)) is not _MISSING]
    whole = _WHOLE.fullmatch(template)
    if whole:
        name = whole[1]
        return lambda values: values.get(name, _MISSING)
    return lambda values: _INSIDE.sub(lambda found: str(values.get(found[1], "")), template)


def _has_placeholder(template: Json) -> bool:
    if isinstance(template, (dict, list)):
        return any(map(_has_placeholder, template.values() if isinstance(template, dict) else template))
    return isinstance(template, str) and bool(_WHOLE.fullmatch(template) or _INSIDE.search(template))
