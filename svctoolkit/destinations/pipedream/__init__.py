"""Pipedream: sends the unchanged event to the URL of a workflow. An event can control its request, as with Webhook."""

from __future__ import annotations

from svctoolkit.destinations import DestinationType, Method, Payload, SecretRows, Settings
from svctoolkit.destinations._families.forward import forward_event
from svctoolkit.events import Event


class PipedreamSettings(Settings, frozen=True, kw_only=True):
    pipedream_url: str
    pipedream_method: Method = "POST"
    headers: tuple[SecretRows, ...] = ()


destination = DestinationType(
    "Pipedream", PipedreamSettings, docs="https://pipedream.com/docs/workflows/building-workflows/triggers/#http"
)


@destination.on()
def send_event(event: Event, settings: PipedreamSettings) -> Payload:
    """Return the event; GET and DELETE send only its properties (identify: traits), as query parameters."""
    return forward_event(event, settings.pipedream_url, settings.pipedream_method, settings.headers)
