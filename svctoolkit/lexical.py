"""Numbers, e-mail addresses and URLs in text, recognised in time proportional to its length; text for files.

Everything that reads these from an event uses this module. Regular expressions with adjacent repetitions, such as
`\\d+\\.?\\d*`, take quadratic time for some texts, and Python holds its global lock meanwhile.
"""

from __future__ import annotations

import re
from typing import Any

# `++` and `*+` never give back what they have matched (possessive quantifiers), so there is nothing to try again.
_UNSIGNED = r"(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?"
_NUMBER = re.compile(rf"\s*+[+-]?{_UNSIGNED}\s*+", re.ASCII)
_LEADING_NUMBER = re.compile(rf"\s*+[+-]?{_UNSIGNED}", re.ASCII)
_SPACE = re.compile(r"\s")
_URL = re.compile(r"https?://\S++")
_NOT_IN_LOCAL_PART = re.compile(r'[<>(),;:"\[\]\\]')
_SHORTEST_TOP_LEVEL = 2


def storable(text: str) -> str:
    r"""Return the text in a form that files and databases can hold: a half of a surrogate pair becomes a question mark.

    JSON may contain halves, for example where JavaScript cut a text in the middle of an emoji.

    >>> storable("Nice \ud83d")
    'Nice ?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# Any: any value, with the same types in the result
def storable_all(value: Any) -> Any:
    """Return a value of objects and lists with `storable` texts and names, for example the rows of a frame."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable_all(name): storable_all(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable_all(inner) for inner in value]
    return value


def is_number(text: str) -> bool:
    """Whether the text is a decimal number in ASCII digits. White space around it is ignored.

    >>> [is_number(text) for text in ("1", " -1.5e3 ", "1.", ".5", "1,5", "1e", "٣", "")]
    [True, True, True, True, False, False, False, False]
    """
    return _NUMBER.fullmatch(text) is not None


def leading_number(text: str) -> float | None:
    """The number that the text begins with, as JavaScript's `parseFloat` reads it, or None.

    >>> leading_number("12.50 EUR"), leading_number("1e"), leading_number("EUR 3")
    (12.5, 1.0, None)
    """
    match = _LEADING_NUMBER.match(text)
    return float(match[0]) if match else None


def split_email(text: str) -> tuple[str, str] | None:
    """The local part and the domain of an e-mail address, or None.

    An address has one `@`, a dot inside its domain, and no white space: what most vendors check.

    >>> split_email("ann@mail.example.com"), split_email("ann@example"), split_email("a n@example.com")
    (('ann', 'mail.example.com'), None, None)
    """
    local, _, domain = text.partition("@")
    if not local or "@" in domain or "." not in domain[1:-1] or _SPACE.search(text):
        return None
    return local, domain


def is_email(text: str) -> bool:
    """Whether the text is an e-mail address for `split_email`."""
    return split_email(text) is not None


def is_strict_email(text: str) -> bool:
    """Whether the text is an e-mail address with a top-level domain of two characters, and without brackets, quotes,
    commas, colons and backslashes in its local part.

    >>> is_strict_email("ann@example.com"), is_strict_email("ann@example.c"), is_strict_email("<ann@example.com")
    (True, False, False)
    """
    parts = split_email(text)
    if parts is None or _NOT_IN_LOCAL_PART.search(parts[0]):
        return False
    return len(parts[1]) - parts[1].rindex(".") > _SHORTEST_TOP_LEVEL


def is_url(text: str) -> bool:
    """Whether the text is `http://` or `https://` and at least one character, without white space.

    >>> is_url("https://shop.example/?q=1"), is_url("shop.example"), is_url("https://a b")
    (True, False, False)
    """
    return _URL.fullmatch(text) is not None
