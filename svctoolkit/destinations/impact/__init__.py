"""impact.com: conversions of partners' visitors, and page loads.

track sends a conversion for orders and for the configured action events, with the products numbered from 1. Every other
track event sends a page load; so do identify, page and screen if the configuration enables them.
https://integrations.impact.com/impact-brand/reference/the-conversions-object
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from svctoolkit.destinations import FORM, Answer, DestinationType, Endpoint, Payload, Rows, Settings, Tags, basic
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_POSTAL_CODE,
    EMAIL,
    PHONE,
    TIME,
    USER_ID,
    Shape,
    Table,
    Unsupported,
    as_object,
    first,
    path,
    required,
    trait,
    verbatim,
    without,
)
from svctoolkit.secrets import Secret

_ORDER = "Order Completed"
#: RudderStack's spelling
_INSTALLED = "Applcation Installed"
#: names of product fields: in a conversion, and in the event
_ITEM = {
    "ItemBrand": "brand",
    "ItemCategory": "category",
    "ItemName": "name",
    "ItemPrice": "price",
    "ItemPromoCode": "coupon",
    "ItemQuantity": "quantity",
    "ItemSku": "sku",
}
_APPLE = frozenset({"ios", "ipados", "tvos", "watchos"})


class ImpactSettings(Settings, frozen=True, kw_only=True):
    account_sid: str = msgspec.field(name="accountSID")
    api_key: Secret
    campaign_id: str
    event_type_id: str | None = None
    impact_app_id: str | None = None
    enable_email_hashing: bool = False
    rudder_to_impact_property: tuple[Rows, ...] = ()
    products_mapping: tuple[Rows, ...] = ()
    enable_identify_events: bool = False
    enable_page_events: bool = False
    enable_screen_events: bool = False
    action_event_names: Tags = Tags()
    install_event_names: Tags = Tags()

    @cached_property
    def actions(self) -> frozenset[str]:
        """Names of the events that are conversions."""
        return frozenset({_ORDER, *self.action_event_names})

    @cached_property
    def installs(self) -> frozenset[str]:
        """Names of the events that are installations."""
        return frozenset({_INSTALLED, *self.install_event_names})

    @cached_property
    def page_loads(self) -> frozenset[str]:
        """The event types that load a page."""
        enabled = {
            "identify": self.enable_identify_events,
            "page": self.enable_page_events,
            "screen": self.enable_screen_events,
        }
        return frozenset(kind for kind, on in enabled.items() if on)

    @cached_property
    def item_fields(self) -> list[tuple[str, str]]:
        """Product fields as `(in a conversion, in the event)`; configured fields override default ones of the same
        name."""
        chosen = {row.to: row.from_ for row in self.products_mapping if row.to and row.from_}
        return list({**_ITEM, **chosen}.items())

    @cached_property
    def extra_fields(self) -> list[tuple[str, Callable[[Mapping[str, Json]], Json]]]:
        """Additional fields of a conversion, each with the function that reads it from an event."""
        return [(row.to, path(row.from_)) for row in self.rudder_to_impact_property if row.to and row.from_]


destination = DestinationType(
    "impact.com",
    ImpactSettings,
    docs="https://integrations.impact.com/impact-brand/reference/the-conversions-object",
    names=("impact",),
    quirks=[
        "`Applcation Installed`, as RudderStack spells it, is an installation; `Application Installed` is not.",
        "Names of action events are compared case-sensitively, including spaces.",
        "The e-mail address in a page load sent by track is never hashed, whatever the configuration says.",
        "Without a list of products, the properties themselves are the product, and configured product fields are "
        "ignored.",
        "The app package field contains the build number.",
        "The IP address of a page load is `context.request_ip`, that of a conversion `request_ip`; the fallback is "
        "`context.ip`.",
    ],
    answers=[
        Answer("success", 200, {"Status": "QUEUED", "QueuedUri": "/Advertisers/a1/APISubmissions/A-1"}),
        Answer("bad key", 401, {"Status": "ERROR", "Message": "Authentication failed"}),
        Answer("rate limit", 429, {"Status": "ERROR", "Message": "Rate limit exceeded"}),
        Answer("invalid field", 400, {"Status": "ERROR", "Message": "The value of 'EventDate' is not valid."}),
    ],
    differences=["An e-mail address that is not a string is sent unchanged, also with a conversion."],
)

API = Endpoint("https://api.impact.com/Advertisers/{account_sid}", FORM, basic("account_sid", "api_key"))
PAGES = Endpoint("https://trkapi.impact.com/PageLoad", FORM, basic("account_sid", "api_key"))

_COMMON: Shape = {
    "CustomerEmail": EMAIL,
    "CustomerId": USER_ID,
    "CustomProfileId": "anonymousId",
    "PageUrl": first("context.page.url", "properties.url", "context.page.referrer", "context.referrer.url"),
    "ReferringUrl": first("context.referrer.url", "context.page.referrer"),
    "UserAgent": "context.userAgent",
    "AppName": "context.app.name",
    "AppPackage": "context.app.build",
    "AppVer": "context.app.version",
    "DeviceCarrier": "context.network.carrier",
    "DeviceLocale": "context.locale",
    "DeviceMfr": "context.device.manufacturer",
    "DeviceModel": "context.device.model",
    "DeviceOs": first("context.device.type", "context.os.name"),
    "DeviceOsVer": "context.os.version",
    "TrackingConsent": verbatim("context.device.adTrackingEnabled"),
}
PAGE_LOAD = Table({**_COMMON, "EventDate": TIME, "IpAddress": first("context.request_ip", "context.ip")})
CONVERSION = Table(
    {
        **_COMMON,
        "EventTypeCode": "event",
        "EventDate": required(TIME),
        "IpAddress": first("request_ip", "context.ip"),
        "CurrencyCode": "properties.currency",
        "Latitude": first("context.location.latitude", "properties.latitude"),
        "Longitude": first("context.location.longitude", "properties.longitude"),
        "OrderId": required(
            first("properties.orderId", "properties.order_id", "properties.transactionID", "properties.checkout_id")
        ),
        "OrderPromoCode": first("properties.coupon", "properties.coupon_id"),
        "OrderDiscount": "properties.discount",
        "OrderShipping": "properties.shipping",
        "OrderTax": "properties.tax",
        "OrderMargin": "properties.margin",
        "CustomerStatus": first(trait("status"), "properties.status"),
        "CustomerCity": trait("address.city"),
        "CustomerCountry": trait("country"),
        "CustomerRegion": trait("region"),
        "CustomerPostCode": ANY_POSTAL_CODE,
        "PhoneNumber": PHONE,
        "ClickId": first("context.referrer.id", "properties.clickId"),
    }
)


@destination.on("track")
def send_event(event: Event, settings: ImpactSettings) -> Iterator[Payload]:
    """Return a conversion if the name is an install or action event, both if it is both, otherwise a page load."""
    name = event.raw.get("event")
    installs = isinstance(name, str) and name in settings.installs
    acts = isinstance(name, str) and name in settings.actions
    if not installs and not acts:
        yield _load_page(event, settings, hashes=False)
        return
    conversion = _conversion(event, settings)
    if installs:  # an installation has no click
        yield API.post(settings, "Conversions", without(conversion, ["ClickId"]))
    if acts:
        yield API.post(settings, "Conversions", conversion)


def _conversion(event: Event, settings: ImpactSettings) -> dict[str, Any]:
    form = _own_fields(event, settings)
    form.update(CONVERSION(event))
    form.update(_device_ids(event))
    form["CampaignId"] = settings.campaign_id
    if settings.event_type_id is not None:
        form["EventTypeId"] = settings.event_type_id
    if settings.impact_app_id is not None:
        form["ImpactAppId"] = settings.impact_app_id
    _hash_email(form, settings.enable_email_hashing)
    return form


@destination.on("identify", "page", "screen")
def send_page_load(event: Event, settings: ImpactSettings) -> Payload:
    """Return a page load. Raises if the configuration does not enable events of this type."""
    if event.type not in settings.page_loads:
        variable = f"enable{event.type.capitalize()}Events"
        raise Unsupported(f"{event.type} events", setting=variable)
    return _load_page(event, settings, hashes=settings.enable_email_hashing)


def _load_page(event: Event, settings: ImpactSettings, *, hashes: bool) -> Payload:
    form: dict[str, Any] = {**PAGE_LOAD(event), **_device_ids(event), "CampaignId": settings.campaign_id}
    if settings.impact_app_id:
        form["PropertyId"] = form["ImpactAppId"] = settings.impact_app_id
    _hash_email(form, hashes)
    return PAGES.post(settings, body=form)


def _device_ids(event: Event) -> dict[str, Json]:
    """Return the device ID and advertising ID, under the names that its operating system gives them."""
    system = as_object(event.context.get("os")).get("name")
    system = system.lower() if isinstance(system, str) else ""
    if system == "android":
        own, advertising = "AndroidId", "GoogAId"
    elif system in _APPLE:
        own, advertising = "AppleIfv", "AppleIfa"
    else:
        return {}
    device = as_object(event.context.get("device"))
    ids = {own: device.get("id"), advertising: device.get("advertisingId")}
    return {key: value for key, value in ids.items() if value is not None}


def _own_fields(event: Event, settings: ImpactSettings) -> dict[str, Json]:
    """Return the configured fields and the products."""
    products = event.properties.get("products")
    if isinstance(products, list):
        fields = settings.item_fields
    else:
        products, fields = [event.properties], list(_ITEM.items())
    form = dict(_items(products, fields))
    for key, get in settings.extra_fields:
        if (value := get(event.raw)) is not None:
            form[key] = value
    return form


def _items(products: list[Any], fields: list[tuple[str, str]]) -> Iterator[tuple[str, Json]]:
    for number, product in enumerate(map(as_object, products), 1):
        for key, name in fields:
            if (value := product.get(name)) is not None:
                yield f"{key}{number}", value


def _hash_email(form: dict[str, Any], hashes: bool) -> None:
    address = form.get("CustomerEmail")
    if hashes and isinstance(address, str):
        from hashlib import sha1  # slow import (loads OpenSSL), and few events are hashed

        form["CustomerEmail"] = sha1(
            address.strip().lower().encode("utf-8", "replace"), usedforsecurity=False
        ).hexdigest()
