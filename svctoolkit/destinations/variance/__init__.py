"""Variance: sends the unchanged event to the webhook of a workspace, with the configured authorization."""

from __future__ import annotations

from svctoolkit.destinations import DestinationType, Payload, SecretRows, Settings
from svctoolkit.destinations._families.forward import forward_event
from svctoolkit.events import Event
from svctoolkit.secrets import Secret


class VarianceSettings(Settings, frozen=True, kw_only=True):
    webhook_url: str
    auth_header: Secret = Secret("")


destination = DestinationType("Variance", VarianceSettings, docs="https://docs.variance.com/docs/webhooks")


@destination.on()
def send_event(event: Event, settings: VarianceSettings) -> Payload:
    rows = [SecretRows("authorization", settings.auth_header)] if settings.auth_header else []
    return forward_event(event, settings.webhook_url, "POST", rows)
