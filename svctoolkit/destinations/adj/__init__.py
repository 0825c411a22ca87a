"""Adjust: app events that have an event token, through the server-to-server API.

track sends an event with the token that the configuration maps its name to; events without a token are refused. The
properties are sent as callback parameters, flattened and as text (null is `null`), and the configured ones also as
partner parameters. The event must contain the type and ID of the device.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    IP,
    Missing,
    NotConfigured,
    Shape,
    Table,
    as_object,
    compact,
    converter,
    event_name,
    flatten,
    js_join,
    json_text,
    number,
    platform,
    value_of,
    without,
)


class AdjustSettings(Settings, frozen=True, kw_only=True):
    app_token: str
    custom_mappings: tuple[Rows, ...] = ()
    partner_params_keys: tuple[Rows, ...] = ()
    environment: bool = False

    @cached_property
    def tokens(self) -> dict[str, str]:
        """Event tokens by event name."""
        return {row.from_.strip(): row.to.strip() for row in self.custom_mappings}


destination = DestinationType(
    "Adjust",
    AdjustSettings,
    docs="https://dev.adjust.com/en/api/s2s-api/events",
    names=("ADJ",),
    answers=[
        Answer("success", 200, {"status": "OK"}),
        Answer("bad key", 404, {"error": "App token not found"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"error": "Event request failed (Bad event token)"}),
    ],
    quirks=[
        "The time of an event is not sent: Adjust uses the time of arrival.",
        "Revenue is sent in USD if the event has no currency.",
    ],
)


@converter
def _revenue(value: Any) -> float:
    """Return a number with two decimals. Text may begin with a dollar sign; true counts as 1."""
    if isinstance(value, bool):
        return float(value)
    return round(float(number.of(value.strip().removeprefix("$") if isinstance(value, str) else value)), 2)


_COMMON: Shape = {
    "ip_address": IP,
    "tracking_enabled": "context.device.adTrackingEnabled",
    "att_status": "context.device.attTrackingStatus",
}
DEVICE = {
    "android": Table({**_COMMON, "android_id": "context.device.id", "gps_adid": "context.device.advertisingId"}),
    "ios": Table({**_COMMON, "idfv": "context.device.id", "idfa": "context.device.advertisingId"}),
}
REVENUE = _revenue("properties.revenue")


@destination.on("track")
def send_event(event: Event, settings: AdjustSettings) -> Payload:
    name = event_name(event)
    token = settings.tokens.get(name)
    if not token:
        raise NotConfigured("event", name, setting="customMappings")
    rest = flatten(without(event.properties, ("revenue", "currency")))
    params = {
        "s2s": 1,
        "app_token": settings.app_token,
        "event_token": token,
        "environment": "production" if settings.environment else "sandbox",
        **_device(event),
        **_money(event),
        "callback_params": json_text({key: js_join(value) for key, value in rest.items()}) if rest else "",
        "partner_params": _partner(event, settings),
    }
    return Payload(endpoint="https://s2s.adjust.com/event", headers={"Accept": "*/*"}, params=compact(params))


def _device(event: Event) -> dict[str, Any]:
    device = as_object(event.context.get("device"))
    kind = platform(device.get("type"))
    if not device.get("id") or kind not in DEVICE:
        raise Missing(
            "context.device.type", "context.device.id", wants="the type (android or ios) and ID of the device"
        )
    return DEVICE[kind](event)


def _money(event: Event) -> dict[str, Any]:
    """Return the revenue and, unless it is zero or missing, its currency."""
    revenue = value_of(event, REVENUE)
    if not revenue:
        return {"revenue": revenue}
    return {"revenue": revenue, "currency": event.properties.get("currency") or "USD"}


def _partner(event: Event, settings: AdjustSettings) -> dict[str, str]:
    """Return properties under the partner's names as text, except those that are empty, 0 or false."""
    pairs = [(row.to, event.properties.get(row.from_)) for row in settings.partner_params_keys if row.to]
    return {name: js_join(value) for name, value in pairs if value or value == [] or value == {}}
