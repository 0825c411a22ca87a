"""Shared by both Universal Analytics types: one hit per request, with everything in the query.

identify sends an event only if it is enabled in the configuration; page, screen and track send hits of these types.
With `enhancedEcommerce`, e-commerce events get Google's product actions and products. Custom dimensions, metrics and
content groups get the values that the configuration names: from the traits for identify, from the properties for other
events. https://developers.google.com/analytics/devguides/collection/protocol/v1/parameters

Decisions. A product without an ID is left out of the text of a shared cart; RudderStack writes "undefined".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import msgspec

from svctoolkit.destinations._answers import Answer
from svctoolkit.destinations._context import Context
from svctoolkit.destinations._families.universal_commerce import (
    ACTIONS,
    Slots,
    action_parameters,
    cart_text,
    slot_values,
)
from svctoolkit.destinations._payload import Payload
from svctoolkit.destinations._settings import Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    IP,
    TIME,
    Misfit,
    Table,
    Unsupported,
    as_object,
    compact,
    const,
    default,
    first,
    in_url,
    javascript_text,
    md5,
    moment,
    number_or_none,
    text,
    value_of,
    verbatim,
)
from svctoolkit.mapping.table import path
from svctoolkit.mapping.times import microseconds

Params: TypeAlias = dict[str, Any]
_SHORT = (("dimension", "cd"), ("metric", "cm"), ("contentGroup", "cg"))

ANSWERS = [  # the collector always answers 200 with a pixel
    Answer("success", 200, ""),
    Answer("bad key", 200, ""),
    Answer("invalid field", 200, ""),
]
QUIRKS = (
    "The setting nonInteraction is not used: a hit is non-interactive unless properties.nonInteraction says otherwise.",
    "npa=1 switches personalised advertising off, but is sent if doubleClick is on.",
    "The path (dp) is escaped twice, so that Google shows %2F in reports.",
)


class UniversalSettings(Settings, frozen=True, kw_only=True):
    tracking_id: str = msgspec.field(name="trackingID")
    double_click: bool = False
    enhanced_link_attribution: bool = False
    include_search: bool = False
    enable_server_side_identify: bool = False
    server_side_identify_event_category: str = ""
    server_side_identify_event_action: str = ""
    anonymize_ip: bool = False
    enhanced_ecommerce: bool = False
    send_user_id: bool = False
    disable_md5: bool = False
    dimensions: tuple[Rows, ...] = ()
    metrics: tuple[Rows, ...] = ()
    content_groupings: tuple[Rows, ...] = ()

    @cached_property
    def product_slots(self) -> Slots:
        """Short names of dimensions and metrics (`cd1`), and the paths of their values."""
        return [*_slots(self.dimensions), *_slots(self.metrics)]

    @cached_property
    def slots(self) -> Slots:
        """The same, with content groups."""
        return [*self.product_slots, *_slots(self.content_groupings)]

    @cached_property
    def base(self) -> Params:
        """Parameters of every hit of this configuration."""
        switches = (("npa", self.double_click), ("aip", self.anonymize_ip))
        return {"v": "1", "tid": self.tracking_id, **{name: 1 for name, on in switches if on}}


def _slots(rows: tuple[Rows, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of rows: short for Google's names (`dimension1` is `cd1`), any other name unchanged."""
    for row in rows:
        name = row.to
        for long, short in _SHORT:
            name = name.replace(long, short, 1)
        if row.from_ and name:
            yield name, path(row.from_)


HIT = Table(
    {
        "ds": verbatim("channel"),
        "ua": verbatim("context.userAgent"),
        "ul": verbatim("context.locale"),
        "an": verbatim("context.app.name"),
        "av": verbatim("context.app.version"),
        "gclid": verbatim("context.externalId.googleAdsId"),
        "dclid": verbatim("context.externalId.googleDisplayAdsId"),
        "aiid": verbatim("context.app.namespace"),
        "cn": verbatim("context.campaign.name"),
        "cs": verbatim("context.campaign.source"),
        "cm": verbatim("context.campaign.medium"),
        "cc": verbatim("context.campaign.content"),
        "ck": verbatim("context.campaign.term"),
        "uip": IP,
        "dt": first("properties.title", "context.page.title"),
    }
)
CLIENT = Table({"cid": first("context.externalId.gaExternalId", "anonymousId")})
REFERRER = Table({"dr": first("properties.referrer", "context.page.referrer")})
SCREEN = Table({"cd": verbatim("properties.name")})
ACTION = Table(
    {
        "ec": default("properties.category", "All"),
        "el": default("properties.label", "event"),
        "ni": default(verbatim("properties.nonInteraction"), 1),
    }
)
CUSTOM = Table({**ACTION.shape, **SCREEN.shape, "ni": const(1)})
SHOP = Table({**ACTION.shape, "ec": default("properties.category", "EnhancedEcommerce")})
SHARED = Table({**ACTION.shape, "sn": verbatim("properties.share_via"), "sa": verbatim("properties.share_message")})
PRODUCT_SHARED = Table({**SHARED.shape, "st": "properties.url"})
_URL = first("properties.url", "context.page.url")
_SEARCH = first("properties.search", "context.page.search")


