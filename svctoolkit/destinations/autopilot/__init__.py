"""Autopilot: contacts, and journeys that events start for them.

identify writes the contact; track starts the journey of the destination's trigger, with the event's properties.
"""

from __future__ import annotations

from svctoolkit.destinations import ACCEPT_JSON, JSON, Answer, DestinationType, Endpoint, Header, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    Missing,
    Table,
    as_object,
    js_join,
    not_null,
    trait,
    value_of,
    verbatim,
)
from svctoolkit.secrets import Secret


class AutopilotSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret = Secret("")
    trigger_id: str = ""


destination = DestinationType(
    "Autopilot",
    AutopilotSettings,
    docs="https://autopilot.docs.apiary.io/#reference/api-methods/addupdate-contact",
    quirks=["All track events start the same journey, whatever their name."],
    answers=[
        Answer("success", 200, {"contact_id": "person_1"}),
        Answer("bad key", 401, {"error": "Unauthorized", "message": "No autopilotapikey header provided."}),
        Answer("rate limit", 429, {"error": "Too Many Requests", "message": "Rate limit is exceeded"}),
        Answer("invalid field", 400, {"error": "Bad Request", "message": "Contact must have an Email address."}),
    ],
)

API = Endpoint("https://api2.autopilothq.com/v1", Header("autopilotapikey", "{api_key}"), JSON, ACCEPT_JSON)

CONTACT = Table(
    {
        "Email": verbatim(trait("email")),
        "FirstName": verbatim(FIRST_NAME),
        "LastName": verbatim(LAST_NAME),
        "Phone": verbatim(trait("phone")),
        "Company": verbatim(trait("company.name")),
        "Status": verbatim(trait("status")),
    }
)
ADDRESS = not_null(EMAIL)
_NOT_CUSTOM = frozenset({"company", "email", "firstName", "firstname", "lastName", "lastname", "phone", "status"})


@destination.on("identify")
def send_contact(event: Event, settings: AutopilotSettings) -> Payload:
    """Create or update the contact; traits without an Autopilot field become custom fields."""
    traits = as_object(event.raw.get("traits") or event.context.get("traits"))
    contact = CONTACT(event)
    custom = {key: value for key, value in traits.items() if key not in _NOT_CUSTOM}
    if custom:
        contact["custom"] = custom
    return API.post(settings, "contact", {"contact": contact})


@destination.on("track")
def send_trigger(event: Event, settings: AutopilotSettings) -> Payload:
    """Start the journey for the contact with this e-mail address."""
    email = value_of(event, ADDRESS)
    if not email and email != []:
        raise Missing(*ADDRESS.paths)
    properties = event.raw.get("properties")
    body = {"property": properties} if isinstance(properties, dict) else {}
    return API.post(settings, f"trigger/{settings.trigger_id}/contact/{js_join(email)}", body)
