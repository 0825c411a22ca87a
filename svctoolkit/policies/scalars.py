"""Values at places in payloads, found by a search of their JSON: no value is visited in Python."""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z0-9_$-]+")
_TEXT = re.compile(rb'"[^"]*"')
_NOTHING = (b"null", b'""')
_BRACE = re.compile(rb"[{}]")
_SCALAR = re.compile(rb'\s*(""|"[^"]?|[^"{\[,}\]\s]+)')


def scalar_at(plain: bytes, steps: str) -> bytes:
    """Return the JSON of a scalar at these steps (of a text, its beginning), if it is found by a search for them.

    Empty if there are several members of the last name, or none: the payloads have to be opened then.
    """
    members = _members(steps)
    if not members:
        return b""
    at = plain.rfind(members[-1])  # from the end, because that takes half as long
    start = at + len(members[-1])
    if at < 0 or plain.rfind(members[-1], 0, at) >= 0:
        return b""
    for member in reversed(members[:-1]):
        inside, at = at, plain.rfind(member, 0, at)
        if at < 0 or not _is_directly_inside(plain[at + len(member) : inside]):
            return b""
    scalar = _SCALAR.match(plain, start)
    return scalar[1] if scalar else b""


def is_nothing(scalar: bytes) -> bool:
    """Return whether a scalar is null or an empty text."""
    return scalar in _NOTHING


@lru_cache(maxsize=1024)
def _members(steps: str) -> list[bytes]:
    """Return the steps of a place as they are written in JSON; empty if they may be written in another way."""
    names = steps.split(".")
    return [f'"{name}":'.encode() for name in names] if all(map(_NAME.fullmatch, names)) else []


def _is_directly_inside(between: bytes) -> bool:
    """Return whether the JSON between two members opens one object and never closes it."""
    if not between.startswith(b"{"):  # the first member has no object: the other is in one that follows
        return False
    if between.find(b"{", 1) < 0 and b"}" not in between:
        return True
    depth = 0
    for brace in _BRACE.findall(_TEXT.sub(b"", between)):
        depth += 1 if brace == b"{" else -1
        if depth < 1:
            return False
    return depth == 1
