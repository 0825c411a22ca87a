"""AppsFlyer: app events, through the server-to-server events API.

track sends the event under its own name, page and screen send `page` and `screen`. The properties are sent as JSON text
in `eventValue`, together with AppsFlyer's own parameters (`af_revenue`, `af_price`...). The event must name the
operating system and the installation of the app (`context.externalId`, type `appsflyerExternalId`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings, Tags
from svctoolkit.destinations.af._deletion import deletion
from svctoolkit.destinations.af._tables import ANDROID, APPLE, BODY, OF_PRODUCTS, OTHERS, PARAMETERS, PROPERTIES
from svctoolkit.events import Event
from svctoolkit.mapping import Misconfigured, Misfit, Table, as_object, js_join, json_text, platform
from svctoolkit.secrets import Secret


class AppsFlyerSettings(Settings, frozen=True, kw_only=True):
    auth_version: Literal["v1", "v2"] = "v1"
    dev_key: Secret = Secret("")
    s2s_key: Secret = Secret("")
    android_app_id: str = ""
    apple_app_id: str = ""
    sharing_filter: str | None = None  # the form writes `all`; older configurations leave it out
    use_rich_event_name: bool = False
    add_properties_at_root: bool = False
    list_of_props: Tags = Tags()
    af_currency_at_root: bool = False


destination = DestinationType(
    "AppsFlyer",
    AppsFlyerSettings,
    docs="https://dev.appsflyer.com/hc/reference/s2s-events-api3-post",
    names=("AF",),
    answers=[
        Answer("success", 200, "ok"),
        Answer("bad key", 401, "Unauthorized"),
        Answer("rate limit", 429, "Too many requests"),
        Answer("invalid field", 400, "appsflyer_id field is missing or incorrect"),
    ],
    quirks=["Product Added and Product List Viewed are sent without content IDs and types, like custom events."],
)
destination.deletes_with(deletion)


@destination.on("track")
def send_event(event: Event, settings: AppsFlyerSettings) -> Payload:
    value = _value(event, settings) if "properties" in event.raw else None
    own = {"eventName": event.raw.get("event"), "eventCurrency": event.properties.get("currency")}
    return _send(event, settings, {name: item for name, item in own.items() if item is not None}, value)


@destination.on("page", "screen")
def send_page(event: Event, settings: AppsFlyerSettings) -> Payload:
    """`page` and `screen`, or with `useRichEventName` names such as `Viewed Contact Page`."""
    name = event.raw.get("name") or event.properties.get("name")
    title = f"Viewed {js_join(name or '')} {event.type.title()}" if settings.use_rich_event_name else event.type
    return _send(event, settings, {"eventName": title}, event.raw.get("properties"))


def _value(event: Event, settings: AppsFlyerSettings) -> dict[str, Any]:
    """Return the properties and AppsFlyer's own parameters; those listed in the configuration are at the root."""
    properties = event.properties
    root = {key: properties[key] for key in settings.list_of_props if key in properties}
    rest = {key: value for key, value in properties.items() if key not in root}
    value = dict(properties) if settings.add_properties_at_root else {**root, "properties": rest}
    value.update(_parameters(event))
    currency = properties.get("currency")
    if settings.af_currency_at_root and currency:
        value["af_currency"] = currency
    return value


def _parameters(event: Event) -> dict[str, Any]:
    """Return the parameters that AppsFlyer defines for the event, unchanged, including nulls."""
    properties, name = event.properties, event.raw.get("event")
    names = (
        PARAMETERS.get(name.lower().replace(" ", "_")) if isinstance(name, str) else None
    )  # leading and trailing spaces count
    values = {name: properties.get(PROPERTIES[name]) for name in names or OTHERS if PROPERTIES[name] in properties}
    products = properties.get("products")
    if names and isinstance(products, list):
        bought = [as_object(product) for product in products]
        values |= {name: [item.get(PROPERTIES[name]) for item in bought] for name in OF_PRODUCTS if bought}
    return values


def _send(event: Event, settings: AppsFlyerSettings, own: Mapping[str, Any], value: Any) -> Payload:
    host, key = _access(settings)
    app, device = _app(event, settings)
    body = {**BODY(event), **device(event), **own, "eventValue": "" if value is None else json_text(value)}
    if settings.sharing_filter:
        body["sharing_filter"] = settings.sharing_filter
    return Payload(
        endpoint=f"https://{host}/inappevent/{app}",
        headers={"Content-Type": "application/json", "authentication": key},
        json=body,
    )


def _access(settings: AppsFlyerSettings) -> tuple[str, str]:
    """Return host and key of the configured authentication version."""
    if settings.auth_version == "v2":
        if not settings.s2s_key:
            raise Misconfigured("s2sKey", "is required by authVersion v2")
        return "api3.appsflyer.com", settings.s2s_key.reveal()
    if not settings.dev_key:
        raise Misconfigured("devKey", "is required by authVersion v1")
    return "api2.appsflyer.com", settings.dev_key.reveal()


def _app(event: Event, settings: AppsFlyerSettings) -> tuple[str, Table]:
    """Return the app's ID on the event's operating system, and the table of its device fields."""
    system = platform(as_object(event.context.get("os")).get("name"))
    if system == "android" and settings.android_app_id:
        return settings.android_app_id, ANDROID
    if system == "ios" and settings.apple_app_id:
        return f"id{settings.apple_app_id.removeprefix('id')}", APPLE
    raise Misfit("context.os.name", "android with androidAppId in the configuration, or ios with appleAppId", system)
