"""Customer relationship systems hold what the mapping sends, and answer its look-ups from that."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace, simulations

CONFIGS: dict[str, dict[str, Any]] = {
    "HS": {
        "authorizationType": "newPrivateAppApi",
        "apiVersion": "newApi",
        "lookupField": "firstname",
        "accessToken": "t1",
    },
    "INTERCOM": {"apiKey": "k1", "apiVersion": "v2"},
    "MAILCHIMP": {"apiKey": "k1", "audienceId": "aud1", "datacenterId": "us20", "enableMergeFields": True},
    "ACTIVE_CAMPAIGN": {"apiUrl": "https://shop.api-us1.com", "apiKey": "k1", "actid": "1", "eventKey": "e"},
    "SALESFORCE": {"userName": "ada", "password": "p", "initialAccessToken": "t"},
    "ZENDESK": {"email": "ops@shop.example", "apiToken": "t1", "domain": "shop", "sendGroupCallsWithoutUserId": True},
}
#: what the second identify event changes, in the names of each vendor
CHANGED = {
    "HS": {"lastname": "Byron"},
    "INTERCOM": {"name": "Ada Byron"},
    "MAILCHIMP": {"LNAME": "Byron"},
    "ACTIVE_CAMPAIGN": {"lastName": "Byron"},
    "SALESFORCE": {"LastName": "Byron"},
    "ZENDESK": {"lastname": "Byron"},
}


def traits(last: str) -> dict[str, Any]:
    names = {"firstName": "Ada", "lastName": last, "firstname": "Ada", "lastname": last, "name": f"Ada {last}"}
    return {"email": "ada@shop.example", **names}


@pytest.mark.parametrize("type", CONFIGS)
def test_a_second_identify_event_changes_the_same_person(type: str) -> None:
    """Whatever the mapping asks first, the server answers from what it holds: there is one person, with new values."""
    shop = Workspace("shop")
    shop.destination("crm", type, config=CONFIGS[type], simulate="simulated")
    shop.source("web", destinations=["crm"])
    with DataPlane(shop) as plane:
        for last in ("Lovelace", "Byron"):
            plane.send({"type": "identify", "userId": "ada", "context": {"traits": traits(last)}}, source="web")
            plane.drain()
        server = plane.simulation("crm")
        (person,) = server.held()["profiles"]

    assert {name: person["attributes"].get(name) for name in CHANGED[type]} == CHANGED[type]
    assert "ada@shop.example" in str(person)
    assert (list(server.losses), dict(server.unknown), server.faults) == ([], {}, 0)
    assert [fate.status for fate in plane.fates] == ["delivered", "delivered"]


def test_members_events_and_tags_are_held() -> None:
    """ActiveCampaign holds tags, lists and events; Zendesk organizations and their members."""
    shop = Workspace("shop")
    shop.destination("ac", "ACTIVE_CAMPAIGN", config=CONFIGS["ACTIVE_CAMPAIGN"], simulate="simulated")
    shop.destination("zd", "ZENDESK", config=CONFIGS["ZENDESK"], simulate="simulated")
    shop.source("web", destinations=["ac", "zd"])
    about = {**traits("Lovelace"), "tags": ["vip"], "lists": [{"id": 2, "status": "subscribe"}]}
    events: list[dict[str, Any]] = [
        {"type": "identify", "userId": "ada", "context": {"traits": about}},
        {"type": "track", "event": "Viewed", "userId": "ada", "context": {"traits": about}},
        {
            "type": "group",
            "userId": "ada",
            "groupId": "g1",
            "traits": {"name": "Shop", "plan": "pro"},
            "context": {"traits": about},
        },
    ]
    with DataPlane(shop) as plane:
        for event in events:
            plane.send(event, source="web")
            plane.drain()
        contacts, users = (plane.simulation(name).held() for name in ("ac", "zd"))

    (contact,) = contacts["profiles"]
    assert (contact["tags"], contact["lists"]) == (["vip"], ["2"])
    assert [(event["name"], event["under"]["email"]) for event in contacts["events"]] == [
        ("Viewed", "ada@shop.example")
    ]
    assert [(row["id"], row["attributes"]["plan"]) for row in users["groups"]] == [("g1", "pro")]
    assert users["profiles"][0]["groups"] == ["g1"]
    assert [event["name"] for event in users["events"]] == ["Viewed"]


ADA = {"email": "ada@shop.example"}
HASH = hashlib.md5(b"ada@shop.example").hexdigest()
#: requests by which vendors delete the person whose ID is {id}
DELETIONS = [
    ("HS", "DELETE", "https://api.hubapi.com/crm/v3/objects/contacts/{id}", None),
    ("HS", "POST", "https://api.hubapi.com/crm/v3/objects/contacts/batch/archive", {"inputs": [{"id": "{id}"}]}),
    ("HS", "POST", "https://api.hubapi.com/crm/v3/objects/contacts/gdpr-delete", {"objectId": "{id}"}),
    ("INTERCOM", "DELETE", "https://api.intercom.io/contacts/{id}", None),
    ("INTERCOM", "POST", "https://api.intercom.io/contacts/{id}/archive", {}),
    ("ITERABLE", "DELETE", "https://api.iterable.com/api/users/ada@shop.example", None),
    ("ITERABLE", "POST", "https://api.iterable.com/api/users/forget", ADA),
    ("MAILCHIMP", "DELETE", f"https://us20.api.mailchimp.com/3.0/lists/aud1/members/{HASH}", None),
]


@pytest.mark.parametrize(("type", "method", "url", "body"), DELETIONS)
def test_a_deleted_person_is_not_held(type: str, method: str, url: str, body: Any) -> None:
    """The vendor's own endpoint removes the person, who is held before; others stay."""
    server = simulations.open(type, {"apiKey": "k1", **CONFIGS.get(type, {})}, now="2026-08-06T10:00:00Z")
    other = {"ids": {"email": "bob@shop.example"}, "attributes": {}, "lists": ["aud1"]}
    server.give({"profiles": [{"ids": ADA, "attributes": {}, "lists": ["aud1"]}, other]})
    id = str(server.held()["profiles"][0]["ids"].get("id"))
    filled = {"inputs": [{"id": id}]} if body and "inputs" in body else body
    filled = {"objectId": id} if body and "objectId" in body else filled
    status, _, _ = server.answer(method, url.format(id=id), None, filled)

    assert status < 300
    assert [row["ids"]["email"] for row in server.held()["profiles"]] == ["bob@shop.example"]
    assert (server.faults, dict(server.unknown)) == (0, {})
