"""Trengo: contacts of a channel, and tickets of what they do.

identify creates a contact of the channel; with `enableDedup` Trengo is asked first, and the contact that it finds is
renamed instead. track opens a ticket of the contact, for the events that the configuration names; in a channel for
e-mail the ticket has a subject, made from the event by the template. A contact is known by its e-mail address or
telephone number, as `channelIdentifier` says; an event may name its channel (`trengoChannelId` among the external IDs).
https://developers.trengo.com/reference

Decisions. A ticket needs a contact that Trengo finds, and a template without text makes no subject.
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
    in_words,
    path,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret

_IDENTIFIERS = {"email": EMAIL, "phone": PHONE}
NAME = trait("name")
CHANNEL = "context.externalId.trengoChannelId"


class TrengoSettings(Settings, frozen=True, kw_only=True):
    api_token: Secret = Secret("")
    channel_id: str
    channel_identifier: Literal["email", "phone"] | None = None
    enable_dedup: bool = False
    event_template_map: tuple[Rows, ...] = ()

    @property
    def identifier(self) -> Literal["email", "phone"]:
        """What a contact is known by."""
        return self.channel_identifier or "phone"


destination = DestinationType(
    "Trengo",
    TrengoSettings,
    docs="https://developers.trengo.com/reference",
    quirks=[
        "A name that is not known is written as null: who has none is called `null null`.",
        "Trengo's search decides which contact it is: what it finds is not compared with the identifier.",
        "Without channelIdentifier in a stored configuration contacts are known by telephone, not by e-mail address.",
    ],
    answers=[
        Answer("success", 201, {"id": 90002431001}),
        Answer("bad key", 401, {"message": "Unauthenticated."}),
        Answer("rate limit", 429, {"message": "Too Many Attempts."}),
        Answer("invalid field", 422, {"message": "The given data was invalid.", "errors": {"identifier": ["invalid"]}}),
    ],
)

API = Endpoint("https://app.trengo.com/api/v2", JSON, ACCEPT_JSON, bearer("api_token"))


@destination.on("identify")
def send_contact(event: Event, settings: TrengoSettings, context: Context) -> Payload:
    """A contact of the channel, or a new name for the one that Trengo has."""
    identifier = _identifier(event, settings)
    name = value_of(event, NAME) or " ".join(in_words(value_of(event, word)) for word in (FIRST_NAME, LAST_NAME))
    contact = _contact(identifier, settings, context) if settings.enable_dedup else None
    if contact is not None:
        return API.put(settings, f"contacts/{contact}", {"name": name})
    channel = _channel(event, settings)
    body = {"name": name, "identifier": identifier, "channel_id": channel}
    return API.post(settings, f"channels/{in_url(channel)}/contacts", body)


@destination.on("track")
def send_ticket(event: Event, settings: TrengoSettings, context: Context) -> Payload:
    """A ticket of the contact."""
    name = event.raw.get("event")
    template = next((row.to for row in settings.event_template_map if row.from_ == name and name), None)
    if template is None:
        raise NotConfigured("event", name, setting="eventTemplateMap")
    contact = _contact(_identifier(event, settings), settings, context)
    if contact is None:
        raise NotFound("contact", _identifier(event, settings), field=f"traits.{settings.identifier}")
    body = {"contact_id": contact, "channel_id": _channel(event, settings)}
    if settings.identifier == "email" and template:
        body["subject"] = _subject(template, event)
    return API.post(settings, "tickets", body)


def _channel(event: Event, settings: TrengoSettings) -> Json:
    return value_of(event, CHANNEL) or settings.channel_id


def _subject(template: str, event: Event) -> str:
    """The template, filled with the name of the event and with its properties."""
    if not isinstance(event.raw.get("properties"), dict):
        raise Missing("properties", wants="the values of the ticket's template")
    values = {"event": event.raw["event"], **event.properties}

    def value(name: str) -> Json:
        item: Json = path(name)(values)
        return "" if item is None else item

    return fill(template, value)


def _identifier(event: Event, settings: TrengoSettings) -> Any:
    identifier = value_of(event, _IDENTIFIERS[settings.identifier])
    if not identifier:
        field = f"traits.{settings.identifier}"
        raise Missing(field)
    return identifier


def _contact(identifier: Json, settings: TrengoSettings, context: Context) -> Json:
    """The ID of the contact that Trengo finds; None when it finds none. Several of one identifier are refused."""
    question = API.lookup(settings, f"contacts?page=1&term={quote(in_words(identifier), safe='@+')}")
    answer = as_object(context.ask(question, field=f"traits.{settings.identifier}"))
    contacts = answer.get("data")
    if not isinstance(contacts, list):
        raise LookupFailed(
            f"traits.{settings.identifier}", "Trengo's answer to the search for the contact has no list of contacts"
        )
    if len(contacts) > 1:
        raise NotFound(
            "single contact",
            identifier,
            field=f"traits.{settings.identifier}",
            why="several contacts have it",
            case="several",
        )
    return as_object(contacts[0]).get("id") if contacts else None
