"""Pinterest's parameters, and where they come from."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL_OR_EXTERNAL_ID,
    FIRST_NAME,
    IP,
    LAST_NAME,
    PHONE,
    USER_ID,
    Converter,
    Leaf,
    Table,
    converter,
    each_text,
    first,
    hash_digits,
    hash_lower,
    hash_text,
    js_join,
    not_null,
    number,
    sha256,
    string,
    text,
    text_or_list,
    trait,
    verbatim,
)

_GENDERS = {"female": "f", "male": "m", "non-binary": "n"}


@converter
def negation(value: Json) -> bool:
    return not value


@converter
def as_text(value: Json) -> str:
    return text(value)


@converter
def hash_gender(value: Json) -> str:
    """Hash the letter `f`, `m` or `n`; other values are hashed in full."""
    gender = str(value).strip().lower()
    return sha256(_GENDERS.get(gender, gender))


@converter
def joined(value: Json) -> str:
    """Return a string, or a joined list; numbers and objects are left out."""
    return js_join(value) if isinstance(value, (str, list)) else ""


@converter
def unhashed(value: Json) -> Json:
    """Return a string, list or object unchanged; numbers are left out."""
    return value if isinstance(value, (str, list, dict)) else ""


plain, hashed, hashed_lower = each_text(string), each_text(hash_text), each_text(hash_lower)
hashed_digits, hashed_gender = each_text(hash_digits), each_text(hash_gender)

PERSON_ID = first(USER_ID, "anonymousId")
GENDER = trait("gender")
BIRTHDAY = first(trait("dob", "birthday", "dateOfBirth", "DOB"), "context.dateofbirth")
CITY = trait("address.city", "city")
STATE = trait("address.state")
ZIP = trait("address.zip")
COUNTRY = trait("address.country")
AGENT = "context.userAgent"
DEVICE = "context.device.advertisingId"
AS_IT_IS: dict[str, Leaf] = {
    "client_ip_address": not_null(text_or_list(IP)),
    "click_id": as_text("properties.clickId"),
    "partner_id": trait("partnerId"),
}
#: values that are hashed, unless the events already contain hashes
_PERSON: dict[str, tuple[Leaf, Converter[list[str] | None]]] = {
    "em": (EMAIL_OR_EXTERNAL_ID, hashed_lower),
    "ph": (PHONE, hashed_digits),
    "ge": (GENDER, hashed_gender),
    "db": (BIRTHDAY, hashed),
    "ln": (LAST_NAME, hashed_lower),
    "fn": (FIRST_NAME, hashed_lower),
    "ct": (CITY, hashed_lower),
    "st": (STATE, hashed_lower),
    "zp": (ZIP, hashed_digits),
    "country": (COUNTRY, hashed_lower),
    "hashed_maids": (DEVICE, hashed),
}


HASHED = Table(
    {
        **{key: not_null(convert(leaf)) for key, (leaf, convert) in _PERSON.items()},
        **AS_IT_IS,
        "client_user_agent": not_null(joined(AGENT)),
    }
)
PLAIN = Table(
    {
        **{key: not_null(plain(leaf)) for key, (leaf, _) in _PERSON.items()},
        **AS_IT_IS,
        "client_user_agent": not_null(unhashed(AGENT)),
    }
)
HASHED_ID = not_null(hashed_lower(PERSON_ID))
PLAIN_ID = not_null(plain(PERSON_ID))
SERVER = Table(
    {
        "event_source_url": not_null(first("context.page.url", "properties.url")),
        "opt_out": negation("context.device.adTrackingEnabled"),
        "partner_name": "properties.partnerName",
        "app_name": verbatim(first("properties.appName", "context.app.name")),
        "app_version": verbatim(first("properties.appVersion", "context.app.version")),
        "device_brand": verbatim(first("properties.manufacturer", "context.device.manufacturer")),
        "device_model": verbatim(first("properties.deviceModel", "context.device.model")),
        "device_type": verbatim(first("properties.deviceType", "context.device.type")),
        "os_version": "context.os.version",
        "device_carrier": "context.network.carrier",
        "wifi": "context.network.wifi",
        "language": verbatim(first("properties.language", "context.locale")),
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
