"""Heap: the properties of users, and their events.

identify writes the properties of a user, track is an event. Both are flat: members of objects are `a.b`, elements of
lists `a[0]`. https://developers.heap.io/reference/server-side-apis-overview
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
    """The properties of the user; the traits of the context count where the event has none."""
    traits = event.raw.get("traits") or event.context.get("traits")
    if not isinstance(traits, dict):
        raise Missing("traits")
    return _send(settings, "add_user_properties", {**ACTOR(event), "properties": flatten(traits)})


@destination.on("track")
def send_action(event: Event, settings: HeapSettings) -> Payload:
    """An event of its name; the key that lets Heap take it once stands beside its properties."""
    properties = flatten(without(event.properties, ["idempotencyKey"]))
    return _send(settings, "track", {**ACTION(event), "properties": properties})


def _send(settings: HeapSettings, path: str, body: Mapping[str, Any]) -> Payload:
    return (EUROPE if settings.data_residency == "eu" else API).post(
        settings, path, {"app_id": settings.app_id, **body}
    )
