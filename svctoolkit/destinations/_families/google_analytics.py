"""Shared by both Google Analytics 4 types: Measurement Protocol requests, and outcomes of answers.

https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Any

from svctoolkit.destinations._answers import Answer
from svctoolkit.destinations._context import Context
from svctoolkit.destinations._endpoint import JSON, Endpoint, Header, Param
from svctoolkit.destinations._outcomes import Delivery, Outcome
from svctoolkit.destinations._payload import Payload
from svctoolkit.destinations._settings import Settings, Tags
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    TIME,
    USER_ID,
    Misfit,
    Table,
    as_object,
    check_age,
    compact,
    converter,
    first,
    flatten,
    moment,
    required,
    string,
    text,
    trait,
)
from svctoolkit.mapping.table import getter
from svctoolkit.mapping.times import microseconds
from svctoolkit.secrets import Secret

API = Endpoint(
    "https://www.google-analytics.com",
    Header("HOST", "www.google-analytics.com"),
    JSON,
    Param("api_secret", "{api_secret}"),
)
EVENT_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
USER_PROPERTY = re.compile(r"[A-Za-z]\w{0,23}", re.ASCII)
RESERVED_PREFIX = re.compile(r"_|firebase_|ga_|google_|gtag\.")
RESERVED_EVENTS = frozenset({
    "ad_activeview", "ad_click", "ad_exposure", "ad_impression", "ad_query", "ad_reward", "adunit_exposure",
    "app_background", "app_clear_data", "app_exception", "app_install", "app_remove", "app_store_refund",
    "app_store_subscription_cancel", "app_store_subscription_convert", "app_store_subscription_renew", "app_update",
    "app_upgrade", "dynamic_link_app_open", "dynamic_link_app_update", "dynamic_link_first_open", "error",
    "firebase_campaign", "first_open", "first_visit", "in_app_purchase", "notification_dismiss",
    "notification_foreground", "notification_open", "notification_receive", "notification_send", "os_update",
    "screen_view", "session_start", "session_start_with_rollout", "user_engagement",
})  # fmt: skip
RESERVED_USER_PROPERTIES = frozenset({
    "first_open_time", "first_visit_time", "first_open_after_install", "last_deep_link_referrer", "user_id",
})  # fmt: skip


class MeasurementSettings(Settings, frozen=True, kw_only=True):
    api_secret: Secret
    types_of_client: str
    measurement_id: str = ""
    firebase_app_id: str = ""
    debug_mode: bool = False
    connection_mode: str | dict[str, str] = ""
    pii_properties_to_ignore: Tags = Tags()

    @cached_property
    def is_hybrid(self) -> bool:
        """Whether a browser's own Google tag tracks the session."""
        mode = self.connection_mode
        return "hybrid" in (mode.values() if isinstance(mode, dict) else (mode,))

    @cached_property
    def barred_user_properties(self) -> frozenset[str]:
        """Names that are never sent as user properties."""
        return RESERVED_USER_PROPERTIES.union(self.pii_properties_to_ignore)

    def __post_init__(self) -> None:
        if not self.types_of_client:
            raise ValueError("typesOfClient: is required: gtag or firebase")
        if self.types_of_client == "gtag" and not self.measurement_id:
            raise ValueError("measurementId: is required, because typesOfClient is gtag")
        if self.types_of_client == "firebase" and not self.firebase_app_id:
            raise ValueError("firebaseAppId: is required, because typesOfClient is firebase")


@converter
def scalar(value: Json) -> Json:
    """Google accepts texts, numbers and booleans; lists and objects are left out."""
    return None if isinstance(value, (list, dict)) else value


ANSWERS = [  # always 2xx, even for invalid events; only the validation server (debugMode) reports errors, with 200
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
]


def judge(delivery: Delivery) -> Outcome | None:
    """Abort if the body has validation messages; otherwise the status decides."""
    body = delivery.reply.body
    messages = body.get("validationMessages") if delivery.reply.successful and isinstance(body, dict) else None
    if not messages:
        return None
    first = messages[0] if isinstance(messages, list) and isinstance(messages[0], dict) else {}
    members = (first.get("fieldPath"), first.get("validationCode"), first.get("description"))
    return Outcome("abort", " | ".join(str(member) for member in members if member))


@converter
def _without_personal_ads(tracked: Any) -> bool | None:
    """Convert the device's ad tracking flag to `non_personalized_ads`: its opposite; None if unknown."""
    return {"true": False, "false": True}.get(str(tracked).lower()) if isinstance(tracked, (bool, str)) else None


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
_NOT_PARAMETERS = frozenset({
    "engagementTimeMsec", "engagement_time_msec", "groupId", "sessionId", "session_id", "user_properties",
})  # fmt: skip
_NAMES = 4096  # cache size; a team's events have only a limited number of names
_PAST, _FUTURE = timedelta(hours=72), timedelta(minutes=15)
_time = getter(TIME)


