"""Snapchat's parameters, and where they come from: those of version 3 of the API, and those of version 2 (`_2`)."""

from __future__ import annotations

from typing import Any

from svctoolkit.mapping import (
    COUNTRY,
    EMAIL,
    FIRST_NAME,
    IP,
    LAST_NAME,
    PHONE,
    POSTAL_CODE,
    STATE,
    Table,
    boolean,
    const,
    converter,
    default,
    first,
    hash_lower,
    hash_phone,
    hash_text,
    number,
    string,
    trait,
)


@converter
def lower(value: Any) -> str:
    return string.of(value).lower()


@converter
def as_list(value: Any) -> list[Any] | None:
    """Snapchat takes brands as a list."""
    return value if isinstance(value, list) else None


@converter
def one_or_zero(value: Any) -> int:
    return int(boolean.of(value))


MIDDLE_NAME = trait("middleName", "middlename", "middle_name")
PERSON_3 = Table(
    {
        "em": hash_lower(EMAIL),
        "ph": hash_phone(PHONE),
        "fn": hash_lower(FIRST_NAME),
        "ln": hash_lower(LAST_NAME),
        "ge": hash_lower(trait("gender")),
        "st": hash_lower(STATE),
        "zp": hash_lower(POSTAL_CODE),
        "country": hash_lower(COUNTRY),
        "client_ip_address": IP,
        "client_user_agent": "context.userAgent",
        "madid": "context.device.advertisingId",
        "sc_click_id": "properties.click_id",
        "sc_cookie1": "properties.uuid_c1",
    }
)
PERSON_2 = Table(
    {
        "hashed_email": hash_lower(EMAIL),
        "hashed_phone_number": hash_phone(PHONE),
        "hashed_first_name_sha": hash_lower(FIRST_NAME),
        "hashed_middle_name_sha": hash_lower(MIDDLE_NAME),
        "hashed_last_name_sha": hash_lower(LAST_NAME),
        "hashed_state_sha": hash_lower(STATE),
        "hashed_zip": hash_lower(POSTAL_CODE),
        "country": COUNTRY,
        "region": trait("region", "address.region"),
        "hashed_ip_address": hash_text(IP),
        "user_agent": lower("context.userAgent"),
        "hashed_mobile_ad_id": hash_text("context.device.advertisingId"),
        "click_id": "properties.click_id",
        "uuid_c1": "properties.uuid_c1",
    }
)
#: Apple's ID of the device for this vendor; Android has none
VENDOR_3 = Table({"idfv": "context.device.id"})
VENDOR_2 = Table({"hashed_idfv": hash_text("context.device.id")})
ORDER_3 = Table(
    {
        "brand": as_list("properties.brands"),
        "content_category": first("properties.item_category", "properties.category"),
        "currency": "properties.currency",
        "num_items": first("properties.number_items", "properties.quantity"),
        "order_id": "properties.order_id",
        "sign_up_method": "properties.sign_up_method",
    }
)
COMMON_2 = Table(
    {
        "brands": as_list("properties.brands"),
        "item_category": first("properties.item_category", "properties.category"),
        "currency": "properties.currency",
        "number_items": first("properties.number_items", "properties.quantity"),
        "transaction_id": "properties.order_id",
        "sign_up_method": "properties.sign_up_method",
        "description": "properties.description",
        "delivery_method": "properties.delivery_method",
        "customer_status": "properties.customer_status",
        "level": "properties.level",
        "event_tag": "properties.event_tag",
        "device_model": "context.device.model",
    }
)
URL = first("properties.url", "context.page.url")
PLACE_3 = Table({"event_source_url": URL})
PLACE_2 = Table({"page_url": URL})
SEARCH = Table({"search_string": "properties.query"})
VALUE = first("properties.price", "properties.value", "properties.revenue", "properties.total")
PRODUCT_ID = Table({"id": string("product_id", "sku")}, of="properties.products")
PRICED = Table({"price": number("price"), "quantity": default(number("quantity"), 1)}, of="properties.products")
ITEM = Table(
    {
        "id": first("product_id", "sku"),
        "quantity": "quantity",
        "item_price": "price",
        "brand": "brand",
        "delivery_category": "delivery_category",
    },
    of="properties.products",
)
APP = Table({"advertiser_tracking_enabled": one_or_zero("context.device.adTrackingEnabled")})
#: After the platform, in Snapchat's order; empty for what is not known. Events tell nothing of the abbreviation of the
#: time zone, the number of processors and the storage.
EXTINFO = (
    string("context.app.namespace"),
    string("context.app.build"),
    string("context.app.version"),
    string("context.os.version"),
    string("context.device.model"),
    string("context.locale"),
    const(""),
    string("context.network.carrier"),
    string("context.screen.width"),
    string("context.screen.height"),
    string("context.screen.density"),
    const(""),
    const(""),
    const(""),
    string("context.timezone"),
)
