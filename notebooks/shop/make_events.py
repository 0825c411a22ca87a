"""Makes `events.ndjson`: what the shop's website and app sent in May 2026. The same events at each run.

The app has two faults, as apps do. Version 2.8 sends orders without a currency. Version 2.9, which reaches phones from
18 May, adds the currency, and sends every amount in cents.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FIRST_DAY = datetime(2026, 5, 1, tzinfo=UTC)
RELEASE_DAY = 17  # days after the first; a few more phones have version 2.9 on each day after it
LATE_REFUNDS = {1: "o-89940", 3: "o-89971"}  # day -> an order of April
PRODUCTS = [
    ("p-1042", "Wool throw, moss", 79.0),
    ("p-1043", "Wool throw, ochre", 79.0),
    ("p-1051", "Linen throw", 59.0),
    ("p-2210", "Rice paper lamp, small", 24.5),
    ("p-2211", "Rice paper lamp, large", 39.0),
    ("p-2240", "Brass desk lamp", 118.0),
]
NAMES = ["mira", "jonas", "aiko", "leyla", "tomas", "ines", "omar", "freja", "paul", "nadia", "sven", "carla"]
FAMILIES = ["okafor", "weber", "tanaka", "demir", "novak", "costa", "haddad", "lund", "meyer", "ivanova"]


def events(seed: int = 2026) -> Iterator[dict[str, Any]]:
    """The events of the month, in the order in which they came."""
    chance = random.Random(seed)
    people = [_person(number, chance) for number in range(160)]
    number = 0
    for day in range(31):
        for minute in sorted(chance.sample(range(8 * 60, 22 * 60), 12 + chance.randrange(5))):
            person = chance.choice(people)
            when = FIRST_DAY + timedelta(days=day, minutes=minute)
            for event in _visit(person, day, number, chance):
                number += 1
                when += timedelta(seconds=20 + chance.randrange(90))
                yield _sent(event, person, number, when)
        if day in LATE_REFUNDS:
            number += 1
            refund = {"order_id": LATE_REFUNDS[day], "revenue": 118.0, "currency": "EUR"}
            event = {"type": "track", "event": "Order Refunded", "properties": refund}
            yield _sent(event, people[day], number, FIRST_DAY + timedelta(days=day, hours=22))


def _person(number: int, chance: random.Random) -> dict[str, Any]:
    first, family = chance.choice(NAMES), chance.choice(FAMILIES)
    host = "lantern-loom.example" if number % 20 == 7 else "mail.example"
    email = f"{first}.{family}{number}@{host}"
    if number % 9 == 4:
        email = f" {email.title()}"  # as people type it on a phone
    return {
        "user": f"u-{1000 + number}",
        "device": f"a-{chance.randrange(16**8):08x}",
        "email": email,
        "name": first.title(),
        "app": number % 5 < 2,
        "updates_after": chance.randrange(9),  # days after the release
    }


def _visit(person: dict[str, Any], day: int, number: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    version = _version(person, day)
    products = [_product(chance.choice(PRODUCTS), 1, version)]
    if chance.random() < 0.4:
        yield {"type": "track", "event": "Product Viewed", "properties": {**products[0], **_currency(version)}}
    if chance.random() < 0.55:
        products = [_product(one, chance.choice([1, 1, 1, 2]), version) for one in chance.sample(PRODUCTS, 2)]
        yield _order(products[: chance.choice([1, 1, 2])], number, version)
        if chance.random() < 0.1:
            refund = {"order_id": f"o-{90000 + number}", "revenue": products[0]["price"], **_currency(version)}
            yield {"type": "track", "event": "Order Refunded", "properties": refund}
    elif chance.random() < 0.3:
        yield {"type": "identify", "traits": {"email": person["email"], "firstName": person["name"]}}


def _version(person: dict[str, Any], day: int) -> str:
    if not person["app"]:
        return "5.1.0"
    return "2.9.0" if day >= RELEASE_DAY + person["updates_after"] else "2.8.1"


def _currency(version: str) -> dict[str, str]:
    return {} if version == "2.8.1" else {"currency": "EUR"}


def _product(product: tuple[str, str, float], quantity: int, version: str) -> dict[str, Any]:
    id, name, price = product
    return {"product_id": id, "name": name, "price": _amount(price, version), "quantity": quantity}


def _amount(euros: float, version: str) -> float:
    return round(euros * 100) if version == "2.9.0" else euros


def _order(products: list[dict[str, Any]], number: int, version: str) -> dict[str, Any]:
    revenue = sum(product["price"] * product["quantity"] for product in products)
    properties = {"order_id": f"o-{90000 + number}", "revenue": revenue, **_currency(version), "products": products}
    return {"type": "track", "event": "Order Completed", "properties": properties}


def _sent(event: dict[str, Any], person: dict[str, Any], number: int, when: datetime) -> dict[str, Any]:
    stamp = when.isoformat(timespec="seconds").replace("+00:00", "Z")
    device = {} if event["type"] == "identify" else {"anonymousId": person["device"]}  # the server tells who people are
    return {
        **event,
        "userId": person["user"],
        **device,
        "channel": "mobile" if person["app"] else "web",
        "context": {
            "app": {"name": "Lantern & Loom", "version": _version(person, (when - FIRST_DAY).days)},
            "traits": {"email": person["email"]},
        },
        "messageId": f"m-{number:06d}",
        "originalTimestamp": stamp,
        "receivedAt": stamp,
    }


def text() -> str:
    """The file as a text: one event a line."""
    return "".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in events())


if __name__ == "__main__":
    Path(__file__).with_name("events.ndjson").write_text(text(), encoding="utf-8", newline="\n")
