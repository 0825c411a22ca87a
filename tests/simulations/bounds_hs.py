"""Both sides of the bounds of HubSpot's rules."""

from __future__ import annotations

from typing import Any

from tests.simulations.bounds import Case, Requests, each, numbered

CONFIG = {
    "authorizationType": "newPrivateAppApi",
    "apiVersion": "newApi",
    "lookupField": "email",
    "accessToken": "t1",
}


def hs(path: str, body: Any = None, method: str = "POST", headers: dict[str, str] | None = None) -> Requests:
    return lambda server: server.answer(method, f"https://api.hubapi.com/{path}", headers, body)


def batch(action: str, *inputs: Any) -> Requests:
    return hs(f"crm/v3/objects/contacts/batch/{action}", {"inputs": list(inputs)})


def contact(email: str = "a@b.example", **properties: Any) -> Requests:
    return batch("create", {"properties": {"email": email, **properties}})


def update(**properties: Any) -> Requests:
    return batch("update", {"id": "101", "properties": properties})


def upsert(email: str) -> Requests:
    return batch("upsert", {"id": email, "idProperty": "email", "properties": {"firstname": "A"}})


def event(name: str = "pe1_x", uuid: str | None = None, **properties: Any) -> Requests:
    body = {"email": "a@b.example", "eventName": name, "properties": properties, "uuid": uuid}
    return hs("events/v3/send", {k: v for k, v in body.items() if v is not None})


def associate(id: str) -> Requests:
    return hs(
        "crm/v3/associations/companies/contacts/batch/create",
        {"inputs": [{"from": {"id": "201"}, "to": {"id": id}, "type": "company_to_contact"}]},
    )


def merge(id: str) -> Requests:
    return hs("crm/v3/objects/contacts/merge", {"primaryObjectId": "101", "objectIdToMerge": id})


def account(**member: Any) -> dict[str, Any]:
    """Return an account with an e-mail property, one other property, two contacts and a company."""
    about = {"properties": [{"name": "email", "type": "string", "hasUniqueValue": True}, {"name": "stage", **member}]}
    return {**about, **OBJECTS}


OBJECTS = {
    "objects": [
        {"type": "contacts", "id": "101", "properties": {"email": "ada@b.example", "lifecyclestage": "customer"}},
        {"type": "contacts", "id": "102", "properties": {"email": "bob@b.example"}},
        {"type": "companies", "id": "201", "properties": {"name": "Shop"}},
    ]
}
PIXEL = hs("v1/event?_a=1&_n=Viewed&email=a@b.example", method="GET")
DELETED = hs("crm/v3/objects/contacts/gdpr-delete", {"objectId": "a@b.example", "idProperty": "email"})
CASES = {
    "hs.auth": Case(hs("crm/v3/objects/contacts/batch/create", {"inputs": []}, headers={}), contact()),
    "hs.scope": Case(contact(), event(), {"scopes": ["analytics.behavioral_events.send"]}),
    "hs.shape": Case(batch("update", [{"id": "101", "properties": {}}]), update(firstname="A"), OBJECTS),
    "hs.batch.count": Case(
        batch("create", *[{"properties": {"firstname": "A"}}] * 101),
        batch("create", *[{"properties": {"firstname": "A"}}] * 100),
    ),
    "hs.create.conflict": Case(each(contact(), contact()), each(contact(), contact("c@d.example"))),
    "hs.create.twice": Case(
        batch("create", *[{"properties": {"email": "a@b.example"}}] * 2),
        batch("create", *[{"properties": {"email": f"{name}@b.example"}} for name in "ac"]),
    ),
    "hs.update.duplicate": Case(
        batch("update", *[{"id": "101", "properties": {"firstname": "A"}}] * 2),
        batch("update", *[{"id": id, "properties": {"firstname": "A"}} for id in ("101", "102")]),
        OBJECTS,
    ),
    "hs.update.unknown_id": Case(
        batch("update", {"id": "103", "properties": {"firstname": "A"}}), update(firstname="A"), OBJECTS, "strict"
    ),
    "hs.upsert.email": Case(upsert("ada"), upsert("ada@b.example")),
    "hs.silent": Case(batch("update", {"properties": {"firstname": "A"}}), update(firstname="A"), OBJECTS),
    "hs.property.unknown": Case(contact(shoe_size=9), contact(stage="a"), account()),
    "hs.property.read_only": Case(update(stage="a"), update(email="c@d.example"), account(readOnly=True)),
    "hs.property.enum": Case(update(stage="c"), update(stage="a;b"), account(options=["a", "b"])),
    "hs.lifecycle": Case(
        update(lifecyclestage="lead"), each(update(lifecyclestage=""), update(lifecyclestage="lead")), OBJECTS
    ),
    "hs.search.lag": Case(
        each(contact(), contact()), each(contact(), lambda server: server.advance(60), contact()), level="strict"
    ),
    "hs.v1.batch": Case(
        hs("contacts/v1/contact/batch/", [{"email": "a@b.example"}, {"email": "ada"}]),
        hs("contacts/v1/contact/batch/", [{"email": "a@b.example"}, {"vid": "7"}]),
    ),
    "hs.v1.event": Case(
        PIXEL, hs("v1/event?_n=Bought&email=a@b.example", method="GET"), {"events": ["Bought", "pe1_x"]}
    ),
    "hs.event.unknown": Case(event("pe1_y"), event(), {"events": ["pe1_x"]}, "strict"),
    "hs.event.limits": Case(
        each(event(A=1, a=2), event(**numbered(51))), event(**numbered(48), value="x" * 256, url="x" * 1024)
    ),
    "hs.event.uuid": Case(each(*[event(uuid="1")] * 2), each(event(uuid="1"), event("pe1_y", "1"), event(), event())),
    "hs.assoc": Case(associate("103"), associate("101"), OBJECTS),
    "hs.gdpr": Case(each(DELETED, contact()), each(contact(), DELETED, contact())),
    "hs.merge": Case(merge("102"), merge("103"), OBJECTS),
}
