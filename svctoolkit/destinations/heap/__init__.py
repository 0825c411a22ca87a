"""Heap: user properties and events.

identify sets user properties; track sends an event. Nested values are flattened: object members become `a.b`, list
elements `a[0]`. https://developers.heap.io/reference/server-side-apis-overview
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import ACCEPT_JSON, JSON, Answer, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import ANY_ID, TIME, Missing, Table, flatten, required, without


class HeapSettings(Settings, frozen=True, kw_only=True):
    app_id: str
    data_residency: str = ""


destination = DestinationType(
    "Heap.io",
    HeapSettings,
    docs="https://developers.heap.io/reference/track-1",
    earlier=["dataResidency"],
    answers=[
        Answer("success", 200, {}),
        Answer("bad key", 400, {"error": "Unknown app_id"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"error": "identity is required"}),
    ],
)

API = Endpoint("https://heapanalytics.com/api", ACCEPT_JSON, JSON)
EUROPE = Endpoint("https://c.eu.heap-api.com/api", ACCEPT_JSON, JSON)

ACTOR = Table({"identity": required(ANY_ID)})
ACTION = Table(
    {
        "identity": required(ANY_ID),
        "event": required("event"),
        "timestamp": TIME,
        "idempotency_key": "properties.idempotencyKey",
    }
)


@destination.on("identify")
def send_user(event: Event, settings: HeapSettings) -> Payload:
    """Return the user's properties, from the event's traits or else from `context.traits`."""
    traits = event.raw.get("traits") or event.context.get("traits")
    if not isinstance(traits, dict):
        raise Missing("traits")
    return _send(settings, "add_user_properties", {**ACTOR(event), "properties": flatten(traits)})


@destination.on("track")
def send_action(event: Event, settings: HeapSettings) -> Payload:
    """Return the event, with the idempotency key next to its properties."""
    properties = without(flatten(event.properties), ["idempotencyKey"])
    return _send(settings, "track", {**ACTION(event), "properties": properties})


def _send(settings: HeapSettings, path: str, body: Mapping[str, Any]) -> Payload:
    return (EUROPE if settings.data_residency == "eu" else API).post(
        settings, path, {"app_id": settings.app_id, **body}
    )
