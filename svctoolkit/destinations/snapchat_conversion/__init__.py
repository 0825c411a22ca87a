"""Snapchat Conversion: website, app and offline events, through the Conversions API.

track sends a standard event, by the event's own name (`Order Completed` is `PURCHASE`) or as configured; page sends
`PAGE_VIEW`. `properties.eventConversionType` (web, mobile, offline) says where the event happened; the default depends
on the channel. Snapchat accepts only events of users that it can match. `apiVersion` selects version 3 (`newApi`) of
the API, which accepts events of the last 7 days, or version 2, which accepts those of the last 37.
https://developers.snap.com/api/marketing-api/Conversions-API/Parameters
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from svctoolkit.destinations import (
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Merge,
    Param,
    Payload,
    Rows,
    Settings,
    bearer,
)
from svctoolkit.destinations.snapchat_conversion._tables import (
    COMMON_2,
    COMMON_3,
    EXTINFO,
    ITEM,
    PERSON_2,
    PERSON_3,
    TRANSACTIONS,
    URL,
    USUAL,
    VENDOR_2,
)
from svctoolkit.events import Event
from svctoolkit.mapping import (
    TIME,
    TIME_EXAMPLE,
    Misconfigured,
    Misfit,
    Missing,
    NotConfigured,
    WrongValue,
    check_age,
    event_name,
    moment,
    name_key,
    number,
    path,
    platform,
    string,
)
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import microseconds
from svctoolkit.secrets import Secret

#: e-commerce names; Snapchat's other standard events are matched by their own names in lower case
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
_CHANNELS = {"web": "WEB", "mobile": "MOBILE_APP"}


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
    quirks=[
        'An order, a checkout and a list without a price and without products have the price "null", a string.',
        "If Snapchat does not support the conversion type, the event is sent without one.",
    ],
    answers=[
        Answer("success", 200, {"status": "VALID", "reason": "All events have been processed"}, at="/v3/"),
        Answer("success", 200, {"status": "SUCCESS", "reason": "All records processed"}),
        Answer("bad key", 401, {"status": "FAILED", "reason": "Invalid access token"}),
        Answer("rate limit", 429, {"status": "FAILED", "reason": "Too many requests"}, headers={"Retry-After": "30"}),
        Answer("invalid field", 400, {"status": "INVALID", "reason": "Invalid event_name"}, at="/v3/"),
        Answer("invalid field", 400, {"status": "FAILED", "reason": "Invalid event_type"}),
    ],
    merges=[Merge("data", limit=2000, at="/v3/"), Merge(wraps=True, limit=2000, at="/v2/")],
    differences=[
        "A `pixelId` of false is the text `false`; RudderStack refuses events of the web without a pixel.",
        "An event without a time is sent without one, and Snapchat uses the time of arrival.",
        "Invalid times are rejected, whereas RudderStack sends `NaN`.",
    ],
    needs=["clock"],
)

V2 = Endpoint("https://tr.snapchat.com/v2/conversion", bearer("api_key"), JSON)
V3 = Endpoint("https://tr.snapchat.com/v3", JSON, Param("access_token", "{api_key}"))

_WEEK, _PAST = timedelta(days=7), timedelta(days=37)
_time, _url, _timezone = getter(TIME), getter(URL), getter("context.timezone")
_device_type = getter("context.device.type")
_extinfo = tuple(map(getter, EXTINFO))


@destination.on("track")
def send_event(event: Event, settings: SnapchatSettings, context: Context) -> Payload:
    """Return the standard event for the name. Configured names override Snapchat's own."""
    name = event_name(event)
    key = name_key(name)
    for row in settings.rudder_events_to_snap_events:
        if row.from_ and row.to and name_key(row.from_) == name_key(name):
            key = name_key(row.to)
    if key not in _EVENTS:
        raise NotConfigured("event", name, setting="rudderEventsToSnapEvents")
    return _payload(event, settings, context, key)


@destination.on("page")
def send_page(event: Event, settings: SnapchatSettings, context: Context) -> Payload:
    return _payload(event, settings, context, "page_view")


def _payload(event: Event, settings: SnapchatSettings, context: Context, key: str) -> Payload:
    """Return the payload; `key` is the name of the event in lower case, with underscores."""
    place = _conversion_type(event)
    if place == "MOBILE_APP" and not settings.snap_app_id:
        raise Misconfigured("snapAppId", "is required for app events", field="channel")
    if place == "MOBILE_APP" and not settings.app_id:
        raise Misconfigured("appId", "is required for app events", field="channel")
    if place in ("WEB", "OFFLINE") and not settings.pixel_id:
        raise Misconfigured("pixelId", "is required for website and offline events", field="channel")
    send = _version_3 if settings.api_version == "newApi" else _version_2
    return send(event, settings, context, key, place)


def _version_3(event: Event, settings: SnapchatSettings, context: Context, key: str, place: str) -> Payload:
    person, bought = PERSON_3(event), _transaction(event, key)
    _check_person(person, "em", "ph", "madid", "client_ip_address", "client_user_agent")
    transaction_id = bought.pop("transaction_id", None)
    bought.pop("sign_up_method", None)
    names = {"ids": "content_ids", "category": "content_category", "price": "value"}
    if _EVENTS[key] in ("AD_VIEW", "AD_CLICK"):
        del names["price"]
    custom = {names.get(name, name): value for name, value in bought.items()} | COMMON_3(event)
    if contents := _contents(event):
        custom["contents"] = contents
    event_id = _event_id(event, settings)
    body = {
        "event_name": _EVENTS[key],
        "event_id": transaction_id if event_id is None else event_id,
        "event_time": _seconds(event, context, _WEEK),
        "action_source": place,
        "event_source_url": _url(event.raw) if place == "WEB" else None,
        "user_data": person,
        "custom_data": custom,
        "app_data": _app_data(event, settings, context, place),
    }
    account = settings.snap_app_id if place == "MOBILE_APP" else settings.pixel_id
    data = {name: value for name, value in body.items() if value not in (None, "", {})}
    return V3.post(settings, f"{account}/events", {"data": [data]})


