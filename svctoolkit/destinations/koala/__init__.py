"""Koala: website visitors, identified by e-mail address or Koala profile ID, and their events."""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Endpoint, Header, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import EMAIL, IP, TIME, Missing, Table, first, trait, verbatim, without


class KoalaSettings(Settings, frozen=True, kw_only=True):
    public_key: str


destination = DestinationType(
    "Koala",
    KoalaSettings,
    docs="https://getkoala.com/docs/api",
    answers=[Answer("success", 200, {"success": True})],
)

API = Endpoint("https://api2.getkoala.com/web/projects/{public_key}/batch", Header("content-type", "application/json"))
VISITOR = Table({"email": verbatim(EMAIL), "profile_id": first(trait("ko_profile_id"), "properties.ko_profile_id")})
ACTION = Table({"ip": IP})
SENT = Table({"sent_at": verbatim(TIME)})
_PROFILE_ID = "ko_profile_id"
EVENT = Table({"event": "event", "message_id": "messageId"})


@destination.on("identify")
def send_visitor(event: Event, settings: KoalaSettings) -> Payload:
    body = _visitor(event)
    item = {"type": "identify", **SENT(event), "traits": without(event.traits, [_PROFILE_ID])}
    item["source"] = "rudderstack-cloud"
    return _send({**body, "identifies": [item]}, settings)


@destination.on("track")
def send_action(event: Event, settings: KoalaSettings) -> Payload:
    body = {**ACTION(event), **_visitor(event)}
    item = {"type": "track", **EVENT(event), **SENT(event)}
    item["properties"] = without(event.properties, [_PROFILE_ID])
    if "context" in event.raw:
        item["context"] = event.raw["context"]
    return _send({**body, "events": [item]}, settings)


def _visitor(event: Event) -> dict[str, Any]:
    visitor = VISITOR(event)
    if not any(visitor.values()):
        raise Missing("traits.email", "traits.ko_profile_id")
    return visitor


def _send(body: dict[str, Any], settings: KoalaSettings) -> Payload:
    return API.post(settings, body=body)
