"""Singular: sessions and events of apps and games, through its server-to-server API.

track sends a session if the name is a configured session event, or an app start according to the event specification;
otherwise an event, or one event per product. The fields depend on the operating system: Android, Apple, or console and
PC. https://support.singular.net/hc/en-us/articles/360048588672
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings, Tags
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    IP,
    TIME,
    Misfit,
    Missing,
    Shape,
    Table,
    as_object,
    converter,
    default,
    event_name,
    first,
    lenient_seconds,
    nest_dotted,
    number,
    required,
    verbatim,
)
from svctoolkit.secrets import Secret

_HOST = "https://s2s.singular.net/api"
_APP_STARTS = frozenset({"application installed", "application opened", "application updated"})
#: Singular's name of a system, by the name in lower case; None: the name is sent unchanged
_SYSTEMS = {
    "android": ("android", None),
    **dict.fromkeys(("ios", "ipados", "tvos", "watchos"), ("apple", "iOS")),
    **dict.fromkeys(("metaquest", "nintendo", "pc", "playstation", "xbox"), ("console", None)),
}


class SingularSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    session_event_list: Tags = Tags()

    @cached_property
    def sessions(self) -> frozenset[str]:
        """Names of session events, in lower case."""
        return _APP_STARTS | {name.lower() for name in self.session_event_list}


destination = DestinationType(
    "Singular",
    SingularSettings,
    docs="https://support.singular.net/hc/en-us/articles/360048588672-Server-to-Server-S2S-API-Endpoint-Reference",
    names=("singular",),
    quirks=[
        "Sessions always go to version 1 of the API; events with a `singularDeviceId` go to version 2, without their "
        "device IDs.",
        "Tracking counts as limited unless `context.device.adTrackingEnabled` is exactly `true`.",
        "An event with an empty list of products is not sent at all.",
        "The API always responds with 200; `status` in the body shows whether the request was accepted.",
    ],
    answers=[
        Answer("success", 200, {"status": "ok"}),
        Answer("bad key", 200, {"status": "error", "reason": "Invalid SDK key"}),
        Answer("rate limit", 429, ""),
        Answer("invalid field", 200, {"status": "error", "reason": "Missing parameter: i"}),
    ],
)


@converter
def session_time(value: Json) -> Json:
    """Convert a time like `lenient_seconds`; None if it is invalid, because a session requires a time."""
    seconds = lenient_seconds.of(value)
    return None if seconds == "" else seconds


@converter
def limits_tracking(value: Json) -> int:
    return 0 if value is True else 1


@converter
def network(value: Json) -> str:
    return "wifi" if value is True else "carrier"


_INSTALL_TIME = first("properties.install_time", TIME)
_NETWORK = default(network("context.network.wifi"), "carrier")
_APP: Shape = {"i": required("context.app.namespace"), "ip": required(IP)}
_SESSION: Shape = {
    **_APP,
    "app_v": required("context.app.version"),
    "ve": required("context.os.version"),
    "mo": required("context.device.model"),
    "ma": required("context.device.manufacturer"),
    "lc": required("context.locale"),
    "bd": required("context.app.build"),
    "sessionNotificationName": "event",
    "custom_user_id": "userId",
    "n": "context.app.name",
    "cn": "context.network.carrier",
    "c": _NETWORK,
    "dnt": default(limits_tracking("context.device.adTrackingEnabled"), 1),
    "utime": session_time(TIME),
    "install_time": required(session_time(_INSTALL_TIME)),
    "update_time": required(session_time("properties.update_time", TIME)),
    "openuri": verbatim(default("properties.url", "")),
    "ua": first("context.userAgent", "properties.userAgent"),
}
_EVENT: Shape = {
    **_APP,
    "n": required("event"),
    "ve": required("context.os.version"),
    "custom_user_id": "userId",
    "utime": lenient_seconds(TIME),
    "amt": first("properties.total", "properties.revenue"),
    "cur": "properties.currency",
    "purchase_product_id": first("properties.product_id", "properties.sku"),
    "purchase_receipt": "properties.purchase_receipt",
    "purchase_transaction_id": first("properties.orderId", "properties.purchase_transaction_id"),
    "is_revenue_event": "properties.is_revenue_event",
    "c": _NETWORK,
}
_CONVERSION: Shape = {
    "att_authorization_status": required("context.device.attTrackingStatus"),
    "skan_conversion_value": "properties.skan_conversion_value",
    "skan_first_call_timestamp": lenient_seconds("properties.skan_first_call_timestamp"),
    "skan_last_call_timestamp": lenient_seconds("properties.skan_last_call_timestamp"),
}
_CONSOLE: Shape = {
    **_APP,
    "os": required("properties.os"),
    "install_source": required("properties.install_source"),
    "install": "properties.install",
    "av": "context.app.version",
    "ve": "context.os.version",
    "ua": "context.userAgent",
    "utime": lenient_seconds(TIME),
    "use_ip": "properties.use_ip",
    "custom_user_id": "properties.custom_user_id",
    "match_id": "properties.match_id",
    "data_sharing_options": "properties.data_sharing_options",
}


class System(NamedTuple):
    """The fields of sessions and events on a group of operating systems.

    `device` are the device IDs, which are left out if an event has Singular's own device ID. `own` are the properties
    with their own fields: the others go into `e`; None if nothing goes there.
    """

    session: Table
    event: Table
    device: Table
    own: frozenset[str] | None


_PAID = {"currency", "is_revenue_event", "price", "product_id", "products", "quantity", "sku"}
_PURCHASE = _PAID | {"purchase_receipt", "purchase_transaction_id"}
SYSTEMS = {
    "android": System(
        Table(
            {
                **_SESSION,
                "install": required("properties.install"),
                "install_source": verbatim(default("properties.referring_application", "")),
                "install_ref": "properties.install_ref",
                "fcm": "context.device.token",
                "asid": "properties.asid",
            }
        ),
        Table({**_EVENT, "asid": "properties.asid", "receipt_signature": "properties.receipt_signature"}),
        Table({"aifa": "context.device.advertisingId", "andi": "context.device.id"}),
        frozenset(_PURCHASE | {"asid", "receipt_signature"}),
    ),
    "apple": System(
        Table(
            {
                **_SESSION,
                **_CONVERSION,
                "install_receipt": required("properties.install_receipt"),
                "install": required("properties.install"),
                "apns_token": "context.device.token",
                "attribution_token": "properties.attribution_token",
            }
        ),
        Table({**_EVENT, **_CONVERSION}),
        Table({"idfa": "context.device.advertisingId", "idfv": "context.device.id"}),
        frozenset(
            _PURCHASE | {"skan_conversion_value", "skan_first_call_timestamp", "skan_last_call_timestamp"},
        ),
    ),
    "console": System(
        Table({**_CONSOLE, "install": required("properties.install")}),
        Table(
            {
                **_CONSOLE,
                "n": required("event"),
                "amt": first("properties.total", "properties.revenue"),
                "cur": "properties.currency",
                "is_revenue_event": "properties.is_revenue_event",
            }
        ),
        Table({"sdid": "context.device.id"}),
        None,
    ),
}
PRODUCT = Table({"purchase_product_id": first("product_id", "sku")}, of="properties.products")


@destination.on("track")
def send(event: Event, settings: SingularSettings) -> Iterator[Payload]:
    """Yield a session, an event, or an event for each product."""
    name = event_name(event)
    system, platform = _system_of(event)
    common: dict[str, Any] = {"a": settings.api_key.reveal(), "p": platform, "partner": "rudderstack"}
    limit = destination.options(event).get("limitDataSharing")
    if isinstance(limit, bool):
        common["data_sharing_options"] = {"limit_data_sharing": limit}
    if name.lower() in settings.sessions:
        params = {**common, **system.session(event), **system.device(event)}
        yield Payload(endpoint=f"{_HOST}/v1/launch", method="GET", params=params)
        return
    params = {**common, **system.event(event)}
    if "amt" in params:
        params["is_revenue_event"] = True
    if device := destination.options(event).get("singularDeviceId"):
        endpoint, ids = f"{_HOST}/v2/evt", {"sdid": device}
    else:
        endpoint, ids = f"{_HOST}/v1/evt", system.device(event)
    params.update(ids)
    if system.own is not None:
        custom = {key: value for key, value in event.properties.items() if value is not None and key not in system.own}
        if custom:
            params["e"] = nest_dotted(custom)
    products = event.properties.get("products")
    purchases = [_purchase(as_object(product)) for product in products] if isinstance(products, list) else [{}]
    for purchase in purchases:
        yield Payload(endpoint=endpoint, method="GET", params={**params, **purchase})


def _system_of(event: Event) -> tuple[System, str]:
    """Return the fields for the event's operating system, and the system's name."""
    name = as_object(event.context.get("os")).get("name")
    if not isinstance(name, str) or not name:
        raise Missing("context.os.name", wants="the name of the operating system")
    kind, platform = _SYSTEMS.get(name.lower(), (None, None))
    if kind is None:
        raise Misfit("context.os.name", "Android, iOS or similar, PC, PlayStation, Xbox, Nintendo or MetaQuest", name)
    return SYSTEMS[kind], platform or name


def _purchase(product: Mapping[str, Any]) -> dict[str, Any]:
    """Return the product's ID and, if computable, its total price."""
    purchase = PRODUCT(product)
    try:
        purchase["amt"] = number.of(product["price"]) * number.of(product["quantity"])
        purchase["is_revenue_event"] = True
    except (KeyError, ValueError):
        pass
    return purchase
