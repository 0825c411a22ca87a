"""Salesforce Marketing Cloud: contacts, rows of data extensions, and events that start journeys.

identify creates the contact and writes its row in a data extension; track starts the journey that the configuration
maps the event to, or writes a row in the event's data extension. Columns have human-readable names: `postal_code` and
`postalCode` become `Postal Code`. Warehouse rows are written unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from svctoolkit.destinations import Answer, Context, DestinationType, Method, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    IP,
    LAST_NAME,
    USER_ID,
    LookupFailed,
    Misconfigured,
    Misfit,
    Missing,
    NotConfigured,
    Table,
    as_object,
    compact,
    external_ids,
    first,
    flatten,
    text,
    value_of,
    warehouse_row,
)
from svctoolkit.secrets import Secret

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-zA-Z])(?=[0-9])|_")
_INITIAL = re.compile(r"(?:^|(?<= ))[a-z]")


class EventRow(msgspec.Struct, frozen=True):
    """An event, and whether its rows are identified by message ID."""

    event: str = ""
    uuid: bool = False


class SfmcSettings(Settings, frozen=True, kw_only=True):
    client_id: Secret
    client_secret: Secret
    sub_domain: Secret
    create_or_update_contacts: bool = False
    external_key: str = ""
    event_to_external_key: tuple[Rows, ...] = ()
    event_to_primary_key: tuple[Rows, ...] = ()
    event_to_definition_mapping: tuple[Rows, ...] = ()
    event_to_uuid: tuple[EventRow, ...] = msgspec.field(default=(), name="eventToUUID")


destination = DestinationType(
    "Salesforce Marketing Cloud",
    SfmcSettings,
    docs="https://developer.salesforce.com/docs/marketing/marketing-cloud/guide/putDataExtensionRowByKey.html",
    quirks=["The setting createOrUpdateContacts prevents contacts from being written: identify events are rejected."],
    answers=[
        Answer("success", 201, {"eventInstanceId": "8a2e5d4c"}, at="/interaction/"),
        Answer("success", 200, {"operationStatus": "OK", "contactKey": "u1", "contactId": 12345}, at="/contacts/"),
        Answer("success", 200, {"keys": {"contact key": "u1"}, "values": {}}),
        Answer("bad key", 401, {"message": "Not Authorized", "errorcode": 0}),
        Answer("rate limit", 429, {"message": "Your requests are temporarily blocked.", "errorcode": 50200}),
        Answer("invalid field", 400, {"message": "Unable to save rows for data extension", "errorcode": 10006}),
    ],
    needs=["lookup"],
)

COMMON = Table(
    {
        "App Name": "context.app.name",
        "App Version": "context.app.version",
        "App Build": "context.app.build",
        "UTM Campaign": "context.campaign.name",
        "UTM Source": "context.campaign.source",
        "UTM Medium": "context.campaign.medium",
        "UTM Term": "context.campaign.term",
        "UTM Content": "context.campaign.content",
        "Locale": "context.locale",
        "User Agent": "context.userAgent",
        "IP Address": IP,
        "Ad Tracking Enabled": "context.device.adTrackingEnabled",
        "Device Manufacturer": "context.device.manufacturer",
        "Device-model": "context.device.model",
        "Device Name": "context.device.name",
        "Device Type": "context.device.type",
        "Bluetooth Enabled": "context.network.bluetooth",
        "Network Carrier": "context.network.carrier",
        "Cellular Enabled": "context.network.cellular",
        "Wifi Enabled": "context.network.wifi",
        "Screen Density": "context.screen.density",
        "Screen Height": "context.screen.height",
        "Screen Width": "context.screen.width",
        "First Name": FIRST_NAME,
        "Last Name": LAST_NAME,
    }
)
CONTACT = first(USER_ID, EMAIL)


@destination.on("identify")
def send_person(event: Event, settings: SfmcSettings, context: Context) -> Iterator[Payload]:
    """Yield the contact, then its row."""
    cloud = _Cloud(settings, context)
    if _is_mapped(event):
        yield _warehouse_payload(event, settings, cloud)
        return
    if settings.create_or_update_contacts:
        raise Misconfigured("createOrUpdateContacts", "contacts are not written while this setting is on")
    contact = _contact(event)
    yield cloud.send("POST", "/contacts/v1/contacts", {"attributeSets": [], "contactKey": contact})
    values = _values(COMMON(event), event.traits)
    yield cloud.send_row(settings.external_key, f"Contact Key:{text(contact)}", {"Contact Key": contact, **values})


@destination.on("track")
def send_action(event: Event, settings: SfmcSettings, context: Context) -> Payload:
    """Return the journey that the event starts, else its row."""
    name = event.raw.get("event")
    if not isinstance(name, str) or not name:
        raise Misfit("event", "a name as a string", name)
    if _is_mapped(event):
        raise Misfit("type", "identify", "track", why="warehouse rows are sent only as records")
    key, properties = name.lower(), event.properties
    journeys = _by_event(settings.event_to_definition_mapping)
    if key in journeys:
        data = {name: value for name, value in properties.items() if name != "contactId"}
        contact = {"ContactKey": properties["contactId"]} if "contactId" in properties else {}
        body = {**contact, "EventDefinitionKey": journeys[key], "Data": data}
        return _Cloud(settings, context).send("POST", "/interaction/v1/events", body)
    extensions = _by_event(settings.event_to_external_key)
    if key not in extensions:
        raise NotConfigured("event", name, setting="eventToExternalKey")
    values = _values(COMMON(event), properties)
    return _Cloud(settings, context).send_row(extensions[key], *_row(event, settings, key, values))


def _row(event: Event, settings: SfmcSettings, key: str, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the key that identifies the row of an event, and all of its values."""
    contact = _contact(event)
    if any(row.uuid and row.event.lower() == key for row in settings.event_to_uuid):
        values = {**values, **compact({"Uuid": event.raw.get("messageId")})}
        return f"Uuid:{text(values.get('Uuid'))}", values
    columns = _by_event(settings.event_to_primary_key).get(key, "Contact Key")
    if columns == "Contact Key":
        values = {"Contact Key": contact, **values}
    names = [column.strip() for column in columns.split(",")]
    keys = {**values, "Contact Key": contact}  # the user's ID overrides the properties
    return ",".join(f"{column}:{text(keys.get(column))}" for column in names), values


