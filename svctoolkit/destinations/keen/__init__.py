"""Keen: events, one collection per event name.

track and page are events with their properties. The settings enable Keen's add-ons, which enrich an event with data
about its IP address, browser and pages. https://keen.io/docs/api/#data-enrichment
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.lexical import is_url
from svctoolkit.mapping import IP, Table, as_object, compact, first, javascript_text, js_join, required, without
from svctoolkit.secrets import Secret


class KeenSettings(Settings, frozen=True, kw_only=True):
    project_id: str = msgspec.field(default="", name="projectID")
    write_key: Secret = Secret("")
    ip_addon: bool = False
    ua_addon: bool = False
    url_addon: bool = False
    referrer_addon: bool = False


destination = DestinationType(
    "Keen",
    KeenSettings,
    docs="https://keen.io/docs/api/#record-a-single-event",
    quirks=["Event names are put into the URL unescaped, including spaces."],
    answers=[
        Answer("success", 201, {"created": True}),
        Answer("bad key", 401, {"message": "You specified an invalid API key.", "error_code": "InvalidApiKeyError"}),
        Answer("rate limit", 429, {"message": "Too many requests.", "error_code": "TooManyRequestsError"}),
        Answer("invalid field", 400, {"message": "Invalid property name.", "error_code": "InvalidPropertyNameError"}),
    ],
)

NAME = Table({"event": required("event")})
PAGE = Table({"category": "properties.category", "name": "name"})
ACTOR = Table({"userId": first("userId", "anonymousId")})
ADDRESS = Table({"request_ip": IP})
#: members of an event's body that are never taken from its properties
_OWN = ("userId", "anonymousId", "request_ip", "user_agent", "user", "keen")


@destination.on("track")
def send_action(event: Event, settings: KeenSettings) -> Payload:
    """Return an event with its name."""
    return _send(event, settings, js_join(NAME(event)["event"]))


@destination.on("page")
def send_page(event: Event, settings: KeenSettings) -> Payload:
    """Return an event `Viewed <category> <name> page`, or `Loaded a Page` for a page without a name."""
    page = PAGE(event)
    words = [javascript_text(word) for word in page.values()]
    return _send(event, settings, " ".join(["Viewed", *words, "page"]) if "name" in page else "Loaded a Page")


def _send(event: Event, settings: KeenSettings, name: str) -> Payload:
    traits = as_object(event.raw.get("traits") or event.context.get("traits"))
    body = {
        **without(event.properties, _OWN),
        "user": {**ACTOR(event), "traits": traits},
        **_rename(event.raw, {"userId": "userId", "anonymousId": "anonymousId", "request_ip": "request_ip"}),
        **ADDRESS(event),
        **_rename(event.context, {"userAgent": "user_agent"}),
    }
    return Payload(
        endpoint=f"https://api.keen.io/3.0/projects/{settings.project_id}/events/{name}",
        headers=compact({"Content-Type": "application/json", "Authorization": settings.write_key.reveal()}),
        json={**body, "keen": {"addons": list(_addons(body, settings))}},
    )


def _addons(body: Mapping[str, Any], settings: KeenSettings) -> Iterator[dict[str, Any]]:
    """Yield the enabled add-ons whose input fields the event has."""
    has_url = _is_url(body.get("url"))
    if settings.ip_addon and _is_address(body.get("request_ip")):
        yield {"name": "keen:ip_to_geo", "input": {"ip": "request_ip"}, "output": "ip_geo_info"}
    if settings.ua_addon and body.get("user_agent"):
        yield {"name": "keen:ua_parser", "input": {"ua_string": "user_agent"}, "output": "parsed_user_agent"}
    if settings.url_addon and has_url:
        yield {"name": "keen:url_parser", "input": {"url": "url"}, "output": "parsed_page_url"}
    if settings.referrer_addon and has_url and body.get("referrer"):
        places = {"referrer_url": "referrer", "page_url": "url"}
        yield {"name": "keen:referrer_parser", "input": places, "output": "referrer_info"}


def _rename(members: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the listed members under their new names; null is kept, as in RudderStack."""
    return {name: members[key] for key, name in names.items() if key in members}


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and is_url(value)


def _is_address(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(ip_address(value))
    except ValueError:
        return False
