"""Loops: contacts, and the events that trigger e-mails to them.

identify updates a contact by its e-mail address; track sends an event together with the contact's properties.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, bearer
from svctoolkit.events import Event
from svctoolkit.mapping import EMAIL, USER_ID, Missing, Table, as_object, event_name, verbatim
from svctoolkit.secrets import Secret


class LoopsSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


destination = DestinationType(
    "Loops",
    LoopsSettings,
    docs="https://loops.so/docs/api-reference/update-contact",
    quirks=["A contact has the traits of the event, or else those of its context; the two are not merged."],
    answers=[
        Answer("success", 200, {"success": True, "id": "c1"}),
        Answer("bad key", 401, {"success": False, "message": "Invalid API key"}),
        Answer("rate limit", 429, {"success": False, "message": "Rate limit exceeded"}),
        Answer("invalid field", 400, {"success": False, "message": "Invalid email address"}),
    ],
)

API = Endpoint("https://app.loops.so/api/v1", JSON, bearer("api_key"))

CONTACT = Table({"email": verbatim(EMAIL), "userId": verbatim(USER_ID)})


@destination.on("identify")
def send_contact(event: Event, settings: LoopsSettings) -> Payload:
    """Create or update the contact."""
    contact = _contact(event)
    if not contact.get("email"):
        raise Missing("traits.email", "context.traits.email")
    return API.put(settings, "contacts/update", contact)


@destination.on("track")
def send_event(event: Event, settings: LoopsSettings) -> Payload:
    """Return the event and its properties."""
    name = event_name(event)
    contact = _contact(event)
    if not (contact.get("email") or contact.get("userId")):
        raise Missing("traits.email", "context.traits.email", "userId")
    body = {**contact, "eventName": name}
    if isinstance(event.raw.get("properties"), dict):
        body["eventProperties"] = event.properties
    return API.post(settings, "events/send", body)


def _contact(event: Event) -> dict[str, Any]:
    """Return the traits, overridden by the identifiers. Nulls are left out."""
    traits = as_object(event.raw.get("traits") or event.context.get("traits"))
    return {key: value for key, value in traits.items() if value is not None} | CONTACT(event)
