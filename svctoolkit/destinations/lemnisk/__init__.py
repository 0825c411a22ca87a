"""Lemnisk: users, pages and actions of the web platform, and actions of the server platform (`cloudMode`)."""

from __future__ import annotations

from typing import Literal

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Header, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import ANY_ID, EMAIL, TIME, Misconfigured, Source, Table, compact, first, required
from svctoolkit.secrets import Secret


class LemniskSettings(Settings, frozen=True, kw_only=True):
    cloud_mode: Literal["web", "server", "device"] = "web"
    pl: str = ""
    pl_write_key: Secret = Secret("")
    diapi: str = ""
    diapi_write_key: Secret = Secret("")
    api_key: Secret = Secret("")
    pass_key: Secret = Secret("")
    src_id: str = ""


destination = DestinationType(
    "Lemnisk Marketing Automation",
    LemniskSettings,
    docs="https://www.rudderstack.com/docs/destinations/streaming-destinations/lemnisk/",
    answers=[Answer("success", 200, {"status": "success"})],
)

API = Endpoint("{pl}", JSON)
SERVER = Endpoint("{diapi}", JSON, Header("x-api-passKey", "{pass_key}"), Header("x-api-key", "{api_key}"))
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
SERVER_ACTION = Table(
    {
        "type": "type",
        "properties": "properties",
        "eventname": "event",
        "userId": ANY_ID,
        "email": EMAIL,
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
    if settings.cloud_mode != "server":
        return _send(event, ACTION, settings)
    if not settings.diapi or not settings.api_key or not settings.pass_key:
        raise Misconfigured("diapi", "(the region's URL), apiKey and passKey are required in server mode")
    own = compact({"WriteKey": settings.diapi_write_key.reveal(), "srcid": settings.src_id})
    return SERVER.post(settings, body={**SERVER_ACTION(event), **own})


@destination.on("page")
def send_page(event: Event, settings: LemniskSettings) -> Payload:
    return _send(event, PAGE, settings)


def _send(event: Event, table: Table, settings: LemniskSettings) -> Payload:
    if settings.cloud_mode != "web":
        raise Misconfigured(
            "cloudMode", f"must be web for {event.type} events; {settings.cloud_mode} mode does not accept them"
        )
    if not settings.pl or not settings.pl_write_key:
        raise Misconfigured("pl", "(the region's URL) and plWriteKey (its write key) are required in web mode")
    context = dict(event.context)
    agent = context.pop("userAgent", None)
    body = {**table(event), "context": {**context, "userAgent": {"ua": agent} if agent else {}}}
    body["writeKey"] = settings.pl_write_key.reveal()
    return API.post(settings, body=body)
