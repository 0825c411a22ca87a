"""X Ads (formerly Twitter Ads): conversions, through the Conversion API.

track sends the conversion whose ID is in the properties (`eventId`) or configured for the event's name; other names are
rejected. Users are matched by identifiers in the properties: click ID, e-mail address, phone number, or IP address with
user agent. Requests are signed with OAuth 1.0a, with the keys of the delivering account.
https://developer.x.com/en/docs/x-ads-api/measurement/web-conversions/api-reference/conversions
"""

from __future__ import annotations

import base64
import hmac
import re
from typing import Any

import msgspec

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    IP,
    Missing,
    NotConfigured,
    Table,
    as_object,
    converter,
    event_name,
    first,
    hash_lower,
    hash_trimmed,
    in_url,
    js_join,
    json_text,
    leading_number,
    number_or_none,
    sha256,
    string,
    text,
)
from svctoolkit.mapping.table import getter


class EventRow(msgspec.Struct, frozen=True, rename="camel"):
    """An event's name, and the ID of its conversion."""

    rudder_event_name: str = ""
    twitter_event_id: str = ""


class XAdsSettings(Settings, frozen=True, kw_only=True):
    pixel_id: str
    twitter_ads_event_names: tuple[EventRow, ...] = ()


destination = DestinationType(
    "X Ads (formerly Twitter Ads)",
    XAdsSettings,
    docs="https://developer.x.com/en/docs/x-ads-api/measurement/web-conversions/api-reference/conversions",
    names=("twitter_ads",),
    quirks=[
        "Users are identified only by properties: e-mail address and phone number in the traits are ignored.",
        "`ip_address` and `user_agent` of the context are sent next to the identifiers, where X does not read them.",
    ],
    answers=[
        Answer("success", 200, {"data": {"conversions_processed": 1}, "request": {}}),
        Answer(
            "bad key", 401, {"errors": [{"code": "UNAUTHORIZED_ACCESS", "message": "This request is not authorized"}]}
        ),
        Answer("rate limit", 429, {"errors": [{"code": "TOO_MANY_REQUESTS", "message": "Too many requests"}]}),
        Answer("invalid field", 400, {"errors": [{"code": "INVALID_PARAMETER", "parameter": "conversion_time"}]}),
    ],
    differences=[
        "The nonce of a signature is a hash of the request, not a random value, so that the same event always "
        "produces the same request.",
        "Values to be hashed are left out if they are not strings; RudderStack fails.",
    ],
    needs=["account"],
)


@converter
def as_text(value: Json) -> str:
    return text(value)


@converter
def whole(value: Json) -> int | None:
    """Return a whole number other than 0."""
    return int(leading_number(value) or 0) or None


@converter
def price_text(value: Json) -> str | None:
    """Return a price as text: a whole number with two decimals, any other unchanged."""
    price = leading_number(value)
    return None if price is None else f"{price:.2f}" if price == int(price) else text(price)


@converter
def trimmed(value: Json) -> str:
    return string.of(value).strip()


CONVERSION = Table(
    {
        "conversion_time": first("properties.conversionTime", "timestamp"),
        "number_items": number_or_none("properties.quantity", "properties.numberItems"),
        "price_currency": "properties.currency",
        "value": as_text("properties.value", "properties.price", "properties.revenue"),
        "conversion_id": "properties.conversionId",
        "description": "properties.description",
        "ip_address": IP,
        "user_agent": "context.userAgent",
    }
)
#: each of these is a separate identifier; IP address and user agent form one together
PERSON = Table(
    {
        "hashed_email": hash_lower("properties.email"),
        "hashed_phone_number": hash_trimmed("properties.phone"),
        "twclid": "properties.twclid",
    }
)
CONNECTION = Table({"ip_address": trimmed("properties.ip_address"), "user_agent": trimmed("properties.user_agent")})
CONTENT = Table(
    {
        "content_id": "id",
        "content_group_id": "groupId",
        "content_name": "name",
        "content_type": "type",
        "num_items": whole("quantity"),
        "content_price": price_text("price"),
    },
    of="properties.contents",
)
_STRICT = str.maketrans({char: f"%{ord(char):02X}" for char in "!*'()"})  # OAuth escapes more than JavaScript does
_UNRESERVED = re.compile(r"[\w.~-]*", re.ASCII)
_event_id, _pixel = getter("properties.eventId"), getter("properties.pixelId")
_URL = "https://ads-api.twitter.com/12/measurement/conversions/"


