"""The fields of an Amplitude event, and where they come from.

https://amplitude.com/docs/apis/analytics/http-v2
"""

from __future__ import annotations

import re
from typing import Any

from svctoolkit.events import Event
from svctoolkit.mapping import Table, agent, as_object, compact, const, default, epoch_ms, first, platform

_DIGITS = re.compile(r"\d{1,15}", re.ASCII)

EVENT = Table(
    {
        "user_id": "userId",
        "device_id": first("context.device.id", "anonymousId"),
        "os_name": "context.os.name",
        "os_version": "context.os.version",
        "device_model": "context.device.model",
        "device_manufacturer": "context.device.manufacturer",
        "platform": "context.device.type",
        "carrier": "context.network.carrier",
        "app_name": "context.app.name",
        "app_version": "context.app.version",
        "language": "context.locale",
        "ip": first("traits.ip", "request_ip", "context.ip"),
        "time": default(epoch_ms("timestamp", "originalTimestamp"), 0),
        "region": "context.location.region",
        "country": first(
            "context.location.country", "traits.country", "traits.address.country", "context.traits.address.country"
        ),
        "city": first("context.location.city", "traits.city", "traits.address.city", "context.traits.address.city"),
        "location_lat": "context.location.latitude",
        "location_lng": "context.location.longitude",
        "dma": "context.location.dma",
        "library": const("rudderstack"),
    }
)
BRAND = Table({"device_brand": "context.device.brand"})
ORIGIN = Table(
    {
        "initial_referrer": "context.page.initial_referrer",
        "initial_referring_domain": "context.page.initial_referring_domain",
    }
)
REVENUE = Table(
    {
        "productId": "product_id",
        "revenueType": default(first("revenueType", "revenue_type"), "Purchased"),
        "revenue": "revenue",
    },
    of="properties",
)
#: Fields of Amplitude's own that a mapping from the warehouse may set by a trait of that name.
OWN_FIELDS = frozenset({
    "app_version", "carrier", "city", "country", "device_brand", "device_manufacturer", "device_model", "dma",
    "language", "os_name", "os_version", "paying", "platform", "region", "start_version",
})  # fmt: skip


def session_id(event: Event) -> int:
    """Amplitude's sessions are numbers. -1 stands outside of all sessions."""
    for found in (event.context.get("sessionId"), event.raw.get("session_id")):
        if isinstance(found, int | str) and _DIGITS.fullmatch(str(found)):
            return int(found)
    return -1


def browser(event: Event) -> dict[str, Any]:
    """What a website's user agent tells. Amplitude takes the browser for the operating system, as its own SDK does."""
    if event.raw.get("channel") != "web":
        return {}
    found = agent(event.context.get("userAgent"))
    return compact(
        {
            "platform": "Web",
            "os_name": found.browser,
            "os_version": found.browser_version,
            "device_model": found.device_model or found.os,
            "device_manufacturer": found.device_vendor,
        }
    )


def advertising(event: Event) -> dict[str, Any]:
    """The advertising ids that each platform has under its own name. Only applications have them."""
    device = as_object(event.context.get("device"))
    system = platform(device.get("type")) if event.raw.get("channel") == "mobile" else ""
    if system == "ios":
        return compact({"idfa": device.get("advertisingId"), "idfv": device.get("id")})
    return compact({"adid": device.get("advertisingId")}) if system == "android" else {}
