"""HubSpot: contacts and other objects, and behavioural events of contacts.

identify creates or updates a contact. Look-ups return the properties of the HubSpot account and whether `lookupField`
is unique. If it is, the contact is upserted by it; otherwise another look-up finds the contact with the same value.
Reverse ETL events (`context.mappedToDestination`) create or update an object of the type that their external ID names.
RudderStack's router, which maps several of them at a time, upserts those whose property is unique. track sends the
HubSpot event that the configuration maps the name to. `apiVersion` selects the API: the legacy API sends every contact
with an e-mail address to its batch endpoint, and every event to the tracking pixel.
https://developers.hubspot.com/docs/api-reference/crm-contacts-v3/guide

If the object type is `association`, the event associates two objects instead, in either API. RudderStack looks nothing
up for it: the traits contain both ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Settings
from svctoolkit.destinations.hs._batches import batch
from svctoolkit.destinations.hs._contacts import (
    CONTACT,
    EVENT,
    PIXEL,
    PROPERTIES,
    email_of,
    known,
    midnights,
    traits_of,
)
from svctoolkit.destinations.hs._judge import answer_batch, judge
from svctoolkit.events import Event
from svctoolkit.mapping import (
    Misconfigured,
    Misfit,
    Missing,
    NotConfigured,
    as_object,
    event_name,
    in_url,
    objects,
    text,
)
from svctoolkit.secrets import Secret

_API = "https://api.hubapi.com"
_EMAIL_FIELDS = ("email", "hs_additional_emails")


class PropertyRow(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """A property of the event, and its name in HubSpot."""

    from_: str = ""
    to: str = ""


class EventRow(msgspec.Struct, frozen=True, rename="camel"):
    """The name of an event in RudderStack and in HubSpot, and the properties to send with it."""

    rs_event_name: str = ""
    hubspot_event_name: str = ""
    event_properties: tuple[PropertyRow, ...] = ()


class HubSpotSettings(Settings, frozen=True, kw_only=True):
    authorization_type: Literal["legacyApiKey", "newPrivateAppApi"] = "legacyApiKey"
    api_version: Literal["newApi", "legacyApi"] = "legacyApi"
    hub_id: str = msgspec.field(name="hubID", default="")
    api_key: Secret = Secret("")
    access_token: Secret = Secret("")
    lookup_field: str = ""
    hubspot_events: tuple[EventRow, ...] = ()


destination = DestinationType(
    "HubSpot",
    HubSpotSettings,
    docs="https://developers.hubspot.com/docs/api-reference/crm-contacts-v3/guide",
    names=("HS",),
    earlier=("authorizationType", "apiVersion"),
    quirks=[
        "Contact fields that the mapping sets itself are sent unchanged; only other traits are converted to the type "
        "of the HubSpot property.",
        "If the first object of a batch comes from reverse ETL, contacts from other sources in it are rejected.",
        "Updates by reverse ETL events leave out the property that the object was found by, unless apiVersion is "
        "legacyApi.",
    ],
    answers=[
        Answer("success", 201, {"status": "COMPLETE", "results": [{"id": "1", "properties": {}}]}),
        Answer("bad key", 401, {"status": "error", "message": "Authentication credentials not found."}),
        Answer("rate limit", 429, {"status": "error", "message": "You have reached your secondly limit."}),
        Answer("invalid field", 400, {"status": "error", "message": "Property values were not valid"}),
    ],
    differences=[
        "Identifiers that are not strings are rejected.",
        "Names of events are strings; a list or an object is refused, whereas RudderStack sends its text.",
    ],
    needs=["lookup"],
)


@destination.on("identify")
def send_object(event: Event, settings: HubSpotSettings, context: Context) -> Payload:
    """Return an object for a reverse ETL event, and a contact for any other."""
    account = _Account(settings, context)
    if event.context.get("mappedToDestination"):
        return _mapped_object(event, account)
    properties = known(event, CONTACT(event), account.property_types())
    if account.is_legacy:
        return _legacy_contact(event, properties, account)
    return _contact(event, properties, account)


@destination.on("track")
def send_event(event: Event, settings: HubSpotSettings, context: Context) -> Payload:
    """Return the event that the configuration maps the name to; with the legacy API, the event name and its contact."""
    account = _Account(settings, context)
    if event.context.get("mappedToDestination"):
        raise Misfit("type", "identify", "track", why="reverse ETL rows are sent only as objects")
    name = event_name(event)
    if account.is_legacy:
        person = known(event, CONTACT(event), account.property_types())
        params = {"_a": settings.hub_id, "_n": name, **PIXEL(event), **person}
        return Payload(
            method="GET", endpoint="https://track.hubspot.com/v1/event", headers=account.headers, params=params
        )
    row = _row(name.strip().lower(), settings)
    body = EVENT(event)
    if body.keys().isdisjoint(("email", "utk", "objectId")):
        raise Missing(
            "context.traits.email", "properties.utk", "properties.objectId", wants="an identifier of the contact"
        )
    chosen = {pair.to: event.properties.get(pair.from_) for pair in row.event_properties}
    sent = {key: value for key, value in chosen.items() if value is not None and value != ""}
    body.update({"eventName": row.hubspot_event_name, "properties": {**sent, **PROPERTIES(event)}})
    return Payload(endpoint=account.url("/events/v3/send"), headers=account.headers, json=body)


def _row(name: str, settings: HubSpotSettings) -> EventRow:
    for row in settings.hubspot_events:
        if row.rs_event_name.strip().lower() == name:
            return row
    raise NotConfigured("event", name, setting="hubspotEvents")


def _legacy_contact(event: Event, properties: Mapping[str, Any], account: _Account) -> Payload:
    email = properties.get("email")
    if not traits_of(event).get("email"):
        raise Missing("traits.email", wants="the e-mail address of the contact")
    listed = [{"property": key, "value": value} for key, value in properties.items() if key != "email"]
    batch = [{"email": email, "properties": listed}]
    return account.send("/contacts/v1/contact/batch/", json_array=batch)


def _contact(event: Event, properties: Mapping[str, Any], account: _Account) -> Payload:
    """Upsert the contact by the look-up field if that field is unique; otherwise search, then update or create it."""
    field = account.settings.lookup_field
    if not field:
        raise Misconfigured("lookupField", "is required by HubSpot's new API")
    value = traits_of(event).get(field)
    if field == "email" or not value:
        field, value = "email", email_of(event)
    if (field == account.settings.lookup_field or account.in_batch) and account.is_unique(field):
        return account.upsert("contacts", field, value, properties)
    contact_id = next((entry.get("id") for entry in account.search("contacts", field, value)), None)
    if contact_id is None:
        return account.batch("contacts", "create", {"properties": properties})
    return account.batch("contacts", "update", {"properties": properties, "id": contact_id})


def _mapped_object(event: Event, account: _Account) -> Payload:
    """Return the object that the external ID identifies, with its traits; HubSpot dates become midnight UTC."""
    kind, field, value = _mapped_id(event)
    if as_object(event.raw.get("traits")).get("email"):
        email_of(event)
    if kind == "association":
        return _association(event, account)
    properties = midnights(as_object(event.raw.get("traits")), account.property_types())
    if not account.is_legacy and account.is_unique(field, kind) and account.in_batch and value is not None:
        return account.upsert(kind, field, value, properties)
    objects = account.search(kind, field, value)
    object_id = next((entry.get("id") for entry in objects if _is_it(entry, field, value)), None)
    if value is not None and (object_id is None or account.is_legacy):
        properties[field] = value
    if object_id is None:
        return account.batch(kind, "create", {"properties": properties})
    return account.batch(kind, "update", {"properties": properties, "id": object_id})


def _association(event: Event, account: _Account) -> Payload:
    """Return the association between two objects: the traits are its ends, the external ID names the types."""
    about, names = _external_id(event), ("fromObjectType", "toObjectType", "associationTypeId")
    for name in names:
        if not isinstance(about.get(name), str) or not about[name]:
            raise Missing(f"context.externalId.0.{name}", wants="the types of both objects and of the association")
    start, end, kind = (str(about[name]) for name in names)
    entry = {**as_object(event.raw.get("traits")), "type": kind}
    return account.send(f"/crm/v3/associations/{in_url(start)}/{in_url(end)}/batch/create", json={"inputs": [entry]})


def _external_id(event: Event) -> Mapping[str, Any]:
    listed = event.context.get("externalId")
    return as_object(listed[0]) if isinstance(listed, list) and listed else {}


def _mapped_id(event: Event) -> tuple[str, str, Any]:
    """Return object type, property and value from the first external ID: `lead` (of `HS-lead`), `email`, address."""
    first = _external_id(event)
    kind, field, value = first.get("type"), first.get("identifierType"), first.get("id")
    if not (isinstance(kind, str) and isinstance(field, str) and kind and field):
        raise Missing("context.externalId", wants="the type and identifierType of the external ID")
    return kind.replace("HS-", "").lower(), field, value


def _is_it(entry: Mapping[str, Any], field: str, value: Any) -> bool:
    """Whether the object has this value; for e-mail, additional addresses count too."""
    properties = as_object(entry.get("properties"))
    others = properties.get("hs_additional_emails") if field == "email" else None
    return bool(value) and (properties.get(field) == value or value in (others or "").split(";"))


class _Account:
    """The look-ups in one HubSpot account, and the requests to it."""

    def __init__(self, settings: HubSpotSettings, context: Context) -> None:
        self.settings, self._context = settings, context
        self.is_legacy, self.in_batch = settings.api_version == "legacyApi", context.in_batch
        self.headers = {"Content-Type": "application/json"}
        self._key = ""
        if settings.authorization_type == "newPrivateAppApi":
            if not settings.access_token:
                raise Misconfigured("accessToken", "is required for a private app")
            self.headers["Authorization"] = f"Bearer {settings.access_token.reveal()}"
        elif not settings.hub_id or not settings.api_key:
            raise Misconfigured("apiKey", "is required, with hubID, without a private app")
        else:
            self._key = settings.api_key.reveal()

    def url(self, place: str) -> str:
        return f"{_API}{place}?hapikey={quote(self._key)}" if self._key else _API + place

    def ask(self, method: str, place: str, body: Mapping[str, Any] | None = None) -> Any:
        request = {"method": method, "url": self.url(place), "headers": self.headers, "body": body}
        return self._context.ask(request, field="traits.email")

    def property_types(self) -> dict[str, str]:
        """Return the type of each contact property."""
        listed = self.ask("GET", "/properties/v1/contacts/properties")
        return {str(entry.get("name")): str(entry.get("type")) for entry in objects(listed)}

    def is_unique(self, field: str, kind: str = "contacts") -> bool:
        """Whether the property's value is unique among objects of this type."""
        listed = as_object(self.ask("GET", f"/crm/v3/properties/{kind}")).get("results") or ()
        return any(entry.get("name") == field and entry.get("hasUniqueValue") for entry in listed)

    def search(self, kind: str, field: str, value: Any) -> list[Mapping[str, Any]]:
        """Return the objects with this value; for e-mail, additional addresses match too."""
        fields = _EMAIL_FIELDS if field == "email" else (field,)
        condition = {"values": [value], "operator": "IN"} if field == "email" else {"value": value, "operator": "EQ"}
        body = {
            "filterGroups": [{"filters": [{"propertyName": name, **condition}]} for name in fields],
            "sorts": ["ascending"],
            "properties": [*fields],
            "limit": 2,
            "after": 0,
        }
        answer = as_object(self.ask("POST", f"/crm/v3/objects/{kind}/search", body))
        return [as_object(entry) for entry in answer.get("results") or ()]

    def upsert(self, kind: str, field: str, value: Any, properties: Mapping[str, Any]) -> Payload:
        """Create or update the object with this value of a unique property."""
        entry = {"id": text(value), "idProperty": field, "properties": properties, "objectWriteTraceId": "1"}
        return self.batch(kind, "upsert", entry)

    def batch(self, kind: str, action: str, entry: Mapping[str, Any]) -> Payload:
        return self.send(f"/crm/v3/objects/{kind}/batch/{action}", json={"inputs": [entry]})

    def send(self, place: str, **body: Any) -> Payload:
        params = {"hapikey": self._key} if self._key else {}
        return Payload(endpoint=_API + place, headers=self.headers, params=params, **body)


destination.batch(batch, may_refuse=False)
destination.judge(judge)
destination.answer_batch(answer_batch)
