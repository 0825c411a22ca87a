"""Adobe Analytics: hits for its Data Insertion API, as XML.

track supports e-commerce events; other events, pages and screens need a row in `rudderEventsToAdobeEvents` or an Adobe
event name in `properties.overrideEventName`. A hit is a link click, or a page view with `overridePageView`. Variables
(contextData, eVars, hierarchies, lists, props) get the values that the configuration names, from the properties or else
the traits; a dotted name is a path in the event. Objects in the event's properties (`overrideEvars` and so on) replace
all variables of that kind.
"""

from __future__ import annotations

import re
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from svctoolkit.destinations import Answer, Delivery, DestinationType, Outcome, Payload, Rows, Settings, Tags
from svctoolkit.destinations.adobe_analytics._products import product_text
from svctoolkit.destinations.adobe_analytics._values import (
    FIRST,
    KNOWN,
    ORDER,
    PURCHASE,
    element,
    escaped_value_at,
    overrides,
    value_at,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misfit, NotConfigured, Table, as_object, first, javascript_text, js_join, value_of

_URI_SAFE = ";,/?:@&=+$-_.!~*'()#"
_FAILURE = re.compile(r"<status>FAILURE</status>(?:.*?<reason>(?P<reason>.*?)</reason>)?", re.DOTALL)


class DelimitedRows(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    from_: str = ""
    to: str = ""
    delimiter: str = ","


class AdobeAnalyticsSettings(Settings, frozen=True, kw_only=True):
    report_suite_ids: str
    tracking_server_secure_url: str
    marketing_cloud_org_id: str | None = None
    timestamp_option: Literal["hybrid", "optional", "enabled", "disabled"] | None = None
    timestamp_optional_reporting: bool = False
    drop_visitor_id: bool = False
    prefer_visitor_id: bool = False
    no_fallback_visitor_id: bool = False
    track_page_name: bool = False
    product_identifier: Literal["name", "id", "sku"] | None = None
    context_data_prefix: str = ""
    rudder_events_to_adobe_events: tuple[Rows, ...] = ()
    context_data_mapping: tuple[Rows, ...] = ()
    e_var_mapping: tuple[Rows, ...] = ()
    hier_mapping: tuple[Rows, ...] = ()
    list_mapping: tuple[DelimitedRows, ...] = ()
    custom_props_mapping: tuple[DelimitedRows, ...] = ()
    event_merch_event_to_adobe_event: tuple[Rows, ...] = ()
    event_merch_properties: Tags = Tags()
    product_merch_event_to_adobe_event: tuple[Rows, ...] = ()
    product_merch_properties: Tags = Tags()
    product_merch_evars_map: tuple[Rows, ...] = ()


destination = DestinationType(
    "Adobe Analytics",
    AdobeAnalyticsSettings,
    docs="https://developer.adobe.com/analytics-apis/docs/1.4/guides/data-insertion/",
    answers=[
        Answer("success", 200, '<?xml version="1.0" encoding="UTF-8"?><status>SUCCESS</status>'),
        Answer(
            "invalid field",
            200,
            '<?xml version="1.0" encoding="UTF-8"?><status>FAILURE</status><reason>NO pagename OR pageurl</reason>',
        ),
        Answer(
            "bad key",
            200,
            '<?xml version="1.0" encoding="UTF-8"?><status>FAILURE</status><reason>Invalid report suite</reason>',
        ),
    ],
    quirks=[
        "Only values of eVars are escaped in the XML: another value with & or < makes the document invalid.",
        "A page view without a name and an address has the page name undefined.",
        "An event in productMerchEventToAdobeEvent has the Adobe events of all rows of this setting.",
        "Adobe answers 200 even to a hit that it refuses, with FAILURE in the body.",
        "Products are sent only with e-commerce events and events in productMerchEventToAdobeEvent.",
    ],
    differences=[
        'A click in an app has no name here; RudderStack writes "undefined".',
    ],
)
#: Adobe's names of e-commerce events, by event name in lower case.
SHOP = {
    "product viewed": "prodView",
    "product list viewed": "prodView",
    "product added": "scAdd",
    "product removed": "scRemove",
    "cart opened": "scOpen",
    "cart viewed": "scView",
    "checkout started": "scCheckout",
    "order completed": "purchase",
}
FALLBACK = Table({"fallbackVisitorId": "context.externalId.AdobeFallbackVisitorId"})
_URL = first("context.page.url", "properties.pageUrl")
_PAGE_NAME = first("properties.pageName", "context.page.name")


@destination.judge
def judge(delivery: Delivery) -> Outcome | None:
    """Abort if the body says FAILURE, with its reason."""
    body = delivery.reply.body
    failure = _FAILURE.search(body) if isinstance(body, str) and delivery.reply.successful else None
    return Outcome("abort", failure["reason"] or "Adobe refuses the hit without a reason") if failure else None


@destination.on("track")
def send_event(event: Event, settings: AdobeAnalyticsSettings) -> Payload:
    name = _name(event, "event")
    shop = SHOP.get(name.lower(), "")
    adobe = shop or _adobe_event(event, settings, name)
    return _hit(event, settings, name, adobe, link=name, has_products=bool(shop))


@destination.on("page")
def send_page(event: Event, settings: AdobeAnalyticsSettings) -> Payload:
    name = _name(event, "name")
    return _hit(event, settings, name, _adobe_event(event, settings, name), link=name.lower())


@destination.on("screen")
def send_screen(event: Event, settings: AdobeAnalyticsSettings) -> Payload:
    name = _name(event, "name")
    return _hit(event, settings, name, _adobe_event(event, settings, name))


def _name(event: Event, field: str) -> str:
    name = event.raw.get(field)
    if not name or isinstance(name, bool) or not isinstance(name, (str, int, float)):
        raise Misfit(field, "a name, as a string", name)
    return js_join(name)


def _adobe_event(event: Event, settings: AdobeAnalyticsSettings, name: str) -> str:
    adobe = _row_of(settings.rudder_events_to_adobe_events, name) or event.properties.get("overrideEventName")
    if not adobe or not isinstance(adobe, str):
        raise NotConfigured(
            "event",
            name,
            setting="rudderEventsToAdobeEvents",
            why="properties.overrideEventName also names the event at Adobe",
        )
    return adobe


def _row_of(rows: tuple[Rows, ...], name: str) -> str:
    """Return what the configuration maps an event name to (in any case); empty if it is not mapped."""
    return next((row.to for row in rows if row.from_.strip().lower() == name.lower()), "")


def _hit(
    event: Event, settings: AdobeAnalyticsSettings, name: str, adobe: str, link: str = "", has_products: bool = False
) -> Payload:
    order = PURCHASE if name.lower() in ("checkout started", "order completed") else ORDER
    properties = event.properties
    overview = properties.get("overridePageView")
    parts = {
        **FIRST(event),
        **order(event),
        **KNOWN(event),
        **_variables(event, settings),
        **({} if settings.no_fallback_visitor_id else FALLBACK(event)),
        **({} if overview else _link(event, link)),
        **_hierarchies(event, settings),
        **_lists(event, "overrideLists", "list", settings.list_mapping),
        **(_page(event, settings) if overview else {}),
        **_lists(event, "overrideCustomProperties", "prop", settings.custom_props_mapping),
        **_visit(event, settings),
        "marketingcloudorgid": settings.marketing_cloud_org_id,
        "events": properties.get("overrideEventString") or _events(event, settings, name, adobe),
        "products": properties.get("overrideProductString") or _products(event, settings, name, has_products),
        "reportSuiteID": settings.report_suite_ids,
    }
    xml = "".join(element(key, value) for key, value in parts.items() if value is not None)
    return Payload(
        endpoint=f"https://{settings.tracking_server_secure_url}/b/ss//6",
        headers={"Content-type": "application/xml"},
        xml=f'<?xml version="1.0" encoding="utf-8"?><request>{xml}</request>',
    )


def _variables(event: Event, settings: AdobeAnalyticsSettings) -> dict[str, Json]:
    """Return context data and eVars."""
    data = {settings.context_data_prefix + row.to: value_at(event, row.from_) for row in settings.context_data_mapping}
    data = {key: value for key, value in data.items() if value not in (None, "")}
    evars = overrides(event, "overrideEvars")
    if evars is None:
        evars = {f"eVar{row.to}": escaped_value_at(event, row.from_) for row in settings.e_var_mapping}
    return {"contextData": data or None, **evars}


def _link(event: Event, name: str) -> dict[str, Json]:
    return {"linkType": "o", "linkName": name, "linkURL": value_of(event, _URL)}


def _hierarchies(event: Event, settings: AdobeAnalyticsSettings) -> dict[str, Json]:
    own = overrides(event, "overrideHiers")
    return {f"hier{row.to}": value_at(event, row.from_) for row in settings.hier_mapping} if own is None else own


def _lists(event: Event, override: str, prefix: str, rows: tuple[DelimitedRows, ...]) -> dict[str, Json]:
    """Return lists with their delimiters. Raises `MappingError` for a value that is neither a string nor a list."""
    own = overrides(event, override)
    if own is not None:
        return own
    properties = event.properties
    values: dict[str, Json] = {}
    for row in rows:
        if row.from_ not in properties:
            continue
        value = properties[row.from_]
        if not isinstance(value, (str, list)):
            field = f"properties.{row.from_}"
            raise Misfit(field, "a string or a list", value)
        text = value.replace(",", row.delimiter) if isinstance(value, str) else row.delimiter.join(map(js_join, value))
        values[f"{prefix}{row.to}"] = text
    return values


def _page(event: Event, settings: AdobeAnalyticsSettings) -> dict[str, Json]:
    """Return the viewed page. A page without a name is named by its URL, and undefined without that."""
    url, name = value_of(event, _URL), value_of(event, _PAGE_NAME)
    address = quote(javascript_text(url), safe=_URI_SAFE) if isinstance(url, (str, list, dict)) else None
    if not settings.track_page_name:
        return {"pageUrl": address}
    return {"pageUrl": address, "pageName": name if isinstance(name, (str, list, dict)) else url or "undefined"}


def _visit(event: Event, settings: AdobeAnalyticsSettings) -> dict[str, Json]:
    """Return the time or the visitor: Adobe accepts only one of them, depending on the report suite."""
    option = settings.timestamp_option
    if option == "disabled" or (option == "hybrid" and settings.prefer_visitor_id):
        user, anonymous = event.raw.get("userId"), event.raw.get("anonymousId")
        visitor = user or (None if settings.no_fallback_visitor_id else anonymous)
        return {} if settings.drop_visitor_id else {"visitorID": visitor}
    if option in ("enabled", "hybrid") and settings.timestamp_optional_reporting:
        return {"timestamp": event.raw.get("timestamp") or event.raw.get("originalTimestamp") or ""}
    return {}


def _events(event: Event, settings: AdobeAnalyticsSettings, name: str, adobe: str) -> str:
    merch = _row_of(settings.event_merch_event_to_adobe_event, name)
    values = [value_at(event, key) for key in settings.event_merch_properties] if merch else []
    of_event = [f"{merch}={js_join(value)}" for value in values if value is not None]
    rows = settings.product_merch_event_to_adobe_event
    of_products = [row.to for row in rows] if _row_of(rows, name) else []
    return ",".join([adobe, *of_event, *of_products])


def _products(event: Event, settings: AdobeAnalyticsSettings, name: str, has_products: bool) -> str | None:
    merch = _row_of(settings.product_merch_event_to_adobe_event, name)
    if not has_products and not merch:
        return None
    evars = [(f"eVar{row.to}", row.from_) for row in settings.product_merch_evars_map] if merch else []
    values = [(merch, key) for key in settings.product_merch_properties] if merch else []
    products: Any = event.properties.get("products")
    listed = products if isinstance(products, list) else [event.properties]
    texts = (product_text(event, as_object(product), settings.product_identifier, values, evars) for product in listed)
    return ",".join(texts) or None
