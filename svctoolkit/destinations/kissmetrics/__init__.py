"""Kissmetrics: users, their events and purchases. Each request carries all data in its URL.

`prefixProperties` prefixes the properties with the name of their event. Each product of a track event is a separate
request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    TIME,
    TIME_EXAMPLE,
    Misfit,
    Table,
    WrongValue,
    as_object,
    const,
    converter,
    javascript_text,
    js_join,
    required,
    whole_second,
    without,
)


class KissmetricsSettings(Settings, frozen=True, kw_only=True):
    api_key: str | None = None
    prefix_properties: bool = False


destination = DestinationType(
    "Kiss Metrics",
    KissmetricsSettings,
    docs="https://support.kissmetrics.io/reference/api-specs",
    answers=[Answer("success", 200, "GIF89a")],
    quirks=[
        "Lists are sent as comma-separated strings; a list that contains an object is left out.",
        "The properties of a screen event are never prefixed, and a screen with a category is sent as a page.",
    ],
)


@converter
def second_text(value: Json) -> str:
    """Convert a time to whole Unix seconds, as a string; a number is read as milliseconds."""
    second = whole_second(value)
    if second is None:
        raise WrongValue(TIME_EXAMPLE, value, case="time")
    return str(second)


#: The time, marked as the client's time and not the time of the request.
MOMENT = Table({"_t": required(second_text(TIME)), "_d": const(1)})
_SCALARS = frozenset({str, int, float, bool})
_RESERVED = ("_p", "_n", "_k")
_PRODUCTS = ("products",)
_REVENUE = "revenue"
_BILLING = "Billing Amount"


@destination.on("identify")
def send_person(event: Event, settings: KissmetricsSettings) -> Payload:
    return _send("s", _flatten(event.traits) | _person(event) | MOMENT(event), settings)


@destination.on("track")
def send_action(event: Event, settings: KissmetricsSettings) -> list[Payload]:
    """Return the event; without a name, RudderStack writes the word undefined before its properties."""
    name = event.raw.get("event")
    word = javascript_text(name) if "event" in event.raw else "undefined"
    named = {"_n": name} if "event" in event.raw else {}
    return _send_event(event, named, word if settings.prefix_properties else None, settings)


@destination.on("page")
def send_page(event: Event, settings: KissmetricsSettings) -> list[Payload]:
    named = {"_n": _view_name(event, "Page")}
    return _send_event(event, named, "Page" if settings.prefix_properties else None, settings)


@destination.on("screen")
def send_screen(event: Event, settings: KissmetricsSettings) -> list[Payload]:
    return _send_event(event, {"_n": _view_name(event, "Screen")}, None, settings)


@destination.on("alias")
def send_alias(event: Event, settings: KissmetricsSettings) -> Payload:
    names = {"previousId": "_p", "userId": "_n"}
    return _send("a", {name: event.raw[key] for key, name in names.items() if key in event.raw}, settings)


def _view_name(event: Event, kind: str) -> str:
    name, category = event.raw.get("name"), event.properties.get("category")
    if not name:
        return f"Loaded a {kind}"
    last = "page" if category else kind.lower()
    return " ".join(["Viewed", *(js_join(word) for word in (category, name) if word), last])


def _send_event(
    event: Event, named: Mapping[str, Json], prefix: str | None, settings: KissmetricsSettings
) -> list[Payload]:
    products = event.properties.get("products") or []
    if not isinstance(products, list):
        raise Misfit("properties.products", "a list of products", products)
    own, person = _flatten(without(event.properties, _PRODUCTS)), _person(event)
    if prefix is not None:
        own = _prefix(own, prefix)
    for name in _RESERVED:  # no property may be sent as one of these
        own.pop(name, None)
    own.update(person)
    own.update(named)
    own.update(MOMENT(event))
    sends = [_send("e", own, settings)]
    if products and event.type == "track":
        items = [as_object(product) for product in products]
        named_items = items if prefix is None else [_prefix(item, prefix) for item in items]
        sends += [_send("s", {**item, **person}, settings) for item in named_items]
    return sends


def _person(event: Event) -> dict[str, Any]:
    key = "userId" if event.raw.get("userId") else "anonymousId"
    return {"_p": event.raw[key]} if key in event.raw else {}


def _prefix(properties: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    names = {_REVENUE: f"{prefix} - {_REVENUE}", _BILLING: _BILLING}
    out = {names.get(key, f"{prefix}-{key}"): value for key, value in properties.items()}
    if _REVENUE in properties:
        out[_BILLING] = properties[_REVENUE]
    return out


def _flatten(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return object members as `a.b`, one level deep."""
    if _SCALARS.issuperset(map(type, members.values())):  # most objects
        return dict(members)
    out: dict[str, Any] = {}
    for key, value in members.items():
        if type(value) in _SCALARS:
            out[key] = value
        elif isinstance(value, dict):
            for name, item in value.items():
                _set(out, f"{key}.{name}", item)
        else:
            _set(out, key, value)
    return out


def _set(out: dict[str, Any], name: str, value: Json) -> None:
    if isinstance(value, list):
        if not any(isinstance(element, dict) for element in value):
            out[name] = js_join(value)
    elif value is not None:
        out[name] = value


def _send(path: str, params: dict[str, Any], settings: KissmetricsSettings) -> Payload:
    if settings.api_key is not None:
        params["_k"] = settings.api_key
    return Payload(endpoint=f"https://trk.kissmetrics.com/{path}", method="GET", params=params)
