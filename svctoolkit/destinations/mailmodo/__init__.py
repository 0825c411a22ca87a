"""Mailmodo: contacts of a list, and events.

identify adds the contact to the configured list, in batches; track sends an event of a contact.
"""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Header, Merge, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_POSTAL_CODE,
    CITY,
    COUNTRY,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    POSTAL_CODE_NAMES,
    STATE,
    Misfit,
    Table,
    custom_traits,
    first,
    js_join,
    required,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret


class MailmodoSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    list_name: str | None = None


destination = DestinationType(
    "Mailmodo",
    MailmodoSettings,
    docs="https://www.mailmodo.com/developers/",
    quirks=[
        "Without `listName` contacts are sent to the list `undefined` in a batch; an empty one is `Rudderstack`.",
        "Traits without a Mailmodo field are read from the event's context first, then from the event itself.",
        "An address of more than 150 characters is split into two fields, and the character at the split is lost.",
    ],
    answers=[
        Answer("success", 200, {"listId": "l1", "message": "Contacts added successfully", "ref": "r1"}),
        Answer("bad key", 401, {"message": "Invalid API key"}),
        Answer("rate limit", 429, {"message": "Too many requests"}),
        Answer("invalid field", 400, {"message": "Invalid email"}),
    ],
    merges=[Merge("values", limit=100)],
)

API = Endpoint("https://api.mailmodo.com/api/v1", Header("mmApiKey", "{api_key}"), JSON)

CONTACT = Table({"email": required(EMAIL)})
DATA = Table(
    {
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "name": trait("name"),
        "gender": trait("gender"),
        "age": trait("age"),
        "birthday": first(
            trait("birthday"),
            trait("dateOfBirth"),
            trait("dateofbirth"),
            "context.dateofbirth",
            trait("DOB"),
            trait("dob"),
        ),
        "phone": trait("phone"),
        "city": CITY,
        "state": STATE,
        "country": COUNTRY,
        "postal_code": ANY_POSTAL_CODE,
        "designation": trait("designation"),
        "company": trait("company"),
        "industry": trait("industry"),
        "description": trait("description"),
        "anniversary_date": first(trait("anniversaryDate"), trait("anniversary_date")),
    }
)
ACTION = Table({"event_name": required("event"), "email": required(EMAIL)})
ADDRESS = trait("address")
_NOT_CUSTOM = frozenset({
    "address", "age", "anniversaryDate", "anniversary_date", "birthday", "city", "company", "country", "description",
    "designation", "email", "firstName", "first_name", "firstname", "gender", "industry", "lastName", "last_name",
    "lastname", "name", "phone", "state", *POSTAL_CODE_NAMES,
})  # fmt: skip
_ADDRESS_LENGTH = 150


@destination.on("identify")
def send_contact(event: Event, settings: MailmodoSettings, context: Context) -> Payload:
    """Return the contact with its data, as a member of the list."""
    contact = CONTACT(event)
    data = {**(custom_traits(event, _NOT_CUSTOM) or {}), **DATA(event), **_address(event)}
    if data:
        contact["data"] = data
    body: dict[str, Json] = {"listName": settings.list_name, "values": [contact]}
    if settings.list_name == "":
        body["listName"] = "Rudderstack"
    elif settings.list_name is None:  # undefined: left out of JSON, but a word in the shared request
        body = {**body, "listName": "undefined"} if context.in_batch else {"values": [contact]}
    return API.post(settings, "addToList/batch", body)


@destination.on("track")
def send_event(event: Event, settings: MailmodoSettings) -> Payload:
    """Return an event of the contact."""
    body = ACTION(event)
    if isinstance(event.raw.get("properties"), dict):
        body["event_properties"] = event.properties
    return API.post(settings, "addEvent", body)


def _address(event: Event) -> dict[str, str]:
    """Return the address in one or two lines; the values of an object are joined."""
    address = value_of(event, ADDRESS)
    if isinstance(address, (dict, list)):
        values = address.values() if isinstance(address, dict) else address
        address = "".join(f"{js_join(value)} " for value in values)
    if address is None:
        return {}
    if not isinstance(address, str):
        raise Misfit("traits.address", "a string or an object", address)
    lines = (address[:_ADDRESS_LENGTH], address[_ADDRESS_LENGTH + 1 :])
    return {f"address{number}": line for number, line in enumerate(lines, 1) if line}
