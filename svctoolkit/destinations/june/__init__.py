"""June: users, their companies and their events. Events without a user are rejected.

A company's event names the company in `properties.groupId` or `context.groupId`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, authorization
from svctoolkit.events import Event
from svctoolkit.mapping import TIME, USER_ID, Table, as_object, first, required, trait, value_of, without
from svctoolkit.secrets import Secret


class JuneSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


destination = DestinationType(
    "JUNE",
    JuneSettings,
    docs="https://www.june.so/docs/tracking/server/http",
    quirks=["The context of a company's event contains nothing but the company's ID."],
    answers=[
        Answer("success", 200, {"success": True}),
        Answer("bad key", 401, {"message": "Unauthorized"}),
    ],
)

API = Endpoint("https://api.june.so/api", JSON, authorization("Basic", "api_key"))
USER = Table({"userId": required(USER_ID), "anonymousId": "anonymousId", "timestamp": required(TIME)})
ACTION = Table({**USER.shape, "event": required("event")})
PAGE = Table({"userId": USER_ID, "anonymousId": "anonymousId", "timestamp": TIME, "properties": required("properties")})
COMPANY = Table(
    {
        "userId": USER_ID,
        "anonymousId": "anonymousId",
        "groupId": required(first("groupId", trait("groupId"))),
        "timestamp": required(TIME),
    }
)
_COMPANY_ID = "groupId"
NAMED = "context.externalId.juneGroupId"
_NOT_CONTEXT = ("traits", "page", "sessionId", "sessionStart", "consentManagement")


@destination.on("identify")
def send_user(event: Event, settings: JuneSettings) -> Payload:
    body = USER(event)
    traits = as_object(event.context.get("traits", event.raw.get("traits")))
    if traits or "traits" in event.context:
        body["traits"] = traits
    return _send("identify", event, body, settings)


@destination.on("track")
def send_action(event: Event, settings: JuneSettings) -> Payload:
    body = ACTION(event)
    if event.raw.get("properties") is not None:
        body["properties"] = without(event.properties, [_COMPANY_ID])
    company = value_of(event, NAMED) or event.properties.get(_COMPANY_ID)
    return _send("track", event, body, settings, {_COMPANY_ID: company} if company else None)


@destination.on("page")
def send_page(event: Event, settings: JuneSettings) -> Payload:
    body = PAGE(event)
    body["properties"] = without(event.properties, [_COMPANY_ID])
    company = event.traits.get(_COMPANY_ID)
    context = {**without(event.context, _NOT_CONTEXT), _COMPANY_ID: company} if company else None
    return _send("page", event, body, settings, context)


@destination.on("group")
def send_company(event: Event, settings: JuneSettings) -> Payload:
    body = COMPANY(event)
    traits = without(as_object(event.raw.get("traits")), [_COMPANY_ID])
    if traits:
        body["traits"] = traits
    return _send("group", event, body, settings)


def _send(
    path: str,
    event: Event,
    body: dict[str, Any],
    settings: JuneSettings,
    context: Mapping[str, Any] | None = None,
) -> Payload:
    context = context or without(event.context, _NOT_CONTEXT)
    if context:
        body["context"] = context
    return API.post(settings, path, body)
