"""Webhook: the event as it is, to any URL.

An event may steer its own request, so that a user transformation can: `fullPath` replaces the URL, `appendPath` is
added to it, and the members of `header` become headers. None of the three is sent in the body, nor are the event's own
members that are null; nulls further inside are.

Decisions. A path of the event's own that is no text is refused, where the service joins a list by commas.
"""

from __future__ import annotations

from svctoolkit.destinations import DestinationType, Method, Payload, SecretRows, Settings
from svctoolkit.destinations._families.forward import forward_event
from svctoolkit.events import Event


class WebhookSettings(Settings, frozen=True, kw_only=True):
    webhook_url: str
    webhook_method: Method = "POST"
    headers: tuple[SecretRows, ...] = ()


destination = DestinationType(
    "Webhook", WebhookSettings, docs="https://www.rudderstack.com/docs/destinations/webhooks/setup-guide/"
)


@destination.on()
def send_event(event: Event, settings: WebhookSettings) -> Payload:
    """GET and DELETE carry properties (of identify: traits) as parameters; the other methods carry the event."""
    return forward_event(event, settings.webhook_url, settings.webhook_method, settings.headers, tidy=True)