def _warehouse_payload(event: Event, settings: SfmcSettings, cloud: _Cloud) -> Payload:
    row = next((named for named in external_ids(event) if named.destination == "sfmc"), None)
    if row is None or row.object.lower() != "data extension":
        where = "context.externalId.type"
        raise Misfit(
            where,
            "SFMC-data extension",
            event.context.get("externalId"),
            why="warehouse rows can only go to data extensions",
        )
    field, row_id = warehouse_row(event).field, warehouse_row(event).id
    return cloud.send_row(settings.external_key, f"{field}:{text(row_id)}", event.traits)


def _is_mapped(event: Event) -> bool:
    return event.context.get("mappedToDestination") in (True, "true")


def _contact(event: Event) -> Any:
    contact = value_of(event, CONTACT)
    if contact is None:
        raise Missing("userId", "traits.email")
    return contact


def _values(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return one level of columns; `own` values override common ones, and nulls are left out."""
    values = flatten(common) | {_column(key): value for key, value in flatten(own).items()}
    return {key: value for key, value in values.items() if value is not None}


def _column(key: str) -> str:
    """Return a human-readable name: `postal_code` becomes `Postal Code`."""
    return _INITIAL.sub(lambda match: match[0].upper(), _WORDS.sub(" ", key))


def _by_event(rows: tuple[Rows, ...]) -> dict[str, str]:
    return {row.from_.lower(): row.to for row in rows}


class _Cloud:
    """The API of one account, after login."""

    def __init__(self, settings: SfmcSettings, context: Context) -> None:
        body = {
            "grant_type": "client_credentials",
            "client_id": settings.client_id.reveal(),
            "client_secret": settings.client_secret.reveal(),
        }
        url = f"https://{settings.sub_domain.reveal()}.auth.marketingcloudapis.com/v2/token"
        headers = {"Content-Type": "application/json"}
        answer = as_object(
            context.ask({"method": "POST", "url": url, "headers": headers, "body": body}, setting="clientId")
        )
        if not answer.get("access_token"):
            raise LookupFailed(
                "", "Marketing Cloud's login response has no access_token", setting="clientId", case="token"
            )
        self._headers = {**headers, "Authorization": f"Bearer {answer['access_token']}"}
        self._api = f"https://{settings.sub_domain.reveal()}.rest.marketingcloudapis.com"

    def send(self, method: Method, place: str, body: Mapping[str, Any]) -> Payload:
        return Payload(endpoint=self._api + place, method=method, headers=self._headers, json=body)

    def send_row(self, extension: str, key: str, values: Mapping[str, Any]) -> Payload:
        return self.send("PUT", f"/hub/v1/dataevents/key:{extension}/rows/{key}", {"values": values})
