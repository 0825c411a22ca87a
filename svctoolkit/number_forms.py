"""Forms of numbers: what is a telephone number, or may be one of a card, and what only looks like it."""

from __future__ import annotations

import re
from functools import lru_cache

PHONE = re.compile(r"(?<![\w./-])\+?\d[\d ()./-]{7,18}\d(?![\w-]|\.\d)")
# A value whose name says that it is a telephone number may be shorter, as numbers are within a town.
NAMED_PHONE = re.compile(r"(?<![\w./-])[+(]?\d[\d ()./-]{5,18}\d(?![\w-]|\.\d)")
# What else has digits and separators: a day with its hour, an IP address, a decimal number.
_NOT_PHONE = re.compile(r"\d{4}-\d{2}-\d{2}( \d\d)?|(?:\d{1,3}\.){3}\d{1,3}|(?:0|[1-9]\d*)\.\d+")
# What else has many digits and separators, if neither a member nor a prefix says that it is a telephone number.
_DAY = r"(?:(?:19|20)\d\d[./-][01]?\d[./-][0-3]?\d|[0-3]?\d[./-][0-3]?\d[./-](?:19|20)\d\d)"
_OTHER_NUMBERS = re.compile(
    rf"{_DAY}(?:[ ./-]+{_DAY})?(?: \d\d(?:\.\d\d){{0,2}})?"
    r"|(?:19|20)\d{2}[01]\d[0-3]\d[ .-]\d{4,6}|(?:19|20)\d\d-[01]\d[0-3]\d-\d+"  # compact times, numbers of orders
    r"|(?=\d++(?:\.\d++)*?\.\d\.\d)\d++(?:[.-]\d++)*"  # versions
    r"|97[89][ -]?(?:\d[ -]?){9}\d"  # ISBN
    r"|\d{1,2}(?: \d{3}){2,}|\d{5,}-\d{5,}|\d{5}-\d{4}|\d{4}(?:[ -]\d{4}){2}"  # amounts, ranges, ZIP+4, orders
    r"|[1-9]\d?(?: \d{1,2})+|000\d*"
)
_MOST_DIGITS = 15  # E.164
_FEWEST_DIGITS = 7  # of a telephone number
FEWEST_OF_NUMBER = 10  # of one without prefix and separators, such as 4915112345678, if a member says what it is
# The same for JSON that is searched as bytes, see `lines_with`.
_PHONE_IN_JSON = re.compile(NAMED_PHONE.pattern.encode())
_LONG_PHONE_IN_JSON = re.compile(PHONE.pattern.encode())
_PLAIN_NUMBER = re.compile(rb"(?<![+(])(?:0|[1-9]\d*)(?:\.\d+)?")  # see `is_phone`
_MANY_DIGITS = re.compile(rb"(?<![\w.-])\d(?:[ -]?\d){13}")
_FEWEST_OF_CARD = 14
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){13,18}(?![\w-])")
# Visa, Mastercard, American Express, Diners Club, Discover and UnionPay: other numbers have valid check digits, too.
_ISSUED = re.compile(r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[068]\d{12}|6\d{15,18}")


@lru_cache(maxsize=4096)
def numbers_in(run: bytes) -> tuple[str, ...]:
    """Return what a run of digits and separators may have: a `phone` number, one if a member is `named` so, a `card`.

    The run has two bytes before it and one after it.
    """
    found = []
    if len(run) > _FEWEST_OF_CARD and _MANY_DIGITS.search(run, 1):
        found.append("card")
    plain = _PLAIN_NUMBER.match(run, 2)
    if plain is not None and plain.end() == len(run) - 1:
        if plain.end() - 2 >= FEWEST_OF_NUMBER and b"." not in plain[0]:
            found += ["named"]
    else:
        if any(is_phone(match[0].decode()) for match in _LONG_PHONE_IN_JSON.finditer(run, 1)):
            found += ["phone"]
        elif any(is_phone(match[0].decode(), named=True) for match in _PHONE_IN_JSON.finditer(run, 1)):
            found += ["named"]
    return tuple(found)


def is_phone(text: str, *, named: bool = False) -> bool:
    """Whether what looks like a telephone number may be one: `named` if a member says so, which needs fewer digits.

    Days, addresses and decimal numbers are none, and without a prefix or separators, digits are just a number.
    """
    digits = sum(map(str.isdigit, text))
    if digits < _FEWEST_DIGITS or _NOT_PHONE.fullmatch(text):
        return False
    if text.startswith(("+", "(")):
        return True
    if named:
        return text.startswith("0") or not text.isdigit() or digits >= FEWEST_OF_NUMBER
    if text.isdigit():  # `0170...` and `0049...`, but not `0000012345`
        has_form = text.startswith("0") and digits >= (12 if text[1] == "0" else 10)
    else:
        has_form = text.startswith("0") or digits > 8
    return has_form and digits <= _MOST_DIGITS and not _OTHER_NUMBERS.fullmatch(text)


def has_card(text: str) -> bool:
    """Return whether a text has digits of a card: a known issuer, and a valid check digit (Luhn, ISO/IEC 7812)."""
    return len(text) >= _FEWEST_OF_CARD and any(_is_card(match[0]) for match in _CARD.finditer(text))


def _is_card(text: str) -> bool:
    plain = re.sub(r"\D", "", text)
    digits = [int(letter) for letter in plain]
    doubled = (sum(divmod(2 * digit, 10)) if place % 2 else digit for place, digit in enumerate(reversed(digits)))
    return _ISSUED.fullmatch(plain) is not None and sum(doubled) % 10 == 0
