"""Indicative: events and users, with properties one level deep.

track, page and screen send an event. identify sends the user, and also an alias from the anonymous ID if the event has
a user ID. alias joins two IDs. Object members are named `a.b`. A list becomes a string: scalar elements are joined by
commas, and members of its objects that are scalars in all of them become `list.member`. Deeper values are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Header, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    TIME,
    TIME_EXAMPLE,
    USER_ID,
    Misfit,
    Table,
    agent,
    as_object,
    converter,
    first,
    javascript_text,
    moment,
    required,
    value_of,
)
from svctoolkit.mapping.times import microseconds
from svctoolkit.secrets import Secret

_PAGE = ("url", "path", "referrer", "search", "title", "initial_referrer", "referring_domain")
_IDS = frozenset({"userId", "id", "anonymousId"})
_SYSTEMS = {"Mac OS X": "Mac OS"}
_DEVICES = {"Mac": "Macintosh"}


class IndicativeSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret | None = None


destination = DestinationType(
    "Indicative",
    IndicativeSettings,
    docs="https://support.indicative.com/hc/en-us/articles/360004147512-REST-API",
    answers=[
        Answer("success", 200, ""),
        Answer("bad key", 400, {"error": "Invalid API key"}),
        Answer("invalid field", 400, {"error": "eventName is required"}),
        Answer("rate limit", 429, ""),
    ],
    differences=["Devices are known by their names in the user agent, not from RudderStack's list of models."],
    quirks=[
        "Without an apiKey, requests are sent without authentication, and Indicative rejects them.",
        "An identify event with a user ID and no anonymous ID is rejected: it has nothing to be joined with.",
    ],
)

API = Endpoint("https://api.indicative.com/service", Header("Indicative-Client", "RudderStack"), JSON)


@converter
def milliseconds(value: Json) -> Json:
    """Convert a time to Unix milliseconds; numbers pass unchanged. Other values become "", which is not sent."""
    if isinstance(value, (int, float)):
        return int(value)
    when = moment(value) if isinstance(value, str) and not value.isdigit() else None
    return "" if when is None else microseconds(when) // 1000


EVENT = Table({"eventUniqueId": required(ANY_ID), "eventTime": milliseconds(TIME)})
NAME = Table({"eventName": required("event")})
USER = Table({"uniqueId": required(ANY_ID)})
PREVIOUS = Table({"previousId": required(first("previousId", "anonymousId"))})
ALIAS = Table({**PREVIOUS.shape, "newId": required(USER_ID)})
#: An identify event's alias does not read the user ID from the event's own traits.
KNOWN = Table({"newId": first("userId", "context.traits.userId", "context.traits.id")})
_NAME = first("name", "properties.name")


@destination.on("identify")
def send_user(event: Event, settings: IndicativeSettings) -> Iterator[Payload]:
    own = event.raw.get("traits")
    traits = own if isinstance(own, dict) else as_object(event.context.get("traits"))
    traits = {key: value for key, value in traits.items() if key not in _IDS}
    yield _post("identify", settings, {**USER(event), "properties": _flat(traits) | _browser(event)})
    if known := KNOWN(event):
        yield _post("alias", settings, {**PREVIOUS(event), **known})


@destination.on("alias")
def send_alias(event: Event, settings: IndicativeSettings) -> Payload:
    return _post("alias", settings, ALIAS(event))


@destination.on("track")
def send_event(event: Event, settings: IndicativeSettings) -> Payload:
    return _event(event, settings, NAME(event)["eventName"], _visit(event))


@destination.on("page")
def send_page(event: Event, settings: IndicativeSettings) -> Payload:
    return _event(event, settings, _view(event), _visit(event))


@destination.on("screen")
def send_screen(event: Event, settings: IndicativeSettings) -> Payload:
    return _event(event, settings, _view(event), {})


def _view(event: Event) -> str:
    """Return `Page View` or `Screen View`, with the name of the page."""
    name = value_of(event, _NAME)
    return f"{event.type.title()} View {javascript_text(name) if name else ''}".rstrip()


def _visit(event: Event) -> dict[str, Json]:
    """Return the page, and the campaign that led to it."""
    page, campaign = as_object(event.context.get("page")), event.context.get("campaign")
    visit = {key: page[key] for key in _PAGE if key in page}
    return visit | ({} if campaign is None else {"campaign": campaign})


def _event(event: Event, settings: IndicativeSettings, name: Json, visit: Mapping[str, Json]) -> Payload:
    body = EVENT(event)
    if "eventTime" not in body:
        raise Misfit("timestamp", TIME_EXAMPLE, event.raw.get("timestamp"))
    properties = _flat({**visit, **event.properties}) | _browser(event)
    return _post("event", settings, {**body, "eventName": name, "properties": properties})


def _post(path: str, settings: IndicativeSettings, body: dict[str, Json]) -> Payload:
    return API.post(settings, path, body if settings.api_key is None else {**body, "apiKey": settings.api_key.reveal()})


def _browser(event: Event) -> dict[str, Json]:
    it = agent(event.context.get("userAgent"))
    members = {
        "browser": it.browser,
        "browser_version": it.browser_version,
        "os": _SYSTEMS.get(it.os, it.os),
        "device": _DEVICES.get(it.device_model, it.device_model),
    }
    return {key: value for key, value in members.items() if value}


def _flat(members: Mapping[str, Json], at: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in members.items():
        key = at + name
        if isinstance(value, dict):
            out.update(_flat(value, f"{key}."))
        elif isinstance(value, list):
            out.update(_columns(value, key))
        else:
            out[key] = value
    return out


def _columns(elements: list[Any], key: str) -> dict[str, str]:
    """Return the list as strings: one of its scalar elements, and one for each member of its objects."""
    plain = [element for element in elements if not isinstance(element, (dict, list))]
    rows = [element for element in elements if isinstance(element, dict)]
    texts = {key: plain} if plain else {}
    for name in rows[0] if rows else ():
        column = [row[name] for row in rows if name in row]
        if not any(isinstance(value, (dict, list)) for value in column):
            texts[f"{key}.{name}"] = column
    return {name: javascript_text(column) for name, column in texts.items()}
