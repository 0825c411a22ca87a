"""AWS Personalize: events, items and users for recommendations.

`eventChoice` selects one: PutEvents and PutItems accept track events, PutUsers accepts identify events. Only the fields
in `customMappings` are sent, under the dataset's field names in camelCase.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from svctoolkit.destinations import JSON, DestinationType, Endpoint, Payload, Rows, Settings
from svctoolkit.destinations._families.streams import ANSWERS, value_named
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    TIME,
    USER_ID,
    Misconfigured,
    Missing,
    Table,
    Unsupported,
    epoch_s,
    event_name,
    required,
    text,
    value_of,
)

_USER = required(USER_ID)


class PersonalizeSettings(Settings, frozen=True, kw_only=True):
    region: str
    event_choice: Literal["PutEvents", "PutUsers", "PutItems"] = "PutEvents"
    tracking_id: str = ""
    dataset_arn: str = msgspec.field(name="datasetARN", default="")
    disable_stringify: bool = False
    custom_mappings: tuple[Rows, ...] = ()


destination = DestinationType(
    "AWS Personalize",
    PersonalizeSettings,
    docs="https://docs.aws.amazon.com/personalize/latest/dg/API_UBS_PutEvents.html",
    answers=ANSWERS,
    quirks=["Properties are shown as an object; they are actually transmitted as a JSON string."],
)

API = Endpoint("https://personalize-events.{region}.amazonaws.com", JSON)
EVENT = Table({"sessionId": "anonymousId", "sentAt": required(epoch_s(TIME))})


@destination.on("track")
def send_event(event: Event, settings: PersonalizeSettings) -> Payload:
    if settings.event_choice == "PutUsers":
        raise Unsupported(f"{event.type} events", setting="eventChoice: PutEvents", why="or with PutItems")
    if settings.event_choice == "PutItems":
        arn = _dataset(settings, "ITEMS")
        properties = _mapped(event, settings)
        item = properties.pop("itemId", None) or event.properties.get("itemId")
        if not item:
            raise Missing("properties.itemId")
        items: dict[str, Json] = {"datasetArn": arn, "items": [{"itemId": text(item), "properties": properties}]}
        return API.post(settings, "items", items)
    if not settings.tracking_id:
        raise Misconfigured("trackingId", "is required by PutEvents")
    name, properties, visit = event_name(event), _mapped(event, settings), EVENT(event)
    entry: dict[str, Json] = {"eventType": name, "sentAt": visit.pop("sentAt"), "properties": properties}
    if (item := properties.pop("itemId", None)) is not None:
        entry["itemId"] = item
    body: dict[str, Json] = {
        "trackingId": settings.tracking_id,
        "userId": event.raw.get("userId"),
        **visit,
        "eventList": [entry],
    }
    return API.post(settings, "events", body)


@destination.on("identify")
def send_user(event: Event, settings: PersonalizeSettings) -> Payload:
    if settings.event_choice != "PutUsers":
        raise Unsupported("identify events", setting="eventChoice: PutUsers")
    arn = _dataset(settings, "USERS")
    user = {"userId": text(value_of(event, _USER)), "properties": _mapped(event, settings)}
    return API.post(settings, "users", {"datasetArn": arn, "users": [user]})


def _dataset(settings: PersonalizeSettings, kind: str) -> str:
    """Return the configured dataset. Raises `MappingError` if it is not of this type."""
    if not settings.dataset_arn.endswith(f"/{kind}"):
        raise Misconfigured("datasetARN", f"must end with /{kind}, because {settings.event_choice} requires it")
    return settings.dataset_arn


def _mapped(event: Event, settings: PersonalizeSettings) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    for row in settings.custom_mappings:
        if not row.from_ or not row.to:
            continue
        value = value_named(event, row.to)
        if value is None:
            raise Missing(row.to, setting="customMappings")
        first, *words = row.from_.strip().lower().split("_")
        properties[first + "".join(map(str.title, words))] = value if settings.disable_stringify else text(value)
    return properties