def _version_2(event: Event, settings: SnapchatSettings, context: Context, key: str, place: str) -> Payload:
    person, bought = PERSON_2(event), _transaction(event, key)
    _check_person(
        person, "hashed_email", "hashed_phone_number", "hashed_mobile_ad_id", "hashed_ip_address", "user_agent"
    )
    names = {"ids": "item_ids", "category": "item_category"}
    body = {
        "event_type": _EVENTS[key],
        **{names.get(name, name): value for name, value in bought.items() if value is not None},
        **COMMON_2(event),
        **person,
        **(VENDOR_2(event) if platform(_device_type(event.raw)) == "ios" else {}),
        "client_dedup_id": _event_id(event, settings),
        "event_conversion_type": place or None,
        "timestamp": _seconds(event, context, _PAST),
    }
    if place == "WEB":
        body["page_url"] = _url(event.raw)
    if place == "MOBILE_APP":
        body.update(snap_app_id=settings.snap_app_id, app_id=settings.app_id)
    elif place:
        body["pixel_id"] = settings.pixel_id
    return V2.post(settings, body={name: value for name, value in body.items() if value is not None})


def _transaction(event: Event, key: str) -> dict[str, Any]:
    """Return what was bought, searched or viewed. Lists, checkouts and orders are described by their products."""
    bought = TRANSACTIONS.get(key, USUAL)(event)
    if key in ("product_list_viewed", "checkout_started", "order_completed"):
        products = event.properties.get("products")
        listed = [product for product in products if isinstance(product, dict)] if isinstance(products, list) else None
        bought["ids"] = None if listed is None else [id for p in listed if (id := p.get("product_id") or p.get("sku"))]
        bought["price"] = bought.get("price") or ("null" if listed is None else _sum(listed))
    return bought


def _sum(products: Sequence[Mapping[str, Any]]) -> str:
    """Return the total price of the products, as a string."""
    try:
        costs = [number.of(product.get("price") or 0) * number.of(product.get("quantity") or 1) for product in products]
    except WrongValue as error:
        raise Misfit(
            "properties.products", f"{error.expected} as price and quantity", error.value, case=error.case
        ) from error
    return string.of(sum(costs))


def _contents(event: Event) -> list[dict[str, Any]]:
    """Return the products, or the single one that the properties describe."""
    listed = event.properties.get("products")
    products = listed if isinstance(listed, list) else [event.properties]
    return [item for product in products if isinstance(product, dict) and (item := ITEM(product))]


def _event_id(event: Event, settings: SnapchatSettings) -> Any:
    """Return, with deduplication, the value at the configured path (`properties.order_id`), or the message ID."""
    if settings.enable_deduplication:
        return path(settings.deduplication_key or "messageId")(event.raw)
    return event.properties.get("client_dedup_id") or None


def _conversion_type(event: Event) -> str:
    """Return where the event happened; empty if Snapchat does not support the conversion type."""
    chosen, channel = event.properties.get("eventConversionType"), event.raw.get("channel")
    usual = _CHANNELS.get(channel.lower()) if isinstance(channel, str) else None
    if chosen and isinstance(chosen, str) and chosen.lower() in _SOURCES:
        return _SOURCES[chosen.lower()]
    return ("" if chosen else usual) if usual else "OFFLINE"


def _check_person(person: Mapping[str, Any], email: str, phone: str, device: str, ip: str, agent: str) -> None:
    """Raise without any of these identifiers: Snapchat rejects events that it cannot match to a user."""
    if not person.keys() & {email, phone, device} and not {ip, agent} <= person.keys():
        raise Missing(
            "context.traits",
            wants="an e-mail address, a phone number, an advertising ID, or an IP address with a user agent",
        )


def _seconds(event: Event, context: Context, past: timedelta) -> str | None:
    timestamp = _time(event.raw)
    if timestamp is None:
        return None
    when = moment(timestamp)
    if when is None:
        raise Misfit("timestamp", TIME_EXAMPLE, timestamp)
    check_age(when, context.clock(), past=past)
    return str(microseconds(when) // 1_000_000)


def _app_data(event: Event, settings: SnapchatSettings, context: Context, place: str) -> dict[str, Any]:
    """Return data about the app and the device, as the list that Snapchat calls `extinfo`."""
    tracking = event.properties.get("att_status")
    data = {} if tracking in (None, "") else {"advertiser_tracking_enabled": tracking}
    if place != "MOBILE_APP":
        return data
    system = "i2" if platform(_device_type(event.raw)) == "ios" else "a2"
    members = [get(event.raw) or "" for get in _extinfo]
    members[6] = _zone_abbreviation(_timezone(event.raw), context)
    return {"app_id": settings.app_id, "extinfo": [system, *members], **data}


def _zone_abbreviation(name: Any, context: Context) -> str:
    """Return `CEST` for `Europe/Oslo` in summer; empty if `name` is not a time zone."""
    if not isinstance(name, str):
        return ""
    from zoneinfo import ZoneInfo  # imported late because few events have a time zone

    try:
        return context.clock().astimezone(ZoneInfo(name)).tzname() or ""
    except (KeyError, ValueError, OSError):
        return ""
