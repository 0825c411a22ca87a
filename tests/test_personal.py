"""One definition of personal data is used for recorded suites and replays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from svctoolkit import personal
from svctoolkit.runner.record.personal import Pseudonyms

PERSON = {
    "email": "ada@x.example", "phone": "+49 171 1234567", "firstName": "Ada", "last_name": "Lovelace", "name": "Ada L",
    "nickname": "Countess", "dob": "1815-12-10", "birthday": "1815-12-11", "city": "Marylebone", "zipcode": "W1U-77",
    "state": "Middlesex", "street": "Dorset St 1", "ssn": "078-05-1120", "iban": "DE02120300000000202051",
    "username": "enchantress", "latitude": "51.52", "gender": "female-f",
    "address": {"street": "Square 12", "floor": "third floor", "country": "Albion"},
    "note": "call 0171/1234567, write to a.l@y.example or to 84.1.2.3, 2001:db8::77",
}  # fmt: skip
LEAVES = [
    *(value for value in PERSON.values() if isinstance(value, str) and value != PERSON["note"]),
    *("Square", "third floor", "Albion", "0171/1234567", "a.l@y.example", "84.1.2.3", "2001:db8::77"),
]


def by_mask(value: Any) -> Any:
    return personal.replace(value, personal.mask)


@pytest.mark.parametrize("hide", [by_mask, Pseudonyms().replace], ids=["replay", "record"])
def test_personal_data_is_hidden(hide: Any) -> None:
    """Traits of every kind in every place, including numbers, and texts that look like addresses."""
    event = {
        "type": "identify", "userId": "user-ada", "anonymousId": "anon-77", "traits": PERSON, "request_ip": "84.1.2.9",
        "context": {"traits": PERSON, "ip": "84.1.2.8", "device": {"id": "d", "token": "device-77", "name": "Pixel"}},
        "properties": {"users": [PERSON, {"phone": 491711234567}]},
    }  # fmt: skip
    hidden = hide(event)
    text = json.dumps(hidden)

    assert [leaf for leaf in [*LEAVES, "user-ada", "anon-77", "84.1.2.", "device-77", "49171"] if leaf in text] == []
    assert (hidden["type"], hidden["context"]["device"]["name"]) == ("identify", "Pixel")


@pytest.mark.parametrize("hide", [by_mask, Pseudonyms().replace], ids=["replay", "record"])
@pytest.mark.parametrize(
    "spelling",
    ["mira\uff20mail.example", "mira&#64;mail.example", "mira&commat;mail&#46;example", "bWlyYUBtYWlsLmV4YW1wbGU="],
)
def test_an_address_in_another_spelling_is_hidden(hide: Any, spelling: str) -> None:
    """Also in a longer text, of which the rest is kept."""
    found = hide({"q": spelling, "email": spelling, "url": f"https://x.example/a?n=1&u={spelling}", "r": "R&amp;D = 1"})

    assert spelling.rstrip("=") not in json.dumps(found, ensure_ascii=False)
    assert found["url"].startswith("https://x.example/a?n=1&u=")
    assert found["r"] == "R&amp;D = 1"


@pytest.mark.parametrize("hide", [by_mask, Pseudonyms().replace], ids=["replay", "record"])
def test_other_data_is_kept(hide: Any) -> None:
    """Names of events and things, prices, times, versions, order numbers, order states."""
    event = {
        "type": "page", "event": "Order Completed", "name": "Home", "messageId": "00000000-0000-4000-8000-000000000001",
        "timestamp": "2026-01-02T10:11:12.345Z", "properties": {"price": 12.5, "order": "o-1042", "state": "shipped",
        "products": [{"name": "Lamp", "sku": "A-12-34"}], "date": "2026-01-02", "coupon": None, "new": True},
        "context": {"library": {"name": "web", "version": "3.0.0"}, "app": {"name": "Shop", "build": "281"},
                    "userAgent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/126.0.0.0 Safari/537.36"},
    }  # fmt: skip

    assert hide(event) == event
