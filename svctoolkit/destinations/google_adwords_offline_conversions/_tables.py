"""The fields of click conversions, call conversions and store sales."""

from __future__ import annotations

import re
from typing import Any

from svctoolkit.destinations.google_adwords_offline_conversions._settings import OfflineConversionsSettings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    CITY,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    POSTAL_CODE,
    STATE,
    TIME,
    Shape,
    Table,
    WrongValue,
    converter,
    default,
    first,
    hash_lower,
    hash_trimmed,
    leading_number,
    moment,
    number,
    number_or_none,
    objects,
    required,
    text,
    trait,
)

_AMOUNT = re.compile(r"[1-9][0-9]*(\.[0-9]+)?|0\.[0-9]+")
_WRITTEN_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d")


@converter
def utc_time(value: Json) -> str:
    """Return a time as `2026-01-15 10:04:30+00:00`. An offset before a `Z` is ignored."""
    when = moment(re.sub(r"[+-]\d\d:\d\dZ$", "Z", value) if isinstance(value, str) else value)
    if when is None:
        raise WrongValue("a time such as 2026-01-15T10:04:30Z", value, case="time")
    return f"{when:%Y-%m-%d %H:%M:%S}+00:00"


@converter
def google_time(value: Json) -> str:
    """Return a time in Google's format unchanged, and convert others to UTC."""
    return value if isinstance(value, str) and _WRITTEN_TIME.fullmatch(value) else utc_time.of(value)


@converter
def whole(value: Json) -> int | None:
    """Return the integer that a string begins with."""
    leading = leading_number(value)
    return None if leading is None else int(leading)


@converter
def micros(value: Json) -> str:
    """Return an amount of money in micros (millionths), as text. Only a positive amount is one."""
    if not _AMOUNT.fullmatch(text(value)):
        raise WrongValue("an amount above 0, such as 12.50", value, case="amount")
    return str(round(number.of(value) * 1_000_000))


_VALUE = first("properties.conversionValue", "properties.total", "properties.value", "properties.revenue")
_ORDER_ID = first("properties.orderId", "properties.order_id")
_CURRENCY = first("properties.currency", "properties.currencyCode")
_CONVERSION: Shape = {
    "conversionDateTime": required(google_time("properties.conversionDateTime", TIME)),
    "conversionValue": number_or_none(_VALUE),
    "currencyCode": _CURRENCY,
}
CLICK = Table(
    {
        **_CONVERSION,
        "orderId": _ORDER_ID,
        "externalAttributionData": {
            "externalAttributionCredit": "properties.externalAttributionCredit",
            "externalAttributionModel": "properties.externalAttributionModel",
        },
        "cartData": {
            "merchantId": whole("properties.merchantId"),
            "feedCountryCode": "properties.feedCountryCode",
            "feedLanguageCode": "properties.feedLanguageCode",
            "localTransactionCost": "properties.localTransactionCost",
        },
    }
)
#: Google accepts only one of them
CLICK_IDS = Table({"gclid": "properties.gclid", "wbraid": "properties.wbraid", "gbraid": "properties.gbraid"})
CHOICES = Table({"environment": "properties.conversionEnvironment", "source": "properties.userIdentifierSource"})
_ITEM: Shape = {"productId": "product_id", "quantity": whole("quantity"), "unitPrice": number_or_none("price")}
ITEM = Table(_ITEM, of="properties.products")
ONLY_ITEM = Table(_ITEM, of="properties")
CALL = Table(
    {
        **_CONVERSION,
        "callerId": required("properties.callerId"),
        "callStartDateTime": required("properties.callStartDateTime"),
    }
)
SALE = Table(
    {
        "store_attribute": {"store_code": "properties.store_code"},
        "transaction_amount_micros": required(micros(_VALUE)),
        "order_id": _ORDER_ID,
        "currency_code": _CURRENCY,
        "transaction_date_time": required(
            utc_time("properties.conversionDateTime", "properties.transaction_date_time", TIME)
        ),
    }
)
SALES = Table(
    {
        "loyaltyFraction": default("properties.loyaltyFraction", "1"),
        "transaction_upload_fraction": default("properties.transaction_upload_fraction", "1"),
        "custom_key": "properties.custom_key",
    }
)
HASHED = Table({"hashedEmail": hash_lower(EMAIL), "hashedPhoneNumber": hash_trimmed(PHONE)})
PLAIN = Table({"hashedEmail": EMAIL, "hashedPhoneNumber": PHONE})
_PLACE: Shape = {
    "city": CITY,
    "state": STATE,
    "country_code": trait("countryCode", "country", "address.country"),
    "postal_code": POSTAL_CODE,
}
HASHED_ADDRESS = Table(
    {"hashed_first_name": hash_lower(FIRST_NAME), "hashed_last_name": hash_lower(LAST_NAME), **_PLACE}
)
PLAIN_ADDRESS = Table({"hashed_first_name": FIRST_NAME, "hashed_last_name": LAST_NAME, **_PLACE})


