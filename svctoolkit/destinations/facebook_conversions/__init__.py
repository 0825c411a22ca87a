"""Facebook Conversions: events through the Conversions API, one per request, as JSON text in a form.

track sends e-commerce events with Facebook's names and parameters, and every other event as a custom event; page and
screen send `PageView`. The properties are sent unchanged, but without personal data. Facebook accepts events of the
last seven days. https://developers.facebook.com/docs/marketing-api/conversions-api/parameters
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Rows, Settings, Tags
from svctoolkit.destinations._families.facebook_errors import judge_graph_answer
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    Misfit,
    Table,
    WrongValue,
    as_object,
    event_name,
    first,
    json_text,
    nest_dotted,
    number,
    required,
    text,
)
from svctoolkit.mapping.facebook import OWN, SERVER, PiiRow, action_source, limits, seconds, sendable, user_data
from svctoolkit.secrets import Secret

_API = "https://graph.facebook.com/v25.0"
#: by event name in lower case
_EVENTS = {
    "product list viewed": "ViewContent",
    "product viewed": "ViewContent",
    "product added": "AddToCart",
    "order completed": "Purchase",
    "products searched": "Search",
    "checkout started": "InitiateCheckout",
    "payment info entered": "AddPaymentInfo",
    "product added to wishlist": "AddToWishlist",
}
#: events of an order, events of one or several products, and events with their own parameters
_ORDERS = frozenset({"Purchase", "InitiateCheckout"})
_CHOICES = frozenset({"AddPaymentInfo", "AddToWishlist"})
_LIST = "product list viewed"
_STANDARD = frozenset(_EVENTS.values())


class FacebookConversionsSettings(Settings, frozen=True, kw_only=True):
    dataset_id: str
    access_token: Secret
    action_source: (
        Literal["website", "email", "app", "phone_call", "chat", "physical_store", "system_generated", "other"] | None
    ) = None
    events_to_events: tuple[Rows, ...] = ()
    blacklist_pii_properties: tuple[PiiRow, ...] = ()
    whitelist_pii_properties: Tags = Tags()
    limited_data_usage: bool = msgspec.field(name="limitedDataUSage", default=False)
    remove_external_id: bool = False
    test_destination: bool = False
    test_event_code: str = ""


destination = DestinationType(
    "Facebook Conversions",
    FacebookConversionsSettings,
    docs="https://developers.facebook.com/docs/marketing-api/conversions-api/parameters",
    names=("facebook_conversions",),
    quirks=[
        "For a viewed, searched or added product, content_ids is its ID alone; Facebook expects a list.",
        "A quantity of 0 is sent as 1.",
        "Telephone numbers and dates of birth are hashed unchanged; Facebook expects digits only.",
    ],
    answers=[
        Answer("success", 200, {"events_received": 1, "messages": [], "fbtrace_id": "A0"}),
        Answer("bad key", 401, {"error": {"message": "Invalid OAuth access token.", "code": 190}}),
        Answer("rate limit", 400, {"error": {"message": "Application request limit reached", "code": 80003}}),
        Answer("invalid field", 400, {"error": {"message": "Invalid parameter", "code": 100}}),
    ],
    differences=[
        "Events of an app need `context.device.adTrackingEnabled`; RudderStack's other `app_data` are unknown, so "
        "they follow Facebook's documentation.",
        "A time that is text of digits is sent unchanged, and its age is not checked.",
    ],
    needs=["clock"],
)

DEVICE = Table(
    {
        "madid": "context.device.advertisingId",
        "anon_id": first("properties.anon_id", "context.device.advertisingId"),
    }
)
APP = Table(
    {
        "advertiser_tracking_enabled": required("context.device.adTrackingEnabled"),
        "application_tracking_enabled": "properties.application_tracking_enabled",
        "install_referrer": "properties.install_referrer",
        "installer_package": "properties.installer_package",
        "url_schemes": "properties.url_schemes",
        "windows_attribution_id": "properties.windows_attribution_id",
    }
)


@destination.on("page", "screen")
def send_page(event: Event, settings: FacebookConversionsSettings, context: Context) -> Payload:
    return _payload(event, settings, context, "PageView", _money(event.properties))


@destination.on("track")
def send_event(event: Event, settings: FacebookConversionsSettings, context: Context) -> Payload:
    """Return a standard event, by the configuration or the e-commerce name, else a custom event."""
    given = event_name(event)
    key = given.lower()
    chosen = [row.to for row in settings.events_to_events if row.to and row.from_.lower() == key]
    name = chosen[-1] if chosen else _EVENTS.get(key)
    if name in _STANDARD:
        return _payload(event, settings, context, name, _parameters(event.properties, name, is_list=key == _LIST))
    return _payload(event, settings, context, name or given, _money(event.properties))


def _payload(
    event: Event, settings: FacebookConversionsSettings, context: Context, name: str, parameters: Mapping[str, Any]
) -> Payload:
    is_hashed = destination.options(event).get("hashed") is True
    person = {**user_data(event, is_hashed), **DEVICE(event)}
    if settings.remove_external_id:
        del person["external_id"]
    server: dict[str, Any] = {
        "user_data": person,
        "event_name": name,
        "event_time": seconds(event, context.clock()),
        **SERVER(event),
    }
    if source := action_source(event) or settings.action_source:
        server["action_source"] = source
    if settings.limited_data_usage:
        server.update(limits(event))
    own = nest_dotted({key: value for key, value in event.properties.items() if key not in OWN})
    data = sendable(own, settings.blacklist_pii_properties, settings.whitelist_pii_properties, is_hashed)
    server["custom_data"] = {**data, **parameters}
    if source == "app":
        server["app_data"] = APP(event)
    form: dict[str, Any] = {"data": [json_text(server)]}
    if settings.test_destination and settings.test_event_code:
        form["test_event_code"] = settings.test_event_code
    url = f"{_API}/{settings.dataset_id}/events?access_token={settings.access_token.reveal()}"
    return Payload(endpoint=url, form=form)


def _money(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of the event: its revenue, or else its price."""
    revenue = properties.get("revenue", properties.get("price"))
    currency = properties.get("currency") or "USD"
    if revenue is None:
        return {"currency": currency}
    try:
        return {
            "value": round(number.of(int(revenue) if isinstance(revenue, bool) else revenue), 2),
            "currency": currency,
        }
    except WrongValue as error:
        raise Misfit("properties.revenue", error.expected, revenue, case=error.case) from error


