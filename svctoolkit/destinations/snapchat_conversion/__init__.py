"""Snapchat Conversion: what people do on a website, in an application or offline, by the Conversions API.

track sends a standard event, by the event's own name (`Order Completed` is `PURCHASE`) or as the configuration maps
it; page sends `PAGE_VIEW`. `properties.eventConversionType` (web, mobile, offline) says where it happened, else the
channel does. Snapchat takes events of the last 28 days, of people that it can match. `apiVersion` chooses between
version 3 (`newApi`) and version 2 of the API.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Rows, Settings
from svctoolkit.destinations.snapchat_conversion._tables import (
    APP,
    COMMON_2,
    EXTINFO,
    ITEM,
    ORDER_3,
    PERSON_2,
    PERSON_3,
    PLACE_2,
    PLACE_3,
    PRICED,
    PRODUCT_ID,
    SEARCH,
    VALUE,
    VENDOR_2,
    VENDOR_3,
)
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    IP,
    PHONE,
    TIME,
    as_object,
    check_age,
    epoch_s,
    event_name,
    first,
    name_key,
    path,
    platform,
    products,
    required,
    string,
    text,
    time,
    value_of,
)
from svctoolkit.secrets import Secret

#: the shop's names; every other standard event of Snapchat is called by its own name in lower case
_SHOP = {
    "products_searched": "SEARCH",
    "product_list_viewed": "VIEW_CONTENT",
    "promotion_viewed": "AD_VIEW",
    "promotion_clicked": "AD_CLICK",
    "product_viewed": "VIEW_CONTENT",
    "checkout_started": "START_CHECKOUT",
    "payment_info_entered": "ADD_BILLING",
    "order_completed": "PURCHASE",
    "product_added": "ADD_CART",
    "product_added_to_wishlist": "ADD_TO_WISHLIST",
}
_OWN = (
    *("sign_up", "app_open", "save", "subscribe", "complete_tutorial", "invite", "login", "share", "reserve"),
    *("achievement_unlocked", "level_complete", "spent_credits", "rate", "start_trial", "list_view", "page_view"),
    *("app_install", "custom_event_1", "custom_event_2", "custom_event_3", "custom_event_4", "custom_event_5"),
)
_EVENTS = {**_SHOP, **dict(zip(_OWN, map(str.upper, _OWN), strict=True))}
_SOURCES = {"web": "WEB", "mobile": "MOBILE_APP", "mobile_app": "MOBILE_APP", "offline": "OFFLINE"}
_EXTINFO = {"ios": "i2", "android": "a2"}


class SnapchatSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    pixel_id: str = ""
    snap_app_id: str = ""
    app_id: str = ""
    rudder_events_to_snap_events: tuple[Rows, ...] = ()
    enable_deduplication: bool = False
    deduplication_key: str = ""
    api_version: Literal["legacyApi", "newApi"] = "legacyApi"


destination = DestinationType(
    "Snapchat Conversion",
    SnapchatSettings,
    docs="https://developers.snap.com/api/marketing-api/Conversions-API/Parameters",
    names=("snapchat_conversion",),
    answers=[
        Answer("success", 200, {"status": "VALID", "reason": "All events have been processed"}, at="/v3/"),
        Answer("success", 200, {"status": "SUCCESS", "reason": "All records processed"}),
        Answer("bad key", 401, {"status": "FAILED", "reason": "Invalid access token"}),
        Answer("rate limit", 429, {"status": "FAILED", "reason": "Too many requests"}, headers={"Retry-After": "30"}),
        Answer("invalid field", 400, {"status": "INVALID", "reason": "Invalid event_name"}, at="/v3/"),
        Answer("invalid field", 400, {"status": "FAILED", "reason": "Invalid event_type"}),
    ],
)

WHEN = required(time(TIME))


@destination.on("track")
def send_event(event: Event, settings: SnapchatSettings, context: Context) -> Payload:
    """The standard event of that name. A row of the configuration goes before the names that Snapchat knows."""
    name = event_name(event)
    mapped = {
        name_key(row.from_): name_key(row.to) for row in settings.rudder_events_to_snap_events if row.from_ and row.to
    }
    standard = _EVENTS.get(mapped.get(name_key(name), name_key(name)))
    if standard is None:
        raise MappingError(
            f"event: Snapchat has no event for {name!r}; map it in rudderEventsToSnapEvents", field="event"
        )
    return _send(event, settings, context, standard)


@destination.on("page")
def send_page(event: Event, settings: SnapchatSettings, context: Context) -> Payload:
    return _send(event, settings, context, "PAGE_VIEW")


def _send(event: Event, settings: SnapchatSettings, context: Context, name: str) -> Payload:
    source = _source(event)
    if source == "MOBILE_APP" and not settings.snap_app_id:
        raise MappingError("events of an application need snapAppId in the configuration", field="channel")
    if source == "MOBILE_APP" and not settings.app_id:
        raise MappingError("events of an application need appId in the configuration", field="channel")
    if source != "MOBILE_APP" and not settings.pixel_id:
        raise MappingError("events of a website and offline events need pixelId in the configuration", field="channel")
    _check_person(event)
    send = _version_3 if settings.api_version == "newApi" else _version_2
    return send(event, settings, name, source, _seconds(event, context))


def _version_3(event: Event, settings: SnapchatSettings, name: str, source: str, seconds: str) -> Payload:
    in_app = source == "MOBILE_APP"
    as_list = products(event) or [event.properties]
    order: dict[str, Any] = {**ORDER_3(event), **_shop(event, name, ids="content_ids")}
    value = _value(event)
    if value is not None:
        order["price" if name in ("AD_VIEW", "AD_CLICK") else "value"] = value
    contents = [item for item in map(ITEM, as_list) if item]
    if contents:
        order["contents"] = contents
    body = {
        "event_name": name,
        "event_time": seconds,
        "action_source": source,
        "user_data": {**PERSON_3(event), **(VENDOR_3(event) if _system(event) == "ios" else {})},
        "custom_data": order,
        **_deduplication(event, settings, "event_id"),
    }
    if source == "WEB":
        body.update(PLACE_3(event))
    if in_app:
        body["app_data"] = {"app_id": settings.app_id, **_extinfo(event), **APP(event)}
    return Payload(
        endpoint=f"https://tr.snapchat.com/v3/{settings.snap_app_id if in_app else settings.pixel_id}/events",
        headers={"Content-Type": "application/json"},
        params={"access_token": settings.api_key.reveal()},
        json={"data": [{key: value for key, value in body.items() if value}]},
    )


def _version_2(event: Event, settings: SnapchatSettings, name: str, source: str, seconds: str) -> Payload:
    body = {
        "event_type": name,
        "event_conversion_type": source,
        "timestamp": seconds,
        **COMMON_2(event),
        **PERSON_2(event),
        **(VENDOR_2(event) if _system(event) == "ios" else {}),
        **_shop(event, name, ids="item_ids"),
        **_deduplication(event, settings, "client_dedup_id"),
    }
    value = _value(event)
    if value is not None:
        body["price"] = value
    if source == "WEB":
        body.update(PLACE_2(event))
    if source == "MOBILE_APP":
        body.update(snap_app_id=settings.snap_app_id, app_id=settings.app_id)
    else:
        body["pixel_id"] = settings.pixel_id
    headers = {"Authorization": f"Bearer {settings.api_key.reveal()}", "Content-Type": "application/json"}
    return Payload(endpoint="https://tr.snapchat.com/v2/conversion", headers=headers, json=body)


def _shop(event: Event, name: str, ids: str) -> dict[str, Any]:
    found = SEARCH(event) if name == "SEARCH" else {}
    as_list = [PRODUCT_ID(product).get("id") for product in products(event)]
    bought = [product_id for product_id in as_list if product_id is not None]
    product_id = bought or PRODUCT_ID(event.properties).get("id")
    return {**found, ids: product_id} if product_id else found


def _value(event: Event) -> str | None:
    """As text: the revenue of a list of products, else what they cost together; without a list, the price."""
    as_list = [priced for priced in map(PRICED, products(event)) if "price" in priced]
    if not as_list:
        found = value_of(event, VALUE)
        return None if found is None else string.of(found)
    revenue = value_of(event, string("properties.revenue"))
    return revenue or string.of(sum(item["price"] * item["quantity"] for item in as_list))


def _deduplication(event: Event, settings: SnapchatSettings, key: str) -> dict[str, str]:
    """The value at the configured path, such as `properties.order_id`; the message ID without one."""
    if not settings.enable_deduplication:
        return {}
    found = path(settings.deduplication_key or "messageId")(event.raw)
    return {} if found is None or found == "" else {key: text(found)}


def _source(event: Event) -> str:
    for kind in (event.properties.get("eventConversionType"), event.raw.get("channel")):
        if isinstance(kind, str) and kind.lower() in _SOURCES:
            return _SOURCES[kind.lower()]
    return "OFFLINE"


def _check_person(event: Event) -> None:
    """Snapchat has to find the person by one of these, and refuses events without."""
    known = value_of(event, first(EMAIL, PHONE, "context.device.advertisingId"))
    if known is None and (value_of(event, IP) is None or value_of(event, "context.userAgent") is None):
        raise MappingError(
            "needs an e-mail address, a phone number, an advertising ID, or an IP address with a user agent",
            field="context.traits",
        )


def _seconds(event: Event, context: Context) -> str:
    when = value_of(event, WHEN)
    check_age(when, context.clock(), by="Snapchat", past=timedelta(days=28))
    return str(epoch_s.of(when))


def _system(event: Event) -> str:
    return platform(as_object(event.context.get("device")).get("type"))


def _extinfo(event: Event) -> dict[str, list[str]]:
    version = _EXTINFO.get(_system(event))
    return {"extinfo": [version, *(value_of(event, leaf) or "" for leaf in EXTINFO)]} if version else {}
