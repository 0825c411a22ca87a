"""Pinterest Tag: website, app and offline events, through the Conversions API.

track and screen send the events that the configuration maps the name to, else the e-commerce event with that name;
other names are sent unchanged, or as a `custom` event. page sends `view_category` if it has a category, else
`page_visit`. `apiVersion` selects version 5 (`newApi`) or version 3 of the API.
https://developers.pinterest.com/docs/api/v5/events-create
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Merge, Payload, Rows, Settings
from svctoolkit.destinations.pinterest_tag._tables import (
    ACTION_SOURCE,
    CUSTOM,
    HASHED,
    HASHED_ID,
    ITEM,
    PLAIN,
    PLAIN_ID,
    SERVER,
)
from svctoolkit.events import Event
from svctoolkit.mapping import (
    TIME_EXAMPLE,
    Misconfigured,
    Misfit,
    Missing,
    as_object,
    moment,
    number,
    number_or_none,
    path,
    require_name,
    text,
)
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import microseconds
from svctoolkit.secrets import Secret

_ACTION_SOURCES = ("app_android", "app_ios", "web", "offline")
_SHOP = {
    "order completed": "checkout",
    "product added": "add_to_cart",
    "products searched": "search",
    "product list filtered": "search",
}
_NAMES = {
    "AddToCart": "add_to_cart",
    "Checkout": "checkout",
    "Custom": "custom",
    "Lead": "lead",
    "PageVisit": "page_visit",
    "Search": "search",
    "Signup": "signup",
    "ViewCategory": "view_category",
    "WatchVideo": "watch_video",
}


class PinterestSettings(Settings, frozen=True, kw_only=True):
    api_version: Literal["legacyApi", "newApi"] = "legacyApi"
    advertiser_id: str = ""
    ad_account_id: Secret = Secret("")
    conversion_token: Secret = Secret("")
    app_id: str | None = None
    deduplication_key: str = ""
    events_mapping: tuple[Rows, ...] = ()
    send_as_custom_event: bool = False
    send_as_test_event: bool = False
    send_external_id: bool = False
    sending_un_hashed_data: bool = True


destination = DestinationType(
    "Pinterest Tag",
    PinterestSettings,
    docs="https://developers.pinterest.com/docs/api/v5/events-create",
    names=("pinterest_tag",),
    quirks=[
        "Events of a channel other than web (including mobile apps) are rejected, unless properties.action_source is "
        "app_android, app_ios, web or offline.",
        "An empty string suppresses the fallback, such as an external ID for the e-mail address.",
        "Only the digits of postcodes are hashed, and birth dates are hashed unchanged, although Pinterest expects "
        "postcodes with their letters and dates as YYYYMMDD.",
    ],
    answers=[
        Answer(
            "success",
            200,
            {
                "num_events_received": 1,
                "num_events_processed": 1,
                "events": [{"status": "processed", "error_message": "", "warning_message": ""}],
            },
        ),
        Answer("bad key", 401, {"code": 2, "message": "Authentication failed."}),
        Answer("rate limit", 429, {"code": 8, "message": "You have exceeded your rate limit. Try again later."}),
        Answer("invalid field", 422, {"code": 1, "message": "'event_time' is a required property"}),
    ],
    merges=[Merge("data", wraps=True, limit=1000)],
    differences=["Nulls and empty strings are left out of the body."],
)


_action_source = getter(ACTION_SOURCE)
_hashed_id, _plain_id = getter(HASHED_ID), getter(PLAIN_ID)


@destination.on("track", "screen")
def send_event(event: Event, settings: PinterestSettings) -> Iterator[Payload]:
    """Yield one payload for each event that the configuration maps the name to, else one. Screens have no order."""
    name = require_name(event.raw.get("event") or event.raw.get("name"), "event")
    more = {"custom_data": _order(event)} if event.type == "track" else {}
    for standard in _standard_names(name, settings):
        yield _payload(event, settings, standard, more)


@destination.on("page")
def send_page(event: Event, settings: PinterestSettings) -> Payload:
    """Return a page view, without the page's properties."""
    return _payload(event, settings, "view_category" if event.raw.get("category") else "page_visit", {})


def _standard_names(name: str, settings: PinterestSettings) -> list[str]:
    key = name.strip().lower()
    chosen = [row.to for row in settings.events_mapping if row.to and row.from_.strip().lower() == key]
    if chosen:
        return [_NAMES.get(to, to) for to in dict.fromkeys(chosen)]
    return [_SHOP.get(key) or ("custom" if settings.send_as_custom_event else name)]


