"""Kochava: post-install events of apps, through its server-to-server API.

track sends an event, under Kochava's standard name if there is one; screen sends `screen view <name>`. The device ID
comes from the context, or is the anonymous ID.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    IP,
    TIME,
    Misfit,
    as_object,
    first,
    js_join,
    moment,
    not_null,
    verbatim,
)
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import microseconds


class KochavaSettings(Settings, frozen=True, kw_only=True):
    api_key: str | None = None


destination = DestinationType(
    "Kochava",
    KochavaSettings,
    docs="https://support.kochava.com/server-to-server-integration/post-install-event-setup/",
    quirks=[
        "Names that are not Kochava standard events are sent in lower case.",
        "Events without a currency are sent with USD.",
        "An advertising ID is sent only if the operating system is exactly iOS, iPadOS, tvOS, watchOS or Android.",
    ],
    answers=[
        Answer("success", 200, {"success": 1}),
        Answer("bad key", 401, {"success": 0, "error": "Invalid kochava_app_id"}),
        Answer("rate limit", 429, {"success": 0, "error": "Too many requests"}),
        Answer("invalid field", 400, {"success": 0, "error": "Invalid usertime"}),
    ],
)

#: Kochava's standard events (https://support.kochava.com/reference-information/post-install-event-examples/)
STANDARD_EVENTS = {
    "product added": "Add to Cart",
    "product added to wishlist": "Add to Wishlist",
    "checkout started": "Checkout Start",
    "order completed": "Purchase",
    "product reviewed": "Rating",
    "products searched": "Search",
}
APPLE_SYSTEMS = ("ios", "ipados", "tvos", "watchos")
#: members of the data that are copied from the context unchanged, even if null or empty
CONTEXT = {
    "app_version": ("app", "build"),
    "app_name": ("app", "name"),
    "app_short_string": ("app", "version"),
    "os_version": ("os", "version"),
    "screen_dpi": ("screen", "density"),
}
_ip, _time, _agent = getter(verbatim(IP)), getter(not_null(TIME)), getter("context.userAgent")
_device_id = getter(first("context.device.id", "anonymousId"))


@destination.on("track")
def send_event(event: Event, settings: KochavaSettings) -> Payload:
    """Return the event."""
    name = event.raw.get("event")
    if name is not None and not isinstance(name, str):
        raise Misfit("event", "a string", name)
    key = (name or "").lower()
    return _send(event, settings, STANDARD_EVENTS.get(key.strip(), key))


@destination.on("screen")
def send_screen(event: Event, settings: KochavaSettings) -> Payload:
    """Return an event `screen view <name>`, with the name from the properties."""
    name = event.properties.get("name")
    return _send(event, settings, f"screen view {js_join(name)}" if name else "screen view")


def _send(event: Event, settings: KochavaSettings, name: str) -> Payload:
    data = {**_context_data(event), **_device_data(event)}
    if (ip := _ip(event.raw)) is not None:
        data["origination_ip"] = ip
    if name:
        data["event_name"] = name
    data["event_data"] = event.properties
    currency = event.properties.get("currency")
    data["currency"] = "USD" if currency is None else currency
    when = moment(_time(event.raw))
    if when is not None:
        data["usertime"] = microseconds(when) // 1000
    body = {"action": "event", "kochava_device_id": _device_id(event.raw) or "", "data": data}
    if settings.api_key is not None:
        body["kochava_app_id"] = settings.api_key
    return Payload(endpoint="https://control.kochava.com/track/json", json=body)


def _context_data(event: Event) -> dict[str, Any]:
    data = {"locale": event.context["locale"]} if "locale" in event.context else {}
    for key, (group, member) in CONTEXT.items():
        values = as_object(event.context.get(group))
        if member in values:
            data[key] = values[member]
    return data


def _device_data(event: Event) -> dict[str, Any]:
    """Return the device's identifiers and description."""
    device, system = as_object(event.context.get("device")), as_object(event.context.get("os"))
    name, version, model = system.get("name"), system.get("version"), device.get("model")
    platform = js_join(name or "").lower()
    advertising_id, device_id = device.get("advertisingId") or "", _device_id(event.raw) or ""
    apple, android = platform in APPLE_SYSTEMS, platform == "android"
    return {
        "app_tracking_transparency": {"att": device.get("attTrackingStatus") == 3},
        "device_ver": f"{js_join(model)}-{js_join(name or '')}-{js_join(version)}" if model and version else "",
        "device_ua": _agent(event.raw) or "",
        "device_ids": {
            "idfa": advertising_id if apple else "",
            "idfv": device_id if apple else "",
            "adid": advertising_id if android else "",
            "android_id": device_id if android else "",
        },
    }
