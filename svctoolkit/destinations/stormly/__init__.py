"""Stormly: users, their groups and their events.

identify writes a user, group writes a group, and track sends an event, which may belong to a group.
"""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, authorization
from svctoolkit.events import Event
from svctoolkit.mapping import TIME, USER_ID, Table, first, required, without
from svctoolkit.secrets import Secret


class StormlySettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


destination = DestinationType(
    "Stormly",
    StormlySettings,
    docs="https://www.stormly.com/developers/",
    answers=[
        Answer("success", 200, {"status": "ok"}),
        Answer("bad key", 401, {"error": "Unauthorized"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"error": "userId is required"}),
    ],
)

API = Endpoint("https://rudderstack.t.stormly.com/webhook/rudderstack", authorization("Basic", "api_key"), JSON)

USER = Table({"userId": required(USER_ID), "timestamp": required(TIME)})
NAME = Table({"event": required("event")})
GROUP_OF_ACTION = Table({"context": {"groupId": first("context.externalId.stormlyGroupId", "properties.groupId")}})
GROUP = Table({"userId": USER_ID, "groupId": required(first("groupId", "traits.groupId")), "timestamp": required(TIME)})


@destination.on("identify")
def send_user(event: Event, settings: StormlySettings) -> Payload:
    """Return the user, with the event's traits or else those of its context."""
    traits = event.raw.get("traits") or event.context.get("traits")
    return API.post(settings, "identify", {**USER(event), **({"traits": traits} if isinstance(traits, dict) else {})})


@destination.on("track")
def send_action(event: Event, settings: StormlySettings) -> Payload:
    """Return an event, with its group next to its properties."""
    own = {"properties": without(event.properties, ["groupId"])} if "properties" in event.raw else {}
    return API.post(settings, "track", {**USER(event), **NAME(event), **own, **GROUP_OF_ACTION(event)})


@destination.on("group")
def send_group(event: Event, settings: StormlySettings) -> Payload:
    """Return the group with its traits; no user is required."""
    traits = event.raw.get("traits") or event.context.get("traits")
    own = {"traits": without(traits, ["groupId"])} if isinstance(traits, dict) else {}
    return API.post(settings, "group", {**GROUP(event), **own})
