"""The vendors' own endpoints for deletion remove a user, and the events, from what is held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.pytest_plugin import assert_held

Ask = tuple[str, str, Any]
#: type -> settings, an id of Ada, and the request that deletes her, given the id by which the vendor knows her
USERS: dict[str, tuple[dict[str, Any], dict[str, Any], Callable[[dict[str, Any]], Ask]]] = {
    "AM": ({"apiKey": "k"}, {"user_id": "ada"}, lambda _: ("POST", "/api/2/deletions/users", {"user_ids": ["ada"]})),
    "BRAZE": (
        {"restApiKey": "k", "dataCenter": "US-01"},
        {"external_id": "ada"},
        lambda _: ("POST", "/users/delete", {"external_ids": ["ada"]}),
    ),
    "CUSTOMERIO": (
        {"siteID": "s", "apiKey": "k"},
        {"id": "ada"},
        lambda _: ("DELETE", "/api/v1/customers/ada", None),
    ),
    "HS": (
        {"accessToken": "t"},
        {"email": "ada@shop.example"},
        lambda _: (
            "POST",
            "/crm/v3/objects/contacts/gdpr-delete",
            {"objectId": "ada@shop.example", "idProperty": "email"},
        ),
    ),
    "ITERABLE": (
        {"apiKey": "k"},
        {"email": "ada@shop.example"},
        lambda _: ("DELETE", "/api/users/ada@shop.example", None),
    ),
    "INTERCOM": ({"apiKey": "k"}, {"external_id": "ada"}, lambda ids: ("DELETE", f"/contacts/{ids['id']}", None)),
    "KLAVIYO": (
        {"publicApiKey": "p", "privateApiKey": "k"},
        {"email": "ada@shop.example"},
        lambda ids: (
            "POST",
            "/api/data-privacy-deletion-jobs",
            {"data": {"attributes": {"profile": {"data": {"id": ids["id"]}}}}},
        ),
    ),
    "MAILCHIMP": (
        {"apiKey": "k", "audienceId": "news", "datacenterId": "us20"},
        {"email": "ada@shop.example"},
        lambda ids: ("POST", f"/3.0/lists/news/members/{ids['id']}/actions/delete-permanent", None),
    ),
    "MP": (
        {"token": "t"},
        {"distinct_id": "ada"},
        lambda _: ("POST", "/api/app/data-deletions/v3.0", {"distinct_ids": ["ada"]}),
    ),
}


@pytest.mark.parametrize("type", USERS)
def test_nobody_holds_a_deleted_user(type: str) -> None:
    """Ada and her event are removed; Bob stays."""
    config, ada, ask = USERS[type]
    shop = Workspace("shop")
    shop.destination("d", type, config=config, simulate="simulated")
    with DataPlane(shop, listen=False) as plane:
        server = plane.simulation("d")
        bob = {name: value.replace("ada", "bob") for name, value in ada.items()}
        lists = {"lists": ["news"], "subscriptions": {"news": "subscribed"}} if type == "MAILCHIMP" else {}
        server.give(
            {"profiles": [{"ids": ada, **lists}, {"ids": bob, **lists}], "events": [{"name": "Viewed", "under": ada}]}
        )
        with pytest.raises(AssertionError):
            assert_held(plane, "d", {"nobody": [ada]})
        method, path, body = ask(next(iter(server.held()["profiles"]))["ids"])

        status, _, _ = server.answer(method, f"https://vendor.example{path}", body=body)

        assert status < 300
        assert_held(plane, "d", {"nobody": [ada], "counts": {"profiles": 1, "events": 0}, "profiles": [{"ids": bob}]})
