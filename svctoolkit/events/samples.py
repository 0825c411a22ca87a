"""Realistic sample events of every type, from the website and the mobile application of one shop.

>>> sorted(samples())
['alias', 'group', 'identify', 'order completed', 'page', 'product viewed', 'screen', 'track']
>>> sample("track")["event"]
'Order Completed'
"""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from svctoolkit.errors import UnknownName
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json

_TIMES = ("originalTimestamp", "sentAt", "timestamp", "receivedAt")

_WEB: dict[str, Any] = {
    "app": {"name": "Lantern & Loom", "version": "4.2.0"},
    "library": {"name": "web", "version": "3.0.0"},
    "userAgent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Safari/537.36",
    "ip": "203.0.113.24",
    "locale": "en-GB",
    "timezone": "Europe/Berlin",
    "screen": {"width": 1512, "height": 982, "density": 2},
    "page": {
        "path": "/checkout/thanks",
        "referrer": "https://www.lantern-loom.example/checkout",
        "search": "?ref=newsletter",
        "title": "Thank you",
        "url": "https://www.lantern-loom.example/checkout/thanks?ref=newsletter",
    },
    "campaign": {"source": "newsletter", "medium": "email", "name": "autumn-throws"},
    "traits": {"email": "mira.okafor@mail.example", "plan": "plus"},
}
_MOBILE: dict[str, Any] = {
    "app": {"name": "Lantern & Loom", "version": "2.8.1", "build": "281", "namespace": "example.lanternloom.shop"},
    "library": {"name": "mobile", "version": "1.3.0"},
    "device": {
        "id": "7d1f6f0e-3a0b-4c0e-9f5e-6c2d51b1a001",
        "manufacturer": "Google",
        "model": "Pixel 8",
        "name": "shiba",
        "type": "Android",
        "token": "fcm-token-of-mira",
        "adTrackingEnabled": True,
        "advertisingId": "3b8d0a5e-2f1c-4a5f-8d4e-0f6a7e2b9c11",
    },
    "os": {"name": "Android", "version": "14"},
    "network": {"carrier": "Example Mobile", "wifi": True, "cellular": False, "bluetooth": False},
    "screen": {"width": 1080, "height": 2400, "density": 420},
    "locale": "en-GB",
    "timezone": "Europe/Berlin",
    "ip": "203.0.113.24",
    "traits": {"email": "mira.okafor@mail.example", "plan": "plus"},
}
_PERSON = {
    "email": "mira.okafor@mail.example",
    "firstName": "Mira",
    "lastName": "Okafor",
    "phone": "+4915112345678",
    "gender": "female",
    "birthday": "1991-04-23",
    "createdAt": "2024-02-11T09:30:00.000Z",
    "plan": "plus",
    "address": {"street": "Lindenstr. 8", "city": "Berlin", "state": "BE", "postalCode": "10969", "country": "DE"},
}
_PRODUCTS = [
    {
        "product_id": "p-1042",
        "sku": "THROW-WOOL-GRN",
        "name": "Wool throw, moss",
        "category": "Throws",
        "brand": "Lantern & Loom",
        "variant": "130x180",
        "price": 79.0,
        "quantity": 1,
        "position": 1,
        "url": "https://www.lantern-loom.example/p/1042",
        "image_url": "https://img.lantern-loom.example/1042.jpg",
    },
    {
        "product_id": "p-2210",
        "sku": "LAMP-RICE-S",
        "name": "Rice paper lamp, small",
        "category": "Lamps",
        "brand": "Tsuki",
        "price": 24.5,
        "quantity": 2,
        "position": 2,
    },
]


def _event(number: int, members: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
    second = f"2026-01-15T10:{number:02d}:30"
    return {
        **members,
        "anonymousId": "a-5f2d7c1e-shop",
        "channel": "mobile" if context is _MOBILE else "web",
        "context": context,
        "integrations": {"All": True},
        "messageId": f"6b0f6c1a-0000-4000-8000-{number:012d}",
        "originalTimestamp": f"{second}.120Z",
        "sentAt": f"{second}.480Z",
        "timestamp": f"{second}.120Z",
        "receivedAt": f"{second}.610Z",
        "request_ip": "203.0.113.24",
    }


_ORDER = {
    "order_id": "o-90017",
    "checkout_id": "c-55120",
    "affiliation": "Web shop",
    "total": 133.9,
    "subtotal": 128.0,
    "revenue": 128.0,
    "shipping": 4.9,
    "tax": 21.4,
    "discount": 5.0,
    "coupon": "AUTUMN5",
    "currency": "EUR",
    "products": _PRODUCTS,
}
_SAMPLES: dict[str, dict[str, Any]] = {
    "identify": _event(1, {"type": "identify", "userId": "u-1001", "traits": _PERSON}, {**_WEB, "traits": _PERSON}),
    "page": _event(
        2,
        {
            "type": "page",
            "userId": "u-1001",
            "name": "Wool throws",
            "category": "Catalogue",
            "properties": {
                "title": "Wool throws",
                "path": "/throws",
                "url": "https://www.lantern-loom.example/throws",
                "referrer": "https://search.example/",
            },
        },
        _WEB,
    ),
    "product viewed": _event(
        3,
        {
            "type": "track",
            "event": "Product Viewed",
            "userId": "u-1001",
            "properties": {**_PRODUCTS[0], "currency": "EUR"},
        },
        _WEB,
    ),
    "order completed": _event(
        4, {"type": "track", "event": "Order Completed", "userId": "u-1001", "properties": _ORDER}, _WEB
    ),
    "screen": _event(
        5,
        {"type": "screen", "userId": "u-1001", "name": "Basket", "properties": {"items": 2, "value": 128.0}},
        _MOBILE,
    ),
    "group": _event(
        6,
        {
            "type": "group",
            "userId": "u-1001",
            "groupId": "g-77",
            "traits": {"name": "Studio Nord", "industry": "Interior design", "employees": 12, "plan": "trade"},
        },
        _WEB,
    ),
    "alias": _event(7, {"type": "alias", "userId": "u-1001", "previousId": "a-5f2d7c1e-shop"}, _MOBILE),
}
_SAMPLES["track"] = _SAMPLES["order completed"]


def sample(name: str, *, at: datetime | None = None) -> dict[str, Json]:
    """Return a copy of one sample event, by event type or by the lower-case name of a track event.

    Its times are set to `at`, by default a second ago, because several destinations reject old events. Raises
    `UnknownName`.
    """
    if name.lower() not in _SAMPLES:
        raise UnknownName("sample event", name, _SAMPLES)
    event = deepcopy(_SAMPLES[name.lower()])
    later = (at or datetime.now(UTC) - timedelta(seconds=1)) - datetime.fromisoformat(event["originalTimestamp"])
    event |= {member: iso(datetime.fromisoformat(event[member]) + later) for member in _TIMES}
    return event


def samples(*, at: datetime | None = None) -> dict[str, dict[str, Json]]:
    """Return a copy of every sample event, by name. Their times are set to `at`, by default a second ago."""
    return {name: sample(name, at=at) for name in _SAMPLES}
