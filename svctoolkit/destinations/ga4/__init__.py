"""Google Analytics 4: one event a request, by the Measurement Protocol.

track, page (`page_view`) and group (`join_group`) are sent. The shop's events take Google's names and parameters; what
else is in the properties becomes a parameter of its own, nested objects joined with underscores. Google takes events
of the last 3 days. https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference

Decisions. A time that is none is left out, and Google takes that of its arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Settings, Tags
from svctoolkit.destinations.ga4._events import (
    EVENT_NAME,
    ITEM,
    RESERVED_EVENTS,
    RESERVED_PREFIX,
    RESERVED_USER_PROPERTIES,
    STANDARD,
    USER_PROPERTY,
    Standard,
    scalar,
)
from svctoolkit.destinations.ga4._judge import judge
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    TIME,
    USER_ID,
    Table,
    as_object,
    check_age,
    compact,
    converter,
    event_key,
    event_name,
    first,
    flatten,
    is_empty,
    moment,
    number,
    required,
    string,
    text,
    trait,
)
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import microseconds
from svctoolkit.secrets import Secret

_HOST = "www.google-analytics.com"


class GoogleAnalyticsSettings(Settings, frozen=True, kw_only=True):
    api_secret: Secret
    types_of_client: Literal["gtag", "firebase"]
    measurement_id: str = ""
    firebase_app_id: str = ""
    debug_mode: bool = False
    connection_mode: str | dict[str, str] = ""
    pii_properties_to_ignore: Tags = Tags()

    def __post_init__(self) -> None:
        if self.types_of_client == "gtag" and not self.measurement_id:
            raise ValueError("measurementId: is required, because typesOfClient is gtag")
        if self.types_of_client == "firebase" and not self.firebase_app_id:
            raise ValueError("firebaseAppId: is required, because typesOfClient is firebase")


destination = DestinationType(
    "Google Analytics 4 (GA4)",
    GoogleAnalyticsSettings,
    docs="https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference",
    names=("Google Analytics 4", "GA4"),
    quirks=[
        "Products of an event that Google does not recommend become flat parameters, such as products_0_name.",
        "A session number in camel case is sent twice: as sessionNumber and as session_number.",
    ],
    answers=[  # 2xx whatever the body holds; only the validation server (debugMode) names mistakes, in its 200
        Answer("success", 200, {"validationMessages": []}, at="/debug/"),
        Answer("success", 204, ""),
        Answer(
            "invalid field",
            200,
            {
                "validationMessages": [
                    {
                        "fieldPath": "events",
                        "description": "Event at index: [0] has invalid name [_e].",
                        "validationCode": "NAME_INVALID",
                    }
                ]
            },
            at="/debug/",
        ),
        Answer("invalid field", 204, ""),
        Answer("bad key", 204, ""),
    ],
)
destination.judge(judge)


@converter
def _without_personal_ads(tracked: Any) -> bool | None:
    """Who limits advertising on the device gets no personalised advertising; None where that is not known."""
    return {"true": False, "false": True}.get(str(tracked).lower()) if isinstance(tracked, bool | str) else None


BODY = Table(
    {
        "user_id": string(USER_ID),
        "non_personalized_ads": _without_personal_ads("context.device.adTrackingEnabled"),
    }
)
WEB = Table({"client_id": required(first("context.externalId.ga4ClientId", "anonymousId", "rudderId"))})
APP = Table({"app_instance_id": required("context.externalId.ga4AppInstanceId")})
PAGE = Table(
    {
        "page_location": scalar("context.page.url"),
        "page_referrer": scalar("context.page.referrer"),
        "page_title": scalar("context.page.title"),
    }
)
ENGAGEMENT = Table(
    {
        "engagement_time_msec": first("properties.engagementTimeMsec", "properties.engagement_time_msec"),
        "session_id": first("properties.sessionId", "properties.session_id", "context.sessionId"),
        "session_number": first("properties.sessionNumber", "properties.session_number"),
    }
)
GROUP = Table(
    {
        "group_id": first("groupId", trait("groupId")),
        "engagement_time_msec": first(trait("engagementTimeMsec"), trait("engagement_time_msec")),
        "session_id": first(trait("sessionId"), trait("session_id"), "context.sessionId"),
        "session_number": trait("sessionNumber", "session_number"),
    }
)
_CONSENTS = ("ad_user_data", "ad_personalization")
_PRICED = frozenset({"add_to_cart", "remove_from_cart"})
_NOT_PARAMETERS = frozenset({
    "engagementTimeMsec", "engagement_time_msec", "groupId", "sessionId", "session_id", "user_properties",
})  # fmt: skip
_time = getter(TIME)


@destination.on("track")
def send_event(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    """A recommended event where Google has one for the name, else a custom event."""
    name = event_name(event)
    standard = STANDARD.get(event_key(event))
    if standard:
        params = _standard_parameters(event, standard)
        return _payload(event, settings, context, standard.name, {**params, **PAGE(event), **ENGAGEMENT(event)})
    params = {**_own_parameters(event.properties), **PAGE(event), **ENGAGEMENT(event)}
    return _payload(event, settings, context, _check_name("_".join(name.split())), params)


@destination.on("page")
def send_page(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    if settings.connection_mode == "hybrid":
        raise MappingError("pages are sent by the device, because connectionMode is hybrid", field="type")
    params = {**_own_parameters(event.properties), **PAGE(event), **ENGAGEMENT(event)}
    return _payload(event, settings, context, "page_view", params)


@destination.on("group")
def send_group(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    traits = {**as_object(event.raw.get("traits")), **as_object(event.context.get("traits"))}
    return _payload(event, settings, context, "join_group", {**_own_parameters(traits), **GROUP(event)})


def _standard_parameters(event: Event, standard: Standard) -> dict[str, Any]:
    params, own = standard.table(event), standard.table.rest(event.properties, "properties")
    own.pop("products", None)
    items = _items(event, standard)
    if items is None and standard.items in ("either", "properties"):
        items = [_item(ITEM(event.properties))]
        own = ITEM.rest(own)
        if standard.name != "select_item" and "currency" in event.properties:
            own["currency"] = event.properties["currency"]
    if items is not None:
        params["items"] = items
    if standard.name in _PRICED and "value" not in params:
        params["value"] = _price(event.properties)
    usual = {"currency": "USD"} if "value" in params else {}  # Google drops values without a currency
    return {**usual, **params, **_own_parameters(own)}


def _items(event: Event, standard: Standard) -> list[dict[str, Any]] | None:
    products, where = event.properties.get("products"), "properties.products"
    if standard.items in ("none", "properties"):
        return None
    if not products:
        if standard.items == "must":
            raise MappingError(f"needs a list of objects at {where}: {standard.name} is about items", field=where)
        return None
    if not isinstance(products, list):
        raise MappingError(f"{where}: expected a list of objects", field=where)
    return [_item({**ITEM(product), **_flat(ITEM.rest(product))}) for product in map(as_object, products)]


def _item(item: dict[str, Any]) -> dict[str, Any]:
    if "item_id" not in item and "item_name" not in item:
        where = "properties.products.product_id or properties.products.name"
        raise MappingError(f"needs a value at {where}", field=where)
    return item


def _price(properties: Mapping[str, Any]) -> int | float:
    """What a product costs, where neither a total nor a value nor a revenue is known."""
    price, quantity = properties.get("price"), properties.get("quantity")
    where = "properties.total or properties.value or properties.revenue or properties.price"
    if is_empty(price):
        raise MappingError(f"needs a value at {where}", field=where)
    return number.of(price) * number.of(1 if is_empty(quantity) else quantity)


def _own_parameters(members: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the user's own, without the names that Google keeps."""
    flat = _flat({key: value for key, value in members.items() if key not in _NOT_PARAMETERS})
    return {key: value for key, value in flat.items() if not RESERVED_PREFIX.match(key)}


