"""The sources of the values of users, accounts and events."""

from __future__ import annotations

import re

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    FIRST_NAME,
    LAST_NAME,
    TIME,
    Table,
    converter,
    first,
    moment,
    number_or_none,
    required,
    string,
    trait,
    value_of,
)
from svctoolkit.mapping.times import microseconds

_GENDERS = {"m": "MALE", "male": "MALE", "f": "FEMALE", "female": "FEMALE"}
_DIGITS = re.compile(r"\d+")
_NAME = trait("name")
GROUP_ID = first("groupId", trait("groupId"))


def milliseconds(value: Json) -> int | None:
    """Return a time as milliseconds since 1970, None for an invalid time; numbers and booleans are not converted."""
    if isinstance(value, (bool, int, float)):
        return int(value)
    when = moment(value) if isinstance(value, str) and not _DIGITS.fullmatch(value) else None
    return None if when is None else microseconds(when) // 1000


@converter
def date(value: Json) -> int | str:
    """Like `milliseconds`, but an empty string for an invalid time: it is left out, without trying later paths."""
    when = milliseconds(value)
    return "" if when is None else when


@converter
def gender(value: Json) -> str:
    """Return `MALE` or `FEMALE`, or an empty string, which is left out, for anything else."""
    return _GENDERS.get(value.lower(), "") if isinstance(value, str) else ""


@converter
def coordinate(value: Json) -> int | float | str:
    """Return a number, or an empty string, which is left out, for anything else."""
    return "" if isinstance(value, bool) else number_or_none.of(value)


PERSON = Table(
    {
        **{
            name: trait(name)
            for name in ("email", "title", "phone", "role", "subscriptionId", "globalUnsubscribe", "sfdcContactId")
        },
        **{name: trait(name) for name in ("numberOfVisits",)},
        **{name: date(trait(name)) for name in ("lastSeenDate", "signUpDate", "firstVisitDate", "createDate")},
        "accountId": string(trait("accountId")),
        "gender": gender(trait("gender")),
        "score": number_or_none(trait("score")),
    }
)
ACCOUNT = Table(
    {
        "name": required("traits.name"),
        **{
            name: trait(name)
            for name in ("trackedSubscriptionId", "sfdcId", "dunsNumber", "industry", "numberOfEmployees", "sicCode")
        },
        **{name: trait(name) for name in ("website", "naicsCode", "plan", "numberOfUsers", "parentGroupId")},
        **{name: date(trait(name)) for name in ("createDate", "lastModifiedDate", "lastSeenDate")},
    }
)
LOCATION = Table(
    {
        **{
            name: trait(name)
            for name in ("countryName", "countryCode", "stateName", "stateCode", "city", "street", "postalCode")
        },
        **{name: trait(name) for name in ("continent", "regionName", "timeZone")},
        "coordinates": {
            "latitude": coordinate(trait("latitude")),
            "longitude": coordinate(trait("longitude")),
        },
    }
)
EVENT = Table(
    {
        "identifyId": required(ANY_ID),
        "accountId": trait("groupId"),
        "eventName": "event",
        "date": date(first("properties.date", TIME)),
        "sessionId": first("properties.sessionId", "context.sessionId"),
        "url": "context.page.url",
        "referrer": "context.page.referrer",
    }
)
NAMES = Table({"firstName": FIRST_NAME, "lastName": LAST_NAME})
#: Traits that have their own field and are not custom attributes.
_PLACED = {path.rpartition(".")[2] for table in (PERSON, LOCATION, NAMES) for _, row in table for path in row.paths}


def is_custom(name: str) -> bool:
    """Whether a trait may be a custom attribute."""
    return bool(name) and name not in _PLACED


def names(event: Event) -> dict[str, Json]:
    """Return first and last name: the first words of the name, or else separate traits."""
    name = value_of(event, _NAME)
    if isinstance(name, str):
        return dict(zip(("firstName", "lastName"), name.split(" "), strict=False))
    return NAMES(event)
