"""Vitally: identify, track and group as they are."""

from __future__ import annotations

from svctoolkit.destinations import DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.secrets import Secret


class VitallySettings(Settings, frozen=True, kw_only=True):
    api_key_vitally: Secret


destination = DestinationType(
    "Vitally", VitallySettings, docs="https://docs.vitally.io/en/articles/9880656-rudderstack-integration"
)


@destination.on("identify", "track", "group")
def send_event(event: Event, settings: VitallySettings) -> Payload:
    headers = {"authorization": f"Basic {settings.api_key_vitally.reveal()}", "content-type": "application/json"}
    return Payload(endpoint="https://api.vitally.io/rudderstack", headers=headers, json=event.raw)
