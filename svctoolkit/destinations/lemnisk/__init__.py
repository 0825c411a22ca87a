"""Lemnisk: users, pages and actions of the web platform.

Decisions. The server platform's format for track events is not publicly documented, so they are rejected.
"""

from __future__ import annotations

from typing import Literal

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import ANY_ID, TIME, Misconfigured, Source, Table, first, required
from svctoolkit.secrets import Secret


class LemniskSettings(Settings, frozen=True, kw_only=True):
    cloud_mode: Literal["web", "server", "device"] = "web"
    pl: str = ""
    pl_write_key: Secret = Secret("")


destination = DestinationType(
    "Lemnisk Marketing Automation",
    LemniskSettings,
    docs="https://www.rudderstack.com/docs/destinations/streaming-destinations/lemnisk/",
    answers=[Answer("success", 200, {"status": "success"})],
)

API = Endpoint("{pl}", JSON)
COMMON: dict[str, Source | str] = {
    "type": "type",
    "messageId": required("messageId"),
    "originalTimestamp": required(TIME),
}
PERSON = Table(
    {
        **COMMON,
        "id": required(ANY_ID),
        "userId": ANY_ID,
        "customerProperties": required(first("traits", "context.traits")),
        "context": required("context"),
    }
)
ACTION = Table(
    {
        **COMMON,
        "id": required(first("userId", "anonymousId")),
        "userId": ANY_ID,
        "event": required("event"),
        "properties": required("properties"),
    }
)
PAGE = Table(
    {
        **COMMON,
        "id": required(first("userId", "anonymousId")),
        "userId": ANY_ID,
        "name": required("name"),
        "properties": required("properties"),
        "context": required("context"),
    }
)


@destination.on("identify")
def send_person(event: Event, settings: LemniskSettings) -> Payload:
    return _send(event, PERSON, settings)


@destination.on("track")
def send_action(event: Event, settings: LemniskSettings) -> Payload:
    return _send(event, ACTION, settings)


@destination.on("page")
def send_page(event: Event, settings: LemniskSettings) -> Payload:
    return _send(event, PAGE, settings)


def _send(event: Event, table: Table, settings: LemniskSettings) -> Payload:
    if settings.cloud_mode != "web":
        raise Misconfigured(
            "cloudMode", f"must be web; {event.type} events in {settings.cloud_mode} mode are not mapped"
        )
    if not settings.pl or not settings.pl_write_key:
        raise Misconfigured("pl", "(the region's URL) and plWriteKey (its write key) are required in web mode")
    context = dict(event.context)
    agent = context.pop("userAgent", None)
    body = {**table(event), "context": {**context, "userAgent": {"ua": agent} if agent else {}}}
    body["writeKey"] = settings.pl_write_key.reveal()
    return API.post(settings, body=body)
