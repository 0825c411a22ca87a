"""Factors.ai: users, their companies and their events."""

from __future__ import annotations

from typing import Any

import msgspec

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, basic
from svctoolkit.events import Event
from svctoolkit.mapping import IP, TIME, Table, flatten, required, value_of
from svctoolkit.secrets import Secret


class FactorsaiSettings(Settings, frozen=True, kw_only=True):
    factors_ai_api_key: Secret = msgspec.field(name="factorsAIApiKey")


destination = DestinationType(
    "Factors AI",
    FactorsaiSettings,
    docs="https://help.factors.ai/en/articles/7284092-rudderstack",
    answers=[Answer("success", 200, {"status": "success"}), Answer("bad key", 401, {"error": "unauthorized"})],
    quirks=["The properties of a track event are flattened, those of a page are not."],
)

API = Endpoint("https://api.factors.ai/integrations/rudderstack_platform", JSON, basic("factors_ai_api_key"))
COMMON = Table(
    {
        "userId": "userId",
        "anonymousId": "anonymousId",
        "timestamp": required(TIME),
        "messageId": "messageId",
        "type": "type",
    }
)
ACTION = Table({"event": required("event"), "channel": "channel"})
USER = Table({"channel": "channel", "traits": "traits"})
PAGE = Table({"name": "name", "properties": "properties"})
COMPANY = Table({"groupId": required("groupId"), "traits": "traits"})


@destination.on("identify")
def send_user(event: Event, settings: FactorsaiSettings) -> Payload:
    return _send(event, USER(event), settings)


@destination.on("track")
def send_action(event: Event, settings: FactorsaiSettings) -> Payload:
    return _send(event, {**ACTION(event), "properties": flatten(event.properties)}, settings)


@destination.on("page")
def send_page(event: Event, settings: FactorsaiSettings) -> Payload:
    return _send(event, PAGE(event), settings)


@destination.on("group")
def send_company(event: Event, settings: FactorsaiSettings) -> Payload:
    return _send(event, COMPANY(event), settings)


def _send(event: Event, details: dict[str, Any], settings: FactorsaiSettings) -> Payload:
    body = {**COMMON(event), **details}
    context, ip = event.context, value_of(event, IP)
    if context or ip:
        body["context"] = {**context, "ip": ip} if ip else context
    return API.post(settings, body=body)
