"""Userpilot: users, their companies and their events.

identify writes the user and, if `company` is an object with an ID, also the company. track sends an event, group writes
a company. Traits and properties are sent as metadata, without nulls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Header, Payload, Settings, authorization
from svctoolkit.events import Event
from svctoolkit.mapping import Table, as_object, required
from svctoolkit.secrets import Secret


class UserpilotSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    api_endpoint: str = "https://analytex.userpilot.io"


destination = DestinationType(
    "Userpilot",
    UserpilotSettings,
    docs="https://docs.userpilot.com/developer/api/http-api",
    quirks=["A user's traits are those of the context; those of the event are used if the context has none."],
    answers=[
        Answer("success", 202, None),
        Answer("bad key", 401, {"error": "Unauthorized"}),
        Answer("rate limit", 429, {"error": "Too Many Requests"}),
        Answer("invalid field", 400, {"error": "user_id is required"}),
    ],
)

API = Endpoint("{api_endpoint}", authorization("Token", "api_key"), JSON, Header("X-API-Version", "2020-09-22"))

USER = Table({"user_id": required("userId")})
ACTION = Table({"user_id": required("userId"), "event_name": required("event")})
COMPANY = Table({"company_id": required("groupId")})


@destination.on("identify")
def send_user(event: Event, settings: UserpilotSettings) -> Payload:
    """Return the user, and also the company if it has an ID."""
    traits = _traits(event)
    company = as_object(traits.get("company"))
    beside = {"company": company} if company.get("id") is not None else {}
    return API.post(settings, "v1/identify", {**USER(event), **beside, "metadata": _with_creation(traits)})


@destination.on("track")
def send_action(event: Event, settings: UserpilotSettings) -> Payload:
    """Return an event with its name."""
    return API.post(settings, "v1/track", {**ACTION(event), "metadata": _without_nulls(event.properties)})


@destination.on("group")
def send_company(event: Event, settings: UserpilotSettings) -> Payload:
    """Return the company, with all traits of the event; the traits of the context belong to the user."""
    traits = as_object(event.raw.get("traits"))
    return API.post(settings, "v1/companies/identify", {**COMPANY(event), "metadata": _with_creation(traits)})


def _traits(event: Event) -> Mapping[str, Any]:
    of_context = event.context.get("traits")
    return as_object(event.raw.get("traits") if of_context is None else of_context)


def _with_creation(traits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the traits, with the creation time under Userpilot's name."""
    return _without_nulls({"created_at" if key == "createdAt" else key: value for key, value in traits.items()})


def _without_nulls(members: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}
