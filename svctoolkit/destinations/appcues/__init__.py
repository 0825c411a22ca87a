"""Appcues: users and their activity. Only events with a user ID are accepted.

A page is an event and an update of the user's profile; a screen is an event alone.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    TIME,
    TIME_EXAMPLE,
    Missing,
    Table,
    WrongValue,
    converter,
    first,
    js_join,
    lenient_seconds,
    required,
    without_scalars,
)


class AppcuesSettings(Settings, frozen=True, kw_only=True):
    account_id: str


destination = DestinationType(
    "Appcues",
    AppcuesSettings,
    docs="https://docs.appcues.com/dev-api-data/public-api-user-activity",
    answers=[
        Answer("success", 200, {"ok": True}),
        Answer("invalid field", 400, {"error": True, "message": "Bad Request"}),
        Answer("rate limit", 429, {"error": True, "message": "Too Many Requests"}),
    ],
    quirks=["Numbers and booleans among the properties of a page are left out."],
)

API = Endpoint("https://api.appcues.com/v1/accounts/{account_id}/users", JSON)


@converter
def known_seconds(value: Json) -> Json:
    """Convert a time like `lenient_seconds`, but refuse an invalid time."""
    when = lenient_seconds.of(value) if isinstance(value, (str, int, float)) else ""
    if when == "":
        raise WrongValue(TIME_EXAMPLE, value, case="time")
    return when


REQUEST = Table({"request_id": "messageId"})
TIMESTAMP = Table({"timestamp": required(known_seconds(TIME))})
USER = Table({"traits": required(first("traits", "context.traits"))})
ACTION = Table({"name": required("event"), "attributes": required("properties")})
VIEW = Table({"attributes": required("properties")})
PAGE = Table(
    {
        "userId": "userId",
        "_lastBrowserLanguage": "context.locale",
        "_updatedAt": TIME,
        "_userAgent": "context.userAgent",
        "_currentPageTitle": first("context.page.title", "properties.title"),
        "_currentPageUrl": first("context.page.url", "properties.url"),
    }
)


@destination.on("identify")
def send_user(event: Event, settings: AppcuesSettings) -> Payload:
    return _send(event, {"profile_update": USER(event)["traits"]}, settings)


@destination.on("track")
def send_action(event: Event, settings: AppcuesSettings) -> Payload:
    return _send(event, {"events": [{**ACTION(event), **TIMESTAMP(event)}]}, settings)


@destination.on("screen")
def send_screen(event: Event, settings: AppcuesSettings) -> Payload:
    return _send(event, {"events": [{"name": "Viewed a Screen", **VIEW(event), **TIMESTAMP(event)}]}, settings)


@destination.on("page")
def send_page(event: Event, settings: AppcuesSettings) -> Payload:
    view, profile = VIEW(event), PAGE(event)
    attributes = {**without_scalars(event.properties), "_identity": {"userId": event.raw.get("userId")}}
    item: dict[str, Any] = {"name": "Visited a Page", **view, "attributes": attributes, **TIMESTAMP(event)}
    if url := profile.get("_currentPageUrl"):
        item["context"] = {"url": url}
    profile["_appcuesId"] = settings.account_id
    return _send(event, {"profile_update": profile, "events": [item]}, settings)


def _send(event: Event, body: dict[str, Any], settings: AppcuesSettings) -> Payload:
    user = event.raw.get("userId")
    if user is None or user == "":
        raise Missing("userId")
    return API.post(settings, f"{js_join(user)}/activity", {**REQUEST(event), **body})
