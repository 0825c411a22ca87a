"""Both sides of the bounds of Salesforce's rules; those of ActiveCampaign and Zendesk have no effect."""

from __future__ import annotations

from typing import Any

from tests.simulations.bounds import Case, Requests

CONFIGS: dict[str, dict[str, Any]] = {
    "SALESFORCE": {"userName": "ada", "password": "p", "initialAccessToken": "t"},
    "ACTIVE_CAMPAIGN": {"apiUrl": "https://shop.api-us1.com", "apiKey": "k1"},
    "ZENDESK": {"email": "ada@shop.example", "apiToken": "t1", "domain": "shop"},
}


def log_in(password: str) -> Requests:
    body = {"grant_type": "password", "username": "ada", "password": password}
    return lambda server: server.answer("POST", "https://login.salesforce.com/services/oauth2/token", {}, body)


CASES = {"sf.auth": Case(log_in("p"), log_in("pt"))}