def custom_parameters(event: Event) -> dict[str, Json]:
    """Return the parameters of a custom event."""
    return {**own_parameters(event.properties), **PAGE(event), **ENGAGEMENT(event)}


def group_parameters(event: Event) -> dict[str, Json]:
    """Return the parameters of `join_group`."""
    traits = {**as_object(event.raw.get("traits")), **as_object(event.context.get("traits"))}
    return {**own_parameters(traits), **GROUP(event)}


def own_parameters(members: Mapping[str, Json]) -> dict[str, Json]:
    """Return custom parameters, without names that Google reserves."""
    members = flat({key: value for key, value in members.items() if key not in _NOT_PARAMETERS})
    return {key: value for key, value in members.items() if not _is_reserved(key)}


@lru_cache(_NAMES)
def _is_reserved(name: str) -> bool:
    return bool(RESERVED_PREFIX.match(name))


@lru_cache(_NAMES)
def _is_property(name: str) -> bool:
    return bool(USER_PROPERTY.fullmatch(name)) and not RESERVED_PREFIX.match(name)


def flat(members: Mapping[str, Json]) -> dict[str, Json]:
    """Flatten nested members and drop empty ones."""
    return compact(flatten(members, "_", brackets=False))


def check_name(name: str) -> str:
    """Return the name of a custom event. Raises `MappingError` if Google does not accept it."""
    if name in RESERVED_EVENTS or RESERVED_PREFIX.match(name):
        raise Misfit("event", "a name that Google does not use itself", name, case="reserved")
    if not EVENT_NAME.fullmatch(name):
        raise Misfit("event", "a letter, then only letters, digits and underscores", name, case="form")
    return name


def event_payload(
    event: Event,
    settings: MeasurementSettings,
    context: Context,
    options: Mapping[str, Json],
    name: str,
    params: dict[str, Json],
) -> Payload:
    """Return the request of one event; `options` are the event's options for this type."""
    params |= session_parameters(settings, options)
    params.setdefault("engagement_time_msec", 1)  # without it the user does not count as active
    body = {
        **person(event, settings, context, options),
        "user_properties": _user_properties(event, settings),
        "consent": consent(options),
        "events": [{"name": name, "params": params}],
    }
    return send_body(settings, body)


def session_parameters(settings: MeasurementSettings, options: Mapping[str, Json]) -> dict[str, Json]:
    """Return the parameters of the browser session."""
    session = {"session_id": options.get("sessionId")} if settings.is_hybrid else {}
    session["session_number"] = options.get("sessionNumber")
    return {key: value for key, value in session.items() if value}


def person(
    event: Event, settings: MeasurementSettings, context: Context, options: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the user, the device and the time."""
    web, session = settings.types_of_client == "gtag", options if settings.is_hybrid else {}
    client = {"client_id": session["clientId"]} if web and session.get("clientId") else (WEB if web else APP)(event)
    return {**client, **BODY(event), "timestamp_micros": _timestamp(event, context)}


def consent(options: Mapping[str, Json]) -> dict[str, Json]:
    """Return the user's consents."""
    consents = as_object(options.get("consents"))
    return {key: consents[key] for key in _CONSENTS if consents.get(key) in ("GRANTED", "DENIED")}


def send_body(settings: MeasurementSettings, body: dict[str, Json]) -> Payload:
    """Return a request to the configured data stream."""
    web = settings.types_of_client == "gtag"
    stream = {"measurement_id": settings.measurement_id} if web else {"firebase_app_id": settings.firebase_app_id}
    return API.post(settings, "debug/mp/collect" if settings.debug_mode else "mp/collect", compact(body), params=stream)


def _timestamp(event: Event, context: Context) -> int | None:
    """Return the time in microseconds; None if it is not a valid time."""
    when = moment(_time(event.raw))
    if when is None:
        return None
    check_age(when, context.clock(), past=_PAST, future=_FUTURE)
    return microseconds(when)


def _user_properties(event: Event, settings: MeasurementSettings) -> dict[str, Any]:
    """Return simple values within Google's limits (24 characters per name, 36 per value) that are not excluded."""
    barred = settings.barred_user_properties
    traits = as_object(event.context.get("traits"))
    found = {**traits, **as_object(event.properties.get("user_properties"))}
    return {
        key: {"value": value}
        for key, value in found.items()
        if key not in barred
        and _is_property(key)
        and isinstance(value, (str, int, float))
        and 0 < len(text(value)) <= 36
    }
