"""WebEngage: users and their events.

identify writes the user; track, page and screen are events. Traits without a WebEngage field become attributes of the
user; the event's traits override those of its context.
"""

from __future__ import annotations

from typing import Any, Literal

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, bearer
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    FIRST_NAME,
    LAST_NAME,
    TIME,
    TIME_EXAMPLE,
    USER_ID,
    Missing,
    Table,
    WrongValue,
    as_object,
    converter,
    first,
    moment,
    nest_dotted,
    required,
    text,
    trait,
)
from svctoolkit.secrets import Secret

_HOSTS = {"standard": "https://api.webengage.com/v1", "ind": "https://api.in.webengage.com/v1"}
_GENDERS = {"female": ("female", "f", "woman", "w"), "male": ("male", "m", "man"), "other": ("other", "o")}


class WebengageSettings(Settings, frozen=True, kw_only=True):
    license_code: Secret
    api_key: Secret
    data_center: Literal["standard", "ind"] = "standard"


destination = DestinationType(
    "WebEngage",
    WebengageSettings,
    docs="https://docs.webengage.com/docs/rest-api-getting-started",
    quirks=["A page with a name but no category is sent without the word page: Viewed Home."],
    answers=[
        Answer("success", 201, {"response": {"status": "queued"}}),
        Answer("bad key", 401, {"response": {"status": "error", "message": "Unauthorized"}}),
        Answer("rate limit", 429, {"response": {"status": "error", "message": "Too many requests"}}),
        Answer("invalid field", 400, {"response": {"status": "error", "message": "userId or anonymousId is required"}}),
    ],
)


def _account(settings: WebengageSettings) -> str:
    return f"{_HOSTS[settings.data_center]}/accounts/{settings.license_code.reveal()}"


API = Endpoint(_account, JSON, bearer("api_key"))


@converter
def webengage_time(value: Json) -> str:
    """Convert to a time such as `2026-01-31T12:00:00+0000`; a number is read as milliseconds."""
    when = moment(int(value) if isinstance(value, bool) else value)
    if when is None:
        raise WrongValue(TIME_EXAMPLE, value, case="time")
    return f"{when:%Y-%m-%dT%H:%M:%S}+0000"


@converter
def gender(value: Json) -> str | None:
    """Return WebEngage's word for the gender; unknown words are left out."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return next((name for name, words in _GENDERS.items() if word in words), None)


IDS = Table({"userId": USER_ID, "anonymousId": "anonymousId"})
USER = Table(
    {
        "firstName": FIRST_NAME,
        "lastName": LAST_NAME,
        "birthDate": webengage_time(
            trait("birthday"),
            trait("dateOfBirth"),
            trait("DOB"),
            trait("dob"),
            trait("dateofbirth"),
            "context.dateofbirth",
        ),
        "gender": gender(trait("gender")),
        "email": trait("email"),
        "phone": trait("phone"),
        "emailOptIn": trait("emailOptIn"),
        "smsOptIn": trait("smsOptIn"),
        "whatsappOptIn": trait("whatsappOptIn"),
        "company": trait("company.name"),
        "hashedEmail": trait("hashedEmail"),
        "hashedPhone": trait("hashedPhone"),
        "postalCode": trait("address.postalCode", "postalCode"),
        "country": trait("address.country", "country"),
        "city": trait("address.city", "city"),
        "locality": trait("locality", "address.locality"),
        "region": trait("region", "address.region"),
    }
)
ACTION_TIME = Table({"eventTime": webengage_time(TIME)})
NAME = Table({"eventName": required("event")})
PAGE = Table({"name": first("name", "properties.name"), "category": "properties.category"})
_NOT_CUSTOM = frozenset({
    "DOB", "anonymousId", "birthday", "city", "company", "country", "dateOfBirth", "dateofbirth", "dob", "email",
    "emailOptIn", "firstName", "firstname", "gender", "hashedEmail", "hashedPhone", "lastName", "lastname",
    "locality", "name", "phone", "postalCode", "region", "smsOptIn", "userId", "whatsappOptIn",
})  # fmt: skip


@destination.on("identify")
def send_person(event: Event, settings: WebengageSettings) -> Payload:
    """Return the user, with custom traits as attributes."""
    own: dict[str, Any] = {}
    for traits in (event.context.get("traits"), event.raw.get("traits")):
        own |= nest_dotted({key: value for key, value in as_object(traits).items() if key not in _NOT_CUSTOM})
    body = {**_ids(event), **USER(event)}
    return API.post(settings, "users", {**body, "attributes": own} if own else body)


@destination.on("track", "page", "screen")
def send_action(event: Event, settings: WebengageSettings) -> Payload:
    """Return an event with its name, or `Viewed <category> <name> page`."""
    name = NAME(event) if event.type == "track" else {"eventName": _page_name(event)}
    body = {**_ids(event), **name, **ACTION_TIME(event)}
    if isinstance(event.raw.get("properties"), dict):
        body["eventData"] = event.properties
    return API.post(settings, "events", body)


def _page_name(event: Event) -> str:
    page = PAGE(event)
    words = [text(page[key]) for key in ("category", "name") if key in page]
    if not words:
        return f"Viewed a {event.type}"
    return " ".join(["Viewed", *words, *([event.type] if "category" in page else [])])


def _ids(event: Event) -> dict[str, Any]:
    ids: dict[str, Any] = IDS(event)
    if not ids:
        raise Missing("userId", "anonymousId")
    return ids
