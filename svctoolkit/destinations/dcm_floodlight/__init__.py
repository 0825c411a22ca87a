"""DCM Floodlight: activities of advertisers, as server-side requests of Floodlight tags.

track sends the activity that is configured for the name; page the one for `Viewed ... Page`. Others are refused.
https://support.google.com/campaignmanager/answer/2823450
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    Misfit,
    NotConfigured,
    Table,
    as_object,
    in_url,
    javascript_text,
    number_or_none,
    objects,
    path,
    require_name,
    required,
)

#: the event's options for this type: their names in the URL
_CONSENTS = {"COPPA": "tag_for_child_directed_treatment", "GDPR": "tfua", "npa": "npa"}
_FLAGS = {"1": "1", "true": "1", "0": "0", "false": "0"}


class ConversionEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event that is an activity; `custom_variables` maps properties to the numbers of custom variables."""

    event_name: str = ""
    floodlight_activity_tag: str = ""
    floodlight_group_tag: str = ""
    sales_tag: bool = False
    custom_variables: tuple[Rows, ...] = ()


class FloodlightSettings(Settings, frozen=True, kw_only=True):
    advertiser_id: str | None = None
    activity_tag: str | None = None
    group_tag: str | None = None
    conversion_events: tuple[ConversionEvent, ...] = ()

    @cached_property
    def activities(self) -> dict[str, ConversionEvent]:
        """The activities by name in lower case; the first one with a name counts."""
        named = reversed(self.conversion_events)
        return {activity.event_name.strip().lower(): activity for activity in named if activity.event_name.strip()}


destination = DestinationType(
    "DCM Floodlight",
    FloodlightSettings,
    docs="https://support.google.com/campaignmanager/answer/2823450",
    names=("dcm_floodlight",),
    quirks=[
        "`dc_lat`, which limits ad tracking, is 1 if `context.device.adTrackingEnabled` is true.",
        "Only custom variables are escaped in the URL; IDs are not.",
        "Custom variables that are true or false are not sent.",
        "Every activity except sales is counted with the event's ID, whatever the counting method.",
    ],
    answers=[
        Answer("success", 200, ""),
        Answer("rate limit", 429, ""),
        Answer("invalid field", 400, ""),
    ],
    differences=["A numeric text counts as a quantity."],
)

DEVICE = Table({"dc_rdid": required("context.device.advertisingId"), "agent": required("context.userAgent")})


@destination.on("track")
def send_event(event: Event, settings: FloodlightSettings) -> Payload:
    """Return the activity with that name."""
    return _send(event, settings, require_name(event.raw.get("event"), "event"))


@destination.on("page")
def send_page(event: Event, settings: FloodlightSettings) -> Payload:
    """Return the activity `Viewed <category> <name> Page`, as far as both are known."""
    names = (event.properties.get("category"), event.raw.get("name"))
    words = ["Viewed", *(name for name in names if isinstance(name, str) and name), "Page"]
    return _send(event, settings, " ".join(words))


def _send(event: Event, settings: FloodlightSettings, name: str) -> Payload:
    activity = settings.activities.get(name.strip().lower())
    if activity is None:
        raise NotConfigured("event", name, setting="conversionEvents")
    device = DEVICE(event)
    agent = device.pop("agent")
    members: dict[str, Json] = {
        "src": settings.advertiser_id,
        "cat": activity.floodlight_activity_tag or settings.activity_tag,
        "type": activity.floodlight_group_tag or settings.group_tag,
        **device,
        **(_sale(event.properties) if activity.sales_tag else {"ord": event.raw.get("messageId")}),
        **dict(_flags(event)),
        **dict(_variables(event, activity)),
    }
    address = ";".join(f"{key}={javascript_text(value)}" for key, value in members.items() if value is not None)
    endpoint = f"https://ad.doubleclick.net/ddm/activity/{address}"
    return Payload(endpoint=endpoint, method="GET", headers={"User-Agent": agent})


def _sale(properties: Mapping[str, Json]) -> dict[str, Json]:
    """Return the order ID, quantity and cost."""
    products, quantity = properties.get("products"), properties.get("quantity")
    if products is not None:
        listed = objects(products if isinstance(products, list) else [products])
        numbers: list[Any] = [number_or_none.of(product.get("quantity") or 0) or 0 for product in listed]
        quantity = sum(numbers)
    return {"ord": properties.get("orderId"), "qty": quantity, "cost": properties.get("revenue")}


def _flags(event: Event) -> Iterator[tuple[str, str]]:
    """Return the privacy flags: limited tracking and allowed use of data."""
    enabled = as_object(event.context.get("device")).get("adTrackingEnabled")
    options = destination.options(event)
    if enabled is not None:
        yield "dc_lat", _flag("context.device.adTrackingEnabled", enabled) if enabled else javascript_text(enabled)
    for name, key in _CONSENTS.items():
        if value := options.get(name):
            yield key, _flag(f"integrations.{destination.title}.{name}", value)


def _flag(field: str, value: Json) -> str:
    flag = _FLAGS.get(javascript_text(value))
    if flag is None:
        raise Misfit(field, "true, false, 1 or 0", value)
    return flag


def _variable(event: Event, name: str) -> Json:
    """Return a property, or else a trait of the context."""
    value = path(name)(event.properties)
    return path(name)(as_object(event.context.get("traits"))) if value is None else value


def _variables(event: Event, activity: ConversionEvent) -> Iterator[tuple[str, str]]:
    for row in activity.custom_variables:
        value = _variable(event, row.from_) if row.from_ and row.to else None
        if value is not None and not isinstance(value, bool):
            yield f"u{row.to}", in_url(javascript_text(value))