def _parameters(properties: Mapping[str, Any], name: str, *, is_list: bool) -> dict[str, Any]:
    """Return the parameters of a standard event: contents and content type, value, and number of items."""
    bought = properties.get("products")
    products = [as_object(item) for item in bought] if isinstance(bought, list) else []
    category, kind = properties.get("category"), "product"
    if name in _CHOICES:
        products = products if isinstance(bought, list) else [properties]
    elif name not in _ORDERS and not is_list:
        products = [properties]
    contents = _contents(products, properties.get("delivery_category"))
    if is_list and not contents and category:
        contents, kind = [{"id": category, "quantity": 1}], "product_group"
    ids: Any = [item["id"] for item in contents]
    if contents and name not in _ORDERS | _CHOICES and not is_list:
        ids = ids[0]
    found = {"content_ids": ids, "contents": contents}
    if name not in _CHOICES:
        found["content_type"] = properties.get("content_type") or kind
        if title := properties.get("contentName"):
            found["content_name"] = title
    if category:
        found["content_category"] = text(category)
    money = _money(properties)
    found.update({key: money[key] for key in ("currency", "value") if key in money})
    if name in _ORDERS | _CHOICES:
        found["num_items"] = len(contents)
    return found


def _contents(products: list[Mapping[str, Any]], common: Json) -> list[dict[str, Any]]:
    """Return the products that have an ID, in Facebook's format. `common` is the delivery category of the event."""
    contents = []
    for product in products:
        if product_id := product.get("product_id") or product.get("sku") or product.get("id"):
            item = {"id": product_id, "quantity": product.get("quantity") or 1}
            if "price" in product:
                item["item_price"] = product["price"]
            if delivery := product.get("delivery_category") or common:
                item["delivery_category"] = delivery
            contents.append(item)
    return contents


destination.judge(judge_graph_answer)
