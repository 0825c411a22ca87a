"""Hides personal data: by the names of members, and by what values look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from svctoolkit.secrets import MASK

#: Names of members, in lower case and without punctuation, whose values tell who somebody is.
NAMES = frozenset({
    "address", "address1", "address2", "anonymousid", "birthday", "birthdate", "cellphone", "city", "dateofbirth",
    "dob", "email", "emailaddress", "externalid", "firstname", "fullname", "gclid", "fbclid", "ip", "ipaddress",
    "lastname",
    "latitude", "longitude", "mobile", "name", "password", "phone", "phonenumber", "postalcode", "previousid",
    "requestip", "ssn", "state", "street", "streetaddress", "telephone", "userid", "username", "zip", "zipcode",
    "deviceid", "advertisingid", "token",
})  # fmt: skip
_PUNCTUATION = re.compile(r"[^a-z0-9]")
_EMAIL = re.compile(r"[^\s@<>\"',;:()\[\]{}=&?/]+(?:@|%40)[^\s@<>\"',;:()\[\]{}=&?/]+\.[A-Za-z]{2,}")
_IP = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
_PHONE = re.compile(r"(?<![\w.-])\+?\d[\d ()./-]{7,17}\d(?![\w.-])")
#: Objects whose `name` is the name of a thing.
_THINGS = frozenset(
    {"library", "app", "os", "network", "campaign", "screen", "device", "products", "properties", "page"}
)


def masked(value: Any, name: str = "", within: str = "") -> Any:
    """A copy of a JSON value with personal data replaced; `name` is the member that it is, `within` the one around it.

    A member whose name tells of a person is masked whole; e-mail addresses, IP addresses and telephone numbers are
    masked wherever they stand in a text. Event names, ids of messages and numbers stay.
    """
    if isinstance(value, Mapping):
        return {key: masked(inner, key, name) for key, inner in value.items()}
    if isinstance(value, list):
        return [masked(inner, name, within) for inner in value]
    if _tells(name, within) and value is not None and not isinstance(value, bool):
        return MASK
    return masked_text(value) if isinstance(value, str) else value


def masked_at(path: str, value: Any) -> Any:
    """As `masked`, for the value at a dotted path."""
    steps = ["", "", *(step for step in path.split(".") if not step.isdigit())]
    return masked(value, steps[-1], steps[-2])


def masked_text(text: str) -> str:
    """A text with what looks like an address or a telephone number replaced. Times in ISO 8601 stay."""
    if not any(character.isdigit() or character == "@" for character in text) and "%40" not in text:
        return text
    text = _IP.sub(MASK, _EMAIL.sub(MASK, text))
    return text if re.match(r"\d{4}-\d\d-\d\d", text) else _PHONE.sub(MASK, text)


def _tells(name: str, within: str) -> bool:
    plain = _PUNCTUATION.sub("", name.lower())
    return plain in NAMES and not (plain == "name" and within in _THINGS)
