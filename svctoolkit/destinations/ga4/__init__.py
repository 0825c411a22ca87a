"""Google Analytics 4: one event a request, by the Measurement Protocol.

track, page (`page_view`) and group (`join_group`) are sent. The shop's events take Google's names and parameters; what
else is in the properties becomes a parameter of its own, nested objects joined with underscores. Google takes events
of the last 3 days.
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
)
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    CLIENT_TIME,
    USER_ID,
    Table,
    as_object,
    check_age,
    compact,
    converter,
    epoch_us,
    event_key,
    event_name,
    first,
    flatten,
    number,
    products,
    required,
    string,
    text,
    time,
    value_of,
)
from svctoolkit.secrets import Secret

_HOST = "www.google-analytics.com"


class GoogleAnalyticsSettings(Settings, frozen=True, kw_only=True):
    api_secret: Secret
    types_of_client: Literal["gtag", "firebase"] = "gtag"
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


@converter
def _non_personal_ads(tracked: Any) -> bool:
    """Who limits advertising on the device gets no personalised advertising."""
    return not (tracked is True or (isinstance(tracked, str) and tracked.lower() == "true"))


WHEN = time(CLIENT_TIME)
BODY = Table(
    {
        "user_id": string(USER_ID),
        "non_personalized_ads": _non_personal_ads("context.device.adTrackingEnabled"),
    }
)
WEB = Table({"client_id": required(first("context.externalId.ga4ClientId", "anonymousId", "messageId"))})
APP = Table({"app_instance_id": required("context.externalId.ga4AppInstanceId")})
PAGE = Table(
    {
        "page_location": "context.page.url",
        "page_referrer": "context.page.referrer",
        "page_title": "context.page.title",
    }
)
ENGAGEMENT = Table(
    {
        "engagement_time_msec": first("properties.engagementTimeMsec", "traits.engagementTimeMsec"),
        "session_id": first("properties.sessionId", "traits.sessionId", "context.sessionId"),
        "session_number": first("properties.sessionNumber", "traits.sessionNumber"),
    }
)
GROUP = Table({"group_id": "groupId"})
_CONSENTS = ("ad_user_data", "ad_personalization")
_PRICED = frozenset({"add_to_cart", "remove_from_cart"})
_NOT_PARAMETERS = frozenset({"products", "user_properties"})


@destination.on("track")
def send_event(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    """A recommended event where Google has one for the name, else a custom event."""
    name = event_name(event)
    standard = STANDARD.get(event_key(event))
    if standard:
        return _send(event, settings, context, standard.name, _standard(event, standard))
    return _send(event, settings, context, _check_name("_".join(name.split())), _custom(event.properties))


@destination.on("page")
def send_page(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    return _send(event, settings, context, "page_view", _custom(event.properties))


@destination.on("group")
def send_group(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    traits = as_object(event.raw.get("traits"))
    return _send(event, settings, context, "join_group", {**_custom(traits), **GROUP(event)})


def _standard(event: Event, standard: Standard) -> dict[str, Any]:
    params, own = standard.table(event), standard.table.rest(event.properties, "properties")
    listed = products(event)
    if standard.items == "must" and not listed:
        raise MappingError(
            f"needs a list of objects at properties.products: {standard.name} is about items",
            field="properties.products",
        )
    if standard.items == "one" and not listed:
        params["items"] = [_item(ITEM(event.properties))]
        own = ITEM.rest(own)
    elif standard.items != "none" and listed:
        params["items"] = [_item({**ITEM(product), **_flat(ITEM.rest(product))}) for product in listed]
    if standard.name in _PRICED and "value" not in params and "price" in event.properties:
        quantity = event.properties.get("quantity")
        params["value"] = number.of(event.properties["price"]) * number.of(1 if quantity is None else quantity)
    params.update(_custom(own))
    if "value" in params:
        params.setdefault("currency", "USD")  # Google drops values without a currency
    return params


def _item(item: dict[str, Any]) -> dict[str, Any]:
    if "item_id" not in item and "item_name" not in item:
        where = "properties.products.product_id or properties.products.name"
        raise MappingError(f"needs a value at {where}", field=where)
    return item


def _custom(members: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the user's own, without the names that Google keeps."""
    own = {key: value for key, value in members.items() if key not in _NOT_PARAMETERS}
    flat = _flat(ENGAGEMENT.rest(own, "properties"))
    return {key: value for key, value in flat.items() if not RESERVED_PREFIX.match(key)}


def _flat(members: Mapping[str, Any]) -> dict[str, Any]:
    return compact(flatten(members, "_", brackets=False))


def _check_name(name: str) -> str:
    if name in RESERVED_EVENTS or RESERVED_PREFIX.match(name):
        raise MappingError(f"event: Google keeps the name {name!r}; give the event another one", field="event")
    if not EVENT_NAME.match(name):
        raise MappingError(f"event: {name!r} does not start with a letter", field="event")
    return name


def _send(
    event: Event, settings: GoogleAnalyticsSettings, context: Context, name: str, own: Mapping[str, Any]
) -> Payload:
    web, options = settings.types_of_client == "gtag", destination.options(event)
    session = options if _is_hybrid(settings) else {}
    params = {**own, **PAGE(event), **ENGAGEMENT(event)}
    for key, option in (("session_id", "sessionId"), ("session_number", "sessionNumber")):
        if session.get(option):
            params[key] = session[option]
    params.setdefault("engagement_time_msec", 1)  # without it the user does not count as active
    consents = as_object(options.get("consents"))
    body = {
        **(WEB if web else APP)(event),
        **BODY(event),
        "timestamp_micros": _timestamp(event, context),
        "user_properties": _user_properties(event, settings),
        "consent": {key: consents[key] for key in _CONSENTS if consents.get(key) in ("GRANTED", "DENIED")},
        "events": [{"name": name, "params": params}],
    }
    if web and session.get("clientId"):
        body["client_id"] = session["clientId"]
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
    when = value_of(event, WHEN)
    if when is None:
        return None
    past, future = timedelta(hours=72), timedelta(minutes=15)
    check_age(when, context.clock(), by="Google", past=past, future=future, field="originalTimestamp")
    return epoch_us.of(when)


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
