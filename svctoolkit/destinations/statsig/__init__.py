"""Statsig: sends every event unchanged."""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Endpoint, Header, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.secrets import Secret


class StatsigSettings(Settings, frozen=True, kw_only=True):
    secret_key: Secret


destination = DestinationType(
    "Statsig",
    StatsigSettings,
    docs="https://docs.statsig.com/integrations/data-connectors/rudderstack",
    answers=[Answer("success", 202, {"success": True}), Answer("bad key", 401, {"message": "Invalid API key"})],
)

API = Endpoint(
    "https://api.statsig.com/v1/webhooks/rudderstack",
    Header("content-type", "application/json"),
    Header("STATSIG-API-KEY", "{secret_key}"),
)


@destination.on()
def send_event(event: Event, settings: StatsigSettings) -> Payload:
    return API.post(settings, body=event.raw)
