"""Events that decide whether a mistake has an effect. Made by a seeded generator: the same on every machine.

They are none of those that suites send: other people, orders and words. About one in eight has something unusual.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

SEED, COUNT = 20261129, 2_000
#: When the events happen and are processed. Some vendors take no old events.
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_NAMES = [
    "Order Completed", "Order Completed", "Order Completed", "Product Viewed", "Product Added", "Cart Viewed", "Signup",
    "Signed Up", "Checkout Started", "Checkout Completed", "Heartbeat", "Debug Event", "Internal Ping",
    "Order Refunded",
]  # fmt: skip
_PEOPLE = ["bot", "anonymous", "synthetic-monitor", "", "undefined"]
_PLANS = ["free", "silver", "gold", "trial"]
_CURRENCIES = ["EUR", "eur", "USD", "JPY", "GBP", ""]
_IPS = ["203.0.113.9", "198.51.100.77", "10.0.0.1", "192.168.1.4", "2001:db8::1"]
_CONSENTS = ["marketing", "analytics", "C0002", "C0004", "functional"]
_SOURCES = ["web", "mobile", "server"]


def events(seed: int = SEED, count: int = COUNT) -> list[dict[str, Any]]:
    """Return the events of a seed, each with an ID of its own."""
    generator = random.Random(seed)
    return [_event(generator, f"c{seed % 1000}-{number}") for number in range(count)]


def _event(generator: random.Random, id: str) -> dict[str, Any]:
    kind = generator.choices(["track", "identify", "page", "screen", "group", "alias"], [68, 14, 8, 4, 4, 2])[0]
    number = generator.randrange(400)
    user = generator.choice(_PEOPLE) if generator.random() < 0.08 else f"p-{number}"
    at = (NOW - timedelta(minutes=generator.randrange(600))).isoformat().replace("+00:00", "Z")
    event: dict[str, Any] = {
        "type": kind, "messageId": id, "userId": user, "anonymousId": f"a-{number}",
        "channel": generator.choice(_SOURCES),
        "originalTimestamp": at, "timestamp": at, "sentAt": at, "context": _context(generator, number),
    }  # fmt: skip
    event |= dict(_MEMBERS[kind](generator, number))
    for change in generator.sample(_UNUSUAL, k=generator.choice([0, 0, 0, 0, 0, 0, 0, 1])):
        change(event, generator)
    return event


def _context(generator: random.Random, number: int) -> dict[str, Any]:
    context: dict[str, Any] = {
        "locale": generator.choice(["en", "de-DE", "nb-NO"]), "ip": generator.choice(_IPS),
        "userAgent": "Mozilla/5.0 (X11; Linux x86_64)", "library": {"name": "analytics.js", "version": "2.1.0"},
        "app": {"name": "Shop", "version": generator.choice(["2.7.1", "2.8.0", "2.9.0", "2.9.1"]), "build": "7"},
        "traits": _traits(generator, number),
    }  # fmt: skip
    if generator.random() < 0.2:
        denied = generator.sample(_CONSENTS, k=2)
        context["consentManagement"] = {
            "provider": "oneTrust", "deniedConsentIds": denied,
            "allowedConsentIds": [consent for consent in _CONSENTS if consent not in denied],
        }  # fmt: skip
    return context


def _traits(generator: random.Random, number: int) -> dict[str, Any]:
    domain = generator.choice(["mail.example", "post.example", "Mail.Example", "lantern-loom.example"])
    traits: dict[str, Any] = {
        "email": generator.choice(["p{}@{}", " P{}@{} ", "P{}@{}"]).format(number, domain), "firstName": f"Kim{number}",
        "lastName": "Berg", "plan": generator.choice(_PLANS), "phone": f"+479{number:07}", "age": number % 90,
        "birthday": "1990-02-03", "address": {"city": "Oslo", "country": "NO", "postalCode": "0150"},
    }  # fmt: skip
    for name in generator.sample(sorted(traits), k=generator.randrange(4)):
        del traits[name]
    return traits


def _order(generator: random.Random) -> dict[str, Any]:
    number = generator.randrange(10_000)
    products = [
        {
            "product_id": f"w-{generator.randrange(60)}", "sku": f"s{number % 60}", "name": "Reading lamp",
            "price": round(generator.uniform(1, 300), 3), "quantity": generator.randrange(1, 4), "category": "Lamps",
        }
        for _ in range(generator.choice([0, 1, 1, 2, 3]))
    ]  # fmt: skip
    revenue = generator.choice([round(generator.uniform(1, 900), 3), generator.randrange(2_000), "12.50", 0, 100, 1000])
    order = {
        "order_id": f"r-{number}", "revenue": revenue, "total": revenue, "currency": generator.choice(_CURRENCIES),
        "products": products, "coupon": generator.choice(["", "AUTUMN", "INF"]), "shipping": 5, "tax": 1.25,
    }  # fmt: skip
    for name in generator.sample(sorted(order), k=generator.choice([0, 0, 0, 1, 2])):
        del order[name]
    return order


def _track(generator: random.Random, number: int) -> Iterator[tuple[str, Any]]:
    name = generator.choice(_NAMES)
    yield "event", name
    is_order = name.startswith(("Order", "Checkout"))
    product = {"product_id": f"w-{number % 60}", "price": number / 7, "quantity": 1, "name": "Wool throw"}
    yield "properties", _order(generator) if is_order else product


def _identify(generator: random.Random, number: int) -> Iterator[tuple[str, Any]]:
    yield "traits", _traits(generator, number)


def _page(generator: random.Random, number: int) -> Iterator[tuple[str, Any]]:
    yield "name", generator.choice(["Home", "Basket", "Lamps", "Thanks"])
    yield (
        "properties",
        {"url": f"https://shop.example/p/{number}", "path": f"/p/{number}", "title": "Shop", "referrer": ""},
    )


def _group(generator: random.Random, number: int) -> Iterator[tuple[str, Any]]:
    yield "groupId", f"g-{number % 20}"
    yield "traits", {"name": "Acme", "plan": generator.choice(_PLANS), "employees": number}


def _alias(_: random.Random, number: int) -> Iterator[tuple[str, Any]]:
    yield "previousId", f"old-{number}"


_MEMBERS = {"track": _track, "identify": _identify, "page": _page, "screen": _page, "group": _group, "alias": _alias}


def _integrations(event: dict[str, Any], generator: random.Random) -> None:
    event["integrations"] = generator.choice([{"All": False}, {"All": True, "Mixpanel": False}, {"WEBHOOK": False}])


def _without_user(event: dict[str, Any], _: random.Random) -> None:
    event.pop("userId")


def _without_context(event: dict[str, Any], _: random.Random) -> None:
    event["context"] = {}


def _without_properties(event: dict[str, Any], _: random.Random) -> None:
    event.pop("properties", None)


def _odd_texts(event: dict[str, Any], generator: random.Random) -> None:
    event["properties"] = {
        "note": generator.choice(["é\u202e", "", "x" * 300, '{"a": 1}']),
        "count": None,
        "flag": False,
    }


_UNUSUAL: list[Callable[[dict[str, Any], random.Random], None]] = [
    _integrations, _without_user, _without_context, _without_properties, _odd_texts,
]  # fmt: skip