def _flat(members: Mapping[str, Any]) -> dict[str, Any]:
    return compact(flatten(members, "_", brackets=False))


def _check_name(name: str) -> str:
    if name in RESERVED_EVENTS or RESERVED_PREFIX.match(name):
        raise MappingError(f"event: Google keeps the name {name!r}; give the event another one", field="event")
    if not EVENT_NAME.fullmatch(name):
        raise MappingError(f"event: {name!r} needs a letter, then letters, digits and underscores alone", field="event")
    return name


def _payload(
    event: Event, settings: GoogleAnalyticsSettings, context: Context, name: str, params: dict[str, Any]
) -> Payload:
    web, options = settings.types_of_client == "gtag", destination.options(event)
    session = options if _is_hybrid(settings) else {}
    if session.get("sessionId"):
        params["session_id"] = session["sessionId"]
    if options.get("sessionNumber"):
        params["session_number"] = options["sessionNumber"]
    params.setdefault("engagement_time_msec", 1)  # without it the user does not count as active
    consents = as_object(options.get("consents"))
    client = {"client_id": session["clientId"]} if web and session.get("clientId") else (WEB if web else APP)(event)
    body = {
        **client,
        **BODY(event),
        "timestamp_micros": _timestamp(event, context),
        "user_properties": _user_properties(event, settings),
        "consent": {key: consents[key] for key in _CONSENTS if consents.get(key) in ("GRANTED", "DENIED")},
        "events": [{"name": name, "params": params}],
    }
    stream = {"measurement_id": settings.measurement_id} if web else {"firebase_app_id": settings.firebase_app_id}
    return Payload(
        endpoint=f"https://{_HOST}{'/debug' if settings.debug_mode else ''}/mp/collect",
        headers={"HOST": _HOST, "Content-Type": "application/json"},
        params={"api_secret": settings.api_secret.reveal(), **stream},
        json=compact(body),
    )


def _is_hybrid(settings: GoogleAnalyticsSettings) -> bool:
    mode = settings.connection_mode
    return "hybrid" in (mode.values() if isinstance(mode, dict) else (mode,))


def _timestamp(event: Event, context: Context) -> int | None:
    """In microseconds; None for a time that is none."""
    when = moment(_time(event.raw))
    if when is None:
        return None
    past, future = timedelta(hours=72), timedelta(minutes=15)
    check_age(when, context.clock(), by="Google", past=past, future=future)
    return microseconds(when)


def _user_properties(event: Event, settings: GoogleAnalyticsSettings) -> dict[str, Any]:
    """Plain values within Google's limits (24 characters a name, 36 a value), without what the configuration bars."""
    barred = RESERVED_USER_PROPERTIES.union(settings.pii_properties_to_ignore)
    traits = as_object(event.context.get("traits"))
    found = {**traits, **as_object(event.properties.get("user_properties"))}
    return {
        key: {"value": value}
        for key, value in found.items()
        if key not in barred
        and USER_PROPERTY.fullmatch(key)
        and not RESERVED_PREFIX.match(key)
        and isinstance(value, str | int | float)
        and 0 < len(text(value)) <= 36
    }
