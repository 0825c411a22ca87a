"""Delighted: people, and the surveys that are sent to them.

identify writes a person without sending a survey. track sends a survey to a person that exists in Delighted, with the
event's properties, for the configured events. alias changes a person's address. The address is the user ID: an e-mail
address or a telephone number, depending on the channel (`delightedChannelType` among the external IDs, else the
configured one). https://app.delighted.com/docs/api
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Literal

import msgspec

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Payload, Settings, basic_key
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.lexical import is_email
from svctoolkit.mapping import (
    USER_ID,
    Misfit,
    NotConfigured,
    NotFound,
    Table,
    compact,
    converter,
    event_name,
    full_name,
    leading_number,
    nest_dotted,
    trait,
    value_of,
    without,
)
from svctoolkit.secrets import Secret

_FIELDS = {"email": "email", "sms": "phone_number"}
_PHONE = re.compile(r"\+[1-9][0-9]{1,14}")


class SurveyedEvent(msgspec.Struct, frozen=True):
    """The name of an event that triggers a survey."""

    event: str = ""


class DelightedSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    channel: Literal["email", "sms"] = "email"
    delay: int = 0
    event_names_settings: tuple[SurveyedEvent, ...] = ()

    @cached_property
    def surveyed(self) -> frozenset[str]:
        """The names of the events that trigger a survey, in lower case."""
        return frozenset(row.event.strip().lower() for row in self.event_names_settings if row.event.strip())


destination = DestinationType(
    "Delighted",
    DelightedSettings,
    docs="https://app.delighted.com/docs/api",
    quirks=[
        "The header for Basic authentication contains the key alone, without a trailing colon.",
        "A delay in the event's properties that is not a number is sent empty.",
    ],
    answers=[
        Answer("success", 201, {"id": "1", "email": "mira@mail.example"}),
        Answer("bad key", 401, {"status": 401, "message": "Unauthorized"}),
        Answer("rate limit", 429, {"status": 429, "message": "Too Many Requests"}),
        Answer("invalid field", 422, {"status": 422, "message": "Unprocessable", "errors": {"email": ["is invalid"]}}),
    ],
    differences=[
        "The golden case of a rate limit (429) was recorded with a different answer, which accepts the person."
    ],
    needs=["lookup"],
)

API = Endpoint("https://api.delighted.com/v1/people.json", basic_key("api_key"), JSON)


def _is_address(value: Any, channel: str) -> bool:
    return isinstance(value, str) and (is_email(value) if channel == "email" else bool(_PHONE.fullmatch(value)))


@converter
def email(value: Json) -> str:
    """Return an e-mail address; anything else is left out."""
    return value if _is_address(value, "email") else ""


@converter
def phone(value: Json) -> str:
    """Return a telephone number in international format (E.164); anything else is left out."""
    return value if _is_address(value, "sms") else ""


NAME = trait("name")
CHANNEL = "context.externalId.delightedChannelType"
PERSON = Table(
    {
        "email": email(trait("email")),
        "phone_number": phone(trait("phone")),
        "last_sent_at": trait("last_sent_at"),
    }
)


@destination.on("identify")
def send_person(event: Event, settings: DelightedSettings) -> Payload:
    """Return the person, without a survey."""
    name = value_of(event, NAME) or full_name(event)
    body = {"send": False, "delay": settings.delay, **({"name": name} if name else {}), **PERSON(event)}
    return API.post(settings, body={**body, **_address(event, settings)})


@destination.on("track")
def send_survey(event: Event, settings: DelightedSettings, context: Context) -> Payload:
    """Return the person, with a survey. A person that does not exist in Delighted is refused."""
    if event_name(event).lower() not in settings.surveyed:
        raise NotConfigured("event", event_name(event), setting="eventNamesSettings")
    address = _address(event, settings)
    if not context.ask(API.lookup(settings, params=without(address, ["channel"])), field="userId"):
        raise NotFound("person", address[_FIELDS[address["channel"]]], field="userId")
    properties = event.properties
    body = {"send": True, "delay": settings.delay, **compact({"last_sent_at": properties.get("last_sent_at")})}
    if properties.get("delay"):
        body["delay"] = leading_number(properties["delay"])
    rest = nest_dotted(without(properties, ["delay", "last_sent_at"]))
    return API.post(settings, body={**body, **address, **({"properties": rest} if rest else {})})


@destination.on("alias")
def change_address(event: Event, settings: DelightedSettings) -> Payload:
    """Change the address of the person from `previousId` to `userId`."""
    address = _address(event, settings)
    field = _FIELDS[address["channel"]]
    previous = event.raw.get("previousId")
    if not _is_address(previous, address["channel"]):
        raise Misfit("previousId", f"an address for the channel {address['channel']}", previous)
    return API.post(settings, body={field: previous, f"{field}_update": address[field]})


def _address(event: Event, settings: DelightedSettings) -> dict[str, Any]:
    """Return the user ID as an address for the channel, and the channel."""
    channel = value_of(event, CHANNEL) or settings.channel
    kind = channel.lower() if isinstance(channel, str) else ""
    if kind not in _FIELDS:
        raise Misfit(CHANNEL, "email or sms", channel)
    address = value_of(event, USER_ID)
    if not _is_address(address, kind):
        raise Misfit("userId", f"an address for the channel {kind}", address)
    return {_FIELDS[kind]: address, "channel": kind}
