"""Ninetailed: profiles for personalised experiences, and their events. Events are sent in batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.destinations.ninetailed._batches import batch
from svctoolkit.events import Event
from svctoolkit.mapping import USER_ID, Table, compact, default, required, value_of, verbatim
from svctoolkit.secrets import Secret


class NinetailedSettings(Settings, frozen=True, kw_only=True):
    organisation_id: Secret
    environment: str


destination = DestinationType(
    "Ninetailed",
    NinetailedSettings,
    docs="https://docs.ninetailed.io/for-developers/experience-api",
    quirks=[
        "An event without a channel is sent with the channel server.",
        "A profile without a user ID is sent with an empty user ID.",
    ],
    answers=[
        Answer("success", 200, {"message": "ok", "error": None}),
        Answer("unknown organisation", 404, {"message": "Organization not found", "error": True}),
        Answer("invalid event", 400, {"message": "events: is invalid", "error": True}),
        Answer("rate limit", 429, {"message": "Too Many Requests", "error": True}),
    ],
)
destination.batch(batch, may_refuse=False)

EVENT = Table(
    {
        "anonymousId": required("anonymousId"),
        "messageId": required("messageId"),
        "originalTimestamp": "originalTimestamp",
        "context": {
            "app": {"name": "context.app.name", "version": "context.app.version"},
            "campaign": "context.campaign",
            "locale": "context.locale",
            "page": "context.page",
            "userAgent": "context.userAgent",
        },
    }
)
#: Defaults for missing fields. An empty string is dropped, and does not get the default.
CHANNEL = Table({"channel": default(verbatim("channel"), "server")})
LIBRARY = Table(
    {
        "name": default(verbatim("context.library.name"), "Rudderstack Ninetailed Destination"),
        "version": default(verbatim("context.library.version"), "1"),
    }
)
ACTION = Table({"event": required("event")})


@destination.on("identify")
def send_profile(event: Event, settings: NinetailedSettings) -> Payload:
    """Return the profile, with all traits of the event, or of its context if the event has none."""
    traits = event.raw.get("traits")
    traits = event.context.get("traits") if traits is None else traits
    return _send(event, settings, {"traits": traits or {}, "userId": value_of(event, USER_ID) or ""})


@destination.on("track")
def send_action(event: Event, settings: NinetailedSettings) -> Payload:
    """Return the profile's event, with all properties."""
    return _send(event, settings, {**ACTION(event), "properties": event.properties})


def _send(event: Event, settings: NinetailedSettings, more: Mapping[str, Any]) -> Payload:
    body = EVENT(event)
    context = {
        **body.get("context", {}),
        "library": compact(LIBRARY(event)),
        "location": event.context.get("location") or {},
    }
    organisation = settings.organisation_id.reveal()
    return Payload(
        endpoint=f"https://experience.ninetailed.co/v2/organizations/{organisation}"
        f"/environments/{settings.environment}/events",
        json={"events": [{**body, **compact(CHANNEL(event)), "type": event.type, "context": context, **more}]},
    )
