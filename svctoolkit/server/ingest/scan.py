"""Requests are looked through before they are taken: whose events they are, and whether everything in them can be kept.

What no later stage could represent is refused here, with its place: it would come to nothing at every destination, and
the sender would never know.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
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
_MAX_DIGITS = 308  # a whole number with more may be out of the range of a double; the fast decoder takes it
_LONG_DIGITS = _MAX_DIGITS - 99  # with more, an exponent of two digits may be too much, too
_LONG_NUMBER = b"0" * (_LONG_DIGITS + 1)
_STRIDE = 30  # of so many bytes one is looked at first: a long number shows as six digits in a row
_DIGITS_AS_ZERO = bytes(ord("0") if ord("0") <= byte <= ord("9") else byte for byte in range(256))
_NUMBERS_ALIKE = _DIGITS_AS_ZERO.replace(b"E", b"e")
_EXPONENT = b"0e000"  # one of three digits, where numbers look alike
#: Most of a body is letters that no number has, nor the hexadecimal digits of ids. A plus says nothing.
_NOT_IN_NUMBERS = b"+ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ"


class _Batch(msgspec.Struct, gc=False, rename="camel"):
    batch: list[Head]
    write_key: Any = None


_BATCH = msgspec.json.Decoder(_Batch)


@dataclass(frozen=True)
class Scan:
    """A body that is JSON: a head for each event, None for what is no event, and the write key that the body names.

    `problems` says by position what is wrong with an event that cannot be kept.
    """

    body: bytes
    kind: str
    heads: Sequence[Head | None]
    write_key: str
    problems: Mapping[int, str]

    @cached_property
    def _value(self) -> Any:
        return parse_body(self.body)

    def check(self, position: int) -> Head:
        """The head of one event. Raises `GatewayRefusal`."""
        head = self.heads[position]
        if head is None:
            raise GatewayRefusal(*NO_EVENT, position)
        if position in self.problems:
            raise GatewayRefusal(NO_JSON[0], f"{NO_JSON[1]}: {self.problems[position]}", position)
        if not head.has_identity and (self.kind or head.type) not in _NEEDS_NO_IDENTITY:
            raise GatewayRefusal(*NO_IDENTITY, position)
        return head

    def event(self, position: int) -> Json:
        """One event for people to look at: as text where it cannot be kept as it is."""
        event = self._value["batch"][position]
        return json.dumps(event)[:_EXCERPT] if position in self.problems else event

    def without(self, positions: Set[int]) -> Json:
        """The value of a batch without the events at these places."""
        return {"batch": [event for i, event in enumerate(self._value["batch"]) if i not in positions]}


def scan(body: bytes, kind: str, *, may_be_empty: bool = False) -> Scan:
    """What is in a batch, or in one event of type `kind`. Raises `GatewayRefusal`."""
    plain = None if kind else _plain_batch(body)
    if plain is not None and plain.batch:
        return Scan(body, kind, plain.batch, _text(plain.write_key), {})
    long_number = _has_long_number(body)
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
    key = value.get("writeKey") if isinstance(value, dict) else None
    return Scan(body, kind, heads, _text(key), problems)


def _plain_batch(body: bytes) -> _Batch | None:
    """The heads of a batch, without making the values of its events; None where something may be wrong with them.

    The decoder checks the grammar of what it skips, but neither its numbers nor its encoding.
    """
    if _has_long_number(body):
        return None
    rest = body.translate(_NUMBERS_ALIKE, _NOT_IN_NUMBERS)
    if _has_large_exponent(rest) or _may_be_deep(rest):
        return None
    try:
        body.decode()
        return _BATCH.decode(body)
    except (ValueError, RecursionError):
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _has_long_number(body: bytes) -> bool:
    """Whether some digits in a row, inside of a text or not, may be more than a number may have."""
    sample = body[::_STRIDE].translate(_DIGITS_AS_ZERO)
    return b"0" * (_LONG_DIGITS // _STRIDE) in sample and _LONG_NUMBER in body.translate(_DIGITS_AS_ZERO)


def _has_large_exponent(text: bytes) -> bool:
    """Whether a number may have an exponent of three digits, in a body whose numbers are `_NUMBERS_ALIKE`.

    Texts with hexadecimal digits mostly do not look so.
    """
    # Looking for one text that is the same for all such numbers takes half as long as a pattern.
    at = text.find(_EXPONENT)
    while at >= 0:
        rest = text[max(0, at + 1 - _MAX_DIGITS) : at + 1].rstrip(b"0.")
        if rest.removesuffix(b"-")[-1:] in b":,[ \t\r\n":
            return True
        at = text.find(_EXPONENT, at + 1)
    return False


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
    return _BadNumber(text) if math.isinf(float(text)) else int(text)


def _float(text: str) -> float | _BadNumber:
    number = float(text)
    return _BadNumber(text) if math.isinf(number) else number


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _may_be_deep(body: bytes) -> bool:
    """Whether something may be nested more than `MAX_DEPTH` levels: brackets are taken out in pairs, level by level.

    Brackets inside of strings can only make it say True.
    """
    brackets = body.translate(None, _NOT_BRACKETS)
    if len(brackets) <= MAX_DEPTH:
        return False
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