def _identify(event: Event, settings: UniversalSettings) -> Params:
    """Return an event that describes the user, if the configuration enables it."""
    if not settings.enable_server_side_identify:
        raise Unsupported("identify events", setting="enableServerSideIdentify")
    own = event.raw.get("traits")
    traits = own if isinstance(own, dict) else as_object(event.context.get("traits"))
    action = settings.server_side_identify_event_action
    category = path(settings.server_side_identify_event_category)(traits) if action else None
    params = {"t": "event", "ea": action or "User Enriched", "ec": category or "All", "ni": 1}
    return params | slot_values(settings.slots, traits)


def _page(event: Event, settings: UniversalSettings) -> Params:
    return {"t": "pageview", **REFERRER(event), **slot_values(settings.slots, event.properties)}


def _screen(event: Event, settings: UniversalSettings) -> Params:
    return {"t": "screenview", **SCREEN(event), **slot_values(settings.slots, event.properties)}


def _track(event: Event, settings: UniversalSettings) -> Params:
    """Return an event; e-commerce events have product actions and products if the configuration enables them."""
    name = event.raw.get("event")
    if not isinstance(name, str):
        raise Misfit("event", "a name, as a string", event.raw.get("event"))
    params = {"t": "event", "ea": name, **slot_values(settings.slots, event.properties)}
    if not settings.enhanced_ecommerce:
        return params | CUSTOM(event)
    params |= _amount(event)
    key = name.lower()
    action = ACTIONS.get(key)
    if action is not None:
        return params | SHOP(event) | action_parameters(event, action, settings.product_slots)
    if key == "product shared":
        return params | PRODUCT_SHARED(event)
    if key == "cart shared":
        return params | SHARED(event) | {"st": cart_text(event)}
    return params | CUSTOM(event)


def _amount(event: Event) -> Params:
    """Return the event's value: the first of value, revenue and total that is not zero, rounded and not negative."""
    properties = event.properties
    worth = properties.get("value") or properties.get("revenue") or properties.get("total")
    if not worth:
        return {}
    amount = number_or_none.of(worth)
    if isinstance(amount, str):  # not a number: RudderStack sends null
        return {"ev": None}
    return {"ev": math.floor(amount + 0.5)} if amount > 0 else {}


_PARAMETERS = {"identify": _identify, "page": _page, "screen": _screen, "track": _track}


def hit(
    event: Event, settings: UniversalSettings, context: Context, options: Mapping[str, Json], person: Params
) -> Payload:
    """Return the request of one hit. `options` are the event's options for this type; `person` overrides its values."""
    params = {**settings.base, **HIT(event), **_PARAMETERS[event.type](event, settings), **person}
    params["qt"] = _delay(event, context)
    user = event.raw.get("userId")
    if settings.send_user_id and user and isinstance(user, (str, list)):
        params["uid"] = user
    client = options.get("clientId") or CLIENT(event).get("cid")
    if not client and user and not settings.disable_md5:
        client = md5(text(user))
    for name, value in (("cid", client), ("sr", _size(event))):
        if value:
            params.setdefault(name, value)
    if settings.enhanced_link_attribution and (link := event.properties.get("linkid")) is not None:
        params["linkid"] = link
    if isinstance(event.raw.get("properties"), dict):
        params |= _place(event, settings)
    return Payload(endpoint="https://www.google-analytics.com/collect", params=params)


def mapped_parameters(event: Event) -> Params:
    """Return the traits that have the names of the event's own parameters."""
    return compact({name: event.traits[name] for name in HIT.shape if name in event.traits})


def _size(event: Event) -> str | None:
    screen = as_object(event.context.get("screen"))
    width, height = screen.get("width"), screen.get("height")
    return f"{javascript_text(width)}x{javascript_text(height)}" if width and height else None


def _delay(event: Event, context: Context) -> int | None:
    """Return milliseconds since the event; None if its time is invalid."""
    value = value_of(event, TIME)
    if value is None and event.raw.get("originalTimestamp", "") is None:
        value = 0  # null is the beginning of 1970 in JavaScript
    when = moment(int(value) if isinstance(value, bool) else value)
    return None if when is None else microseconds(context.clock()) // 1000 - microseconds(when) // 1000


def _place(event: Event, settings: UniversalSettings) -> Params:
    """Return the page: its URL, host and path, including the query if configured."""
    url = value_of(event, _URL)
    if not url:
        return {}
    try:
        split = urlsplit(url.strip())
    except (ValueError, AttributeError):
        split = None
    if split is None or not split.scheme or not split.netloc:
        raise Misfit("properties.url or context.page.url", "a URL", text(url))
    search = value_of(event, _SEARCH) if settings.include_search else None
    place = (split.path or "/") + (javascript_text(search) if search else "")
    return {"dl": url, "dh": split.netloc, "dp": in_url(place)}
