"""Scan requests before they are accepted: whose events they are, and whether all of their content can be stored.

Values that no later stage could represent are refused here, with their place. Otherwise they would fail at every
destination, without the sender noticing.
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
_EXCERPT = 20_000  # characters stored of a refused body
_MAX_DIGITS = 308  # longer whole numbers may exceed a double; the fast decoder accepts them
_LONG_DIGITS = _MAX_DIGITS - 99  # with more digits, even a two-digit exponent may be too large
_LONG_NUMBER = b"0" * (_LONG_DIGITS + 1)
_STRIDE = 30  # check one in this many bytes first: a long number has six digits in a row there
_DIGITS_AS_ZERO = bytes(ord("0") if ord("0") <= byte <= ord("9") else byte for byte in range(256))
_NUMBERS_ALIKE = _DIGITS_AS_ZERO.replace(b"E", b"e")
_EXPONENT = b"0e000"  # a three-digit exponent, after mapping all digits to 0
#: Most of a body is letters that occur neither in numbers nor in hexadecimal ids. A plus carries no information.
_NOT_IN_NUMBERS = b"+ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ"


class _Batch(msgspec.Struct, gc=False, rename="camel"):
    batch: list[Head]
    write_key: Any = None


_BATCH = msgspec.json.Decoder(_Batch)


@dataclass(frozen=True)
class Scan:
    """A scanned JSON body: a head for each event (None if it is not an event), and the write key in the body.

    `problems` maps positions to what is wrong with an event that cannot be stored.
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
        """Return the head of one event. Raises `GatewayRefusal`."""
        head = self.heads[position]
        if head is None:
            raise GatewayRefusal(*NO_EVENT, position)
        if position in self.problems:
            raise GatewayRefusal(NO_JSON[0], f"{NO_JSON[1]}: {self.problems[position]}", position)
        if not head.has_identity and (self.kind or head.type) not in _NEEDS_NO_IDENTITY:
            raise GatewayRefusal(*NO_IDENTITY, position)
        return head

    def event(self, position: int) -> Json:
        """Return one event for display; as text if it cannot be stored as JSON."""
        event = self._value["batch"][position]
        return json.dumps(event)[:_EXCERPT] if position in self.problems else event

    def without(self, positions: Set[int]) -> Json:
        """Return a batch without the events at these positions."""
        return {"batch": [event for i, event in enumerate(self._value["batch"]) if i not in positions]}


def scan(body: bytes, kind: str, *, may_be_empty: bool = False) -> Scan:
    """Scan a batch, or one event of type `kind`. Raises `GatewayRefusal`."""
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
    """Return the heads of a batch without parsing its events completely; None if something may be wrong with them.

    The decoder checks the grammar of the parts that it skips, but neither their numbers nor their encoding.
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
    """Whether there may be a number with too many digits. Digits inside texts count, too."""
    sample = body[::_STRIDE].translate(_DIGITS_AS_ZERO)
    return b"0" * (_LONG_DIGITS // _STRIDE) in sample and _LONG_NUMBER in body.translate(_DIGITS_AS_ZERO)


def _has_large_exponent(text: bytes) -> bool:
    """Whether a number may have a three-digit exponent, in a body whose numbers are `_NUMBERS_ALIKE`.

    Hexadecimal texts rarely match.
    """
    # Searching for one text that is the same for all such numbers takes half as long as a pattern; from the end, it
    # takes half as long as from the start.
    at = text.rfind(_EXPONENT)
    while at >= 0:
        rest = text[max(0, at + 1 - _MAX_DIGITS) : at + 1].rstrip(b"0.")
        if rest.removesuffix(b"-")[-1:] in b":,[ \t\r\n":
            return True
        at = text.rfind(_EXPONENT, 0, at + len(_EXPONENT) - 1)
    return False


def parse_body(body: bytes) -> Json:
    """Return the JSON value of a body. Raises `GatewayRefusal`."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_carefully(body)


def excerpt(body: bytes) -> Json:
    """Return the body for display: its JSON value, or else the start of its text."""
    try:
        value = parse_body(body) if len(body) <= _EXCERPT else None
        if value is not None and not too_deep(value) and not any(_bad_numbers(value, "")):
            return value
    except GatewayRefusal:
        pass
    return body[:_EXCERPT].decode("utf-8", "replace")


class _BadNumber(str):
    """A number that cannot be represented, in its original spelling."""


def _decode_carefully(body: bytes) -> Any:
    """Decode slowly, but accept a byte order mark and half of a surrogate pair.

    A number that is out of range becomes a `_BadNumber`, so that its place can be reported.
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
    """Whether something may be nested more than `MAX_DEPTH` levels: remove pairs of brackets, level by level.

    Brackets inside strings can only cause a false True.
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
    """Yield what cannot be stored, with the position of its event."""
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
    """Yield an id for each event without a usable `messageId`: blank, or not a string."""
    for head in heads:
        if not message_id(head.message_id):
            yield new_id()
