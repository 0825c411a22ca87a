"""TikTok Ads: what people do on a website, by the Events API.

track sends a standard event: the one or the several that the configuration maps the name to, else the one that TikTok
or the shop calls so. Other names are refused, or with `sendCustomEvents` sent as they are. `version` chooses between
Events API 2.0 (`v2`) and 1.0; who matches people by hashed data keeps `hashUserProperties` on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.destinations.tiktok_ads._tables import (
    CONTEXT_1,
    EVENT_1,
    EVENT_2,
    HASHED_1,
    HASHED_2,
    ITEM_1,
    ITEM_2,
    KIND,
    ORDER_1,
    ORDER_2,
    PAGE_2,
    PLAIN_1,
    PLAIN_2,
    TEST,
    USER_2,
)
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import as_object, compact, event_name, products, text
from svctoolkit.secrets import Secret

_API = "https://business-api.tiktok.com/open_api/v1.3"
_STANDARD = (
    *("AddPaymentInfo", "AddToCart", "AddToWishlist", "ApplicationApproval", "ClickButton", "CompletePayment"),
    *("CompleteRegistration", "Contact", "CustomizeProduct", "Download", "FindLocation", "InitiateCheckout", "Lead"),
    *("PlaceAnOrder", "Purchase", "Schedule", "Search", "StartTrial", "SubmitApplication", "SubmitForm", "Subscribe"),
    "ViewContent",
)
_SHOP = {
    "Product Added to Wishlist": "AddToWishlist",
    "Product Added": "AddToCart",
    "Checkout Started": "InitiateCheckout",
    "Payment Info Entered": "AddPaymentInfo",
    "Checkout Step Completed": "CompletePayment",
    "Order Completed": "PlaceAnOrder",
}


def _key(name: str) -> str:
    return "".join(name.lower().replace("_", " ").split())


_NAMES = {**_SHOP, **dict(zip(_STANDARD, _STANDARD, strict=True))}
_EVENTS = dict(zip(map(_key, _NAMES), _NAMES.values(), strict=True))


class TikTokSettings(Settings, frozen=True, kw_only=True):
    pixel_code: str
    access_token: Secret = Secret("")
    version: Literal["v2", "v1"] | None = None  # configurations from before the choice have none, and mean v1
    hash_user_properties: bool = True
    send_custom_events: bool = False
    events_to_standard: tuple[Rows, ...] = ()


destination = DestinationType(
    "TikTok Ads",
    TikTokSettings,
    docs="https://business-api.tiktok.com/portal/docs?id=1771100865818625",
    names=("tiktok_ads",),
    answers=[  # 200 whatever happened; `code` tells
        Answer("success", 200, {"code": 0, "message": "OK", "request_id": "20260115", "data": {}}),
        Answer("bad key", 200, {"code": 40105, "message": "Access token is incorrect or was revoked.", "data": {}}),
        Answer("rate limit", 200, {"code": 40100, "message": "Too many requests. Please retry later.", "data": {}}),
        Answer("invalid field", 200, {"code": 40002, "message": "Invalid value for event_time", "data": {}}),
    ],
)


@destination.on("track")
def send_event(event: Event, settings: TikTokSettings) -> Iterator[Payload]:
    """One payload for each event that the configuration maps the name to, else one."""
    if not settings.access_token:
        raise MappingError("TikTok takes events with an access token only: set accessToken in the configuration")
    for standard in _standard(event_name(event).strip(), settings):
        if settings.version == "v2":
            yield _version_2(event, settings, standard)
        else:
            yield _version_1(event, settings, standard)


def _standard(name: str, settings: TikTokSettings) -> list[str]:
    key = _key(name)
    mapped = [row.to for row in settings.events_to_standard if row.to and _key(row.from_) == key]
    if mapped:
        return list(dict.fromkeys(mapped))
    if key in _EVENTS:
        return [_EVENTS[key]]
    if settings.send_custom_events:
        return [name]
    raise MappingError(
        f"event: TikTok has no event for {name!r}; map it in eventsToStandard or set sendCustomEvents", field="event"
    )


def _version_2(event: Event, settings: TikTokSettings, name: str) -> Payload:
    contents = _own_contents(event)
    if contents is None:
        contents = [ITEM_2(product) for product in products(event)]
    order: dict[str, Any] = dict(ORDER_2(event))
    if contents:
        ids = [text(item["content_id"]) for item in map(as_object, contents) if item.get("content_id")]
        order.update(compact({"contents": contents, "num_items": len(contents), "contents_ids": ids}))
    person = (HASHED_2 if settings.hash_user_properties else PLAIN_2)(event)
    parts = {"properties": order, "page": PAGE_2(event), "user": {**person, **USER_2(event)}}
    data = {"event": name, **EVENT_2(event), **compact(parts)}
    source = {"event_source": "web", "event_source_id": settings.pixel_code}
    return _post(settings, "/event/track/", {**source, **TEST(event), "data": [data]})


def _version_1(event: Event, settings: TikTokSettings, name: str) -> Payload:
    contents = _own_contents(event)
    if contents is None and isinstance(event.properties.get("products"), list):
        usual = KIND(event)  # of those that name no kind of their own
        contents = [{**usual, **ITEM_1(product)} for product in products(event)]
    order = dict(ORDER_1(event))
    if contents is not None:
        order["contents"] = contents
    person = (HASHED_1 if settings.hash_user_properties else PLAIN_1)(event)
    context = compact({**CONTEXT_1(event), "user": person})
    parts = compact({"context": context, "properties": order})
    return _post(
        settings,
        "/pixel/track/",
        {"pixel_code": settings.pixel_code, "event": name, **EVENT_1(event), **TEST(event), **parts},
    )


def _own_contents(event: Event) -> list[Any] | None:
    """The contents in TikTok's own form, which go before products; one object is a list of one."""
    given = event.properties.get("contents")
    if isinstance(given, dict):
        return [given]
    return given if isinstance(given, list) else None


def _post(settings: TikTokSettings, path: str, body: dict[str, Any]) -> Payload:
    return Payload(
        endpoint=_API + path,
        headers={"Access-Token": settings.access_token.reveal(), "Content-Type": "application/json"},
        json={**body, "partner_name": "RudderStack"},
    )
