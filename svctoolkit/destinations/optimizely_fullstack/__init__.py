"""Optimizely Fullstack: decisions and conversions of an experiment.

identify sends the variation of the configured experiment that a visitor saw: `variationId` in the event's options for
Optimizely. track, page and screen are conversions; their events must be in the project's data file, which is requested
for every event. A page counts as its category and as its name, if the configuration tracks them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    Misfit,
    Missing,
    NotFound,
    Unsupported,
    as_object,
    md5,
    moment,
    number_or_none,
    objects,
    text,
)
from svctoolkit.mapping.times import microseconds

Members = dict[str, Any]


class OptimizelySettings(Settings, frozen=True, kw_only=True):
    account_id: str
    campaign_id: str
    experiment_id: str
    data_file_url: str
    track_known_users: bool = False
    track_categorized_pages: bool = False
    track_named_pages: bool = False
    anonymize_ip: bool = False
    enrich_decisions: bool = True
    event_mapping: tuple[Rows, ...] = ()
    page_mapping: tuple[Rows, ...] = ()
    attribute_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "Optimizely Fullstack",
    OptimizelySettings,
    docs="https://docs.developers.optimizely.com/feature-experimentation/reference/event-api",
    names=("optimizely_fullstack",),
    answers=[
        Answer("success", 204, ""),
        Answer("invalid field", 400, {"code": "BAD_REQUEST", "message": "visitors is required"}),
        Answer("bad key", 204, ""),
    ],
    quirks=[
        "Optimizely responds 204 even to events of an account that does not exist.",
        "An event that is not in the data file is rejected, although Optimizely would respond 204 to it.",
    ],
    differences=[
        "If a page counts twice, the second ID is derived from the first; RudderStack generates a new one.",
        "An attribute is read from the event's own traits, else from those of the context.",
        "Data files that require a token (`dataFileAccessToken`) are not supported.",
    ],
    needs=["lookup"],
)

API = Endpoint("https://logx.optimizely.com/v1/events", JSON)


@destination.on("identify")
def send_decision(event: Event, settings: OptimizelySettings, context: Context) -> Payload:
    variation = destination.options(event).get("variationId")
    if not variation:
        where = "integrations.optimizely_fullstack.variationId"
        raise Missing(where, wants="the variation that the visitor saw")
    decision = {
        "campaign_id": settings.campaign_id,
        "experiment_id": settings.experiment_id,
        "variation_id": variation,
    }
    activation = {"entity_id": settings.campaign_id, "type": "campaign_activated", **_occurrence(event)}
    file = _data_file(settings, context)
    return _send(event, settings, file, [activation], [decision])


@destination.on("track")
def send_conversion(event: Event, settings: OptimizelySettings, context: Context) -> Payload:
    """Return the event with its revenue in cents and its quantity; all other properties are tags."""
    file = _data_file(settings, context)
    entity = _find(file, settings.event_mapping, _name(event.raw.get("event"), "event"))
    if entity is None:
        raise NotFound("event in Optimizely's data file", event.raw["event"], field="event")
    tags = dict(event.properties)
    worth: Members = {key: tags.pop(key) for key in ("quantity", "revenue") if key in tags}
    revenue = worth.pop("revenue", None)
    if revenue:
        amount = number_or_none.of(revenue)
        worth["revenue"] = None if isinstance(amount, str) else round(amount * 100)
    return _send(event, settings, file, [{**entity, **_occurrence(event), **worth, **_tags(event, tags)}])


@destination.on("page", "screen")
def send_page(event: Event, settings: OptimizelySettings, context: Context) -> Payload:
    if not settings.track_categorized_pages and not settings.track_named_pages:
        raise Unsupported("page events", setting="trackCategorizedPages", why="or with trackNamedPages")
    file = _data_file(settings, context)
    names = list(_page_names(event, settings))
    if not names:
        raise Missing("name", "properties.category")
    entities = [entity for name in names if (entity := _find(file, settings.page_mapping, name)) is not None]
    if not entities:
        raise NotFound("event in Optimizely's data file", names, field="name")
    events = [{**entity, **_occurrence(event), **_tags(event, event.properties)} for entity in entities]
    for another in events[1:]:
        another["uuid"] = _derived_id(another)
    return _send(event, settings, file, events)


def _page_names(event: Event, settings: OptimizelySettings) -> Iterator[str]:
    category, name = event.properties.get("category"), event.raw.get("name")
    if settings.track_categorized_pages and category:
        yield _name(category, "properties.category")
    if settings.track_named_pages and name:
        yield _name(name, "name")


def _name(value: Json, where: str) -> str:
    if not value or not isinstance(value, str):
        raise Misfit(where, "a name as a string", value)
    return value


def _data_file(settings: OptimizelySettings, context: Context) -> Mapping[str, Json]:
    return as_object(context.ask({"method": "GET", "url": settings.data_file_url}, setting="dataFileUrl"))


def _find(file: Mapping[str, Json], rows: tuple[Rows, ...], name: str) -> Members | None:
    """Return the data file's event that the name is mapped to or that has this name, ignoring case."""
    target = next((row.to for row in rows if row.from_.lower() == name.lower()), name).lower()
    for entry in objects(file.get("events")):
        if text(entry.get("key")).lower() == target:
            return {"entity_id": entry.get("id"), "key": entry.get("key")}
    return None


def _occurrence(event: Event) -> Members:
    """Return the event's time and ID."""
    value = event.raw.get("timestamp")
    value = event.raw.get("originalTimestamp") if value is None else value
    when = moment(int(value) if isinstance(value, bool) else value)
    out = {} if when is None else {"timestamp": microseconds(when) // 1000}
    return {**out, "uuid": event.raw["messageId"]} if "messageId" in event.raw else out


def _derived_id(event: Members) -> str:
    """Return the ID for a message's second event. It is the same on every retry, so that the event counts only once."""
    digits = md5(f"{text(event.get('uuid'))} {event['entity_id']}")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _tags(event: Event, tags: Mapping[str, Json]) -> Members:
    return {"tags": tags} if isinstance(event.raw.get("properties"), dict) else {}


def _send(
    event: Event,
    settings: OptimizelySettings,
    file: Mapping[str, Json],
    events: list[Members],
    decisions: list[Members] | None = None,
) -> Payload:
    where = "userId" if settings.track_known_users else "anonymousId"
    visitor = event.raw.get(where)
    if not visitor:
        raise Missing(where, setting="trackKnownUsers", why="the setting trackKnownUsers decides which ID is required")
    person: Members = {"visitor_id": visitor, "snapshots": [{"decisions": decisions or [], "events": events}]}
    if session := event.context.get("sessionId"):
        person["session_id"] = text(session)
    if attributes := _attributes(event, settings, file):
        person["attributes"] = attributes
    body = {
        "account_id": settings.account_id,
        "anonymize_ip": settings.anonymize_ip,
        "enrich_decisions": settings.enrich_decisions,
        "client_name": "RudderStack",
        "client_version": "1.0.0",
        "visitors": [person],
    }
    return API.post(settings, body=body)


def _attributes(event: Event, settings: OptimizelySettings, file: Mapping[str, Json]) -> list[Members]:
    if not settings.attribute_mapping:
        return []
    traits = {**as_object(event.context.get("traits")), **as_object(event.raw.get("traits"))}
    ids = {entry.get("key"): entry.get("id") for entry in objects(file.get("attributes"))}
    return [
        {"entity_id": ids[row.to], "key": row.to, "type": "custom", "value": traits[row.from_]}
        for row in settings.attribute_mapping
        if row.to in ids and traits.get(row.from_) is not None
    ]