def _order(event: Event) -> dict[str, Any]:
    """Return what was bought or viewed: the products, or the single one that the properties describe."""
    properties = event.properties
    bought = properties.get("products")
    products = bought if isinstance(bought, list) else [bought] if isinstance(bought, dict) else None
    if products is None:
        contents = [_content(properties, properties)]
        items = number.of(properties.get("quantity") or 0)
    else:
        products = [product if isinstance(product, dict) else {} for product in products]
        contents = [_content(product, properties) for product in products]
        items = sum(number.of(product.get("quantity") or 0) for product in products)
    ids = [item["id"] for item in contents if "id" in item]
    chosen = properties.get("numOfItems")
    return {
        **CUSTOM(event),
        "num_items": items if chosen is None else _count(chosen),
        **({} if products is None and not ids else {"content_ids": ids}),
        "contents": contents,
    }


def _count(chosen: Any) -> int | float | None:
    """Return the number of items; what is not a number becomes NaN in JavaScript, and so null."""
    count = number_or_none.of(chosen)
    return None if isinstance(count, str) else count


def _content(product: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the product, with the event's quantity and price as defaults."""
    item = ITEM(product)
    if "quantity" not in item:
        item["quantity"] = number.of(properties.get("quantity") or 1)
    if "item_price" not in item and properties.get("price") is not None:
        item["item_price"] = text(properties["price"])
    return item


def _nulls(event: Event) -> dict[str, None]:
    """Return the members that are null because the context says null, which RudderStack copies."""
    app = as_object(event.context.get("app"))
    places = (("app_name", app, "name"), ("app_version", app, "version"), ("language", event.context, "locale"))
    return {member: None for member, place, key in places if key in place and place[key] is None}


def _payload(event: Event, settings: PinterestSettings, name: str, more: Mapping[str, Any]) -> Payload:
    endpoint, headers, account = _address(settings)
    body = {
        "event_name": name,
        "event_time": _seconds(event),
        "action_source": _source_of_action(event),
        **_nulls(event),
        **SERVER(event),
        **_event_id(event, settings),
        **account,
        "user_data": _person(event, settings),
        **more,
    }
    if settings.app_id is not None:
        body["app_id"] = settings.app_id
    if settings.api_version == "newApi" and "opt_out" in body:
        body["advertiser_tracking_enabled"] = not body["opt_out"]
    return Payload(
        endpoint=endpoint,
        headers={"Content-Type": "application/json", **headers},
        params={"test": True} if settings.send_as_test_event else {},
        json=body,
    )


def _address(settings: PinterestSettings) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return the endpoint, the headers and the members of the body that identify the account."""
    if settings.api_version == "legacyApi":
        if not settings.advertiser_id:
            raise Misconfigured("advertiserId", "is required by version 3 of the API")
        return "https://ct.pinterest.com/events/v3", {}, {"advertiser_id": settings.advertiser_id}
    for variable, value in (("adAccountId", settings.ad_account_id), ("conversionToken", settings.conversion_token)):
        if not value:
            raise Misconfigured(variable, "is required by version 5 of the API")
    return (
        f"https://api.pinterest.com/v5/ad_accounts/{settings.ad_account_id.reveal()}/events",
        {"Authorization": f"Bearer {settings.conversion_token.reveal()}"},
        {},
    )


def _event_id(event: Event, settings: PinterestSettings) -> dict[str, Any]:
    """Return the ID by which Pinterest deduplicates events, from the configured path (`properties.order_id`)."""
    key = settings.deduplication_key
    value = path(key)(event.raw) if key else None
    if value is not None:
        return {"event_id": value}
    return {"event_id": event.raw["messageId"]} if "messageId" in event.raw else {}


def _seconds(event: Event) -> int:
    timestamp = event.raw.get("timestamp")
    when = moment(event.raw.get("originalTimestamp") if timestamp is None else timestamp)
    seconds = 0 if when is None else microseconds(when) // 1_000_000
    if not seconds:
        raise Misfit("timestamp", TIME_EXAMPLE, when)
    return seconds


def _source_of_action(event: Event) -> str:
    source = _action_source(event.raw)
    if not isinstance(source, str) or source not in _ACTION_SOURCES:
        where = "properties.action_source"
        sources = ", ".join(_ACTION_SOURCES)
        raise Misfit(f"{where} or channel", f"one of {sources}", source)
    return source


def _person(event: Event, settings: PinterestSettings) -> dict[str, Any]:
    is_plain = not settings.sending_un_hashed_data
    person = (PLAIN if is_plain else HASHED)(event)
    if settings.send_external_id and (ids := (_plain_id if is_plain else _hashed_id)(event.raw)):
        person["external_id"] = ids
    if not person.keys() & {"em", "hashed_maids"} and not {"client_ip_address", "client_user_agent"} <= person.keys():
        raise Missing(
            "context.traits", wants="an e-mail address, an advertising ID, or an IP address with a user agent"
        )
    return person