def click(event: Event, settings: OfflineConversionsSettings) -> dict[str, Json]:
    """Return a click conversion, with the items and the user."""
    conversion: dict[str, Any] = CLICK(event)
    for key, value in CLICK_IDS(event).items():
        conversion[key] = value
        break
    if items := _items(event):
        conversion.setdefault("cartData", {})["items"] = items
    choices = CHOICES(event)
    environment = choices.get("environment") or settings.conversion_environment
    if environment != "none":
        conversion["conversionEnvironment"] = environment
    if identifier := _identifier(event, settings):
        source = choices.get("source") or settings.user_identifier_source
        chosen = {"userIdentifierSource": source} if source != "none" else {}
        conversion["userIdentifiers"] = [{**chosen, **identifier}]
    return conversion


def call(event: Event, _settings: OfflineConversionsSettings) -> dict[str, Json]:
    """Return a call conversion."""
    return CALL(event)


def store_sale(event: Event, settings: OfflineConversionsSettings) -> dict[str, Json]:
    """Return the three requests of a store sale: to create a job, to add sales to it, and to run it."""
    sales, sale = SALES(event), SALE(event)
    custom = sales.get("custom_key")
    if isinstance(custom, str) and custom in event.properties:
        sale[custom] = event.properties[custom]
    identifier = _identifier(event, settings) or _address(event, settings)
    return {
        "event": settings.customer,
        "isStoreConversion": True,
        "createJobPayload": {"job": {"type": "STORE_SALES_UPLOAD_FIRST_PARTY", "storeSalesMetadata": sales}},
        "addConversionPayload": {
            "operations": {"create": {"transaction_attribute": sale, "userIdentifiers": [identifier]}},
            "enable_partial_failure": False,
            "enable_warnings": False,
            "validate_only": settings.validate_only,
        },
        "executeJobPayload": {"validate_only": settings.validate_only},
    }


def _items(event: Event) -> list[dict[str, Json]]:
    products = event.properties.get("products")
    if isinstance(products, list):
        items = [ITEM(product) for product in objects(products)]
    else:
        items = [ONLY_ITEM(event.properties)]
    return [item for item in items if item.get("productId") is not None]


def _identifier(event: Event, settings: OfflineConversionsSettings) -> dict[str, Json]:
    """Return the e-mail address or the telephone number; empty if both are missing."""
    person = (HASHED if settings.hash_user_identifier else PLAIN)(event)
    order = ("hashedEmail", "hashedPhoneNumber")
    for key in order if settings.default_user_identifier == "email" else reversed(order):
        if key in person:
            return {key: person[key]}
    return {}


def _address(event: Event, settings: OfflineConversionsSettings) -> dict[str, Json]:
    address = (HASHED_ADDRESS if settings.hash_user_identifier else PLAIN_ADDRESS)(event)
    return {"address_info": address} if address else {}
