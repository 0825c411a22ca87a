"""The fields of an Amplitude event and their sources.

https://amplitude.com/docs/apis/analytics/http-v2
"""

from __future__ import annotations

import re

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    IP,
    Table,
    agent,
    as_object,
    compact,
    const,
    default,
    epoch_ms,
    first,
    moment,
    platform,
    verbatim,
)

_DIGITS = re.compile(r"\d{1,15}", re.ASCII)

EVENT = Table(
    {
        "user_id": verbatim("userId"),
        "device_id": "anonymousId",
        "os_name": verbatim("context.os.name"),
        "os_version": verbatim("context.os.version"),
        "device_model": verbatim("context.device.model"),
        "device_manufacturer": verbatim("context.device.manufacturer"),
        "platform": verbatim("context.device.type"),
        "carrier": verbatim("context.network.carrier"),
        "app_name": verbatim("context.app.name"),
        "app_version": verbatim("context.app.version"),
        "language": verbatim("context.locale"),
        "ip": IP,
        "region": "context.location.region",
        "country": first("context.location.country", "traits.address.country", "context.traits.address.country"),
        "city": first("context.location.city", "traits.address.city", "context.traits.address.city"),
        "location_lat": "context.location.latitude",
        "location_lng": "context.location.longitude",
        "dma": "context.location.dma",
        "library": const("rudderstack"),
    }
)
BRAND = Table({"device_brand": "context.device.brand"})
REVENUE = Table(
    {
        "productId": "product_id",
        "revenueType": default(first("revenueType", "revenue_type"), "Purchased"),
        "revenue": "revenue",
    },
    of="properties",
)
#: For events with a `revenue_type`, even if each product has its own revenue.
TYPED_REVENUE = Table(
    {
        "productId": "product_id",
        "revenueType": "revenue_type",
        "revenue": "revenue",
        "price": "price",
        "quantity": "quantity",
    },
    of="properties",
)
#: Amplitude fields that a reverse ETL mapping may set with a trait of the same name.
OWN_FIELDS = frozenset({
    "app_version", "carrier", "device_brand", "device_id", "device_manufacturer", "device_model", "dma", "os_name",
    "os_version", "paying", "platform", "start_version", "user_id",
})  # fmt: skip
#: Event fields that are set by a trait of the same name. Only in reverse ETL are these traits no longer user
#: properties.
TRAIT_FIELDS = OWN_FIELDS | {"city", "country", "language", "region"}
#: Traits that are sent in fields of the event and therefore not as user properties.
PLACES = ("city", "country", "address.city", "address.country")


def session_id(event: Event) -> int:
    """Return the session as a number, as Amplitude requires; -1 means no session."""
    for value in (event.context.get("sessionId"), event.raw.get("session_id")):
        if isinstance(value, (int, str)) and _DIGITS.fullmatch(str(value)):
            return int(value) or -1
    return -1


def milliseconds(event: Event) -> int | None:
    """Return the time of the event: 0 if missing, None if invalid. Numbers are milliseconds."""
    value = event.raw.get("timestamp") or event.raw.get("originalTimestamp")
    when = moment(value) if value else None
    return epoch_ms.of(when) if when else None if value else 0


def browser(event: Event) -> dict[str, Json]:
    """Return the user agent's data. The browser is sent as operating system, as in Amplitude's own SDK."""
    if event.raw.get("channel") != "web" or event.type == "screen":
        return {}
    client = agent(event.context.get("userAgent"))
    return compact(
        {
            "platform": "Web",
            "os_name": client.browser,
            "os_version": client.browser_version,
            "device_model": client.device_model or client.os,
            "device_manufacturer": client.device_vendor,
        }
    )


def advertising(event: Event) -> dict[str, Json]:
    """Return the platform's advertising ids. Only apps have them."""
    device = as_object(event.context.get("device"))
    system = platform(device.get("type")) if event.raw.get("channel") == "mobile" else ""
    if system == "ios":
        return compact({"idfa": device.get("advertisingId"), "idfv": device.get("id")})
    return compact({"adid": device.get("advertisingId")}) if system == "android" else {}
