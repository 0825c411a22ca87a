"""AppsFlyer: what people do in an application, by the server-to-server events API.

track sends the event under its own name, page and screen send `page` and `screen`. The properties travel as JSON text
in `eventValue`, with AppsFlyer's own parameters (`af_revenue`, `af_price`...) beside them. The event has to say which
system the application runs on and which installation it is (`context.externalId`, type `appsflyerExternalId`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings, Tags
from svctoolkit.destinations.af._tables import ANDROID, APPLE, BODY, EACH, ONE, OTHERS, PARAMETERS, SEVERAL
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import Table, as_object, event_key, event_name, json_text, platform, products
from svctoolkit.secrets import Secret


class AppsFlyerSettings(Settings, frozen=True, kw_only=True):
    auth_version: Literal["v1", "v2"] = "v1"
    dev_key: Secret = Secret("")
    s2s_key: Secret = Secret("")
    android_app_id: str = ""
    apple_app_id: str = ""
    sharing_filter: str | None = None  # the form writes `all`; older configurations have none
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
)


@destination.on("track")
def send_event(event: Event, settings: AppsFlyerSettings) -> Payload:
    return _send(event, settings, event_name(event), _value(event, settings))


@destination.on("page", "screen")
def send_page(event: Event, settings: AppsFlyerSettings) -> Payload:
    """`page` and `screen`, or with `useRichEventName` names such as `Viewed Contact Page`."""
    name = event.raw.get("name") or event.properties.get("name")
    rich = settings.use_rich_event_name and isinstance(name, str) and name
    title = f"Viewed {name} {event.type.title()}" if rich else event.type
    return _send(event, settings, title, event.properties)


def _value(event: Event, settings: AppsFlyerSettings) -> dict[str, Any]:
    """The properties, and AppsFlyer's own parameters. Those that the configuration lists stand at the root."""
    if not event.properties:
        return {}
    root = {key: event.properties[key] for key in settings.list_of_props if key in event.properties}
    rest = {key: value for key, value in event.properties.items() if key not in root}
    value = dict(event.properties) if settings.add_properties_at_root else {**root, "properties": rest}
    value.update(_own(event))
    currency = event.properties.get("currency")
    if settings.af_currency_at_root and currency:
        value["af_currency"] = currency
    return value


def _own(event: Event) -> dict[str, Any]:
    """The parameters that AppsFlyer names for the event; prices, IDs and the like of several products are lists."""
    key, one = event_key(event), ONE(event)
    each, listed = [EACH(product) for product in products(event)], SEVERAL.get(key, ())
    found = {}
    for parameter in PARAMETERS.get(key, OTHERS):
        values = [product[parameter] for product in each if parameter in product] if parameter in listed else []
        value = values or one.get(parameter)
        if value is not None:
            found[parameter] = value
    return found


def _send(event: Event, settings: AppsFlyerSettings, name: str, value: Mapping[str, Any]) -> Payload:
    host, key = _access(settings)
    app, device = _app(event, settings)
    system = as_object(event.context.get("os"))
    body = {
        **BODY(event),
        **device(event),
        "eventName": name,
        "eventValue": json_text(value) if value else "",
    }
    if system.get("version") is not None:
        body["os"] = system["version"]
    if settings.sharing_filter:
        body["sharing_filter"] = settings.sharing_filter
    return Payload(
        endpoint=f"https://{host}/inappevent/{app}",
        headers={"Content-Type": "application/json", "authentication": key},
        json=body,
    )


def _access(settings: AppsFlyerSettings) -> tuple[str, str]:
    """The host and the key of the way of authentication."""
    if settings.auth_version == "v2":
        if not settings.s2s_key:
            raise MappingError("authVersion v2 needs s2sKey in the configuration")
        return "api3.appsflyer.com", settings.s2s_key.reveal()
    if not settings.dev_key:
        raise MappingError("authVersion v1 needs devKey in the configuration")
    return "api2.appsflyer.com", settings.dev_key.reveal()


def _app(event: Event, settings: AppsFlyerSettings) -> tuple[str, Table]:
    """The ID of the application on the event's system, and what its devices have."""
    system = platform(as_object(event.context.get("os")).get("name"))
    if system == "android" and settings.android_app_id:
        return settings.android_app_id, ANDROID
    if system == "ios" and settings.apple_app_id:
        return f"id{settings.apple_app_id.removeprefix('id')}", APPLE
    raise MappingError(
        "context.os.name: expected android with androidAppId in the configuration, or ios with appleAppId",
        field="context.os.name",
    )
