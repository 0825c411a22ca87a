"""Both sides of the bounds of Google Analytics' rules."""

from __future__ import annotations

from typing import Any

from tests.simulations.bounds import SECONDS, Case, Requests, each, numbered

CONFIG = {"apiSecret": "s1", "measurementId": "G-1", "typesOfClient": "gtag"}


def ga4(name: str = "A", query: str = "api_secret=s1&measurement_id=G-1", **members: Any) -> Requests:
    """Send one event with these parameters; other members of the body are `body_...`."""
    body = {key.removeprefix("body_"): value for key, value in members.items() if key.startswith("body_")}
    params = {key: value for key, value in members.items() if not key.startswith("body_")}
    whole = {"client_id": "c1", "events": [{"name": name, "params": params}], **body}
    return lambda server: server.answer("POST", f"https://www.google-analytics.com/mp/collect?{query}", None, whole)


def ga4_user(name: str = "tier", value: str = "gold") -> Requests:
    return ga4(body_user_properties={name: {"value": value}})


CASES = {
    "ga4.secret": Case(ga4(query="api_secret=s2&measurement_id=G-1"), ga4()),
    "ga4.size": Case(ga4(a="x" * 130_000), ga4(a="x" * 99)),
    "ga4.client": Case(ga4(body_client_id=None), ga4(body_client_id=None, body_app_instance_id="0aF9" * 8)),
    "ga4.firebase_id": Case(
        ga4(query="api_secret=s1&measurement_id=G-1&firebase_app_id=other"),
        ga4(query="api_secret=s1&measurement_id=G-1&firebase_app_id=1:1:android:a"),
    ),
    "ga4.extra": Case(ga4(body_other=1), ga4(body_consent={}), level="strict"),
    "ga4.name": Case(ga4("add-to-cart"), ga4("add_to_cart")),
    "ga4.name.length": Case(ga4("e" * 41), ga4("e" * 40)),
    "ga4.name.reserved": Case(ga4("screen_view"), ga4("screen_views")),
    "ga4.params.count": Case(ga4(**numbered(26)), ga4(**numbered(25))),
    "ga4.param.value": Case(ga4(a="x" * 101), ga4(a="x" * 100)),
    "ga4.param.value.page": Case(ga4(page_title="x" * 301), ga4(page_title="x" * 300, page_location="x" * 1000)),
    "ga4.currency": Case(ga4(currency="SOME_INVALID_CURRENCY_CODE", value=5), ga4(currency="EUR", value=5)),
    "ga4.past": Case(
        ga4(body_timestamp_micros=(SECONDS - 259_201) * 1_000_000),
        ga4(body_timestamp_micros=(SECONDS - 259_200) * 1_000_000),
    ),
    "ga4.user_property": Case(ga4_user(value="x" * 37), ga4_user("n" * 24, "x" * 36)),
    "ga4.user_property.reserved": Case(ga4_user("ga_tier"), ga4_user("tier_ga_"), level="strict"),
    "ga4.fold.purchase": Case(
        each(*[ga4("purchase", transaction_id="o1")] * 2),
        each(ga4("purchase", transaction_id="o1"), ga4("purchase", transaction_id="o2"), *[ga4("purchase")] * 2),
    ),
}
