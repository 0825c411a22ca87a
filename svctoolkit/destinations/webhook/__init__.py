"""Webhook: the event as it is, to any URL.

An event may steer its own request, so that a user transformation can: `fullPath` replaces the URL, `appendPath` is
added to it, and the members of `header` become headers. None of the three is sent in the body, nor are the event's own
members that are null; nulls further inside are.
"""

from __future__ import annotations

from typing import Any

import msgspec

from svctoolkit.destinations import DestinationType, Method, Payload, Settings
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import flatten, text
from svctoolkit.secrets import Secret

_STEERING = frozenset({"appendPath", "fullPath", "header"})


class Header(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """One header: `from` is its name, `to` its value."""

    from_: str = ""
    to: Secret = Secret("")


class WebhookSettings(Settings, frozen=True, kw_only=True):
    webhook_url: str
    webhook_method: Method = "POST"
    headers: tuple[Header, ...] = ()


destination = DestinationType(
    "Webhook", WebhookSettings, docs="https://www.rudderstack.com/docs/destinations/webhooks/setup-guide/"
)


@destination.on()
def send_event(event: Event, settings: WebhookSettings) -> Payload:
    """GET and DELETE carry properties (of identify: traits) as parameters; the other methods carry the event."""
    if settings.webhook_method in ("GET", "DELETE"):
        details = event.traits if event.type == "identify" else event.properties
        return Payload(
            endpoint=_endpoint(event, settings),
            method=settings.webhook_method,
            headers=_headers(event, settings, {}),
            params=flatten(details),
        )
    return Payload(
        endpoint=_endpoint(event, settings),
        method=settings.webhook_method,
        headers=_headers(event, settings, {"content-type": "application/json"}),
        json=_body(event),
    )


def _body(event: Event) -> dict[str, Any]:
    body = {key: value for key, value in event.raw.items() if value is not None and key not in _STEERING}
    context, ip = body.get("context") or {}, event.raw.get("request_ip")
    if ip and isinstance(context, dict) and not context.get("ip"):
        body["context"] = {**context, "ip": ip}
    return body


def _endpoint(event: Event, settings: WebhookSettings) -> str:
    path = event.raw.get("fullPath")
    base = settings.webhook_url if path is None else _url_part("fullPath", path)
    return base + _url_part("appendPath", event.raw.get("appendPath") or "")


def _url_part(name: str, value: Any) -> str:
    if isinstance(value, dict | list):
        raise MappingError(f"{name}: expected a text, got {text(value)}", field=name)
    return text(value)


def _headers(event: Event, settings: WebhookSettings, headers: dict[str, str]) -> dict[str, str]:
    for row in settings.headers:
        if row.from_:
            headers[row.from_.lower()] = row.to.reveal()
    own = event.raw.get("header")
    if isinstance(own, dict):
        for name, value in own.items():
            headers.pop(name.lower(), None)
            headers[name] = text(value)
    return headers
