"""PagerDuty: alerts and change events of a PagerDuty service.

track sends an alert, or a change if `integrations.pagerduty.type` is `changeEvent`. It triggers the alert unless
`properties.action` is `acknowledge` or `resolve`. Both require the alert's key, in the field that
`dedupKeyFieldIdentifier` names. Links without `href` and images without `src` are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    TIME,
    Misconfigured,
    Misfit,
    Table,
    check_age,
    default,
    moment,
    objects,
    path,
    required,
    value_of,
)
from svctoolkit.secrets import Secret


class PagerdutySettings(Settings, frozen=True, kw_only=True):
    routing_key: Secret
    dedup_key_field_identifier: str = ""


destination = DestinationType(
    "PagerDuty",
    PagerdutySettings,
    docs="https://developer.pagerduty.com/docs/send-alert-event",
    answers=[
        Answer("success", 202, {"status": "success", "message": "Event processed", "dedup_key": "k-1"}),
        Answer("rate limit", 429, {"status": "throttle exceeded", "message": "Requests are arriving too quickly"}),
        Answer("invalid field", 400, {"status": "invalid event", "message": "Event object is invalid", "errors": []}),
    ],
    quirks=["PagerDuty rejects a wrong routing key with status 400: `routing_key` is invalid."],
    needs=["clock"],
)

API = Endpoint("https://events.pagerduty.com/v2", JSON)
CHANGE = Table(
    {
        "summary": required("event"),
        "source": "properties.source",
        "timestamp": TIME,
        "custom_details": "properties.customDetails",
    }
)
ALERT = Table(
    {
        **CHANGE.shape,
        "source": required("properties.source"),
        "severity": default("properties.severity", "critical"),
        "component": "properties.component",
        "group": "properties.group",
        "class": "properties.class",
    }
)
CLIENT = Table({"client": "properties.client", "client_url": "properties.clientUrl"})
_ACTIONS = ("trigger", "acknowledge", "resolve")
_PAST = timedelta(days=90)


@destination.on("track")
def send_event(event: Event, settings: PagerdutySettings, context: Context) -> Payload:
    when = moment(value_of(event, TIME))
    if when is not None:
        check_age(when, context.clock(), past=_PAST)
    if value_of(event, "integrations.pagerduty.type") == "changeEvent":
        return _send("change/enqueue", {"payload": CHANGE(event), **_media(event)}, settings)
    action = event.properties.get("action") or "trigger"
    if action not in _ACTIONS:
        raise Misfit("properties.action", f"one of {', '.join(_ACTIONS)}", action)
    body: dict[str, Any] = {"event_action": action}
    key = path(settings.dedup_key_field_identifier)(event.raw) if settings.dedup_key_field_identifier else None
    if key:
        body["dedup_key"] = key
    elif action != "trigger":
        raise Misconfigured("dedupKeyFieldIdentifier", f"must name a field that the event has, to {action} an alert")
    if action == "trigger":
        body |= {"payload": ALERT(event), **CLIENT(event), **_media(event)}
    return _send("enqueue", body, settings)


def _media(event: Event) -> dict[str, Any]:
    links = [link for link in objects(event.properties.get("linkURLs")) if link.get("href")]
    images = [image for image in objects(event.properties.get("imageURLs")) if image.get("src")]
    return {key: value for key, value in {"links": links, "images": images}.items() if value}


def _send(where: str, body: Mapping[str, Any], settings: PagerdutySettings) -> Payload:
    return API.post(settings, where, {**body, "routing_key": settings.routing_key.reveal()})
