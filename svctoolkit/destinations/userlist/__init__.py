"""Userlist: sends events unchanged, with the ID of the user filled in."""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, authorization
from svctoolkit.events import Event
from svctoolkit.mapping import USER_ID, Table, required, verbatim
from svctoolkit.secrets import Secret


class UserlistSettings(Settings, frozen=True, kw_only=True):
    push_key: Secret = Secret("")


destination = DestinationType(
    "Userlist",
    UserlistSettings,
    docs="https://userlist.com/docs/integrations/rudderstack/",
    quirks=["If the event has no user ID, an ID in the traits is used."],
    answers=[
        Answer("success", 202),
        Answer("bad key", 401, {"error": "Unauthorized"}),
        Answer("rate limit", 429, {"error": "Too Many Requests"}),
        Answer("invalid field", 400, {"error": "Bad Request"}),
    ],
)

API = Endpoint("https://incoming.userlist.com/rudderstack/events", JSON, authorization("Push", "push_key"))

USER = Table({"userId": required(verbatim(USER_ID))})


@destination.on("identify", "track", "group")
def send_event(event: Event, settings: UserlistSettings) -> Payload:
    """The event itself."""
    return API.post(settings, body={**event.raw, **USER(event)})
