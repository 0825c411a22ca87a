"""Trengo: contacts of a channel, and tickets for their events.

identify creates a contact of the channel; with `enableDedup` the contact is looked up first, and renamed if it exists.
track opens a ticket for the contact if the event is configured; in an e-mail channel, a template creates the ticket's
subject from the event. `channelIdentifier` says whether contacts are identified by e-mail address or phone number. An
event can select its channel by the external ID `trengoChannelId`.
https://developers.trengo.com/reference
"""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote

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
    bearer,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    LookupFailed,
    Missing,
    NotConfigured,
    NotFound,
    as_object,
    fill,
    in_url,
    js_join,
    path,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret

_IDENTIFIERS = {"email": EMAIL, "phone": PHONE}
NAME = trait("name")
CHANNEL = "context.externalId.trengoChannelId"
CONTACT = "context.externalId.trengoContactId"


class TrengoSettings(Settings, frozen=True, kw_only=True):
    api_token: Secret = Secret("")
    channel_id: str
    channel_identifier: Literal["email", "phone"] | None = None
    enable_dedup: bool = False
    event_template_map: tuple[Rows, ...] = ()

    @property
    def identifier(self) -> Literal["email", "phone"]:
        """The field that identifies a contact."""
        return self.channel_identifier or "phone"


destination = DestinationType(
    "Trengo",
    TrengoSettings,
    docs="https://developers.trengo.com/reference",
    quirks=[
        "A missing first or last name is written as null: without both, the contact is called `null null`.",
        "Trengo's search decides which contact is used: the result is not compared with the identifier.",
        "An event without the identifier is searched for as `undefined`.",
        "If a stored configuration has no channelIdentifier, contacts are identified by phone number, not by e-mail.",
    ],
    answers=[
        Answer("success", 201, {"id": 90002431001}),
        Answer("bad key", 401, {"message": "Unauthenticated."}),
        Answer("rate limit", 429, {"message": "Too Many Attempts."}),
        Answer("invalid field", 422, {"message": "The given data was invalid.", "errors": {"identifier": ["invalid"]}}),
    ],
    differences=[
        "A ticket requires a contact that Trengo finds, and an empty template creates no subject.",
        "A contact of a channel for e-mails needs an e-mail address; one recorded batch sends a contact without.",
    ],
    needs=["lookup"],
)

API = Endpoint("https://app.trengo.com/api/v2", JSON, ACCEPT_JSON, bearer("api_token"))


@destination.on("identify")
def send_contact(event: Event, settings: TrengoSettings, context: Context) -> Payload:
    """Create a contact of the channel, or rename the existing one."""
    name = value_of(event, NAME) or " ".join(js_join(value_of(event, word)) for word in (FIRST_NAME, LAST_NAME))
    contact = _contact(event, settings, context) if settings.enable_dedup else None
    if contact is not None:
        return API.put(settings, f"contacts/{contact}", {"name": name})
    identifier = _identifier(event, settings)
    if not identifier:
        raise Missing(f"traits.{settings.identifier}")
    channel = _channel(event, settings)
    body = {"name": name, "identifier": identifier, "channel_id": channel}
    return API.post(settings, f"channels/{in_url(channel)}/contacts", body)


@destination.on("track")
def send_ticket(event: Event, settings: TrengoSettings, context: Context) -> Payload:
    """Return a ticket for the contact."""
    name = event.raw.get("event")
    template = next((row.to for row in settings.event_template_map if row.from_ == name and name), None)
    if template is None:
        raise NotConfigured("event", name, setting="eventTemplateMap")
    contact = _contact(event, settings, context)
    if contact is None:
        raise NotFound("contact", _identifier(event, settings), field=f"traits.{settings.identifier}")
    body = {"contact_id": contact, "channel_id": _channel(event, settings)}
    if settings.identifier == "email" and template:
        body["subject"] = _subject(template, event)
    return API.post(settings, "tickets", body)


def _channel(event: Event, settings: TrengoSettings) -> Json:
    return value_of(event, CHANNEL) or settings.channel_id


def _subject(template: str, event: Event) -> str:
    """Return the template, filled with the event's name and properties."""
    if not isinstance(event.raw.get("properties"), dict):
        raise Missing("properties", wants="the values of the ticket's template")
    values = {"event": event.raw["event"], **event.properties}

    def value(name: str) -> Json:
        item: Json = path(name)(values)
        return "" if item is None else item

    return fill(template, value)


def _identifier(event: Event, settings: TrengoSettings) -> Any:
    return value_of(event, _IDENTIFIERS[settings.identifier])


def _contact(event: Event, settings: TrengoSettings, context: Context) -> Json:
    """Return the contact's ID: that of the event, else of the contact that Trengo finds, or None.

    Raises if several contacts have the identifier.
    """
    if own := value_of(event, CONTACT):
        return own
    identifier = _identifier(event, settings)
    term = quote(js_join(identifier), safe="@+") if identifier else "undefined"
    question = API.lookup(settings, f"contacts?page=1&term={term}")
    answer = as_object(context.ask(question, field=f"traits.{settings.identifier}"))
    contacts = answer.get("data")
    if not isinstance(contacts, list):
        raise LookupFailed(f"traits.{settings.identifier}", "Trengo's search response has no list of contacts")
    if len(contacts) > 1:
        raise NotFound(
            "single contact",
            identifier,
            field=f"traits.{settings.identifier}",
            why="several contacts have this value",
            case="several",
        )
    return as_object(contacts[0]).get("id") if contacts else None
