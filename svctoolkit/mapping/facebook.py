"""Who the person is, in Facebook's keys and in its order."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from svctoolkit.events import Event
from svctoolkit.mapping import (
    CLIENT_TIME,
    IP,
    USER_ID,
    Shape,
    Table,
    converter,
    first,
    hash_lower,
    hash_text,
    moment,
    required,
    sha256,
    trait,
)
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import microseconds

_GENDERS = {"female": "f", "f": "f", "male": "m", "m": "m"}


@converter
def gender(value: Any) -> str | None:
    """`f` or `m`; None for what Facebook has no letter for."""
    return _GENDERS.get(value.lower()) if isinstance(value, str) else None


@converter
def hash_gender(value: Any) -> str | None:
    """SHA-256 of that letter."""
    letter = gender.of(value)
    return letter and sha256(letter)


ID = required(first(USER_ID, "anonymousId"))
# not PHONE and EMAIL: what stands in the properties is sent there, or kept back there
ADDRESS = trait("email")
NUMBER = trait("phone")
GENDER = trait("gender")
BIRTHDAY = trait("birthday")
LAST_NAME = trait("lastname", "last_name", "lastName")
FIRST_NAME = trait("firstname", "first_name", "firstName")
CITY = trait("address.city")
STATE = trait("address.state")
POSTAL_CODE = trait("address.zip", "address.postalCode")
COUNTRY = trait("address.country")

AS_IT_IS: Shape = {
    "client_ip_address": IP,
    "client_user_agent": "context.userAgent",
    "fbc": first("context.fbc", "properties.fbc"),
    "fbp": first("context.fbp", "properties.fbp"),
    "subscription_id": "context.subscription_id",
    "lead_id": "context.lead_id",
    "fb_login_id": "context.fb_login_id",
}
HASHED = Table(
    {
        "external_id": required(hash_text(ID)),
        "em": hash_lower(ADDRESS),
        "ph": hash_text(NUMBER),
        "ge": hash_gender(GENDER),
        "db": hash_text(BIRTHDAY),
        "ln": hash_lower(LAST_NAME),
        "fn": hash_lower(FIRST_NAME),
        "ct": hash_lower(CITY),
        "st": hash_lower(STATE),
        "zp": hash_lower(POSTAL_CODE),
        "country": hash_lower(COUNTRY),
        **AS_IT_IS,
    }
)
PLAIN = Table(
    {
        "external_id": ID,
        "em": ADDRESS,
        "ph": NUMBER,
        "ge": GENDER,
        "db": BIRTHDAY,
        "ln": LAST_NAME,
        "fn": FIRST_NAME,
        "ct": CITY,
        "st": STATE,
        "zp": POSTAL_CODE,
        "country": COUNTRY,
        **AS_IT_IS,
    }
)
_name, _time = getter(trait("name")), getter(CLIENT_TIME)


def user_data(event: Event, is_hashed: bool) -> dict[str, Any]:
    """What Facebook matches people by, hashed unless the event's integrations say that it is already.

    A name of two words goes before first and last name, and keeps its capitals. The click ID (`fbc`) is derived from
    the page's URL where the event has none. Raises `MappingError` for an event without any ID.
    """
    person = (PLAIN if is_hashed else HASHED)(event)
    name = _name(event.raw)
    if isinstance(name, str) and name.count(" ") == 1:
        first_name, last_name = name.split(" ")
        person["fn"] = first_name if is_hashed else sha256(first_name)
        person["ln"] = last_name if is_hashed else sha256(last_name)
    if "fbc" not in person and (click := _click(event)):
        person["fbc"] = click
    return person


def _click(event: Event) -> str:
    """`fb.1.<milliseconds>.<fbclid>`, as Facebook's own pixel stores a click; empty without one."""
    page = event.context.get("page")
    url = page.get("url") if isinstance(page, dict) else None
    when = moment(_time(event.raw)) if isinstance(url, str) and "fbclid=" in url else None
    if when is None:
        return ""
    try:
        ids = parse_qs(urlsplit(str(url)).query).get("fbclid", [""])
    except ValueError:  # no URL
        return ""
    return f"fb.1.{microseconds(when) // 1000}.{ids[0]}" if ids[0] else ""
