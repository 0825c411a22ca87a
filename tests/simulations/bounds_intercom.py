"""Both sides of the bounds of Intercom's rules."""

from __future__ import annotations

from typing import Any

from tests.simulations.bounds import SECONDS, Case, Requests, each, numbered

CONFIG = {"apiKey": "k1", "apiVersion": "v2", "apiServer": "standard"}


def ic(path: str, method: str = "POST", headers: dict[str, str] | None = None, **body: Any) -> Requests:
    return lambda server: server.answer(method, f"https://api.intercom.io/{path}", headers, body)


def contact(external_id: str = "u2", **attributes: Any) -> Requests:
    return ic("contacts", external_id=external_id, **attributes)


def event(name: str | None = "A", **members: Any) -> Requests:
    usual = {"event_name": name, "created_at": SECONDS - 60, "user_id": "u1", **members}
    return ic("events", **{key: value for key, value in usual.items() if value is not None})


def company(**attributes: Any) -> Requests:
    return ic("companies", company_id="g1", **attributes)


def attach(*ids: str) -> Requests:
    return each(*[ic("contacts/c1/companies", id=id) for id in ids])


def merge(role: str) -> Requests:
    return each(
        ic("contacts", role=role, email="lead@b.example"),
        lambda server: server.answer(
            "POST",
            "https://api.intercom.io/contacts/merge",
            None,
            {"from": server.rows("profiles")[1].ids["id"], "into": "c1"},
        ),
    )


KNOWN = {
    "objects": [
        {"type": "contacts", "id": "c1", "properties": {"role": "user", "external_id": "u1", "email": "ada@b.example"}}
    ]
}
DECLARED = {**KNOWN, "custom_attributes": ["plan_x", {"name": "size_x", "options": ["s", "m"]}]}
CASES = {
    "ic.auth": Case(ic("contacts", headers={"Authorization": "Bearer k2"}), contact()),
    "ic.accept": Case(
        ic("contacts", headers={"Authorization": "Bearer k1", "Accept": "text/html"}),
        ic("contacts", headers={"Authorization": "Bearer k1", "Accept": "text/html, application/json"}),
    ),
    "ic.plan": Case(ic("messages", body="hey"), event(), {**KNOWN, "subscription": False}),
    "ic.event.required": Case(event(created_at=None), event(), KNOWN),
    "ic.event.unknown": Case(event(user_id="u2"), event(user_id=None, email="ada@b.example"), KNOWN),
    "ic.event.metadata": Case(event(metadata=numbered(11)), event(metadata=numbered(10)), KNOWN),
    "ic.event.names": Case(
        each(*[event(f"A{n}") for n in range(121)]),
        each(*[event(f"A{n}") for n in range(120)], event("A0")),
        KNOWN,
        "strict",
    ),
    "ic.event.fold": Case(each(event(), event()), each(event(), event(created_at=SECONDS - 61), event("B")), KNOWN),
    "ic.contact.conflict": Case(
        contact(email="ada@b.example"), each(contact(), contact("u3", email="ada@b.example", role="lead")), KNOWN
    ),
    "ic.contact.custom": Case(
        contact(custom_attributes={"shoe_size": 9}), contact(custom_attributes={"plan_x": 9}), DECLARED
    ),
    "ic.contact.custom_type": Case(
        contact(custom_attributes={"size_x": "l"}), contact(custom_attributes={"size_x": "m"}), DECLARED
    ),
    "ic.contact.search_lag": Case(
        each(contact(), contact()), each(contact(), lambda server: server.advance(300), contact()), level="strict"
    ),
    "ic.contact.merge": Case(merge("lead"), ic("contacts/merge", **{"from": "c2", "into": "c1"}), KNOWN),
    "ic.company.custom": Case(
        company(custom_attributes={"open": True}), company(custom_attributes={"plan_x": "a"}), DECLARED
    ),
    "ic.attach": Case(
        each(*[ic("companies", company_id=f"g{n}") for n in range(1001)], attach(*[f"g{n}" for n in range(1001)])),
        each(
            *[ic("companies", company_id=f"g{n}") for n in range(1000)], attach(*[f"g{n}" for n in range(1000)], "g0")
        ),
        KNOWN,
    ),
    "ic.tag": Case(ic("tags", name="vip", users=[{"id": "c2"}]), ic("tags", name="vip", users=[{"id": "c1"}]), KNOWN),
}
