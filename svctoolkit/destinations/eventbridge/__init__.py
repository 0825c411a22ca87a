"""AWS EventBridge: each event becomes an entry of an event bus, with the event as its detail."""

from __future__ import annotations

import msgspec

from svctoolkit.destinations import DestinationType, Endpoint, Header, Payload, Settings
from svctoolkit.destinations._families.streams import ANSWERS
from svctoolkit.events import Event


class EventBridgeSettings(Settings, frozen=True, kw_only=True):
    region: str
    detail_type: str
    event_bus_name: str = "default"
    resource_id: str = msgspec.field(name="resourceID", default="")


destination = DestinationType(
    "AWS EventBridge",
    EventBridgeSettings,
    docs="https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html",
    answers=ANSWERS,
    quirks=["The detail is shown as an object; in the real request it is JSON text."],
)

API = Endpoint(
    "https://events.{region}.amazonaws.com/",
    Header("Content-Type", "application/x-amz-json-1.1"),
    Header("X-Amz-Target", "AWSEvents.PutEvents"),
)


@destination.on()
def send_entry(event: Event, settings: EventBridgeSettings) -> Payload:
    entry = {
        "Source": "rudderstack",
        "DetailType": settings.detail_type,
        "Detail": event.raw,
        "EventBusName": settings.event_bus_name,
        "Resources": [part.strip() for part in settings.resource_id.split(",") if part.strip()],
    }
    return API.post(settings, body={"Entries": [entry]})
