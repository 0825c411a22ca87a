"""Webhook: sends the unchanged event to any URL.

An event, and therefore a user transformation, can control its own request: `fullPath` replaces the URL, `appendPath` is
appended to it (both also in `integrations.Webhook`), and the members of `header` become headers. None of the three is
sent in the body. Top-level members of the event that are null are left out too; nested nulls are sent.
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
    "Webhook",
    WebhookSettings,
    docs="https://www.rudderstack.com/docs/destinations/webhooks/setup-guide/",
    differences=[
        "An event's `fullPath` or `appendPath` is rejected if it is not a string; RudderStack joins lists by commas."
    ],
    decided_by=("fullPath", "appendPath", "header", "integrations"),
)


@destination.on()
def send_event(event: Event, settings: WebhookSettings) -> Payload:
    """Return the event; GET and DELETE send only its properties (identify: traits), as query parameters."""
    options = destination.options(event)
    return forward_event(
        event, settings.webhook_url, settings.webhook_method, settings.headers, tidy=True, options=options
    )
