"""A forbidden text in other spellings: other capitals, Base64, percent-encoded, digits with spaces."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from unicodedata import normalize
from urllib.parse import quote, quote_plus

from svctoolkit.json_types import Json

_TELLING = 4  # characters; shorter texts occur inside of words by chance
_ENCODED = 6  # characters; the Base64 of a shorter text occurs by chance
_NUMBER = 8  # digits; shorter numbers occur in dates by chance
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])[ .-](?=[0-9])")


class Spellings:
    """The spellings of one text or number."""

    def __init__(self, operand: str | float) -> None:
        text = str(operand)
        is_text = isinstance(operand, str)
        self._folded = _folded(text) if is_text and len(text) >= _TELLING else ""
        self._exact = {*(_base64(text) if len(text) >= _ENCODED else ()), *([text] if is_text else [])}
        self._quoted = {quote(text, safe="").casefold(), quote_plus(text).casefold()} if self._folded else set()
        digits = _BETWEEN_DIGITS.sub("", text)
        self._digits = digits if digits.isdigit() and len(digits) >= _NUMBER else ""

    def is_in(self, value: Json) -> bool:
        """Return whether a text contains it, or a number is it."""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return False
        if not isinstance(value, str):
            return bool(self._digits) and str(value) == self._digits
        if any(spelling in value for spelling in self._exact):
            return True
        folded = _folded(value)
        if self._folded and (self._folded in folded or any(spelling in folded for spelling in self._quoted)):
            return True
        return bool(self._digits) and self._digits in _BETWEEN_DIGITS.sub("", folded)


def _folded(text: str) -> str:
    """Return a text without differences of capitals, of composed characters and of width."""
    return text.casefold() if text.isascii() else normalize("NFKC", text).casefold()


@lru_cache(256)
def spellings(operand: str | float) -> Spellings:
    """Return the spellings of a text or a number."""
    return Spellings(operand)


def _base64(text: str) -> set[str]:
    """Return the Base64 of a text at each of the three positions that it can have in a longer one."""
    data, found = text.encode(), set[str]()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        # The first characters depend on what is before, the last one on what follows.
        end = len(encoded) if (before + len(data)) % 3 == 0 else -1
        inner = encoded[(before * 8 + 5) // 6 : end]
        found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return found
