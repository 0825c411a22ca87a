"""Courier: unchanged events, which start messages in Courier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, bearer
from svctoolkit.events import Event
from svctoolkit.mapping import Missing
from svctoolkit.secrets import Secret


class CourierSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


destination = DestinationType(
    "Courier",
    CourierSettings,
    docs="https://www.courier.com/docs/api-reference/inbound/courier-track-event",
    quirks=["An identify event without traits is sent with those of its context."],
    answers=[
        Answer("success", 202, {"messageId": "1-65f24"}),
        Answer("bad key", 401, {"message": "Unauthorized", "type": "authentication_error"}),
        Answer("rate limit", 429, {"message": "Too many requests", "type": "rate_limit_error"}),
        Answer("invalid field", 400, {"message": "The request is invalid", "type": "invalid_request_error"}),
    ],
)

API = Endpoint("https://api.courier.com/inbound/rudderstack", JSON, bearer("api_key"))


@destination.on("track")
def send_action(event: Event, settings: CourierSettings) -> Payload:
    """Return the unchanged event."""
    return API.post(settings, body=_without_nulls(event.raw))


@destination.on("identify")
def send_person(event: Event, settings: CourierSettings) -> Payload:
    """Return the event, with the traits of its context if it has none."""
    body = _without_nulls(event.raw)
    if not body.get("traits"):
        traits = event.context.get("traits")
        if not traits:
            raise Missing("traits")
        body = {**body, "traits": traits}
    return API.post(settings, body=body)


def _without_nulls(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in event.items() if value is not None} if None in event.values() else event
