"""TikTok's parameters, and where they come from: those of Events API 2.0 (`_2`), and those of 1.0 (`_1`)."""

from __future__ import annotations

from typing import Any

from svctoolkit.mapping import (
    CITY,
    COUNTRY,
    EMAIL,
    FIRST_NAME,
    IP,
    LAST_NAME,
    PHONE,
    POSTAL_CODE,
    STATE,
    TIME,
    Table,
    converter,
    default,
    each,
    epoch_s,
    first,
    hash_lower,
    hash_trimmed,
    required,
    sha256,
    string,
)


@converter
def hash_each(value: Any) -> str | list[str]:
    """SHA-256 of a text, or of each text of a list: a person may have several numbers and IDs."""
    return each(hash_trimmed).of(value) if isinstance(value, list) else hash_trimmed.of(value)


@converter
def hash_each_email(value: Any) -> str | list[str]:
    """As `hash_each`, in lower case."""
    return each(hash_lower).of(value) if isinstance(value, list) else hash_lower.of(value)


@converter
def hash_zip(value: Any) -> str:
    """SHA-256 without spaces and dashes."""
    return sha256("".join(string.of(value).replace("-", " ").split()))


ID = "context.externalId.tiktokExternalId"
PAGE_URL = first("properties.context.page.url", "context.page.url")
REFERRER = first("properties.context.page.referrer", "context.page.referrer")
ADDRESS = first("properties.context.user.email", EMAIL)
NUMBER = first("properties.context.user.phone_number", PHONE)

HASHED_2 = Table(
    {
        "external_id": hash_each(ID),
        "email": hash_each_email(ADDRESS),
        "phone": hash_each(NUMBER),
        "first_name": hash_lower(FIRST_NAME),
        "last_name": hash_lower(LAST_NAME),
        "zip_code": hash_zip(POSTAL_CODE),
    }
)
PLAIN_2 = Table(
    {
        "external_id": ID,
        "email": ADDRESS,
        "phone": NUMBER,
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "zip_code": POSTAL_CODE,
    }
)
USER_2 = Table(
    {
        "ttclid": "properties.ttclid",
        "ttp": "properties.ttp",
        "city": CITY,
        "state": STATE,
        "country": COUNTRY,
        "locale": "context.locale",
        "ip": IP,
        "user_agent": "context.userAgent",
    }
)
PAGE_2 = Table({"url": PAGE_URL, "referrer": REFERRER})
EVENT_2 = Table({"event_id": first("properties.eventId", "messageId"), "event_time": required(epoch_s(TIME))})
ORDER_2 = Table(
    {
        "content_type": first("properties.contentType", "properties.content_type"),
        "currency": "properties.currency",
        "value": "properties.value",
        "description": "properties.description",
        "query": "properties.query",
        "search_string": "properties.query",
        "order_id": string("properties.order_id"),
        "shop_id": string("properties.shop_id"),
    }
)

HASHED_1 = Table({"external_id": hash_each(ID), "email": hash_each_email(ADDRESS), "phone_number": hash_each(NUMBER)})
PLAIN_1 = Table({"external_id": ID, "email": ADDRESS, "phone_number": NUMBER})
CONTEXT_1 = Table(
    {
        "ad": {"callback": first("properties.clickId", "properties.context.ad.callback")},
        "page": {"url": PAGE_URL, "referrer": REFERRER},
        "user_agent": "context.userAgent",
        "ip": IP,
    }
)
EVENT_1 = Table({"event_id": first("properties.eventId", "messageId"), "timestamp": "timestamp"})
ORDER_1 = Table(
    {
        "currency": "properties.currency",
        "value": "properties.value",
        "description": "properties.description",
        "query": "properties.query",
    }
)
TEST = Table({"test_event_code": "properties.testEventCode"})
KIND = Table({"content_type": default(first("properties.contentType", "properties.content_type"), "product")})
ITEM_1 = Table(
    {
        "content_type": "contentType",
        "content_id": string("product_id", "sku"),
        "content_name": "name",
        "content_category": "category",
        "price": "price",
        "quantity": "quantity",
    },
    of="properties.products",
)
ITEM_2 = Table(
    {
        "content_id": string("product_id", "sku"),
        "content_name": "name",
        "content_category": "category",
        "brand": "brand",
        "price": "price",
        "quantity": "quantity",
    },
    of="properties.products",
)
