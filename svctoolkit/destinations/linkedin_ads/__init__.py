"""LinkedIn Ads: conversions, through the Conversions API.

track sends one conversion for each rule that the configuration maps the event's name to, all in one request; other
names are rejected. LinkedIn matches users by e-mail address. The access token belongs to the delivering account.
https://learn.microsoft.com/en-us/linkedin/marketing/integrations/ads-reporting/conversions-api
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from svctoolkit.destinations import (
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Header,
    Merge,
    Payload,
    Rows,
    Settings,
    oauth,
)
from svctoolkit.destinations._families.oauth_answers import judge_account
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    TIME,
    TIME_EXAMPLE,
    Misfit,
    Missing,
    NotConfigured,
    Table,
    WrongValue,
    check_age,
    converter,
    event_name,
    leading_number,
    moment,
    sha256,
    text,
    trait,
    value_of,
)
from svctoolkit.mapping.table import getter


class LinkedInSettings(Settings, frozen=True, kw_only=True):
    conversion_mapping: tuple[Rows, ...] = ()
    hash_data: bool = True
    deduplication_key: str = ""


destination = DestinationType(
    "Linkedin Ads",
    LinkedInSettings,
    docs="https://learn.microsoft.com/en-us/linkedin/marketing/integrations/ads-reporting/conversions-api",
    names=("linkedin_ads",),
    quirks=[
        "E-mail addresses are hashed unchanged, including spaces and capitals, although LinkedIn expects them trimmed "
        "and in lower case.",
        "A quantity of 0 counts as 1 in the list of products, but as 0 in the event itself.",
        "Without `hashData`, the address is still sent unchanged as SHA256_EMAIL, so it must already be hashed.",
    ],
    answers=[
        Answer("success", 200, {"results": {"urn:lla:llaPartnerConversion:1": {"status": 201}}}),
        Answer("bad key", 401, {"status": 401, "code": "INVALID_ACCESS_TOKEN", "message": "Invalid access token"}),
        Answer("rate limit", 429, {"status": 429, "code": "TOO_MANY_REQUESTS", "message": "Resource level throttle"}),
        Answer("invalid field", 400, {"status": 400, "code": "INVALID_FIELD", "message": "conversionHappenedAt"}),
    ],
    merges=[Merge("elements", limit=5000)],
    differences=[
        "Prices and quantities that are not numbers are treated as missing, whereas RudderStack sends the string "
        "`NaN`.",
        "`true` is not a price.",
        "`deduplicationKey` is the path of the event's own ID, as its label in RudderStack's form says; in all "
        "observed cases that path had no value, so the message ID was used.",
    ],
    needs=["account", "clock"],
)

API = Endpoint(
    "https://api.linkedin.com/rest/conversionEvents",
    JSON,
    Header("X-RestLi-Method", "BATCH_CREATE"),
    Header("X-Restli-Protocol-Version", "2.0.0"),
    Header("LinkedIn-Version", "202511"),
    oauth("accessToken"),
)

USER_INFO = Table(
    {
        "firstName": FIRST_NAME,
        "lastName": LAST_NAME,
        "title": trait("title"),
        "companyName": trait("companyName"),
        "countryCode": trait("address.countryCode", "countryCode"),
    }
)


@converter
def hash_address(value: Json) -> str:
    """Return the SHA-256 of an e-mail address."""
    if not isinstance(value, str):
        raise WrongValue("an e-mail address, as a string", value, case="text")
    return sha256(value)


_plain_address, _hashed_address, _time = getter(EMAIL), getter(hash_address(EMAIL)), getter(TIME)
_currency, _message_id = getter("properties.currency"), getter("messageId")

#: IDs of a user that an external ID of the same type gives
OTHER_IDS = Table(
    {
        "LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID": "context.externalId.LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID",
        "ACXIOM_ID": "context.externalId.ACXIOM_ID",
        "ORACLE_MOAT_ID": "context.externalId.ORACLE_MOAT_ID",
    }
)


@destination.on("track")
def send_conversions(event: Event, settings: LinkedInSettings, context: Context) -> Payload:
    """Return one conversion for each rule of the event's name."""
    rules = _rules(event_name(event), settings)
    conversion = _conversion(event, settings, context)
    elements = [{**conversion, "conversion": f"urn:lla:llaPartnerConversion:{rule}"} for rule in rules]
    return API.post(settings, body={"elements": elements}, context=context)


def _rules(name: str, settings: LinkedInSettings) -> list[str]:
    rules = [row.to for row in settings.conversion_mapping if row.from_.lower() == name.lower()]
    if not rules:
        raise NotConfigured("event", name, setting="conversionMapping")
    return rules


def _conversion(event: Event, settings: LinkedInSettings, context: Context) -> dict[str, Any]:
    address = (_hashed_address if settings.hash_data else _plain_address)(event.raw)
    if not address:
        raise Missing("context.traits.email", why="LinkedIn matches users by e-mail address")
    members: dict[str, Any] = {
        "conversionHappenedAt": _milliseconds(event, context),
    }
    event_id = _event_id(event, settings)
    if event_id is not None:
        members["eventId"] = event_id
    amount = _amount(event.properties)
    if amount is not None:
        members["conversionValue"] = {"currencyCode": _currency(event.raw) or "USD", "amount": text(amount)}
    ids = {"SHA256_EMAIL": address, **OTHER_IDS(event)}
    user: dict[str, Any] = {"userIds": [{"idType": kind, "idValue": id} for kind, id in ids.items()]}
    info = USER_INFO(event)
    if "firstName" in info and "lastName" in info:  # LinkedIn accepts both or neither
        user["userInfo"] = info
    return {**members, "user": user}


def _milliseconds(event: Event, context: Context) -> int:
    timestamp = _time(event.raw)
    when = context.clock() if timestamp is None else moment(timestamp)
    if when is None:
        raise Misfit("timestamp", TIME_EXAMPLE, timestamp)
    check_age(when, context.clock(), past=timedelta(days=90))
    return int(when.timestamp() * 1000)


def _event_id(event: Event, settings: LinkedInSettings) -> Any:
    chosen = value_of(event, settings.deduplication_key) if settings.deduplication_key else None
    return chosen or _message_id(event.raw)


def _amount(properties: Mapping[str, Any]) -> int | float | None:
    """Return the total price of the products; without a list of products, the price in the event itself."""
    products = properties.get("products")
    if not isinstance(products, list):
        return _cost(properties)
    costs = [_cost({**item, "quantity": item.get("quantity") or 1}) for item in products if isinstance(item, dict)]
    return sum(cost for cost in costs if cost is not None) or None


def _cost(item: Mapping[str, Any]) -> int | float | None:
    price, quantity = leading_number(item.get("price")), leading_number(item.get("quantity"))
    return None if price is None else price * (1 if quantity is None else quantity)


destination.judge(judge_account)
