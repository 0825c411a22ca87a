"""Ortto: activities of contacts."""

from __future__ import annotations

from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.sources import (
    Answer,
    FieldTable,
    SourceType,
    Webhook,
    crash,
    echo,
    external_id,
    flat_rest,
    get,
    iso_without_ms,
    js_number,
    js_text,
    member,
    message,
    put,
    truthy,
)
from svctoolkit.sources.ortto._names import NAMES

source = SourceType(
    "ortto",
    "Ortto",
    label="ortto",
    docs="https://help.ortto.com/developer/latest/webhooks/",
    topic="body.activity.field_id",
    quirks=(
        "The names of properties are paths: `contact.city.lat`.",
        "A birthday with a missing part has the text `undefined` in its place.",
        "The test activity `act::test_webhook` is answered with its own body.",
    ),
)

_FIELDS = FieldTable(
    {
        "contact.external_id": "userId",
        "id": "messageId",
        "time": "originalTimestamp",
        "contact.email": "context.traits.email",
        "contact.country.name": "context.traits.address.country",
        "contact.city.name": "context.traits.address.city",
        "contact.postal": "context.traits.address.postalCode",
        "contact.first_name": "context.traits.firstName",
        "contact.last_name": "context.traits.lastName",
    }
)
_TAKEN = _FIELDS.paths | {
    "activity.field_id",
    "contact.contact_id",
    "contact.birthday.year",
    "contact.birthday.month",
    "contact.birthday.day",
    "contact.phone_number.c",
    "contact.phone_number.n",
}


@source.maps
def map_activity(webhook: Webhook) -> dict[str, Json] | Answer:
    """Return one track event, or the body of a test."""
    body = webhook.body
    activity = member(body, "activity")
    if activity is None:
        raise crash("Cannot read properties of undefined (reading 'field_id')", "body.activity")
    kind = get(activity, "field_id")
    if kind == "act::test_webhook":
        return echo(body)
    event = message("ortto")
    _FIELDS.fill(event, body)
    event["event"] = NAMES.get(kind, _OTHER) if isinstance(kind, str) else _OTHER
    if truthy(time := get(body, "time")):
        event["originalTimestamp"] = iso_without_ms(time)
    _add_contact(event, get(body, "contact"))
    event["properties"] = flat_rest(body, _TAKEN)
    if not truthy(event.get("userId")):
        event["anonymousId"] = webhook.random()
    return event


_OTHER = "custom event triggered"


def _add_contact(event: dict[str, Any], contact: Json) -> None:
    if truthy(number := get(contact, "contact_id")):
        event["context"]["externalId"] = external_id("orttoPersonId", number)
    if truthy(birthday := get(contact, "birthday")):
        parts = (_part(birthday, "year"), _padded(birthday, "month"), _padded(birthday, "day"))
        put(event, ("context", "traits", "birthday"), "-".join(parts))
    if truthy(phone := get(contact, "phone_number")):
        put(event, ("context", "traits", "phone"), f"{_part(phone, 'c')}{_part(phone, 'n')}")


def _padded(birthday: Json, key: str) -> str:
    """A part of the date, with a zero before everything that JavaScript counts as less than 10."""
    number = js_number(get(birthday, key)) if isinstance(birthday, dict) and key in birthday else None
    return ("0" if number is not None and number < 10 else "") + _part(birthday, key)


def _part(value: Json, key: str) -> str:
    return js_text(get(value, key), "null" if isinstance(value, dict) and key in value else "undefined")
