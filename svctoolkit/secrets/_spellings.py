"""How a secret may be spelled in output: escaped, encoded, in lower case, line by line, as a number, in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote_plus

from svctoolkit.json_types import Json
from svctoolkit.secrets._strength import SCHEME, is_credential, is_ordinary
from svctoolkit.secrets._words import is_secret_name

_LINE_END = re.compile(r"\r\n|[\r\n]|\\r|\\n")  # also as written in one line of a `.env`
_MOST_DIGITS = 15  # of a number that JavaScript keeps exactly
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:(?P<userinfo>[^/?#]*)@)?[^/?#]*(?P<rest>.*)", re.DOTALL)
_URL_PIECES = re.compile(r"[/?&=#;]+")
_PAIRS = re.compile(r"[;&,\s]+")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[_.][a-z0-9]+)+")  # as in `project:orders_v2`
_PAIR = re.compile(r"([\w.-]+)([=:])\"?([^\"]+)")


def strong_parts(secret: str) -> Iterator[str]:
    """Yield the texts that are masked wherever they occur: the secret, its lines, the credentials inside it.

    A key in several lines is often logged line by line, spaces and quotes around a token are trimmed, and code splits
    URLs, headers, and pairs of user and password. Nothing is yielded for a text that is an ordinary word.
    """
    if not is_ordinary(secret):
        yield secret
    lines = _LINE_END.split(secret)
    yield from (line for line in map(str.strip, lines) if line != secret and not is_ordinary(line))
    for _, text in json_credentials(secret):
        yield from strong_parts(text)
    if len(lines) == 1 and not is_ordinary(secret):
        yield from _pieces(secret.strip())


def _pieces(text: str) -> Iterator[str]:
    """Yield the credentials inside a text: after a scheme, in a URL, of `name=value` pairs, of `user:password`."""
    if scheme := SCHEME.match(text):
        token = text[scheme.end() - 1 :]
        yield from (each for each in (token, _decoded(token)) if each and not is_ordinary(each))
        if scheme[1].lower() == "basic":
            yield from _pieces(_decoded(token))
    elif url := _URL.match(text):
        password = (url["userinfo"] or "").rpartition(":")[2]
        for piece in (password, *filter(is_credential, _URL_PIECES.split(url["rest"]))):
            yield from (each for each in {piece, unquote_plus(piece)} if not is_ordinary(each))
    elif text[:1] in {"'", '"'}:
        yield from strong_parts(text.strip("'\""))
    elif text[:1] != "{":
        yield from (value for part in _PAIRS.split(text) if (value := _secret_of_pair(part)) and not is_ordinary(value))


def _secret_of_pair(text: str) -> str:
    """Return the value of `name=value` or `user:password` if it is a credential; an empty string otherwise."""
    pair = _PAIR.fullmatch(text)
    if pair is None:
        return ""
    name, between, value = pair.groups()
    is_password = between == ":" and not _NAME.fullmatch(value)
    return value if is_password or is_secret_name(name) or is_credential(value) else ""


def _decoded(token: str) -> str:
    """Return the text that a token in base64 contains, such as `user:password`; an empty string if it is not base64."""
    import base64

    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), validate=True).decode()
    except ValueError:
        return ""


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
    read = text.lower(), unquote_plus(text)  # as the host of a URL, and from a URL in which it was not encoded
    encoded = *_percent_encoded(text), *encoded_spellings(text)
    return {text, *read, *_escaped(text), *encoded, *number_spellings(text)}


def _in_json(text: str) -> set[str]:
    """Return the text, and as it is written in JSON, which may then be encoded for a URL."""
    import json

    return {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def _escaped(text: str) -> Iterator[str]:
    import html
    import json

    for written in (text, *_python(text)):
        yield written
        for once in (json.dumps(written)[1:-1], json.dumps(written, ensure_ascii=False)[1:-1]):
            yield from (once, json.dumps(once)[1:-1], json.dumps(once, ensure_ascii=False)[1:-1])
            yield once.replace("/", "\\/")
            yield html.escape(once)
            for letter in "<>&'":
                once = once.replace(letter, f"\\u{ord(letter):04x}")
            yield once
        yield from (written.replace(quote, 2 * quote) for quote in "'\"")  # SQL and CSV
        escaped = html.escape(written)
        yield from (escaped, html.escape(written, quote=False))
        yield escaped.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
        yield escaped.replace("&#x27;", "&apos;")


def _python(text: str) -> Iterator[str]:
    """Yield the text as in Python's `repr`, `ascii` and as bytes, in single and in double quotes."""
    quotes = "'\""  # a text with both quotes is written in single ones
    raw = (quotes + text).encode("utf-8", "surrogatepass")
    for in_single in (repr(quotes + text)[4:-1], ascii(quotes + text)[4:-1], repr(raw)[5:-1]):
        yield in_single
        yield in_single.replace("\\'", "'")


def _percent_encoded(text: str) -> Iterator[str]:
    # `safe` as in encodeURIComponent, in encodeURI, and in clients that encode only what a URL must not contain
    safe = ("", "/", "!'()*", ";,/?:@&=+$!'()*#", "!#$%&'()*+,/:;=?@[]~")
    for raw in (written.encode("utf-8", "surrogatepass") for written in _in_json(text)):
        once = {quote_plus(raw), *(quote(raw, characters) for characters in safe)}
        for encoded in (*once, quote(quote(raw, safe=""), safe="")):
            yield encoded
            yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)


def encoded_spellings(text: str) -> Iterator[str]:
    """Yield the hexadecimal and base64 spellings: those parts of base64 that depend only on the text."""
    import base64

    for raw in (written.encode("utf-8", "surrogatepass") for written in _in_json(text)):
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
