"""Both sides of the bounds of Mailchimp's rules."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.simulations.bounds import Case, Requests, each

CONFIG = {"apiKey": "k1", "audienceId": "aud1", "datacenterId": "us20"}
ADA = hashlib.md5(b"ada@b.example").hexdigest()


def mc(path: str, method: str = "POST", headers: dict[str, str] | None = None, **body: Any) -> Requests:
    return lambda server: server.answer(method, f"https://us20.api.mailchimp.com/3.0/lists/aud1{path}", headers, body)


def event(name: str = "viewed", member: str = ADA) -> Requests:
    return each(MEMBER, mc(f"/members/{member}/events", name=name))


def members(*addresses: str, **body: Any) -> Requests:
    listed = [{"email_address": address, "status": "subscribed"} for address in addresses]
    return mc("", members=listed, **body)


MEMBER = mc(f"/members/{ADA}", "PUT", email_address="ada@b.example", status="subscribed")
CASES = {
    "mc.auth": Case(mc("", "GET", {"Authorization": "Bearer k2"}), mc("", "GET", {"Authorization": "Bearer k1"})),
    "mc.event.name": Case(each(event("x" * 31), event("x")), each(event("x" * 30), event("xx"))),
    "mc.event.member": Case(
        each(event(), mc(f"/members/{ADA}", "DELETE"), mc(f"/members/{ADA}/events", name="viewed")), event()
    ),
    "mc.batch": Case(
        each(MEMBER, members("ada@b.example")), each(MEMBER, members("ada@b.example", update_existing=True))
    ),
}
