"""Pinterest Tag: what people do on a website, in an application or offline, by the Conversions API.

track sends the events that the configuration maps the name to, else the shop's event of that name; every other name
goes as it is, or as a `custom` event. page and screen send `view_category` when they have a name and a category, else
`page_visit`. `apiVersion` chooses between version 5 (`newApi`) and version 3 of the API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.destinations.pinterest_tag._tables import (
    ACTION_SOURCE,
    CUSTOM,
    HASHED,
    HASHED_ID,
    ITEM,
    NUM_ITEMS,
    PLAIN,
    PLAIN_ID,
    QUANTITY,
    SERVER,
    TOLD,
)
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import as_object, event_name, path, platform, products, text, value_of
from svctoolkit.secrets import Secret

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
    app_id: str = ""
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
)


@destination.on("track")
def send_event(event: Event, settings: PinterestSettings) -> Iterator[Payload]:
    """One payload for each event that the configuration maps the name to, else one."""
    name = event_name(event)
    order = _order(event)
    for standard in _standard(name, settings):
        yield _send(event, settings, standard, {"custom_data": order})


@destination.on("page", "screen")
def send_page(event: Event, settings: PinterestSettings) -> Payload:
    """What stands in the properties of a page is not sent."""
    require_name = event.raw.get("name") and (event.raw.get("category") or event.properties.get("category"))
    return _send(event, settings, "view_category" if require_name else "page_visit", {})


def _standard(name: str, settings: PinterestSettings) -> list[str]:
    key = name.strip().lower()
    mapped = [row.to for row in settings.events_mapping if row.to and row.from_.strip().lower() == key]
    if mapped:
        return [_NAMES.get(to, to) for to in dict.fromkeys(mapped)]
    return [_SHOP.get(key) or ("custom" if settings.send_as_custom_event else name)]


def _order(event: Event) -> dict[str, Any]:
    """What was bought or looked at: the products, or the one product that the properties tell of."""
    bought = products(event)
    contents = [_content(product, event) for product in bought or [event.properties]]
    ids = [item["id"] for item in contents if "id" in item]
    order: dict[str, Any] = {**CUSTOM(event), "contents": contents}
    if ids:
        order["content_ids"] = ids
    counted = value_of(event, NUM_ITEMS)
    if counted is None:
        alone = QUANTITY(event.properties).get("quantity", 0)
        counted = sum(QUANTITY(product).get("quantity", 1) for product in bought) if bought else alone
    order["num_items"] = counted
    return order


def _content(product: Mapping[str, Any], event: Event) -> dict[str, Any]:
    """A product without a quantity of its own has that of the event."""
    return {"quantity": event.properties.get("quantity") or 1, **ITEM(product)}


def _send(event: Event, settings: PinterestSettings, name: str, more: Mapping[str, Any]) -> Payload:
    endpoint, headers, account = _address(settings)
    body = {
        "event_name": name,
        "action_source": _action_source(event),
        **SERVER(event),
        **_event_id(event, settings),
        **account,
        "user_data": _person(event, settings),
        **more,
    }
    if settings.app_id:
        body["app_id"] = settings.app_id
    return Payload(
        endpoint=endpoint,
        headers={"Content-Type": "application/json", **headers},
        params={"test": True} if settings.send_as_test_event else {},
        json=body,
    )


def _address(settings: PinterestSettings) -> tuple[str, dict[str, str], dict[str, str]]:
    """The endpoint, the headers and the members of the body that say whose events these are."""
    if settings.api_version == "legacyApi":
        if not settings.advertiser_id:
            raise MappingError("version 3 of the API needs advertiserId in the configuration")
        return "https://ct.pinterest.com/events/v3", {}, {"advertiser_id": settings.advertiser_id}
    for variable, value in (("adAccountId", settings.ad_account_id), ("conversionToken", settings.conversion_token)):
        if not value:
            raise MappingError(f"version 5 of the API needs {variable} in the configuration")
    return (
        f"https://api.pinterest.com/v5/ad_accounts/{settings.ad_account_id.reveal()}/events",
        {"Authorization": f"Bearer {settings.conversion_token.reveal()}"},
        {},
    )


def _event_id(event: Event, settings: PinterestSettings) -> dict[str, str]:
    """By this Pinterest finds what its tag has sent too. The key is a path, such as `properties.order_id`."""
    found = path(settings.deduplication_key or "messageId")(event.raw)
    return {} if found is None or found == "" else {"event_id": text(found)}


def _action_source(event: Event) -> Any:
    said = value_of(event, ACTION_SOURCE)
    if said is not None:
        return said
    if event.raw.get("channel") == "mobile":
        system = platform(as_object(event.context.get("os")).get("name"))
        return "app_ios" if system == "ios" else "app_android"
    return "web" if event.raw.get("channel") == "web" else "offline"


def _person(event: Event, settings: PinterestSettings) -> dict[str, Any]:
    known = {**(HASHED if settings.sending_un_hashed_data else PLAIN)(event), **TOLD(event)}
    if settings.send_external_id:
        found = value_of(event, HASHED_ID if settings.sending_un_hashed_data else PLAIN_ID)
        known.update({"external_id": found} if found else {})
    if not known.keys() & {"em", "hashed_maids"} and not {"client_ip_address", "client_user_agent"} <= known.keys():
        raise MappingError(
            "needs an e-mail address, an advertising ID, or an IP address with a user agent", field="context.traits"
        )
    return known
