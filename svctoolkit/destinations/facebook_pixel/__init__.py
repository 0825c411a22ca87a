"""Facebook Pixel: events through the Conversions API, one per request, as JSON text in a form.

track sends e-commerce events with Facebook's names and parameters, and every other event as a custom event. page sends
`PageView` or the page's name, screen `PageView`. With advanced matching, identify sends an event with user data only.
Properties are sent flattened and without personal data. Facebook accepts events of the last seven days.
https://developers.facebook.com/docs/marketing-api/conversions-api/parameters
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Rows, Settings, Tags
from svctoolkit.destinations._families.facebook_errors import judge_graph_answer
from svctoolkit.destinations.facebook_pixel._shop import EVENTS, STANDARD, Shopping
from svctoolkit.events import Event
from svctoolkit.mapping import (
    Misconfigured,
    Missing,
    Unsupported,
    event_name,
    flatten,
    json_text,
    text,
    without,
)
from svctoolkit.mapping.facebook import OWN, SERVER, PiiRow, action_source, limits, seconds, sendable, user_data
from svctoolkit.secrets import Secret

_API = "https://graph.facebook.com/v25.0"
_SOURCE_OF_CHANNEL = {"web": "website", "mobile": "app"}
#: standard events without their own parameters, which only the configuration selects
_PLAIN_STANDARD = frozenset({
    "AddPaymentInfo", "AddToWishlist", "CompleteRegistration", "Contact", "CustomizeProduct", "Donate", "FindLocation",
    "Lead", "PageView", "Schedule", "StartTrial", "SubmitApplication", "Subscribe",
})  # fmt: skip


class FacebookPixelSettings(Settings, frozen=True, kw_only=True):
    pixel_id: str
    access_token: Secret = Secret("")
    events_to_events: tuple[Rows, ...] = ()
    value_field_identifier: Literal["properties.value", "properties.price"] = "properties.price"
    blacklist_pii_properties: tuple[PiiRow, ...] = ()
    whitelist_pii_properties: Tags = Tags()
    category_to_content: tuple[Rows, ...] = ()
    advanced_mapping: bool = False
    limited_data_usage: bool = msgspec.field(name="limitedDataUSage", default=False)
    standard_page_call: bool = False
    remove_external_id: bool = False
    test_destination: bool = False
    test_event_code: str = ""

    @cached_property
    def value_field(self) -> str:
        return self.value_field_identifier.removeprefix("properties.")

    @cached_property
    def endpoint(self) -> str:
        return f"{_API}/{self.pixel_id}/events?access_token={self.access_token.reveal()}"


destination = DestinationType(
    "Facebook Pixel",
    FacebookPixelSettings,
    docs="https://developers.facebook.com/docs/marketing-api/conversions-api/parameters",
    names=("FacebookPixel", "facebook_pixel"),
    earlier=("categoryToContent",),
    quirks=[
        "Once RudderStack has handled an event with standardPageCall, it sends PageView for the pages of all "
        "destinations; here each configuration decides.",
        "Telephone numbers and dates of birth are hashed unchanged; Facebook expects digits only.",
        "A name of two words is hashed with its capitals; Facebook expects first and last name in lower case.",
        "Events of channels other than web and mobile are sent with the action source other.",
    ],
    answers=[
        Answer("success", 200, {"events_received": 1, "messages": [], "fbtrace_id": "A0"}),
        Answer(
            "bad key",
            401,
            {"error": {"message": "Invalid OAuth access token.", "type": "OAuthException", "code": 190}},
        ),
        Answer(
            "rate limit",
            400,
            {"error": {"message": "(#4) Application request limit reached", "type": "OAuthException", "code": 4}},
        ),
        Answer(
            "invalid field",
            400,
            {
                "error": {
                    "message": "Invalid parameter",
                    "type": "OAuthException",
                    "code": 100,
                }
            },
        ),
    ],
    differences=[
        "A screen is always a `PageView`. RudderStack sends `Viewed a page` without standardPageCall, until it has "
        "handled any event with it.",
        "A time that is text of digits is sent unchanged, and its age is not checked.",
    ],
    needs=["clock"],
)


@destination.on("identify")
def send_person(event: Event, settings: FacebookPixelSettings, context: Context) -> Payload:
    if not settings.advanced_mapping:
        raise Unsupported("identify events", setting="advancedMapping")
    return _payload(event, settings, context, "identify", {})


@destination.on("page", "screen")
def send_page(event: Event, settings: FacebookPixelSettings, context: Context) -> Payload:
    """Return a `PageView`, or for a page `Viewed page Contact` unless the standard event is configured."""
    if event.type == "screen" or settings.standard_page_call:
        return _payload(event, settings, context, "PageView", _standard_data(event, settings))
    name = event.raw.get("name")
    title = f"Viewed page {text(name)}" if name else "Viewed a page"
    return _payload(event, settings, context, title, _custom_data(event, settings))


@destination.on("track")
def send_event(event: Event, settings: FacebookPixelSettings, context: Context) -> Payload:
    """Return a standard event, by the configuration or the e-commerce name, else a custom event."""
    name = event_name(event)
    chosen = _name_by_config(name, settings)
    name, parameters = (chosen, STANDARD.get(chosen)) if chosen else EVENTS.get(name.lower(), (name, None))
    if parameters:
        shopping = Shopping(
            event.properties,
            lambda kind: _content_type(event, settings, kind),
            settings.value_field,
        )
        data = _custom_data(event, settings, needed=True)
        data.update(parameters(shopping))
        data["currency"] = event.properties.get("currency") or "USD"
    elif chosen in _PLAIN_STANDARD:
        data = _standard_data(event, settings)
    else:
        data = _custom_data(event, settings)
        if (revenue := data.pop("revenue", None)) is not None:
            data["value"] = revenue
    return _payload(event, settings, context, name, data)


def _name_by_config(name: str, settings: FacebookPixelSettings) -> str:
    """Return the configured Facebook name of a track event (the last row wins), or an empty string."""
    key, chosen = name.lower(), ""
    for row in settings.events_to_events:
        if row.to and row.from_.lower() == key:
            chosen = row.to
    return chosen


def _payload(
    event: Event, settings: FacebookPixelSettings, context: Context, name: str, data: Mapping[str, Any]
) -> Payload:
    if not settings.access_token:
        raise Misconfigured("accessToken", "is required to send events")
    person = user_data(event, _is_hashed(event))
    if settings.remove_external_id:
        del person["external_id"]
    server = {
        "user_data": person,
        "event_name": name,
        "event_time": seconds(event, context.clock()),
        **SERVER(event),
        "action_source": _action_source(event),
        **(limits(event) if settings.limited_data_usage else {}),
    }
    if data:
        server["custom_data"] = data
    form: dict[str, Any] = {"data": [json_text(server)]}
    if settings.test_destination and settings.test_event_code:
        form["test_event_code"] = settings.test_event_code
    return Payload(endpoint=settings.endpoint, form=form)


def _is_hashed(event: Event) -> bool:
    """Whether personal data is already hashed, according to the event's options."""
    return destination.options(event).get("hashed") is True


