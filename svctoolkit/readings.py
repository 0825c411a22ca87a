"""What a text says if it is read as JSON, a form, a URL, HTML or base64: searches for private values look there, too.

A payload carries values in texts: JSON in a form field, base64 in a URL, `\\u00e9` in JSON that another program wrote.
"""

from __future__ import annotations

import html
import json
import re
from binascii import a2b_base64
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from unicodedata import normalize
from urllib.parse import parse_qsl, unquote, unquote_plus, urlsplit

import msgspec

from svctoolkit.json_types import Json

_DEEPEST = 5  # texts in texts: JSON in base64 in a URL in JSON
_SHORTEST = 8  # characters; shorter base64 occurs by chance
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{8,}={0,2}")
_LONGEST_WORD = 14  # characters
_LONG = re.compile(rf"[A-Za-z0-9+/_]{{{_LONGEST_WORD}}}")
_PART = re.compile(r"[A-Za-z0-9+_-]{8,}={0,2}")
_STANDARD = str.maketrans("-_", "+/")
_ESCAPES = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}")
_FIELD = re.compile(r"(?:^|[?&;#])[^=&?#;\s]+=")
_INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))  # soft hyphen, zero-width characters
_OBJECT = re.compile(r'\{\s*"|\[\s*[{"]')
_MOST_OBJECTS = 100  # in one text
_DECODER = json.JSONDecoder()
_SIGNS = re.compile(r"[%+&\\]|[^\x00-\x7f]|=")  # of a text that says something else if it is decoded


# Any: JSON
def json_content(text: str) -> Any:
    """Return the object or list that a text is the JSON of, otherwise None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):  # not JSON, not Unicode, or nested too deeply
        return None


def readings(text: str) -> tuple[Json, ...]:
    """Return everything that a text says if it is decoded, also several times; none for a plain text.

    >>> readings("plain"), readings('{"mail": "a"}'), readings("caf&eacute;")
    ((), ({'mail': 'a'},), ('café',))
    """
    return _readings(text) if len(text) >= _SHORTEST or not text.isalnum() or not text.isascii() else ()


@lru_cache(1024)
def _readings(text: str) -> tuple[Json, ...]:
    found: list[Json] = []
    known = {text}
    waiting = [(text, 0)]
    for current, depth in waiting:
        for read in _direct(current):
            if not isinstance(read, str):
                found.append(read)
            elif read not in known:
                known.add(read)
                found.append(read)
                if depth < _DEEPEST:
                    waiting.append((read, depth + 1))
    return tuple(found)


def _direct(text: str) -> Iterator[Json]:
    content = json_content(text)
    if content is not None:
        yield content
    else:
        yield from _json_within(text)
        if "=" in text and _FIELD.search(text):
            yield from _fields(text)
    yield from _spellings(text)
    yield from (decoded for _, _, decoded in base64_texts(text))


def _spellings(text: str) -> Iterator[str]:
    if "%" in text:
        yield unquote(text)
        yield unquote(text, "latin-1")  # as `escape()` of JavaScript writes it
    if ("%" in text or "+" in text) and " " not in text:  # a form has no spaces, but a sentence may have `+49 171`
        yield unquote_plus(text)
    if "&" in text:
        yield html.unescape(text)
    if "\\" in text:
        yield _ESCAPES.sub(_unescaped, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        yield text.replace("\\/", "/").replace('\\"', '"')
    if not text.isascii():
        yield normalize("NFKC", text).translate(_INVISIBLE)


def may_carry(text: str) -> bool:
    """Return whether a text may say something else if it is decoded. To ask takes a fraction of the time of decoding.

    A text without signs of another spelling is only searched for base64 that does not occur by chance.
    """
    # To ask for single characters takes less time than a pattern.
    if "%" in text or "=" in text or "&" in text or "+" in text or "\\" in text or not text.isascii():
        return True
    return "{" in text or "[" in text or (len(text) >= _LONGEST_WORD and _LONG.search(text) is not None)


def spellings_of(text: str) -> Iterator[str]:
    """Yield the other texts that a text is if it is decoded as a whole: a URL, HTML, escapes, its normal form.

    >>> [*spellings_of("mira&#64;mail.example")]
    ['mira@mail.example']
    """
    if _SIGNS.search(text):
        yield from (read for read in _spellings(text) if read != text)


def base64_texts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and decoded text of each part that is the base64 of a text.

    >>> [*base64_texts("https://shop.example/u/bWlyYUBtYWlsLmV4YW1wbGU=")]
    [(23, 47, 'mira@mail.example')]
    """
    for run in _BASE64.finditer(text):
        if decoded := _decoded(run[0].rstrip("=")):
            yield *run.span(), decoded
        elif "/" in run[0]:  # a part of a path
            for part in _PART.finditer(run[0]):
                if decoded := _decoded(part[0].rstrip("=")):
                    yield run.start() + part.start(), run.start() + part.end(), decoded


def _json_within(text: str) -> Iterator[Json]:
    """Yield JSON between other text: lines of it, or what `log("event", JSON.stringify(event))` writes."""
    start = 0
    for _ in range(_MOST_OBJECTS):
        found = _OBJECT.search(text, start)
        if found is None:
            return
        try:
            content, start = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            start = found.end()
        else:
            yield content


def _fields(text: str) -> Iterator[Json]:
    """Yield the fields of a form, or of a URL's query and fragment."""
    try:
        url = urlsplit(text)
        query = f"{url.query}&{url.fragment}" if "?" in text or "#" in text else text
        pairs = parse_qsl(query, keep_blank_values=True)
    except ValueError:
        return
    fields: dict[str, Json] = {}
    for name, value in pairs:
        fields[name] = value if name not in fields else [fields[name], value]
    if fields:
        yield fields


def _unescaped(escape: re.Match[str]) -> str:
    return chr(int(escape[0][2:], 16))


def _decoded(run: str) -> str:
    """Return the text that a run of base64 is; empty if it is something else."""
    if len(run) % 4 == 1:
        return ""
    try:
        text = a2b_base64(run.translate(_STANDARD) + "=" * (-len(run) % 4)).decode()
    except ValueError:
        return ""
    return text if "".join(text.split()).isprintable() else ""
