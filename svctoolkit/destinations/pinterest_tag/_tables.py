"""Pinterest's parameters, and where they come from."""

from __future__ import annotations

from typing import Any

from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    IP,
    LAST_NAME,
    PHONE,
    TIME,
    USER_ID,
    Table,
    boolean,
    converter,
    each,
    epoch_s,
    first,
    hash_digits,
    hash_initial,
    hash_lower,
    number,
    required,
    string,
    text,
    trait,
)

#: Pinterest takes several of everything.
listed = each(converter(lambda value: value))
hashed_all = each(hash_lower)


@converter
def opt_out(tracked: Any) -> bool:
    return not boolean.of(tracked)


@converter
def as_text(value: Any) -> str:
    return text(value)


HASHED_ID = hashed_all(USER_ID, "anonymousId")
PLAIN_ID = listed(USER_ID, "anonymousId")
GENDER = trait("gender")
BIRTHDAY = trait("dob", "birthday")
CITY = trait("address.city", "city")
STATE = trait("address.state", "state")
ZIP = trait("address.zip", "zip")
COUNTRY = trait("address.country", "country")
DEVICE = "context.device.advertisingId"

HASHED = Table(
    {
        "em": hashed_all(EMAIL),
        "ph": each(hash_digits)(PHONE),
        "ge": each(hash_initial)(GENDER),
        "db": each(hash_digits)(BIRTHDAY),
        "ln": hashed_all(LAST_NAME),
        "fn": hashed_all(FIRST_NAME),
        "ct": hashed_all(CITY),
        "st": hashed_all(STATE),
        "zp": hashed_all(ZIP),
        "country": hashed_all(COUNTRY),
        "hashed_maids": hashed_all(DEVICE),
    }
)
PLAIN = Table(
    {
        "em": listed(EMAIL),
        "ph": listed(PHONE),
        "ge": listed(GENDER),
        "db": listed(BIRTHDAY),
        "ln": listed(LAST_NAME),
        "fn": listed(FIRST_NAME),
        "ct": listed(CITY),
        "st": listed(STATE),
        "zp": listed(ZIP),
        "country": listed(COUNTRY),
        "hashed_maids": listed(DEVICE),
    }
)
TOLD = Table(
    {
        "client_ip_address": IP,
        "client_user_agent": "context.userAgent",
        "click_id": "properties.clickId",
    }
)
SERVER = Table(
    {
        "event_time": required(epoch_s(TIME)),
        "event_source_url": first("context.page.url", "properties.url"),
        "opt_out": opt_out("context.device.adTrackingEnabled"),
        "app_name": "context.app.name",
        "app_version": "context.app.version",
        "device_brand": "context.device.manufacturer",
        "device_carrier": "context.network.carrier",
        "device_model": "context.device.model",
        "device_type": "context.device.type",
        "os_version": "context.os.version",
        "wifi": "context.network.wifi",
        "language": "context.locale",
    }
)
ACTION_SOURCE = first("properties.action_source", trait("action_source"))
CUSTOM = Table(
    {
        "currency": "properties.currency",
        "value": as_text("properties.value", "properties.total", "properties.revenue"),
        "order_id": as_text("properties.order_id"),
        "search_string": "properties.query",
        "opt_out_type": "properties.optOutType",
    }
)
NUM_ITEMS = number("properties.numOfItems")
QUANTITY = Table({"quantity": number("quantity")}, of="properties.products")
ITEM = Table(
    {
        "id": string("product_id", "sku", "id"),
        "item_name": "name",
        "item_category": "category",
        "item_brand": "brand",
        "item_price": string("price"),
        "quantity": "quantity",
    },
    of="properties.products",
)
