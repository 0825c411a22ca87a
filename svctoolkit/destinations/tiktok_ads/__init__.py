"""TikTok Ads: website events, through the Events API.

track sends the standard event or events that the configuration maps the name to, else the TikTok or e-commerce event
of that name. Other names are rejected, or sent unchanged with `sendCustomEvents`. `version` selects Events API 2.0
(`v2`), which accepts all of them in one request, or 1.0. `hashUserProperties` hashes the data for matching users.
https://business-api.tiktok.com/portal/docs?id=1771100865818625
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Header, Merge, Payload, Rows, Settings
from svctoolkit.destinations._families.tiktok_answers import judge
from svctoolkit.destinations.tiktok_ads._tables import (
    CALLBACK_1,
    CONTEXT_1,
    EVENT_1,
    EVENT_ID_2,
    HASHED_2,
    HASHED_APPLE,
    HASHED_GOOGLE,
    ITEM_1,
    ITEM_2,
    ORDER_1,
    ORDER_2,
    PLACE_2,
    PLAIN_2,
    PLAIN_APPLE,
    PLAIN_GOOGLE,
    SOURCE_2,
    TEST,
    USER_1,
    hash_each,
    hash_each_email,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    TIME,
    TIME_EXAMPLE,
    Misconfigured,
    Misfit,
    NotConfigured,
    WrongValue,
    as_object,
    compact,
    event_name,
    text,
    unix_seconds,
)
from svctoolkit.mapping.table import getter
from svctoolkit.secrets import Secret

#: where members of the user come from, unless the event's properties have them
_TRAITS = {"email": "context.traits.email", "phone_number": "context.traits.phone", "external_id": "userId"}
#: by the event's name in lower case
_EVENTS = {
    "product added to wishlist": "AddToWishlist",
    "product added": "AddToCart",
    "checkout started": "InitiateCheckout",
    "payment info entered": "AddPaymentInfo",
    "checkout step completed": "CompletePayment",
    "order completed": "PlaceAnOrder",
    "viewcontent": "ViewContent",
    "clickbutton": "ClickButton",
    "search": "Search",
    "contact": "Contact",
    "download": "Download",
    "submitform": "SubmitForm",
    "subscribe": "Subscribe",
    "customize product": "CustomizeProduct",
    "find location": "FindLocation",
    "schedule": "Schedule",
    "purchase": "Purchase",
    "lead": "Lead",
    "application approval": "ApplicationApproval",
    "submit application": "SubmitApplication",
    "start trial": "StartTrial",
}
#: events for which TikTok requires the type of the contents
_TYPED = frozenset({"ViewContent", "AddToCart", "PlaceAnOrder", "CompletePayment"})


class TikTokSettings(Settings, frozen=True, kw_only=True):
    pixel_code: str
    access_token: Secret = Secret("")
    version: Literal["v2", "v1"] | None = None  # missing in older configurations, which means v1
    hash_user_properties: bool = True
    send_custom_events: bool = False
    events_to_standard: tuple[Rows, ...] = ()


destination = DestinationType(
    "TikTok Ads",
    TikTokSettings,
    docs="https://business-api.tiktok.com/portal/docs?id=1771100865818625",
    names=("tiktok_ads",),
    quirks=[
        "Version 1.0 of the API: if one name maps to several standard events, e-mail address and phone number are "
        "hashed repeatedly, once per event, so TikTok cannot match them.",
    ],
    answers=[  # always 200; `code` shows the result
        Answer("success", 200, {"code": 0, "message": "OK", "request_id": "20260115", "data": {}}),
        Answer("bad key", 200, {"code": 40105, "message": "Access token is incorrect or was revoked.", "data": {}}),
        Answer("rate limit", 200, {"code": 40100, "message": "Too many requests. Please retry later.", "data": {}}),
        Answer("invalid field", 200, {"code": 40002, "message": "Invalid value for event_time", "data": {}}),
    ],
    merges=[
        Merge(
            "batch",
            wraps=True,
            common=("pixel_code", "partner_name"),
            adds={"type": "track"},
            apart_with="test_event_code",
            limit=50,
            at="pixel/track/",
            to="pixel/batch/",
        ),
        Merge("data", apart_with="test_event_code", limit=1000, at="event/track/"),
    ],
    differences=["For products without an ID the SKU is sent; RudderStack sends the string `undefined`."],
)

API = Endpoint("https://business-api.tiktok.com/open_api/v1.3", Header("Access-Token", "{access_token}"), JSON)


_event_id, _time, _callback = getter(EVENT_ID_2), getter(TIME), getter(CALLBACK_1)


@destination.on("track")
def send_event(event: Event, settings: TikTokSettings) -> Iterator[Payload]:
    """Yield one payload for all events that the name maps to; with version 1.0 of the API, one for each."""
    if not settings.access_token:
        raise Misconfigured("accessToken", "is required to send events")
    names = _standard_names(event_name(event).strip(), settings)
    if settings.version == "v2":
        source = {"event_source": "web", **PLACE_2(event), "event_source_id": settings.pixel_code}
        data = [_version_2(event, settings, name) for name in names]
        yield _payload(settings, "event/track/", {**source, **TEST(event), "data": data})
        return
    shared = _version_1(event, settings, times_hashed=len(names))
    for name in names:
        yield _payload(settings, "pixel/track/", {"pixel_code": settings.pixel_code, "event": name, **shared})


def _standard_names(name: str, settings: TikTokSettings) -> list[str]:
    key = name.lower()
    chosen = [row.to for row in settings.events_to_standard if row.to and row.from_.strip().lower() == key]
    if chosen:
        return list(dict.fromkeys(chosen))
    if key in _EVENTS:
        return [_EVENTS[key]]
    if settings.send_custom_events:
        return [name]
    raise NotConfigured("event", name, setting="eventsToStandard", why="or set sendCustomEvents")


def _version_2(event: Event, settings: TikTokSettings, name: str) -> dict[str, Any]:
    order: dict[str, Any] = ORDER_2(event)
    if name in _TYPED and "content_type" not in order:
        order["content_type"] = "product"
    contents = _contents_2(event)
    if contents is not None:
        order["contents"] = contents
        ids = [text(content_id) for item in contents if (content_id := as_object(item).get("content_id"))]
        order.update({"contents_ids": ids, "num_items": len(ids)} if ids else {})
    body = {
        "event": name,
        "event_id": _event_id(event.raw),
        "event_time": _seconds(event),
        **SOURCE_2(event),
        "properties": order,
        "user": _user_2(event, settings),
    }
    return {key: value for key, value in body.items() if value is not None and value != {}}


def _user_2(event: Event, settings: TikTokSettings) -> dict[str, Any]:
    """Return the user's data, with Apple device IDs unless the system is Android, and Google ones unless it is iOS."""
    is_hashed = settings.hash_user_properties
    user = (HASHED_2 if is_hashed else PLAIN_2)(event)
    name = as_object(event.context.get("os")).get("name")
    system = name.lower() if isinstance(name, str) else ""
    if system != "android":
        user.update((HASHED_APPLE if is_hashed else PLAIN_APPLE)(event))
    if system != "ios":
        user.update((HASHED_GOOGLE if is_hashed else PLAIN_GOOGLE)(event))
    return user


