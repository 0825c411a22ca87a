"""Emarsys: contacts, the events that start a program, and contact lists.

identify writes a contact, track triggers the external event that the configuration maps it to, and group adds the
contact to a list. A contact is identified by one of its fields: the one that the event or the configuration names, else
the e-mail address (field 3). The configuration maps traits to fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Payload,
    Rows,
    Settings,
)
from svctoolkit.destinations.emarsys._batches import batch
from svctoolkit.destinations.emarsys._deletion import deletion
from svctoolkit.destinations.emarsys._fields import EMAIL_FIELD, Field
from svctoolkit.destinations.emarsys._judge import answer_batch, judge
from svctoolkit.destinations.emarsys._signature import signature
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import TIME, Missing, NotConfigured, Table, js_join, required, text, trait
from svctoolkit.secrets import Secret

_API = "https://api.emarsys.net/api/v2"


class EmarsysSettings(Settings, frozen=True, kw_only=True):
    username: Secret = msgspec.field(name="emersysUsername")
    secret: Secret = msgspec.field(name="emersysUserSecret")
    key_field: str = msgspec.field(name="emersysCustomIdentifier", default="")
    discard_empty_properties: bool = True
    default_contact_list: str = ""
    events_mapping: tuple[Rows, ...] = ()
    field_mapping: tuple[Field, ...] = ()

    @cached_property
    def contact(self) -> Table:
        """The sources of a contact's fields."""
        return Table({row.number: trait(row.trait) for row in self.field_mapping if row.trait and row.number})


destination = DestinationType(
    "Emarsys",
    EmarsysSettings,
    docs="https://dev.emarsys.com/docs/core-api-reference",
    quirks=[
        "The payload of a single event has the body for Emarsys in destinationPayload, next to eventType.",
        "RudderStack may resend the contacts of the last call with a call that has none; here calls are independent.",
        "An event without an attachment is sent with the list [null].",
        "If empty fields are discarded, numbers and booleans are, too: RudderStack treats them as empty.",
    ],
    answers=[
        Answer("success", 200, {"replyCode": 0, "replyText": "OK", "data": {"ids": ["1"]}}),
        Answer("bad key", 401, {"replyCode": 1, "replyText": "Unauthorized", "data": ""}),
        Answer("rate limit", 429, {"replyCode": 1, "replyText": "Too many requests", "data": ""}),
        Answer("invalid field", 400, {"replyCode": 2004, "replyText": "Invalid key field id: 99", "data": ""}),
    ],
    differences=[
        "The digest in a header depends on the time and a random number: golden cases differ there.",
        "A contact without a list is refused; RudderStack sends it to a path without a list.",
    ],
)

API = Endpoint("https://api.emarsys.net/api/v2", JSON, ACCEPT_JSON)

ACTION = Table(
    {
        "trigger_id": "integrations.EMARSYS.trigger_id",
        "data": "properties.data",
        "event_time": TIME,
    }
)
EMAIL = Table({"value": trait("email")})
NAME = Table({"event": required("event")})
ROUTE = Table(
    {
        "key": "integrations.EMARSYS.customIdentifierId",
        "list": "integrations.EMARSYS.contactListId",
        "group": "groupId",
    }
)


@destination.on("identify")
def send_contact(event: Event, settings: EmarsysSettings, context: Context) -> Payload:
    """Return the contact with the configured fields, and the contact list."""
    contact = settings.contact(event)
    if settings.discard_empty_properties:
        contact = {number: value for number, value in contact.items() if isinstance(value, (str, list, dict)) and value}
    key = _key(event, settings)
    if not contact.get(text(key)):
        raise _unknown_contact(key)
    contacts = _contact_list(event, settings, "list")
    body = {"key_id": key, "contacts": [contact], "contact_list_id": contacts}
    return _send(event, settings, context, "identify", "contact/?create_if_not_exists=1", body)


@destination.on("track")
def trigger(event: Event, settings: EmarsysSettings, context: Context) -> Payload:
    """Return the external event that is configured for this one, with `data` and `attachment` from its properties."""
    name = NAME(event)["event"]
    target = next((row.to for row in settings.events_mapping if row.from_ == name and row.to), None)
    if target is None:
        raise NotConfigured("event", name, setting="eventsMapping")
    key = _key(event, settings)
    attachment = event.properties.get("attachment")
    known_by = {"key_id": key, "external_id": _key_value(event, settings, key)}
    more = {"attachment": attachment if isinstance(attachment, list) else [attachment]}
    payload = {name: value for name, value in {**known_by, **ACTION(event), **more}.items() if value is not None}
    return _send(event, settings, context, "track", f"event/{target}/trigger", {"payload": payload, "eventId": target})


def _unknown_contact(key: Any) -> MappingError:
    wants = f"a value for the field {text(key)} of the contact"
    return Missing("traits", wants=wants, setting="emersysCustomIdentifier")


@destination.on("group")
def add_to_list(event: Event, settings: EmarsysSettings, context: Context) -> Payload:
    """Add the contact to the list with the group's ID, else to the configured list."""
    key = _key(event, settings)
    known_by = _key_value(event, settings, key)
    if known_by is None:
        raise _unknown_contact(key)
    contacts = _contact_list(event, settings, "group")
    payload = {"key_id": key, "external_ids": [known_by]}
    body = {"payload": payload, "contactListId": contacts}
    return _send(event, settings, context, "group", f"contactlist/{js_join(contacts)}/add", body)


def _contact_list(event: Event, settings: EmarsysSettings, where: str) -> Any:
    contacts = ROUTE(event).get(where) or settings.default_contact_list
    if not contacts:
        raise Missing(
            "integrations.EMARSYS.contactListId",
            setting="defaultContactList",
            wants="a contact list",
            why="or set defaultContactList in the configuration",
        )
    return contacts


def _key(event: Event, settings: EmarsysSettings) -> Any:
    return ROUTE(event).get("key") or settings.key_field or EMAIL_FIELD


def _key_value(event: Event, settings: EmarsysSettings, key: Any) -> Any:
    number = text(key)
    if any(row.number == number for row in settings.field_mapping):
        return settings.contact(event).get(number)
    return EMAIL(event).get("value")


def _send(
    event: Event, settings: EmarsysSettings, context: Context, kind: str, place: str, body: Mapping[str, Any]
) -> Payload:
    # The seed is the event's ID, so that an event always has the same payload.
    sign = signature(settings.username, settings.secret, context.clock(), str(event.raw.get("messageId")))
    return API.post(settings, place, {"eventType": kind, "destinationPayload": body}, headers={"X-WSSE": sign})


destination.batch(batch, may_refuse=False)
destination.deletes_with(deletion)
destination.judge(judge)
destination.answer_batch(answer_batch)
