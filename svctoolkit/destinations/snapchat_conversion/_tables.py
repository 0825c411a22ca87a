"""Snapchat's parameters, and where they come from: those of version 3 of the API, and those of version 2 (`_2`)."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    EMAIL_OR_EXTERNAL_ID,
    FIRST_NAME,
    IP,
    LAST_NAME,
    PHONE,
    Source,
    Table,
    WrongValue,
    const,
    converter,
    digits,
    first,
    hash_lower,
    hash_text,
    js_join,
    lower,
    sha256,
    trait,
)


@converter
def as_list(value: Json) -> list[Json] | None:
    """Return brands as a list, which Snapchat requires."""
    return value if isinstance(value, list) else None


@converter
def as_text(value: Json) -> str:
    return js_join(value)


@converter
def hash_email(value: Json) -> str:
    """Return the hash of a string, the only type that version 3 accepts; anything else is left out."""
    return sha256(value.strip().lower()) if isinstance(value, str) else ""


@converter
def hash_number(value: Json) -> str:
    """Return the SHA-256 of a phone number's digits, without the zeros before the country code."""
    return sha256(digits(str(value)).lstrip("0")) if type(value) in (str, int, float) else ""


@converter
def hash_device(value: Json) -> str:
    """Return the SHA-256 of the unchanged device ID."""
    if not isinstance(value, str):
        raise WrongValue("a string", value, case="text")
    return sha256(value)


_ZIPS = ("zip", "zipcode", "zip_code", "zipCode", "postalcode", "postal_code", "postalCode")
ZIP = trait(*_ZIPS, *map("address.".__add__, _ZIPS))
MIDDLE_NAME = trait("middleName", "middlename", "middle_name")
CITY, STATE, COUNTRY = trait("address.city"), trait("state"), trait("country")
DEVICE = first("properties.adId", "context.device.advertisingId")
#: Apple's vendor ID of the device (IDFV)
VENDOR = first("properties.idfv", "context.device.id")

PERSON_3 = Table(
    {
        "sc_click_id": "properties.click_id",
        "sc_cookie1": "properties.uuid_c1",
        "client_ip_address": IP,
        "client_user_agent": "context.userAgent",
        "idfv": VENDOR,
        "madid": DEVICE,
        "fn": hash_lower(FIRST_NAME),
        "ln": hash_lower(LAST_NAME),
        "ge": hash_lower(trait("gender")),
        "ct": hash_lower(CITY),
        "zp": hash_lower(ZIP),
        "st": hash_lower(STATE),
        "country": hash_lower(COUNTRY),
        "em": hash_email(EMAIL),
        "ph": hash_number(PHONE),
    }
)
PERSON_2 = Table(
    {
        "country": COUNTRY,
        "region": trait("region"),
        "user_agent": lower("context.userAgent"),
        "hashed_first_name_sha": hash_lower(FIRST_NAME),
        "hashed_middle_name_sha": hash_lower(MIDDLE_NAME),
        "hashed_last_name_sha": hash_lower(LAST_NAME),
        "hashed_city_sha": hash_lower(CITY),
        "hashed_zip": hash_lower(ZIP),
        "hashed_state_sha": hash_lower(STATE),
        "hashed_email": hash_lower(EMAIL_OR_EXTERNAL_ID),
        "hashed_phone_number": hash_number(PHONE),
        "hashed_ip_address": hash_text(IP),
        "hashed_mobile_ad_id": hash_device(DEVICE),
    }
)
VENDOR_2 = Table({"hashed_idfv": hash_device(VENDOR)})
COMMON_2 = Table(
    {
        "number_items": first("properties.number_items", "properties.quantity"),
        "currency": "properties.currency",
        "brands": as_list("properties.brands"),
        "description": "properties.description",
        "event_tag": "properties.event_tag",
        "click_id": "properties.click_id",
        "level": "properties.level",
        "uuid_c1": "properties.uuid_c1",
        "customer_status": "properties.customer_status",
        "data": "properties.data",
        "att_status": "properties.att_status",
        "advertiser_cookie_1": "properties.advertiser_cookie_1",
        "delivery_method": "properties.delivery_method",
        "device_model": "context.device.model",
    }
)
COMMON_3 = Table(
    {
        "num_items": first("properties.number_items", "properties.quantity"),
        "currency": "properties.currency",
        "brand": as_list("properties.brands"),
    }
)
_TRANSACTION: dict[str, str | Source] = {
    "transaction_id": first("properties.transaction_id", "properties.transactionId"),
    "category": "properties.category",
    "ids": "properties.item_ids",
    "search_string": "properties.search_string",
    "sign_up_method": first("properties.sign_up_method", "properties.signUpMethod"),
    "price": first("properties.price", "properties.value", "properties.revenue"),
}
_ORDER_ID = first("properties.order_id", "properties.orderId")
_OF_ONE_PRODUCT = Table({**_TRANSACTION, "ids": "properties.product_id"})
#: what was bought, searched or viewed, by the name of the event; other events are handled like a page
USUAL = Table(_TRANSACTION)
TRANSACTIONS = {
    "products_searched": Table(
        {**_TRANSACTION, "search_string": first("properties.search_string", "properties.query")}
    ),
    "product_viewed": _OF_ONE_PRODUCT,
    "product_added": _OF_ONE_PRODUCT,
    "product_added_to_wishlist": _OF_ONE_PRODUCT,
    "payment_info_entered": Table({**_TRANSACTION, "transaction_id": "properties.checkout_id"}),
    "checkout_started": Table(
        {**_TRANSACTION, "transaction_id": _ORDER_ID, "sign_up_method": "properties.sign_up_method"}
    ),
    "order_completed": Table(
        {
            "transaction_id": _ORDER_ID,
            "category": first("properties.item_category", "properties.category"),
            "sign_up_method": "properties.sign_up_method",
            "price": _TRANSACTION["price"],
        }
    ),
}
URL = first("context.page.url", "properties.url")
ITEM = Table(
    {
        "id": first("product_id", "sku"),
        "item_price": "price",
        "quantity": "quantity",
        "brand": "brand",
        "delivery_category": "delivery_category",
    },
    of="properties.products",
)
#: Fields after the platform, in Snapchat's order; unknown ones are empty. The seventh is the time zone abbreviation.
EXTINFO = (
    as_text("context.app.namespace"),
    as_text("context.app.build"),
    as_text("context.app.version"),
    as_text("context.os.version"),
    as_text("context.device.model"),
    as_text("context.locale"),
    const(""),
    as_text("context.network.carrier"),
    as_text("context.screen.width"),
    as_text("context.screen.height"),
    as_text("context.screen.density"),
    as_text("properties.cpu_cores"),
    as_text("properties.storage"),
    as_text("properties.free_storage"),
    as_text("context.timezone"),
)
