"""How a secret may be spelled in output: escaped, encoded, line by line, as a number."""

from __future__ import annotations

import re
from collections.abc import Iterator

from svctoolkit.json_types import Json
from svctoolkit.secrets._strength import is_ordinary
from svctoolkit.secrets._words import is_secret_name

_LINE_END = re.compile(r"\r\n|[\r\n]|\\r|\\n")  # also as written in one line of a `.env`
_MOST_DIGITS = 15  # of a number that JavaScript keeps exactly


def strong_parts(secret: str) -> Iterator[str]:
    """Yield the texts that are masked wherever they occur: the secret, its lines, the credentials in its JSON.

    A key in several lines is often logged line by line. Nothing is yielded for a text that is an ordinary word.
    """
    if not is_ordinary(secret):
        yield secret
    lines = _LINE_END.split(secret)
    if len(lines) > 1:
        yield from (line for line in map(str.strip, lines) if not is_ordinary(line))
    for _, text in json_credentials(secret):
        yield from strong_parts(text)


def json_credentials(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield path and value of each credential in a secret that is a JSON object, such as the key of a service account.

    A credential is a text below a name such as `client_secret`, or a text of several lines.
    """
    import json  # imported here because few secrets are JSON

    if text.lstrip()[:1] != "{":
        return
    try:
        stack: list[tuple[tuple[str, ...], Json]] = [((), json.loads(text))]
    except (ValueError, RecursionError):
        return
    while stack:
        path, member = stack.pop()
        if isinstance(member, dict):
            stack.extend(((*path, str(key)), inner) for key, inner in member.items())
        elif isinstance(member, list):
            stack.extend((path, inner) for inner in member)
        elif isinstance(member, str) and member and (any(map(is_secret_name, path)) or "\n" in member):
            yield path, member


def spellings(text: str) -> set[str]:
    """Return every spelling of a text that is masked by text."""
    return {text, *_escaped(text), *_percent_encoded(text), *encoded_spellings(text), *number_spellings(text)}


def _escaped(text: str) -> Iterator[str]:
    import html
    import json

    for written in (text, *_python(text)):
        yield written
        for once in (json.dumps(written)[1:-1], json.dumps(written, ensure_ascii=False)[1:-1]):
            yield from (once, json.dumps(once)[1:-1], json.dumps(once, ensure_ascii=False)[1:-1])
            yield once.replace("/", "\\/")
            for letter in "<>&'":
                once = once.replace(letter, f"\\u{ord(letter):04x}")
            yield once
        escaped = html.escape(written)
        yield from (escaped, html.escape(written, quote=False))
        yield escaped.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")


def _python(text: str) -> Iterator[str]:
    """Yield the text as in Python's `repr`, in single and in double quotes."""
    in_single = repr(f"'\"{text}")[4:-1]  # a text with both quotes is written in single ones
    yield in_single
    yield in_single.replace("\\'", "'")


def _percent_encoded(text: str) -> Iterator[str]:
    from urllib.parse import quote, quote_plus, unquote_plus

    yield unquote_plus(text)  # read from a URL in which it was not encoded
    raw = text.encode("utf-8", "surrogatepass")
    # `safe` as in encodeURIComponent, in encodeURI, and in clients that encode only what a URL must not contain
    safe = ("", "/", "!'()*", ";,/?:@&=+$!'()*#", "!#$%&'()*+,/:;=?@[]~")
    once = {quote_plus(raw), *(quote(raw, characters) for characters in safe)}
    for encoded in (*once, quote(quote(raw, safe=""), safe="")):
        yield encoded
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)


def encoded_spellings(text: str) -> Iterator[str]:
    """Yield the hexadecimal and base64 spellings: those parts of base64 that depend only on the text."""
    import base64

    raw = text.encode("utf-8", "surrogatepass")
    yield from (raw.hex(), raw.hex().upper())
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        first = -(-before * 8 // 6)
        last = (before + len(raw)) * 8 // 6
        yield encoded[first:last]
        yield encoded[first:last].replace("+", "-").replace("/", "_")


def number_of(text: str) -> int | None:
    """Return the number that code may make of a secret of digits, or None."""
    return int(text) if text.isascii() and text.isdigit() and not is_ordinary(text.lstrip("0")) else None


def number_spellings(text: str) -> Iterator[str]:
    """Yield the texts of the number that a secret of digits is."""
    number = number_of(text)
    if number is None:
        return
    yield from (str(number), f"{number:,}", f"{number:_}")
    if len(str(number)) > _MOST_DIGITS and number < 10**300:
        rounded = float(number)
        yield from (repr(rounded), repr(rounded).replace("e+", "E"), str(int(float(f"{rounded:.17g}"))))
        digits = repr(rounded).partition("e")[0].replace(".", "")
        yield digits + "0" * (len(str(number)) - len(digits))  # as JavaScript writes it, up to 21 digits
