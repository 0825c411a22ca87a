"""Requests are looked through before they are taken: whose events they are, and whether everything in them can be kept.

What no later stage could represent is refused here, with its place: it would come to nothing at every destination, and
the sender would never know.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import msgspec

from svctoolkit.events import MAX_DEPTH, too_deep
from svctoolkit.json_types import Json
from svctoolkit.server.ingest.refusals import EMPTY_BATCH, NO_EVENT, NO_IDENTITY, NO_JSON, GatewayRefusal
from svctoolkit.server.store.enrich import message_id
from svctoolkit.server.store.head import BOM, Head, head_of

_NEEDS_NO_IDENTITY = ("extract", "record")
_DECODER = msgspec.json.Decoder()
_NOT_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_EXCERPT = 20_000  # characters of what is refused
_MAX_DIGITS = 308  # a whole number with more is out of the range of a double; the fast decoder takes more
_LONG_NUMBER = b"0" * (_MAX_DIGITS + 1)
_DIGITS_AS_ZERO = bytes(ord("0") if ord("0") <= byte <= ord("9") else byte for byte in range(256))


@dataclass(frozen=True, slots=True)
class Scan:
    """A body that is JSON: its value, and a head for each event, None for what is no event.

    `problems` says by position what is wrong with an event that cannot be kept.
    """

    value: Any
    kind: str
    heads: Sequence[Head | None]
    problems: Mapping[int, str]

    @property
    def write_key(self) -> str:
        """The write key that the body names, or an empty text."""
        key = self.value.get("writeKey") if isinstance(self.value, dict) else None
        return key if isinstance(key, str) else ""

    def check(self, position: int) -> Head:
        """The head of one event. Raises `GatewayRefusal`."""
        head = self.heads[position]
        if head is None:
            raise GatewayRefusal(*NO_EVENT, position)
        if position in self.problems:
            raise GatewayRefusal(NO_JSON[0], f"{NO_JSON[1]}: {self.problems[position]}", position)
        if head.ids == ("", "") and (self.kind or head.type) not in _NEEDS_NO_IDENTITY:
            raise GatewayRefusal(*NO_IDENTITY, position)
        return head

    def event(self, position: int) -> Json:
        """One event for people to look at: as text where it cannot be kept as it is."""
        event = self.value["batch"][position]
        return json.dumps(event)[:_EXCERPT] if position in self.problems else event

    def without(self, positions: Set[int]) -> Json:
        """The value of a batch without the events at these places."""
        return {"batch": [event for i, event in enumerate(self.value["batch"]) if i not in positions]}


def scan(body: bytes, kind: str, *, may_be_empty: bool = False) -> Scan:
    """What is in a batch, or in one event of type `kind`. Raises `GatewayRefusal`."""
    long_number = _LONG_NUMBER in body.translate(_DIGITS_AS_ZERO)
    careful = long_number or _may_be_deep(body)
    try:
        value = _decode_carefully(body) if long_number else _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value, careful = _decode_carefully(body), True
    batch = value.get("batch") if isinstance(value, dict) else None
    events = [value] if kind else batch if isinstance(batch, list) else []
    if not events and not may_be_empty:
        raise GatewayRefusal(*EMPTY_BATCH)
    heads = [head_of(event) if isinstance(event, dict) else None for event in events]
    problems = dict(_problems(events, "" if kind else "batch")) if careful else {}
    return Scan(value, kind, heads, problems)


def parse_body(body: bytes) -> Json:
    """The JSON value of a body. Raises `GatewayRefusal`."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_carefully(body)


def excerpt(body: bytes, most: int = _EXCERPT) -> Json:
    """The body for people to look at: its JSON value, else as much text as is worth keeping."""
    try:
        value = parse_body(body) if len(body) <= most else None
        if value is not None and not too_deep(value) and not any(_bad_numbers(value, "")):
            return value
    except GatewayRefusal:
        pass
    return body[:most].decode("utf-8", "replace")


class _BadNumber(str):
    """A number that cannot be held, as it was written."""


def _decode_carefully(body: bytes) -> Any:
    """Slower, and takes what the fast one does not: a byte order mark, half of a surrogate pair.

    A number that is out of range is a `_BadNumber`, so that its place can be told.
    """
    try:
        text = body.removeprefix(BOM).decode()
        return json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise GatewayRefusal(*NO_JSON) from error


def _integer(text: str) -> int | _BadNumber:
    return int(text) if len(text) <= _MAX_DIGITS else _BadNumber(text)


def _float(text: str) -> float | _BadNumber:
    number = float(text)
    return _BadNumber(text) if math.isinf(number) else number


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _may_be_deep(body: bytes) -> bool:
    """Whether something may be nested more than `MAX_DEPTH` levels: brackets are taken out in pairs, level by level.

    Brackets inside of strings can only make it say True.
    """
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return False
    brackets = body.translate(None, _NOT_BRACKETS)
    for _ in range(MAX_DEPTH):
        rest = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if not rest:
            return False
        if len(rest) == len(brackets):
            return True
        brackets = rest
    return True


def _problems(events: Sequence[Any], name: str) -> Iterator[tuple[int, str]]:
    """What cannot be kept, by the position of its event."""
    for position, event in enumerate(events):
        place = f"{name}[{position}]" if name else ""
        if too_deep(event):
            yield position, f"{place or 'the event'} is nested more than {MAX_DEPTH} levels deep"
            continue
        for bad in _bad_numbers(event, place):
            yield position, bad
            break


def _bad_numbers(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, _BadNumber):
        text = value if len(value) <= 40 else f"{value[:20]}... ({len(value)} characters)"
        yield f"the number {text} at {place or 'the top'} is out of range; the largest is about 1.8e308"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _bad_numbers(inner, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _bad_numbers(inner, f"{place}[{number}]")


def new_ids(heads: Sequence[Head], new_id: Callable[[], str]) -> Iterator[str]:
    """An id for each event that has no `messageId`: blank, or no text."""
    for head in heads:
        if not message_id(head.message_id):
            yield new_id()