def _action_source(event: Event) -> str:
    """Return the action source: the one in the event, else by its channel."""
    source = action_source(event)
    if source is None:
        channel = event.raw.get("channel")
        return _SOURCE_OF_CHANNEL.get(channel, "other") if isinstance(channel, str) else "other"
    return source


def _standard_data(event: Event, settings: FacebookPixelSettings) -> dict[str, Any]:
    """Return the custom data of a standard event without parameters; only e-commerce events have a currency."""
    data = _custom_data(event, settings, needed=True)
    data.pop("currency", None)
    return data


def _custom_data(event: Event, settings: FacebookPixelSettings, *, needed: bool = False) -> dict[str, Any]:
    """Return the flattened properties that may be sent. Raises `MappingError` if `needed` but there are none."""
    properties = event.properties
    flat = flatten(properties if properties.keys().isdisjoint(OWN) else without(properties, OWN))
    if needed and not flat:
        raise Missing("properties", wants="properties of the standard event", why=f"{', '.join(OWN)} are not enough")
    return sendable(flat, settings.blacklist_pii_properties, settings.whitelist_pii_properties, _is_hashed(event))


def _content_type(event: Event, settings: FacebookPixelSettings, usual: str) -> str:
    """Return the content type: in the event's options, else its properties, else configured for its category."""
    properties = event.properties
    chosen = destination.options(event).get("contentType") or properties.get("content_type")
    if chosen:
        return text(chosen)
    category = properties.get("category")
    if not category and (bought := properties.get("products")) and isinstance(bought, list):
        category = bought[0].get("category") if isinstance(bought[0], dict) else None
    rows = settings.category_to_content if category else ()
    return next((row.to for row in rows if row.from_ == category and row.to), usual)


destination.judge(judge_graph_answer)
