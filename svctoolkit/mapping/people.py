"""Personal data: its paths in events, and the normalised, hashed forms that advertising platforms accept."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from functools import cache
from typing import Any

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping.leaves import converter, first, string, trait
from svctoolkit.mapping.values import as_object, nest_dotted

_HASHED = re.compile(r"[0-9a-f]{64}")

FIRST_NAME = trait("firstName", "firstname", "first_name")
LAST_NAME = trait("lastName", "lastname", "last_name")
CITY = trait("city", "address.city")
STATE = trait("state", "address.state")
POSTAL_CODE = trait("zip", "zipcode", "zipCode", "zip_code", "postalCode", "address.zip", "address.postalCode")
COUNTRY = trait("country", "address.country")
#: every spelling of a postal code that some types accept
POSTAL_CODE_NAMES = ("zip", "zipcode", "zip_code", "zipCode", "postalcode", "postal_code", "postalCode")
ANY_POSTAL_CODE = trait(*POSTAL_CODE_NAMES, *(f"address.{name}" for name in POSTAL_CODE_NAMES))
#: Each spelling is looked up in `traits` and `context.traits` before the next one.
BIRTHDAY = first(
    trait("birthday"), trait("dateOfBirth"), trait("dateofbirth"), "context.dateofbirth", trait("dob"), trait("DOB")
)


@cache
def _sha256() -> Callable[[bytes], Any]:
    from hashlib import sha256  # loads OpenSSL, and few types hash

    return sha256


#: Members of an address that several types map like traits; they ignore its other members.
ADDRESS_FIELDS = ("street", "city", "state", "country", "postalCode")


def unfold_address(traits: Mapping[str, Json]) -> dict[str, Json]:
    """The traits with `address` replaced by its `ADDRESS_FIELDS`; existing traits of these names take precedence.

    >>> unfold_address({"city": "Oslo", "address": {"city": "Bergen", "street": "Main 1", "zip": "1"}})
    {'street': 'Main 1', 'city': 'Oslo'}
    """
    address = as_object(traits.get("address"))
    out = {key: address[key] for key in ADDRESS_FIELDS if key in address}
    out.update(traits)
    out.pop("address", None)
    return out


def sha256(text: str) -> str:
    """The SHA-256 of a string, in lower-case hexadecimal digits."""
    return _sha256()(text.encode("utf-8", "replace")).hexdigest()  # type: ignore[no-any-return]


def md5(text: str) -> str:
    """The MD5 of a string, in lower-case hexadecimal digits. For ids that a destination derives, not for secrets."""
    from hashlib import md5

    return md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def digits(text: str) -> str:
    """The digits of a telephone number."""
    return re.sub(r"[^0-9]", "", text)


def is_sha256(value: Json) -> bool:
    """Whether a value is already a SHA-256 hash."""
    return isinstance(value, str) and bool(_HASHED.fullmatch(value))


@converter
def hash_text(value: Json) -> str:
    """SHA-256 of the unchanged text."""
    return sha256(string.of(value))


@converter
def hash_trimmed(value: Json) -> str:
    """SHA-256 of the trimmed text: IDs, and names where case matters."""
    return sha256(string.of(value).strip())


@converter
def hash_lower(value: Json) -> str:
    """SHA-256 of the trimmed text in lower case: e-mail addresses, names, cities."""
    return sha256(string.of(value).strip().lower())


@converter
def hash_initial(value: Json) -> str:
    """SHA-256 of the first letter, in lower case: `f` and `m` for genders."""
    return sha256(string.of(value).strip().lower()[:1])


@converter
def hash_digits(value: Json) -> str:
    """SHA-256 of the digits: telephone numbers, dates of birth."""
    return sha256(digits(string.of(value)))


@converter
def hash_phone(value: Json) -> str:
    """SHA-256 of the digits of a telephone number, without leading zeros before the country code."""
    return sha256(digits(string.of(value)).lstrip("0"))


def custom_traits(event: Event, taken: Set[str]) -> dict[str, Json] | None:
    """The traits except `taken`: those of the event, overridden by those of its context.

    None for an event without traits in either place. For custom traits, Klaviyo and CleverTap prefer
    `context.traits.plan` to `traits.plan`, although it is the other way round for standard fields.
    """
    out: dict[str, Any] | None = None
    for traits in (event.raw.get("traits"), event.context.get("traits")):
        if isinstance(traits, dict):
            out = out or {}
            out.update((key, value) for key, value in traits.items() if key not in taken)
    return out and dict(nest_dotted(out))
