"""`no_personal`: no plain personal data reaches these destinations, wherever it is in a payload."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from svctoolkit import personal
from svctoolkit.json_types import Json
from svctoolkit.personal import Kind
from svctoolkit.policies._contract import Arrival, Check, Finding, PolicyKind
from svctoolkit.policies.paths import ends_with, leaves
from svctoolkit.secrets import MASK

_WORDS: Final[Mapping[str, str]] = {
    "email": "an e-mail address",
    "phone": "a telephone number",
    "card": "a card number",
    "name": "a name",
    "date": "a date of birth",
    "text": "a postal address or another personal detail",
    "ip": "an IP address",
    "place": "coordinates",
}
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){13,18}(?![\w-])")
# Visa, Mastercard, American Express, Diners Club, Discover and UnionPay: other numbers have valid check digits, too.
_ISSUED = re.compile(r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[068]\d{12}|6\d{15,18}")
_NOT_DATA = ("endpoint", "headers")


def make(options: Json) -> Check:
    """Return the check. `kinds` default to e-mail addresses, telephone and card numbers."""
    destinations, kinds = options.get("destinations"), options.get("kinds", ["email", "phone", "card"])
    excepted = options.get("except", [])

    def check(_event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        for arrival in arrivals:
            if destinations is not None and arrival.destination not in destinations:
                continue
            for path, value in leaves(arrival.payloads):
                if path.split(".", 1)[0] in _NOT_DATA or any(ends_with(path, steps) for steps in excepted):
                    continue
                yield from _found(arrival.destination, path, value, kinds)

    return check


def _found(destination: str, path: str, value: Json, kinds: Sequence[str]) -> Iterator[Finding]:
    if isinstance(value, bool) or value is None or value == "" or personal.is_hash(str(value).strip()):
        return
    found: dict[str, None] = {}
    if "card" in kinds and any(_is_card(match[0]) for match in _CARD.finditer(str(value))):
        found["card"] = None

    def collect(item: Any, kind: Kind) -> Any:
        if kind in kinds and MASK not in str(item) and _fits(str(item).strip(), kind):
            found[kind] = None
        return item

    personal.replace_at(path.replace("*", "0"), value, collect)
    if "card" in found:  # its digits look like a telephone number, too
        found.pop("phone", None)
    yield from (Finding(destination, path, f"has {_WORDS[kind]}", value) for kind in found)


def _fits(text: str, kind: Kind) -> bool:
    """Return whether the form of a text allows its kind: a member called `email` may hold a hash or a flag."""
    if kind == "email":
        return personal.is_email(text) or personal.is_email(text.replace("%40", "@"))
    if kind == "phone":
        return sum(map(str.isdigit, text)) >= 7 and (text.startswith(("+", "0", "(")) or not text.isdigit())
    return bool(text) and not personal.is_hash(text)


def _is_card(text: str) -> bool:
    """Return whether digits are those of a card: a known issuer, and a valid check digit (Luhn, ISO/IEC 7812)."""
    plain = re.sub(r"\D", "", text)
    digits = [int(letter) for letter in plain]
    doubled = (sum(divmod(2 * digit, 10)) if place % 2 else digit for place, digit in enumerate(reversed(digits)))
    return _ISSUED.fullmatch(plain) is not None and sum(doubled) % 10 == 0


kind = PolicyKind(
    "no plain personal data (e-mail addresses, telephone and card numbers, ...) in payloads",
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "destinations": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "kinds": {"type": "array", "items": {"enum": list(_WORDS)}, "minItems": 1},
            "except": {"type": "array", "items": {"type": "string"}},
        },
    },
    make,
    lambda options: options.get("destinations", ()),
)
