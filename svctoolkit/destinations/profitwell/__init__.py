"""ProfitWell: customers' subscriptions.

identify writes a subscription. A look-up returns the subscriptions of the customer (`profitwellUserId` in the external
IDs, else the user ID). If one matches `profitwellSubscriptionId` or the alias, it is updated; otherwise a subscription
is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Header, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    TIME,
    Missing,
    NotFound,
    Table,
    WrongValue,
    as_object,
    converter,
    first,
    js_join,
    number,
    required,
    trait,
    value_of,
    whole_second,
)
from svctoolkit.secrets import Secret


class ProfitWellSettings(Settings, frozen=True, kw_only=True):
    private_api_key: Secret


destination = DestinationType(
    "ProfitWell",
    ProfitWellSettings,
    docs="https://profitwellapiv2.docs.apiary.io/",
    quirks=[
        "A new subscription without a time is sent with an empty time.",
        "A status other than active and trialing, and an invalid currency, are left out.",
    ],
    answers=[
        Answer("success", 201, {"subscription_id": "pws_1", "user_id": "pwu_1"}),
        Answer("bad key", 401, {"non_field_errors": ["Invalid API token"]}),
        Answer("rate limit", 429, {"detail": "Request was throttled."}),
        Answer("invalid field", 400, {"plan_interval": ["must be month or year"]}),
    ],
    needs=["lookup"],
)

API = Endpoint("https://api.profitwell.com/v2", JSON, Header("Authorization", "{private_api_key}"))


@converter
def interval(value: Json) -> str:
    if not isinstance(value, str) or value.lower() not in ("month", "year"):
        raise WrongValue("month or year", value, case="interval")
    return value


@converter
def state(value: Json) -> str:
    return value if _word(value).lower() in ("active", "trialing") else ""


@converter
def currency(value: Json) -> str:
    """Return a code of three letters; anything else is left out."""
    return value if len(_word(value)) == 3 and value.isalpha() else ""


@converter
def date(value: Json) -> Json:
    """Return Unix seconds, which may be a string; other times are not accepted."""
    return int(value) if isinstance(value, bool) else number.of(value)


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongValue("a string", value, case="text")
    return value


USER = "context.externalId.profitwellUserId"
SUBSCRIPTION = "context.externalId.profitwellSubscriptionId"
CUSTOMER = first(USER, "userId")
ALIAS = trait("subscriptionAlias")
_PLAN = {
    "plan_id": required(trait("planId")),
    "plan_interval": required(interval(trait("planInterval"))),
    "value": required(trait("value")),
    "status": state(trait("status")),
}
UPDATE = Table({**_PLAN, "effective_date": required(date(trait("effectiveDate")))})
CREATION = Table(
    {
        **_PLAN,
        "subscription_alias": ALIAS,
        "email": required(trait("email")),
        "plan_currency": currency(trait("planCurrency")),
        "user_id": USER,
        "user_alias": "userId",
        "effective_date": date(trait("effectiveDate")),
    }
)


@destination.on("identify")
def send_subscription(event: Event, settings: ProfitWellSettings, context: Context) -> Payload:
    """Update the subscription if it exists in ProfitWell; otherwise create it."""
    key, alias = value_of(event, SUBSCRIPTION), value_of(event, ALIAS)
    if key is None and alias is None:
        raise Missing(SUBSCRIPTION, "traits.subscriptionAlias")
    for row in _subscriptions(event, settings, context):
        name = "subscription_id" if key is not None else "subscription_alias"
        if row.get(name) and row[name] == (alias if key is None else key):
            path = f"subscriptions/{js_join(row[name])}/"
            return API.put(settings, path, UPDATE(event))
    if key is not None and value_of(event, USER) is not None:
        raise NotFound("subscription of the customer", key, field=SUBSCRIPTION)
    body = CREATION(event)
    if "user_id" not in body and "user_alias" not in body:
        raise Missing("userId", USER, wants="the customer of the subscription")
    body.setdefault("effective_date", whole_second(value_of(event, TIME)))
    return API.post(settings, "subscriptions/", body)


def _subscriptions(event: Event, settings: ProfitWellSettings, context: Context) -> list[Mapping[str, Any]]:
    """Return the customer's subscriptions; empty if ProfitWell has no customer with the user ID."""
    user = value_of(event, CUSTOMER)
    if user is None:
        return []
    answer = context.ask(API.lookup(settings, f"users/{js_join(user)}/"), may_miss=True, field=USER)
    if answer is None and value_of(event, USER) is not None:
        raise NotFound("customer", user, field=USER)
    return [as_object(row) for row in answer] if isinstance(answer, list) else []
