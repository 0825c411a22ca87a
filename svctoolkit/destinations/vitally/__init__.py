"""Vitally: sends identify, track and group events unchanged."""

from __future__ import annotations

from svctoolkit.destinations import DestinationType, Endpoint, Header, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.secrets import Secret


class VitallySettings(Settings, frozen=True, kw_only=True):
    api_key_vitally: Secret


destination = DestinationType(
    "Vitally", VitallySettings, docs="https://docs.vitally.io/en/articles/9880656-rudderstack-integration"
)

API = Endpoint(
    "https://api.vitally.io/rudderstack",
    Header("authorization", "Basic {api_key_vitally}"),
    Header("content-type", "application/json"),
)


@destination.on("identify", "track", "group")
def send_event(event: Event, settings: VitallySettings) -> Payload:
    return API.post(settings, body=event.raw)
