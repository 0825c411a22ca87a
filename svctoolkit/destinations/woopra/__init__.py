"""Woopra: visitors and their events. Each request carries all data in its URL.

Visitor data are parameters `cv_<name>`, event data `ce_<name>`. A visitor is identified by the external ID `woopraId`,
else by the anonymous ID.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    BIRTHDAY,
    FIRST_NAME,
    LAST_NAME,
    TIME,
    TIME_EXAMPLE,
    USER_ID,
    Table,
    WrongValue,
    agent,
    converter,
    event_name,
    first,
    js_join,
    moment,
    nest_dotted,
    required,
    trait,
    value_of,
    verbatim,
)


class WoopraSettings(Settings, frozen=True, kw_only=True):
    project_name: str


destination = DestinationType(
    "WOOPRA",
    WoopraSettings,
    docs="https://docs.woopra.com/reference/track-ce",
    answers=[Answer("success", 200, ""), Answer("invalid field", 400, {"error": "project is required"})],
    quirks=["`integrations.woopra.projectName` overrides the configured project."],
)


@converter
def millisecond_text(value: Json) -> str:
    """Convert a time to Unix milliseconds, as a string; a number is already in milliseconds."""
    when = moment(int(value) if isinstance(value, bool) else value)
    if when is None:
        raise WrongValue(TIME_EXAMPLE, value, case="time")
    return str(round(when.timestamp() * 1_000_000) // 1000)


VISITOR = Table(
    {
        "cv_email": trait("email"),
        "cv_title": trait("title"),
        "cv_birthday": BIRTHDAY,
        "cv_age": trait("age"),
        "cv_id": USER_ID,
        "timestamp": required(millisecond_text(TIME)),
        "cv_firstname": FIRST_NAME,
        "cv_lastname": LAST_NAME,
        "cv_middlename": trait("middleName", "middle_name"),
        "cv_name": trait("name"),
        "cv_city": trait("address.city"),
        "cv_website": first(trait("website"), "properties.website"),
        "cv_state": trait("state"),
        "cv_zipcode": trait(
            *("zip", "zipcode", "zip_code", "zipCode", "postalcode", "postal_code", "postalCode"),
            *("address.zip", "address.zipcode", "address.zip_code", "address.zipCode"),
            *("address.postalcode", "address.postal_code", "address.postalCode"),
        ),
        "cv_ip": "context.ip",
        "cv_country": trait("country"),
        "device": "context.device.type",
        "app": "context.app.name",
        "os": "context.os.name",
        "cookie": verbatim(first("context.externalId.woopraId", "anonymousId")),
    }
)
_NOT_CUSTOM = frozenset({
    "DOB", "age", "birthday", "city", "country", "dateOfBirth", "dateofbirth", "dob", "email", "firstName",
    "first_name", "firstname", "id", "lastName", "last_name", "lastname", "middleName", "middle_name", "name", "state",
    "title", "userId", "website", "zipcode",
})  # fmt: skip
PAGE = Table(
    {
        "ce_pagepath": "context.page.path",
        "ce_page_initial_referring_domain": "context.page.initial_referring_domain",
        "ce_page_intial_referrer": "context.page.initial_referrer",  # sic
        "ce_page_referring_domain": "context.page.referring_domain",
        "ce_referrer": first("properties.referrer", "context.page.referrer"),
        "ce_search": first("properties.search", "context.page.search"),
        "ce_title": first("context.page.title", "properties.title"),
        "ce_url": first("context.page.url", "properties.url"),
    }
)
NAME = Table({"category": "category", "name": "name"})


@destination.on("identify")
def send_visitor(event: Event, settings: WoopraSettings) -> Payload:
    return _send("identify", event, {}, settings)


@destination.on("track")
def send_action(event: Event, settings: WoopraSettings) -> Payload:
    return _send("ce", event, {"event": event_name(event)}, settings)


@destination.on("page")
def send_page(event: Event, settings: WoopraSettings) -> Payload:
    words = ("Viewed", *([js_join(word) for word in NAME(event).values()] or "a"), "Page")
    return _send("ce", event, {**PAGE(event), "event": " ".join(words)}, settings)


def _send(path: str, event: Event, details: dict[str, Any], settings: WoopraSettings) -> Payload:
    custom = {f"cv_{key}": value for key, value in event.traits.items() if key not in _NOT_CUSTOM}
    project = value_of(event, "integrations.woopra.projectName") or settings.project_name
    properties = nest_dotted({f"ce_{key}": value for key, value in event.properties.items()})
    params = {**custom, **properties, **details, "Project": project}
    params = {**VISITOR(event), **{key: value for key, value in params.items() if value is not None}}
    browser = agent(event.context.get("userAgent"))
    if browser.browser:
        params["browser"] = browser.browser + browser.browser_version
    return Payload(endpoint=f"https://www.woopra.com/track/{path}", method="GET", params=params)
