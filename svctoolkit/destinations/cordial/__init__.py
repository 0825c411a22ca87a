"""Cordial: contacts and their activities.

identify creates a contact, or updates the one that a lookup finds by e-mail address; track adds an activity.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Payload, Settings, basic
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    TIME,
    Missing,
    Table,
    as_object,
    js_join,
    required,
    trait,
    value_of,
    verbatim,
    without,
)
from svctoolkit.secrets import Secret


class CordialSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    api_base_url: str


destination = DestinationType(
    "Cordial",
    CordialSettings,
    docs="https://support.cordial.com/hc/en-us/articles/204570347-Contacts-API",
    quirks=[
        "A contact that the lookup finds is updated by e-mail address; special characters in it are not escaped.",
        "Traits are sent unchanged, in addition to Cordial's own fields; only nulls are left out.",
    ],
    answers=[
        Answer("success", 200, {"success": True}),
        Answer("bad key", 401, {"error": True, "message": "Unauthorized"}),
        Answer("invalid field", 422, {"error": True, "messages": "channels.email.address is invalid"}),
        Answer("rate limit", 429, {"error": True, "message": "Too Many Requests"}),
    ],
    needs=["lookup"],
)

API = Endpoint("{api_base_url}/v2", JSON, basic("api_key"))

#: Cordial's ID of the contact; it takes precedence over the e-mail address.
CONTACT_ID = "context.externalId.cordialContactId"
CHANNEL = Table({"address": verbatim(trait("email")), "subscribeStatus": trait("subscribeStatus")})
ACTIVITY = Table({"cID": CONTACT_ID, "email": verbatim(EMAIL), "a": required("event")})
MOMENT = Table({"ats": TIME})


@destination.on("identify")
def send_contact(event: Event, settings: CordialSettings, context: Context) -> Payload:
    """Create the contact with all traits, or update it by ID or e-mail address."""
    channel = CHANNEL(event)
    contact_id = value_of(event, CONTACT_ID)
    _check_identity(contact_id, channel.get("address"))
    body = {"channels": {"email": channel}, **_own_traits(event)} if channel else _own_traits(event)
    place = f"contacts/{js_join(contact_id)}" if contact_id else f"contacts/email:{js_join(channel['address'])}"
    if _exists(settings, context, place):
        return API.put(settings, place, body)
    return API.post(settings, "contacts", body)


@destination.on("track")
def send_activity(event: Event, settings: CordialSettings) -> Payload:
    """Return the contact's activity, with all properties."""
    body = ACTIVITY(event)
    _check_identity(body.get("cID"), body.get("email"))
    if body.get("cID"):
        body.pop("email", None)
    properties = event.raw.get("properties")
    more = {"properties": properties} if isinstance(properties, dict) else {}
    return API.post(settings, "contactactivities", {**body, **more, **MOMENT(event)})


def _own_traits(event: Event) -> dict[str, Any]:
    """Return the traits of the event, or else of its context, without those that are sent in the channel."""
    traits = event.raw.get("traits")
    own = as_object(event.context.get("traits") if traits is None else traits)
    return {key: value for key, value in without(own, ["email", "subscribeStatus"]).items() if value is not None}


def _check_identity(contact_id: Any, address: Any) -> None:
    if not contact_id and not address:
        raise Missing(
            "traits.email", "context.externalId.cordialContactId", wants="an e-mail address or Cordial's own ID"
        )


def _exists(settings: CordialSettings, context: Context, place: str) -> bool:
    """Look up whether the contact exists. Raises `MappingError` if the lookup fails."""
    return bool(as_object(context.ask(API.lookup(settings, place), may_miss=True, field="traits.email")).get("_id"))
