"""Facebook Pixel: what people do, by the Conversions API; one event a request, as JSON text in a form.

track sends the shop's events under Facebook's names and with its parameters, and every other event as a custom event.
page and screen send `PageView` or the page's name. identify sends an event that only says who the person is, when
advanced matching is on. What is in the properties goes along, without personal data; Facebook takes events of the last
seven days.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

import msgspec

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Rows, Settings, Tags
from svctoolkit.destinations.facebook_pixel._person import HASHED, PLAIN, TOLD
from svctoolkit.destinations.facebook_pixel._shop import STANDARD, money, parameters
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    TIME,
    Table,
    check_age,
    default,
    epoch_s,
    event_name,
    first,
    flatten,
    json_text,
    moment,
    required,
    sha256,
    text,
    time,
    value_of,
)
from svctoolkit.secrets import Secret

_API = "https://graph.facebook.com/v25.0"
_PII = frozenset({
    "email", "firstName", "lastName", "firstname", "lastname", "first_name", "last_name", "gender", "city", "country",
    "phone", "state", "zip", "birthday",
})  # fmt: skip
_DATES = frozenset({
    "checkinDate", "checkoutDate", "departingArrivalDate", "departingDepartureDate", "returningArrivalDate",
    "returningDepartureDate", "travelEnd", "travelStart",
})  # fmt: skip


class PiiRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A property that is not sent, or only hashed."""

    blacklist_pii_properties: str = ""
    blacklist_pii_hash: bool = False


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


destination = DestinationType(
    "Facebook Pixel",
    FacebookPixelSettings,
    docs="https://developers.facebook.com/docs/marketing-api/conversions-api/parameters",
    names=("FacebookPixel", "facebook_pixel"),
    earlier=("categoryToContent",),
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
)

WHEN = required(time(TIME))
SERVER = Table(
    {
        "event_source_url": first("properties.url", "context.page.url"),
        "event_id": first(
            "traits.event_id", "context.traits.event_id", "properties.event_id", "properties.eventId", "messageId"
        ),
        "action_source": default("properties.action_source", "website"),
    }
)


@destination.on("identify")
def send_person(event: Event, settings: FacebookPixelSettings, context: Context) -> Payload:
    if not settings.advanced_mapping:
        raise MappingError("identify events need advancedMapping in the configuration", field="type")
    return _send(event, settings, context, "identify", None)


@destination.on("page", "screen")
def send_page(event: Event, settings: FacebookPixelSettings, context: Context) -> Payload:
    """`PageView`; for a page with a name `Viewed page Contact`, unless the configuration wants the standard event."""
    name = event.raw.get("name")
    own = event.type == "page" and not settings.standard_page_call and isinstance(name, str) and name
    return _send(event, settings, context, f"Viewed page {name}" if own else "PageView", _properties(event, settings))


@destination.on("track")
def send_event(event: Event, settings: FacebookPixelSettings, context: Context) -> Payload:
    """A standard event, by the configuration or by the shop's name, else a custom event."""
    name = event_name(event)
    mapped = {row.from_.strip().lower(): row.to for row in settings.events_to_events if row.from_}
    key = name.strip().lower()
    standard = mapped.get(key) or STANDARD.get(key, name)
    data = _properties(event, settings)
    if standard in STANDARD.values():
        data.update(parameters(event, standard, settings.value_field_identifier, _content_type(event, settings)))
    elif data.get("revenue"):
        data["value"] = money(event, "properties.revenue")
        del data["revenue"]
    return _send(event, settings, context, standard, data)


def _send(
    event: Event, settings: FacebookPixelSettings, context: Context, name: str, data: Mapping[str, Any] | None
) -> Payload:
    if not settings.access_token:
        raise MappingError("Facebook takes events with an access token only: set accessToken in the configuration")
    server = {
        "user_data": _person(event, settings),
        "event_name": name,
        "event_time": _seconds(event, context),
        **SERVER(event),
        **(_limits(event) if settings.limited_data_usage else {}),
    }
    if data is not None:
        server["custom_data"] = data
    form: dict[str, Any] = {"data": [json_text(server)]}
    if settings.test_destination:
        form["test_event_code"] = settings.test_event_code
    return Payload(
        endpoint=f"{_API}/{settings.pixel_id}/events?access_token={settings.access_token.reveal()}", form=form
    )


def _person(event: Event, settings: FacebookPixelSettings) -> dict[str, Any]:
    """Facebook matches people by hashed data, which `hashed: true` in the event's integrations says it is already."""
    known = (PLAIN if _is_hashed(event) else HASHED)(event)
    if settings.remove_external_id:
        known.pop("external_id", None)
    return {**known, **TOLD(event)}


def _is_hashed(event: Event) -> bool:
    return destination.options(event).get("hashed") is True


def _properties(event: Event, settings: FacebookPixelSettings) -> dict[str, Any]:
    """The properties, flat, without personal data; dates as Facebook writes them.

    Of the properties that the configuration lists, those to be hashed are hashed, unless they are already.
    """
    hash_text = {row.blacklist_pii_properties: row.blacklist_pii_hash for row in settings.blacklist_pii_properties}
    kept = {}
    for key, value in event.properties.items():
        if key in hash_text:
            if _is_hashed(event) and key not in _PII:
                kept[key] = value
            elif hash_text[key]:
                kept[key] = sha256(text(value))
        elif key in _DATES and (day := moment(value)):
            kept[key] = day.date().isoformat()
        elif key != "event_id" and (key not in _PII or key in settings.whitelist_pii_properties):
            kept[key] = value
    return {key: value for key, value in flatten(kept).items() if value is not None}


def _content_type(event: Event, settings: FacebookPixelSettings) -> str | None:
    """What the event's integrations say, then its properties, then the configuration of its category."""
    said = destination.options(event).get("contentType") or event.properties.get("content_type")
    if isinstance(said, str) and said:
        return said
    category = event.properties.get("category")
    return next((row.to for row in settings.category_to_content if row.from_ and row.from_ == category), None)


def _seconds(event: Event, context: Context) -> int:
    when = value_of(event, WHEN)
    check_age(when, context.clock(), by="Facebook", past=timedelta(days=7), future=timedelta(minutes=1))
    return epoch_s.of(when)


def _limits(event: Event) -> dict[str, Any]:
    """`context.dataProcessingOptions`: the options, the country and the state that they hold for."""
    given = event.context.get("dataProcessingOptions")
    if not isinstance(given, list):
        return {}
    names = ("data_processing_options", "data_processing_options_country", "data_processing_options_state")
    return dict(zip(names, given, strict=False))
