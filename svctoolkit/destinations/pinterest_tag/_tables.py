"""Pinterest's parameters, and where they come from."""

from __future__ import annotations

from typing import Any

from svctoolkit.mapping import (
    EMAIL_OR_EXTERNAL_ID,
    FIRST_NAME,
    IP,
    LAST_NAME,
    PHONE,
    USER_ID,
    Shape,
    Table,
    converter,
    each_text,
    first,
    hash_digits,
    hash_lower,
    hash_text,
    number,
    sha256,
    string,
    text,
    trait,
)

_GENDERS = {"female": "f", "male": "m", "non-binary": "n"}


@converter
def datum(value: Any) -> Any:
    """A number is no datum about a person."""
    return value if isinstance(value, str | list) else None


@converter
def negation(value: Any) -> bool:
    return not value


@converter
def as_text(value: Any) -> str:
    return text(value)


@converter
def hash_gender(value: Any) -> str:
    """Of the letter `f`, `m` or `n`; what is no gender is hashed whole."""
    gender = str(value).strip().lower()
    return sha256(_GENDERS.get(gender, gender))


as_it_is, hashed, hashed_lower = each_text(string), each_text(hash_text), each_text(hash_lower)
hashed_digits, hashed_gender = each_text(hash_digits), each_text(hash_gender)

PERSON_ID = first(USER_ID, "anonymousId")
GENDER = trait("gender")
BIRTHDAY = first(trait("dob", "birthday", "dateOfBirth", "DOB"), "context.dateofbirth")
CITY = trait("address.city", "city")
STATE = trait("address.state")
ZIP = trait("address.zip")
COUNTRY = trait("address.country")
DEVICE = "context.device.advertisingId"
AS_IT_IS: Shape = {
    "client_ip_address": datum(IP),
    "client_user_agent": datum("context.userAgent"),
    "click_id": "properties.clickId",
}

HASHED = Table(
    {
        "em": hashed_lower(EMAIL_OR_EXTERNAL_ID),
        "ph": hashed_digits(PHONE),
        "ge": hashed_gender(GENDER),
        "db": hashed(BIRTHDAY),
        "ln": hashed_lower(LAST_NAME),
        "fn": hashed_lower(FIRST_NAME),
        "ct": hashed_lower(CITY),
        "st": hashed_lower(STATE),
        "zp": hashed_digits(ZIP),
        "country": hashed_lower(COUNTRY),
        "hashed_maids": hashed(DEVICE),
        **AS_IT_IS,
    }
)
PLAIN = Table(
    {
        "em": as_it_is(EMAIL_OR_EXTERNAL_ID),
        "ph": as_it_is(PHONE),
        "ge": as_it_is(GENDER),
        "db": as_it_is(BIRTHDAY),
        "ln": as_it_is(LAST_NAME),
        "fn": as_it_is(FIRST_NAME),
        "ct": as_it_is(CITY),
        "st": as_it_is(STATE),
        "zp": as_it_is(ZIP),
        "country": as_it_is(COUNTRY),
        "hashed_maids": as_it_is(DEVICE),
        **AS_IT_IS,
    }
)
HASHED_ID = hashed_lower(PERSON_ID)
PLAIN_ID = as_it_is(PERSON_ID)
SERVER = Table(
    {
        "event_source_url": first("context.page.url", "properties.url"),
        "opt_out": negation("context.device.adTrackingEnabled"),
        "partner_name": "properties.partnerName",
        "app_name": first("properties.appName", "context.app.name"),
        "app_version": first("properties.appVersion", "context.app.version"),
        "device_brand": first("properties.manufacturer", "context.device.manufacturer"),
        "device_model": first("properties.deviceModel", "context.device.model"),
        "device_type": first("properties.deviceType", "context.device.type"),
        "os_version": "context.os.version",
        "wifi": "context.network.wifi",
        "language": first("properties.language", "context.locale"),
    }
)
ACTION_SOURCE = first("properties.action_source", "properties.actionSource", "channel")
CUSTOM = Table(
    {
        "currency": "properties.currency",
        "value": as_text("properties.value", "properties.total", "properties.revenue"),
        "order_id": as_text("properties.order_id"),
        "search_string": "properties.query",
        "opt_out_type": "properties.optOutType",
        "content_name": "properties.contentName",
        "content_category": "properties.contentCategory",
        "content_brand": "properties.contentBrand",
        "np": "properties.np",
    }
)
NUM_ITEMS = number("properties.numOfItems")
ITEM = Table(
    {
        "id": as_text("product_id", "sku", "id"),
        "item_name": "name",
        "item_category": "category",
        "item_brand": "brand",
        "item_price": as_text("price"),
        "quantity": number("quantity"),
    },
    of="properties.products",
)
