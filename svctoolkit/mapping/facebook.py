"""Shared parts of events for Facebook: user data, custom data, and personal data to withhold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import msgspec

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    CLIENT_TIME,
    IP,
    TIME,
    USER_ID,
    Shape,
    Table,
    check_age,
    converter,
    first,
    hash_lower,
    hash_text,
    moment,
    required,
    sha256,
    text,
    trait,
)
from svctoolkit.mapping.refusals import Misfit
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import TIME_EXAMPLE, microseconds

#: standard fields of the event, not custom data
OWN = ("event_id", "opt_out", "action_source")
_SOURCES = frozenset({
    "app", "business_messaging", "chat", "email", "other", "phone_call", "physical_store", "system_generated",
    "website",
})  # fmt: skip
_PII = frozenset({
    "email", "firstName", "lastName", "firstname", "lastname", "first_name", "last_name", "gender", "city", "country",
    "phone", "state", "zip", "birthday",
})  # fmt: skip
_DATES = frozenset({
    "checkinDate", "checkoutDate", "departingArrivalDate", "departingDepartureDate", "returningArrivalDate",
    "returningDepartureDate", "travelEnd", "travelStart",
})  # fmt: skip
_PAST, _PAST_IN_STORES, _FUTURE = timedelta(days=7), timedelta(days=62), timedelta(minutes=1)
_GENDERS = {"female": "f", "f": "f", "male": "m", "m": "m"}


@converter
def gender(value: Json) -> str | None:
    """`f` or `m`; None for values without a letter at Facebook."""
    return _GENDERS.get(value.lower()) if isinstance(value, str) else None


@converter
def hash_gender(value: Json) -> str | None:
    """SHA-256 of the letter that `gender` returns."""
    letter = gender.of(value)
    return letter and sha256(letter)


class PiiRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A row of a configuration: a property that is not sent, or only as a hash."""

    blacklist_pii_properties: str = ""
    blacklist_pii_hash: bool = False


ID = required(first(USER_ID, "anonymousId"))
# not PHONE and EMAIL: they also read properties, which Facebook sends or withholds as custom data
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
SERVER = Table(
    {
        "event_source_url": first("context.page.url", "properties.url"),
        "event_id": first("traits.event_id", "context.traits.event_id", "properties.event_id", "messageId"),
        "opt_out": first("traits.opt_out", "context.traits.opt_out", "properties.opt_out"),
    }
)
_source = getter(first("traits.action_source", "context.traits.action_source", "properties.action_source"))
_time = getter(TIME)
_name, _client_time = getter(trait("name")), getter(CLIENT_TIME)


def user_data(event: Event, is_hashed: bool) -> dict[str, Json]:
    """The fields that Facebook matches users by, hashed unless the event's integrations say that they already are.

    A name of two words takes precedence over first and last name, and keeps its capitals. If the event has no click ID
    (`fbc`), it is derived from the page's URL. Raises `MappingError` for an event without any ID.
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
    when = moment(_client_time(event.raw)) if isinstance(url, str) and "fbclid=" in url else None
    if when is None:
        return ""
    try:
        ids = parse_qs(urlsplit(str(url)).query).get("fbclid", [""])
    except ValueError:  # not a URL
        return ""
    return f"fb.1.{microseconds(when) // 1000}.{ids[0]}" if ids[0] else ""


def action_source(event: Event) -> str | None:
    """The event's `action_source`, if it has one. Raises `Misfit` for a value that Facebook does not accept."""
    source = _source(event.raw)
    if source is not None and (not isinstance(source, str) or source not in _SOURCES):
        raise Misfit("action_source", f"one of {', '.join(sorted(_SOURCES))}", source)
    return source


def sendable(
    properties: Mapping[str, Json], listed: Iterable[PiiRow], allowed: Collection[str], is_hashed: bool
) -> dict[str, Json]:
    """The properties without personal data, with dates in Facebook's format.

    Of the `listed` properties, those to be hashed are hashed, unless the event says that they already are.
    """
    rows = {} if is_hashed else {row.blacklist_pii_properties: row for row in listed}
    keys = properties.keys()
    if not rows and keys.isdisjoint(_PII) and keys.isdisjoint(_DATES):  # as in most events
        return dict(properties)
    data = {}
    for key, value in properties.items():
        if row := rows.get(key):
            if row.blacklist_pii_hash:
                data[key] = sha256(text(value))
        elif key in _DATES and (day := moment(value)):
            data[key] = day.date().isoformat()
        elif key not in _PII or key in allowed:
            data[key] = value
    return data


def seconds(event: Event, now: datetime) -> int | str:
    """The event's time, which must be within the last seven days, or 62 for `physical_store`.

    A string of digits is sent unchanged.
    """
    when = _time(event.raw)
    if isinstance(when, str) and when.isascii() and when.isdigit():
        return when
    happened = moment(when)
    if happened is None:
        raise Misfit("timestamp", TIME_EXAMPLE, when)
    past = _PAST_IN_STORES if _source(event.raw) == "physical_store" else _PAST
    check_age(happened, now, past=past, future=_FUTURE)
    return int(happened.timestamp() // 1)


def limits(event: Event) -> dict[str, Json]:
    """`context.dataProcessingOptions`: the options, and the country and state they apply to."""
    options = event.context.get("dataProcessingOptions")
    if not isinstance(options, list):
        return {}
    names = ("data_processing_options", "data_processing_options_country", "data_processing_options_state")
    return dict(zip(names, options, strict=False))
