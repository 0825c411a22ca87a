"""E-mail addresses in another spelling: HTML entities, a full-width at sign, or base64, which anyone can read.

What is random, such as an id, a token or a hash, decodes to bytes that are not text.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Iterator

_WIDE_AT = "\uff20"
# Leading zeros have no meaning.
_AT_ENTITY = r"&(?:#0{0,8}64(?!\d)|#[xX]0{0,8}40(?![0-9a-fA-F])|commat(?=;));?"
_DOT_ENTITY = re.compile(r"&(?:#0{0,8}46(?!\d)|#[xX]0{0,8}2[eE](?![0-9a-fA-F])|period(?=;));?")
_AT = re.compile(rf"{_WIDE_AT}|%EF%BC%A0|%ef%bc%a0|{_AT_ENTITY}")
# Base64 at the start of a text, also in JSON, or of a part of a URL or a JSON Web Token. A slash may belong to it.
_RUNS = (re.compile(r'(?<![^"=/.])[A-Za-z0-9+_-]{14,}={0,2}'), re.compile(r'(?<![^"=.])[A-Za-z0-9+/_-]{14,}={0,2}'))
_STANDARD = str.maketrans("-_", "+/")
# The same for JSON that is searched as bytes, see `encoded_ats`.
_WIDE_AT_IN_JSON = re.compile(_WIDE_AT.encode())
_AT_ENTITY_IN_JSON = re.compile(_AT_ENTITY.encode())
# What base64 of JSON begins with, and how base64 with padding ends.
_SIGNS_OF_BASE64 = (b"eyJ", b'="')


def with_plain_ats(text: str) -> str:
    """Return a text in which the at signs of e-mail addresses, and dots next to them, are plain characters.

    >>> with_plain_ats("mira&#x40;mail&#46;example")
    'mira@mail.example'
    """
    if "&" not in text and "%" not in text and text.isascii():
        return text
    text = _AT.sub("@", text)
    return _DOT_ENTITY.sub(".", text) if "@" in text else text


def base64_texts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and decoded text of each part that is the base64 of a text with an at sign.

    Only if the text has a sign of base64: JSON, or padding at the end.

    >>> [*base64_texts("https://shop.example/?u=bWlyYUBtYWlsLmV4YW1wbGU=")]
    [(24, 48, 'mira@mail.example')]
    """
    if not (text.endswith("=") or "eyJ" in text or '="' in text):  # see `encoded_ats`
        return
    for number, pattern in enumerate(_RUNS):
        for run in pattern.finditer(text):
            if (number == 0 or "/" in run[0]) and "@" in (decoded := _decoded(run[0].rstrip("="))):
                yield *run.span(), decoded


def may_be_encoded(text: str) -> bool:
    """Return whether a text without plain at signs may have an e-mail address."""
    if ("&" in text or "%" in text or not text.isascii()) and "@" in with_plain_ats(text):
        return True
    return next(base64_texts(text), None) is not None


def encoded_ats(text: bytes) -> Iterator[int]:
    """Yield positions of at signs in JSON in another spelling, except percent-encoded ones.

    Base64 is found if it is of JSON, or ends a value and has padding: other base64 has no sign that a search could find
    in the time that it may take. Nearly always there is none, which a search for one byte, or from the end, finds in
    less than half the time.
    """
    if b"\xef" in text:
        yield from (match.start() for match in _WIDE_AT_IN_JSON.finditer(text))
    if b"&" in text and (b"#" in text or text.rfind(b"&commat;") >= 0):
        yield from (match.start() for match in _AT_ENTITY_IN_JSON.finditer(text))
    for sign in _SIGNS_OF_BASE64:
        at = text.find(sign) if text.rfind(sign) >= 0 else -1
        while at >= 0:
            start, end = text.rfind(b'"', 0, at) + 1, text.find(b'"', at)
            if end < 0:
                return
            if next(base64_texts(text[start:end].decode("utf-8", "replace")), None) is not None:
                yield at
            at = text.find(sign, end)


def _decoded(run: str) -> str:
    """Return the text that a run of base64 is; empty if it is something else."""
    if len(run) % 4 == 1:
        return ""
    try:
        text = a2b_base64(run.translate(_STANDARD) + "=" * (-len(run) % 4)).decode()
    except ValueError:
        return ""
    return with_plain_ats(text) if "".join(text.split()).isprintable() else ""