@destination.on("track")
def send_conversion(event: Event, settings: XAdsSettings, context: Context) -> Payload:
    """Return the conversion for the event's name."""
    conversion: dict[str, Any] = CONVERSION(event)
    conversion["event_id"] = _event_id(event.raw) or _conversion_id(event_name(event), settings)
    conversion["identifiers"] = _identifiers(event)
    contents = event.properties.get("contents")
    if isinstance(contents, list):
        contents = [found for item in contents if (found := CONTENT(as_object(item)))] or None
    if contents is not None:
        conversion["contents"] = contents
    body = {"conversions": [conversion]}
    pixel = js_join(_pixel(event.raw) or settings.pixel_id)
    url = f"{_URL}{pixel}"
    headers = {"Authorization": _signature(pixel, body, context), "Content-Type": "application/json"}
    return Payload(endpoint=url, headers=headers, json=body)


def _conversion_id(name: str, settings: XAdsSettings) -> str:
    key = name.lower()
    for row in settings.twitter_ads_event_names:
        if row.rudder_event_name.lower() == key:
            return row.twitter_event_id
    raise NotConfigured("event", name, setting="twitterAdsEventNames")


def _identifiers(event: Event) -> list[dict[str, Any]]:
    """Return the identifiers. IP address and user agent form one; if one is missing, the other joins the first."""
    identifiers = [{key: value} for key, value in PERSON(event).items()]
    connection = CONNECTION(event)
    if len(connection) == 2:
        identifiers.append(connection)
    elif identifiers:
        identifiers[0].update(connection)
    else:
        raise Missing(
            "properties.twclid",
            "properties.phone",
            "properties.email",
            wants="an identifier of the user",
            why="or send ip_address with user_agent",
        )
    return identifiers


def _signature(pixel: str, body: dict[str, Any], context: Context) -> str:
    """Return the header that authenticates the request (https://datatracker.ietf.org/doc/html/rfc5849#section-3.4).

    The parameters are signed in escaped form. Only credentials need it, and they are escaped already: once more is `%`.
    """
    when = str(int(context.clock().timestamp()))
    nonce = sha256(when + json_text(body))[:32]
    consumer, token = _quoted(context.secret("consumerKey")), _quoted(context.secret("accessToken"))
    signed = (
        f"POST&{_QUOTED_URL}{_quoted(pixel)}&oauth_consumer_key%3D{consumer.replace('%', '%25')}"
        f"%26oauth_nonce%3D{nonce}%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D{when}"
        f"%26oauth_token%3D{token.replace('%', '%25')}%26oauth_version%3D1.0"
    )
    key = f"{_quoted(context.secret('consumerSecret'))}&{_quoted(context.secret('accessTokenSecret'))}"
    digest = hmac.digest(key.encode(), signed.encode(), "sha1")
    signature = base64.b64encode(digest).decode().replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    return (
        f'OAuth oauth_consumer_key="{consumer}", oauth_nonce="{nonce}", oauth_signature="{signature}", '
        f'oauth_signature_method="HMAC-SHA1", oauth_timestamp="{when}", oauth_token="{token}", oauth_version="1.0"'
    )


def _quoted(value: str) -> str:
    return value if _UNRESERVED.fullmatch(value) else in_url(value).translate(_STRICT)


_QUOTED_URL = _quoted(_URL)
