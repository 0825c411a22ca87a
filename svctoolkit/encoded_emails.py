"""Where JSON may have e-mail addresses and numbers in another spelling: URLs, forms, HTML, wide at signs, base64.

`svctoolkit.readings` decodes them; this is the search for the few places where that is worth its time. What is random,
such as an id, a token or a hash, decodes to bytes that are not text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from svctoolkit.readings import base64_texts, may_carry

_WIDE_AT = "\uff20"
# Leading zeros have no meaning.
_AT_ENTITY = r"&(?:#0{0,8}64(?!\d)|#[xX]0{0,8}40(?![0-9a-fA-F])|commat(?=;));?"
_DOT_ENTITY = re.compile(r"&(?:#0{0,8}46(?!\d)|#[xX]0{0,8}2[eE](?![0-9a-fA-F])|period(?=;));?")
_AT = re.compile(rf"{_WIDE_AT}|%EF%BC%A0|%ef%bc%a0|{_AT_ENTITY}")
# The same for JSON that is searched as bytes, see `encoded_ats`.
_WIDE_AT_IN_JSON = re.compile("\uff20|\ufe6b".encode())
# Full-width, small and mathematical letters, and what is invisible: see `svctoolkit.readings`.
_WIDE_IN_JSON = re.compile(rb"\xef[\xb9\xbb\xbc\xbd]|\xf0\x9d[\x90-\x9f]|\xe2\x80[\x8b-\x8d]|\xe2\x81\xa0|\xc2\xad")
_AT_ENTITY_IN_JSON = re.compile(_AT_ENTITY.encode())
# Each begins with one byte, for which a search is fast. Quotes are the commonest entities, and not part of a number.
_NUMBER_IN_URL = re.compile(rb"%(?:2[bB]|3\d|28\d|(?:(?<=\d%)2[089dDeEfF](?=[\d%])))")
# Not a time zone, as in `2024-05-01T12:00+02:00`.
_NUMBER_IN_FORM = re.compile(rb"\+(?<=[\d)]\+)(?<![:.]\d\d\+)(?<!\.\d\d\d\+)(?=[\d(])")
_NUMBER_IN_HTML = re.compile(rb"&(?:#(?!0*3[49]\b|[xX]0*2[27]\b)|plus;|(?<=\d&)[a-z]{2,8};\(?\d)")
_DOT_IN_URL = re.compile(rb"%2[eE]")
_FEWEST_DIGITS = 7  # of a telephone number
# Without the hyphen, which base64 of a text seldom has and ids have often.
_IN_BASE64 = bytes(ord("x" if byte < 128 and (chr(byte).isalnum() or byte in b"+/_") else " ") for byte in range(256))
_BASE64_BYTES = frozenset(byte for byte in range(128) if chr(byte).isalnum() or byte in b"+/_-")
_LONG_RUN = b"x" * 14


def with_plain_ats(text: str) -> str:
    """Return a text in which the at signs of e-mail addresses, and dots next to them, are plain characters.

    >>> with_plain_ats("mira&#x40;mail&#46;example")
    'mira@mail.example'
    """
    if "&" not in text and "%" not in text and text.isascii():
        return text
    text = _AT.sub("@", text)
    return _DOT_ENTITY.sub(".", text) if "@" in text else text


def encoded_ats(text: bytes) -> Iterator[int]:
    """Yield positions of at signs in JSON in another spelling, except percent-encoded ones and base64.

    Nearly always there is none, which a search for one byte, or from the end, finds in less than half the time.
    """
    if b"\xef" in text:
        yield from (match.start() for match in _WIDE_AT_IN_JSON.finditer(text))
    if b"&" in text and (b"#" in text or text.rfind(b"&commat;") >= 0):
        yield from (match.start() for match in _AT_ENTITY_IN_JSON.finditer(text))


def encoded_letters(text: bytes) -> Iterator[int]:
    """Yield positions in JSON of letters and dots that may be part of an address, next to a plain at sign."""
    if any(first in text for first in (b"\xef", b"\xf0", b"\xe2", b"\xc2\xad")):
        yield from (match.start() for match in _WIDE_IN_JSON.finditer(text))
    if b"%2" in text:
        yield from (match.start() for match in _DOT_IN_URL.finditer(text))


def encoded_numbers(text: bytes) -> Iterator[int]:
    """Yield positions in JSON of what may be a digit or a separator of a number in a URL, a form or HTML."""
    if b"%" in text:
        yield from (match.start() for match in _NUMBER_IN_URL.finditer(text))
    if b"+" in text:
        yield from (match.start() for match in _NUMBER_IN_FORM.finditer(text))
    if b"&" in text:
        yield from (match.start() for match in _NUMBER_IN_HTML.finditer(text))


def encoded_texts(text: bytes) -> Iterator[int]:
    """Yield positions in JSON of base64 of a text that may have an e-mail address, a telephone or a card number.

    Runs of 14 characters are found in a map of the classes of all bytes: ids with hyphens and words cost nothing.
    """
    classes = text.translate(_IN_BASE64)
    at = classes.find(_LONG_RUN)
    while at >= 0:
        start, end = at, classes.find(b" ", at)
        end = len(text) if end < 0 else end
        while start and text[start - 1] in _BASE64_BYTES:
            start -= 1
        while end < len(text) and text[end] in _BASE64_BYTES:
            end += 1
        if _may_tell(text[start:end]):
            yield at
        at = classes.find(_LONG_RUN, end)


@lru_cache(4096)
def _may_tell(run: bytes) -> bool:
    """Return whether a run of base64 is a text with an at sign, many digits, or something that is encoded again."""
    decoded = (text for _, _, text in base64_texts(run.decode()))
    return any("@" in text or sum(map(str.isdigit, text)) >= _FEWEST_DIGITS or may_carry(text) for text in decoded)
