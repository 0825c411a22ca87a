"""Google Ads Enhanced Conversions: user data of existing conversions, as conversion adjustments.

track sends the configured conversions, under their names in Google Ads; other events are refused. Users are matched by
hashed e-mail address, telephone number, name and address. Requests carry the access token of the account.
https://developers.google.com/google-ads/api/docs/conversions/enhanced-conversions/web
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import Answer, Context, DestinationType, Merge, Payload, Settings, Tags
from svctoolkit.destinations.google_adwords_enhanced_conversions._judge import judge
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.lexical import split_email
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    Misconfigured,
    Misfit,
    Missing,
    NotConfigured,
    Table,
    WrongValue,
    converter,
    event_name,
    first,
    is_sha256,
    js_join,
    number_or_none,
    required,
    sha256,
    text,
    trait,
)

_ENHANCEMENT = "ENHANCEMENT"
_RESTATEMENT = "RESTATEMENT"
_HASHED = ("hashedEmail", "hashedPhoneNumber", "hashedFirstName", "hashedLastName", "hashedStreetAddress")


class EnhancedConversionsSettings(Settings, frozen=True, kw_only=True):
    customer_id: str | int
    list_of_conversions: Tags = Tags()
    sub_account: bool = False
    login_customer_id: str | int = ""
    require_hash: bool = True
    adjustment_type: str = _ENHANCEMENT


destination = DestinationType(
    "Google Ads Enhanced Conversions",
    EnhancedConversionsSettings,
    docs="https://developers.google.com/google-ads/api/docs/conversions/enhanced-conversions/web",
    names=("google_adwords_enhanced_conversions",),
    quirks=[
        "The endpoint is empty: the delivery looks up the ID of the conversion that `params` name, and sends the "
        "adjustment to the customer's `:uploadConversionAdjustments`.",
        "With `requireHash`, personal data that is hashed already is refused; without it, data that is not hashed.",
        "Telephone numbers get a plus sign even without a country code; Google cannot match these.",
        "Every adjustment is an ENHANCEMENT, unless RudderStack has enabled restatements for the workspace: then "
        "`adjustmentType` is followed. Here, a `workspaceId` in the metadata of the account enables them.",
    ],
    answers=[
        Answer("success", 200, {"results": [{"orderId": "o1"}], "jobId": "1"}),
        Answer("bad key", 401, {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "Invalid credentials"}}),
        Answer("rate limit", 429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Too many"}}),
        Answer("invalid field", 400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "orderId"}}),
    ],
    merges=[Merge("conversionAdjustments", limit=2000, honours_alone=True)],
    differences=[
        "A `loginCustomerId` that is a number is sent as text.",
        "Which workspaces may restate conversions is known from one recorded case and three observations only.",
        "Objects in place of text are sent as JSON, and an adjusted value that is an empty text is not sent.",
    ],
    needs=["account"],
)


@converter
def as_text(value: Json) -> str:
    return js_join(value)


def _plain(value: Any) -> str:
    """Return text or a number as stripped text; empty for anything else."""
    return text(value).strip() if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def _not_hashed(value: str) -> str:
    if is_sha256(value):
        raise WrongValue("text that is not hashed, because requireHash is on", value, case="hashed")
    return value


@converter
def plain(value: Json) -> str:
    return _plain(value)


@converter
def hash_email(value: Json) -> str:
    """Return the SHA-256 of an address in lower case; for Google Mail without dots and any suffix after a plus."""
    address = _not_hashed(_plain(value).lower())
    parts = split_email(address)
    if parts is None:
        return ""
    name, host = parts
    if host in ("gmail.com", "googlemail.com"):
        name = name.partition("+")[0].replace(".", "")
    return sha256(f"{name}@{host}")


@converter
def hash_number(value: Json) -> str:
    """Return the SHA-256 of a plus sign and the digits."""
    number = re.sub(r"\D", "", _not_hashed(_plain(value)))
    return sha256(f"+{number}") if number else ""


@converter
def hash_name(value: Json) -> str:
    """Return the SHA-256 of the text in lower case."""
    name = _not_hashed(_plain(value).lower())
    return sha256(name) if name else ""


ADJUSTMENT = Table(
    {
        "gclidDateTimePair": {
            "gclid": as_text("properties.gclid"),
            "conversionDateTime": as_text("properties.conversionDateTime"),
        },
        "restatementValue": {
            "adjustedValue": number_or_none("properties.adjustedValue"),
            "currencyCode": first("properties.currencyCode", "properties.currency"),
        },
        "orderId": required(as_text("properties.orderId", "properties.order_id")),
        "adjustmentDateTime": "properties.adjustmentDateTime",
    }
)
USER_AGENT = Table({"userAgent": as_text("context.userAgent")})
HASHED = Table(
    {
        "hashedEmail": hash_email(EMAIL),
        "hashedPhoneNumber": hash_number(PHONE),
        "hashedFirstName": hash_name(FIRST_NAME),
        "hashedLastName": hash_name(LAST_NAME),
        "hashedStreetAddress": hash_name(trait("streetAddress")),
    }
)
PLAIN = Table(
    {
        "hashedEmail": plain(EMAIL),
        "hashedPhoneNumber": plain(PHONE),
        "hashedFirstName": plain(FIRST_NAME),
        "hashedLastName": plain(LAST_NAME),
        "hashedStreetAddress": plain(trait("streetAddress")),
    }
)
PLACE = Table(
    {
        "state": as_text(trait("state", "address.state")),
        "city": as_text(trait("city", "address.city")),
        "countryCode": as_text(trait("countryCode", "country", "address.countryCode", "address.country")),
        "postalCode": as_text(trait("postalCode", "address.postalCode")),
    }
)


@destination.on("track")
def send_adjustment(event: Event, settings: EnhancedConversionsSettings, context: Context) -> Payload:
    """Return an adjustment of the conversion with the event's name."""
    name = event_name(event)
    if name not in settings.list_of_conversions:
        raise NotConfigured("event", name, setting="listOfConversions")
    account = str(settings.login_customer_id).replace("-", "")
    if settings.sub_account and not account:
        raise Misconfigured("loginCustomerId", "is required with subAccount: the number of the account above it")
    adjustment: dict[str, Any] = ADJUSTMENT(event)
    if settings.adjustment_type == _RESTATEMENT and context.metadata.get("workspaceId"):
        adjustment["adjustmentType"] = _RESTATEMENT  # only the value changes: Google accepts no identifiers with it
    else:
        identifiers = _identifiers(event, settings)
        adjustment.update({**USER_AGENT(event), "userIdentifiers": identifiers, "adjustmentType": _ENHANCEMENT})
    token = context.secret("access_token")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    if settings.sub_account:
        headers["login-customer-id"] = account
    params = {
        "event": name,
        "customerId": str(settings.customer_id).replace("-", ""),
        "accessToken": token,
        "loginCustomerId": account,
        "subAccount": settings.sub_account,
    }
    body = {"conversionAdjustments": [adjustment], "partialFailure": True}
    return Payload(endpoint="", headers=headers, params=params, json=body)


def _identifiers(event: Event, settings: EnhancedConversionsSettings) -> list[Mapping[str, Any]]:
    """Return e-mail address, telephone number, and name with address, each as a separate identifier."""
    person: dict[str, Any] = (HASHED if settings.require_hash else PLAIN)(event)
    for key in _HASHED:
        if key in person and not is_sha256(person[key]):
            raise Misfit(
                "context.traits",
                "a SHA-256 hash",
                person[key],
                setting="requireHash",
                why=f"{key} is not hashed by the destination",
            )
    found: list[Mapping[str, Any]] = [{key: person.pop(key)} for key in _HASHED[:2] if key in person]
    if address := {**person, **PLACE(event)}:
        found.append({"addressInfo": address})
    if not found:
        raise Missing("context.traits", wants="an e-mail address, telephone number, name or address")
    return found


destination.judge(judge)
