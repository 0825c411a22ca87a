"""RevenueCat: subscriber attributes and purchase receipts.

identify looks up the subscriber, which creates new ones, and then writes the attributes. track sends a receipt for each
product.
"""

from __future__ import annotations

from typing import Any, Literal

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, authorization
from svctoolkit.events import Event
from svctoolkit.mapping import (
    ANY_ID,
    IP,
    Misconfigured,
    Table,
    as_object,
    first,
    full_name,
    javascript_text,
    js_join,
    required,
    trait,
)
from svctoolkit.secrets import Secret


class RevenueCatSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    x_platform: Literal["ios", "android", "amazon", "macos", "stripe", "uikitformac"] | None = None


destination = DestinationType(
    "Revenue Cat",
    RevenueCatSettings,
    docs="https://www.revenuecat.com/docs/api-v1",
    answers=[
        Answer("success", 200, {"value": "ok"}),
        Answer("bad key", 401, {"code": 7225, "message": "Invalid API Key."}),
        Answer("rate limit", 429, {"code": 7638, "message": "Rate limit exceeded."}),
        Answer("invalid field", 400, {"code": 7103, "message": "The receipt is not valid."}),
    ],
    quirks=["Custom traits are sent as strings: an object arrives as `[object Object]`."],
)

API = Endpoint("https://api.revenuecat.com/v1", JSON, authorization("Basic", "api_key"))
_SERVICE_IDS = (
    *("adjustId", "appsflyerId", "fbAnonId", "iterableUserId", "iterableCampaignId", "iterableTemplateId"),
    *("mixpanelDistinctId", "mparticleId", "onesignalId", "airshipChannelId", "amazonAdId", "clevertapId"),
)
_SAME_NAME = ("apnsTokens", "fcmTokens", "gpsAdId", "creative", "keyword", "mediaSource", "ad", *_SERVICE_IDS)
SUBSCRIBER = Table(
    {
        "app_user_id": required(ANY_ID),
        "$email": trait("email"),
        "$phoneNumber": trait("phone"),
        "$idfa": first("context.idfa", "context.device.advertisingId"),
        "$idfv": first("context.idfv", "context.device.id"),
        "$androidId": "context.device.advertisingId",
        "$campaign": "context.campaign.name",
        "$ip": IP,
        "$adGroup": trait("addGroup"),  # sic
        **{f"${name}": trait(name) for name in _SAME_NAME},
    }
)
_NOT_CUSTOM = frozenset({*_SAME_NAME, "addGroup", "anonymousId", "email", "id", "name", "phone", "userId"})
RECEIPT = Table(
    {
        "app_user_id": required(ANY_ID),
        "fetch_token": required("properties.fetch_token"),
        "product_id": "properties.product_id",
        "price": "properties.price",
        "currency": "properties.currency",
        "payment_mode": "properties.payment_mode",
        "introductory_price": "properties.introductory_price",
        "is_restore": "properties.is_restore",
        "presented_offering_identifier": "properties.presented_offering_identifier",
    }
)
PRODUCT = Table(
    {
        name: name
        for name in ("product_id", "price", "introductory_price", "is_restore", "presented_offering_identifier")
    },
    of="a product",
)


@destination.on("identify")
def send_subscriber(event: Event, settings: RevenueCatSettings) -> list[Payload]:
    known = SUBSCRIBER(event)
    if name := full_name(event):
        known["$displayName"] = name
    traits = {**as_object(event.context.get("traits")), **as_object(event.raw.get("traits"))}
    custom = {key: value for key, value in traits.items() if key not in _NOT_CUSTOM and value is not None}
    attributes = {key: {"value": value} for key, value in known.items()}
    attributes |= {key: {"value": javascript_text(value)} for key, value in custom.items()}
    path = f"subscribers/{js_join(known['app_user_id'])}"
    return [API.get(settings, path), API.post(settings, f"{path}/attributes", {"attributes": attributes})]


@destination.on("track")
def send_receipts(event: Event, settings: RevenueCatSettings) -> list[Payload]:
    """Return one receipt for each product; missing fields of a product are read from the event."""
    if not settings.x_platform:
        raise Misconfigured("xPlatform", "is required for receipts: set the platform of the purchases")
    receipt = RECEIPT(event)
    products = event.properties.get("products")
    items: list[Any] = products if isinstance(products, list) else [{}]
    platform = {"X-Platform": settings.x_platform}
    bodies = [{**receipt, **PRODUCT(as_object(item))} for item in items]
    return [API.post(settings, "receipts", body, headers=platform) for body in bodies]
