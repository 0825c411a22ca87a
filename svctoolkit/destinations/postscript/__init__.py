"""Postscript: SMS subscribers and their events.

identify updates the subscriber with the event's ID or phone number, or creates one; track sends an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import (
    ACCEPT_JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Header,
    Payload,
    Settings,
    bearer,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL_OR_EXTERNAL_ID,
    FIRST_NAME,
    LAST_NAME,
    TIME,
    Missing,
    Table,
    as_object,
    converter,
    custom_traits,
    event_name,
    first,
    in_url,
    is_empty,
    js_join,
    moment,
    objects,
    required,
    trait,
    value_of,
    verbatim,
)
from svctoolkit.secrets import Secret


class PostscriptSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


destination = DestinationType(
    "Postscript",
    PostscriptSettings,
    docs="https://developers.postscript.io/reference/create-subscriber",
    quirks=[
        "Custom traits are read from the event's context first, then from the event itself.",
        "The trait subscriberId names a subscriber to update only among the event's own traits, if it has any; in the "
        "context, it is then only sent with a new subscriber.",
    ],
    answers=[
        Answer("success", 200, {"subscriber": {"id": "s1"}}),
        Answer("bad key", 401, {"error": {"type": "authentication_error", "code": "invalid_api_key"}}),
        Answer("rate limit", 429, {"error": {"type": "rate_limit_error", "code": "rate_limit_exceeded"}}),
        Answer("invalid field", 400, {"error": {"type": "validation_error", "code": "missing_required_fields"}}),
    ],
    needs=["lookup"],
)

API = Endpoint(
    "https://api.postscript.io/api/v2", Header("Content-type", "application/json"), ACCEPT_JSON, bearer("api_key")
)


@converter
def day_and_time(value: Json) -> str:
    """Convert to a time such as `2026-01-31 12:00:00.000`; numbers and booleans are read as milliseconds."""
    when = moment(int(value) if isinstance(value, bool) else value)
    return "Invalid date" if when is None else when.replace(tzinfo=None).isoformat(" ", "milliseconds")


SUBSCRIBER = Table(
    {
        "email": EMAIL_OR_EXTERNAL_ID,
        "phone_number": required(trait("phone")),
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "keyword": trait("keyword"),
        "keyword_id": trait("keywordId"),
        "external_id": first("context.externalId.external_id", trait("externalId")),
        "tags": trait("tags"),
        "origin": trait("origin"),
        "shopify_customer_id": trait("shopifyCustomerId"),
    }
)
ACTION = Table(
    {
        "email": verbatim(trait("email")),
        "phone": verbatim(trait("phone")),
        "occurred_at": day_and_time(TIME),
        "external_id": "context.externalId.external_id",
        "subscriber_id": "context.externalId.subscriber_id",
    }
)
NEW_SUBSCRIBER = Table({"subscriber_id": first("context.externalId.subscriber_id", trait("subscriberId"))})
_NOT_CUSTOM = frozenset({
    "email", "externalId", "firstName", "keyword", "keywordId", "lastName", "origin", "phone", "shopifyCustomerId",
    "subscriberId", "tags",
})  # fmt: skip


@destination.on("identify")
def send_subscriber(event: Event, settings: PostscriptSettings, context: Context) -> Payload:
    """Update the subscriber if it exists in Postscript; otherwise create one, which requires a keyword."""
    body = SUBSCRIBER(event)
    properties = custom_traits(event, _NOT_CUSTOM)
    if properties:
        body["properties"] = properties
    traits = as_object(event.raw.get("traits") or event.context.get("traits"))
    subscriber_id = value_of(event, "context.externalId.subscriber_id") or traits.get("subscriberId")
    if not subscriber_id:
        _demand_keyword(traits)
        subscriber_id = _find(body["phone_number"], settings, context)
    if subscriber_id:
        return API.request(settings, "PATCH", f"subscribers/{js_join(subscriber_id)}", body)
    return API.post(settings, "subscribers", {**body, **NEW_SUBSCRIBER(event)})


@destination.on("track")
def send_event(event: Event, settings: PostscriptSettings) -> Payload:
    """Return an event of the subscriber."""
    body = {"type": event_name(event), **ACTION(event)}
    if "external_id" not in body and "subscriber_id" not in body and not is_empty(event.raw.get("userId")):
        body["subscriber_id"] = event.raw["userId"]
    if isinstance(event.raw.get("properties"), dict):
        body["properties"] = {key: value for key, value in event.properties.items() if value is not None}
    return API.post(settings, "events", body)


def _demand_keyword(traits: Mapping[str, Any]) -> None:
    """Raise if a possibly new subscriber has no keyword in its traits."""
    if not (traits.get("keyword") or traits.get("keywordId")):
        raise Missing("traits.keyword", "traits.keywordId", wants="the keyword of a new subscriber")


def _find(phone: Any, settings: PostscriptSettings, context: Context) -> Any:
    """Return the ID of the subscriber with this phone number."""
    question = API.lookup(settings, f"subscribers?phone_number__in={in_url(js_join(phone))}")
    answer = as_object(context.ask(question, may_miss=True, field="traits.phone"))
    subscribers = objects(answer.get("subscribers"))
    return subscribers[0].get("id") if subscribers else None