def _contents_2(event: Event) -> list[Any] | None:
    """Return the contents in TikTok's own format, or else the products."""
    own, products = event.properties.get("contents"), event.properties.get("products")
    if own is not None:
        return own if isinstance(own, list) else [own]
    if products is None:
        return None
    return [ITEM_2(item) for item in products if isinstance(item, dict)] if isinstance(products, list) else []


def _hashed(user: Mapping[str, Json], own: Mapping[str, Json], key: str, times: int) -> Json:
    """Return a member of the user, hashed as often as events are sent. Raises `Misfit`."""
    value, given = user[key], as_object(own.get("user")).get(key)
    try:
        for _ in range(times):
            value = (hash_each_email if key == "email" else hash_each).of(value)
    except WrongValue as error:
        field = f"properties.context.user.{key}" if user[key] is given else _TRAITS[key]
        raise Misfit(field, error.expected, user[key], case=error.case) from error
    return value


def _version_1(event: Event, settings: TikTokSettings, times_hashed: int) -> dict[str, Any]:
    """Return the event, with `properties.context` and additional data from the event's context."""
    own = as_object(event.properties.get("context"))
    user = {**as_object(own.get("user")), **USER_1(event)}
    if settings.hash_user_properties:
        for key, times in (("email", times_hashed), ("phone_number", times_hashed), ("external_id", 1)):
            if key in user:
                user[key] = _hashed(user, own, key, times)
    context = {key: value for key, value in own.items() if key != "userAgent"} | {**CONTEXT_1(event), "user": user}
    if callback := _callback(event.raw):
        context["ad"] = {**as_object(own.get("ad")), "callback": callback}
    order = ORDER_1(event)
    contents = _contents_1(event, order.get("content_type"))
    if contents is not None:
        order["contents"] = contents
    body = {"context": compact(context), "properties": order}
    return {**EVENT_1(event), **TEST(event), **compact(body)}


def _contents_1(event: Event, kind: Any) -> list[Any] | None:
    """Return the contents in TikTok's own format, or else the products, with the event's content type as default."""
    own, products = event.properties.get("contents"), event.properties.get("products")
    if own is not None:
        contents = own if isinstance(own, list) else [own]
        if not all(isinstance(item, dict) for item in contents):
            raise Misfit("properties.contents", "an object or a list of objects", own)
        return [{**item, "content_type": item.get("content_type") or kind or "product_group"} for item in contents]
    if not isinstance(products, list):
        return None
    return [{"content_type": kind or "product", **ITEM_1(item)} for item in products if isinstance(item, dict)]


def _seconds(event: Event) -> Any:
    timestamp = _time(event.raw)
    when = unix_seconds.of(timestamp)
    if when == "":
        raise Misfit("timestamp", TIME_EXAMPLE, timestamp)
    return when


def _payload(settings: TikTokSettings, path: str, body: Mapping[str, Any]) -> Payload:
    return API.post(settings, path, {**body, "partner_name": "RudderStack"})


destination.judge(judge)
