"""TikTok's parameters, and where they come from: those of Events API 2.0 (`_2`), and those of 1.0 (`_1`)."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    CITY,
    COUNTRY,
    EMAIL,
    FIRST_NAME,
    IP,
    LAST_NAME,
    PHONE,
    Shape,
    Table,
    converter,
    first,
    hash_lower,
    hash_text,
    hash_trimmed,
    lower,
    sha256,
    string,
    text,
    text_or_list,
    trait,
)


@converter
def hash_each(value: Json) -> str | list[str]:
    """Return the SHA-256 of a string, or of each string in a list: a user can have several phone numbers and IDs."""
    return [hash_trimmed.of(item) for item in value] if isinstance(value, list) else hash_trimmed.of(value)


@converter
def hash_each_email(value: Json) -> str | list[str]:
    """Like `hash_each`, in lower case."""
    return [hash_lower.of(item) for item in value] if isinstance(value, list) else hash_lower.of(value)


@converter
def hash_external_id(value: Json) -> Json:
    return hash_each.of(value) if isinstance(value, (str, list)) else None


@converter
def hash_zip(value: Json) -> str:
    """Return the SHA-256 of the value without spaces and dashes."""
    return sha256("".join(string.of(value).replace("-", " ").split()))


@converter
def hash_lowered(value: Json) -> str:
    """Return the SHA-256 of the value in lower case, without trimming."""
    return sha256(lower.of(value))


@converter
def as_text(value: Json) -> str:
    return text(value)


_ZIPS = ("zip", "zipcode", "zip_code", "zipCode", "postalcode", "postal_code", "postalCode")
ZIP = trait(*_ZIPS, *map("address.".__add__, _ZIPS))
ID = "context.externalId.tiktokExternalId"
ADDRESS = first("properties.context.user.email", "context.user.email", EMAIL)
NUMBER = first("properties.context.user.phone", PHONE)
DEVICE = "context.device.advertisingId"

USER: Shape = {
    "ttclid": "properties.ttclid",
    "ttp": first("properties.context.user.ttp", "properties.ttp"),
    "locale": first("properties.context.user.locale", "context.locale"),
    "ip": first("properties.context.user.ip", IP),
    "user_agent": first("properties.context.user.userAgent", "context.userAgent"),
    "first_name": hash_lower(FIRST_NAME),
    "last_name": hash_lower(LAST_NAME),
    "city": first(CITY, "properties.city"),
    "state": first(trait("address.state", "state"), "properties.state"),
    "country": first(COUNTRY, "properties.country"),
    "zip_code": hash_zip(ZIP),
}
HASHED_2 = Table(
    {"external_id": hash_external_id(ID), "email": hash_each_email(ADDRESS), "phone": hash_each(NUMBER), **USER}
)
PLAIN_2 = Table({"external_id": text_or_list(ID), "email": ADDRESS, "phone": NUMBER, **USER})
#: Apple's IDs of the device, and Google's
HASHED_APPLE = Table({"idfa": hash_text(DEVICE), "idfv": "context.device.id"})
PLAIN_APPLE = Table({"idfa": string(DEVICE), "idfv": "context.device.id"})
HASHED_GOOGLE = Table({"gaid": hash_lowered(DEVICE)})
PLAIN_GOOGLE = Table({"gaid": lower(DEVICE)})
SOURCE_2 = Table(
    {
        "limited_data_use": "properties.limited_data_use",
        "page": {
            "url": first("properties.context.page.url", "properties.url", "context.page.url"),
            "referrer": first("properties.context.page.referrer", "properties.referrer", "context.page.referrer"),
        },
        "app": {
            "app_id": first("properties.appId", "properties.app_id", "context.app.namespace"),
            "app_name": first("properties.appName", "properties.app_name", "context.app.name"),
            "app_version": first("properties.appVersion", "properties.app_version", "context.app.version"),
        },
        "ad": {
            "callback": "properties.callBack",
            "campaign_id": first("properties.campaignId", "properties.campaign_id"),
            "ad_id": first("properties.adId", "properties.ad_id"),
            "creative_id": first("properties.creativeId", "properties.creative_id"),
            "is_retargeting": first("properties.isRetargeting", "properties.is_retargeting"),
            "attributed": "properties.attributed",
            "attribution_type": first("properties.attributionType", "properties.attribution_type"),
            "attribution_provider": first("properties.attributionProvider", "properties.attribution_provider"),
        },
        "lead": {
            "lead_id": first("properties.leadId", "properties.lead_id"),
            "lead_event_source": first("properties.leadEventSource", "properties.lead_event_source"),
        },
    }
)
EVENT_ID_2 = first("properties.eventId", "properties.event_id", "messageId")
ORDER_2 = Table(
    {
        "content_type": first("properties.contentType", "properties.content_type"),
        "currency": "properties.currency",
        "value": "properties.value",
        "description": "properties.description",
        "query": "properties.query",
        "search_string": "properties.query",
        "order_id": as_text("properties.order_id", "properties.orderId"),
        "shop_id": as_text("properties.shop_id", "properties.shopId"),
    }
)

CONTEXT_1 = Table(
    {
        "page": {
            "url": first("properties.context.page.url", "context.page.url"),
            "referrer": first("properties.context.page.referrer", "context.page.referrer"),
        },
        "user_agent": "context.userAgent",
        "ip": IP,
    }
)
CALLBACK_1 = first("properties.clickId", "context.ad.callback")
PLACE_2 = Table({"event_source": "properties.eventSource"})
USER_1 = Table(
    {
        "external_id": text_or_list(ID),
        "email": first("properties.context.user.email", "traits.email", "context.traits.email"),
        "phone_number": first("properties.context.user.phone_number", "traits.phone", "context.traits.phone"),
    }
)
EVENT_1 = Table({"event_id": first("properties.eventId", "messageId"), "timestamp": "timestamp"})
ORDER_1 = Table(
    {
        "content_type": first("properties.contentType", "properties.content_type"),
        "content_id": first("properties.productId", "properties.product_id"),
        "content_name": "properties.name",
        "content_category": "properties.category",
        "currency": "properties.currency",
        "value": "properties.value",
        "description": "properties.description",
        "query": "properties.query",
        "status": "properties.status",
        "order_id": as_text("properties.order_id", "properties.orderId"),
        "shop_id": as_text("properties.shop_id", "properties.shopId"),
    }
)
TEST = Table({"test_event_code": "properties.testEventCode"})
_ITEM: Shape = {
    "content_id": as_text("product_id", "sku"),
    "content_name": "name",
    "content_category": "category",
    "price": "price",
    "quantity": "quantity",
    "brand": "brand",
}
ITEM_1 = Table({"content_type": "contentType", **_ITEM}, of="properties.products")
ITEM_2 = Table(_ITEM, of="properties.products")
