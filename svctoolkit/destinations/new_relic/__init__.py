"""New Relic: custom events for its event API.

A track event is sent as one flat object: nested properties become `a.b`, list elements `a[0]`. The settings can add the
context and the user's IDs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Header, Payload, Settings, by_setting
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import TIME, Table, converter, flatten, moment, text, verbatim
from svctoolkit.secrets import Secret

#: words of New Relic's query language: a property with such a name is sent in quotes
_WORDS = frozenset({
    "ago", "and", "as", "auto", "begin", "begintime", "compare", "day", "days", "end", "endtime", "explain", "facet",
    "from", "hour", "hours", "in", "is", "like", "limit", "minute", "minutes", "month", "months", "not", "null",
    "offset", "or", "raw", "second", "seconds", "select", "since", "timeseries", "until", "week", "weeks", "where",
    "with",
})  # fmt: skip
_HOSTS = {"us": "https://insights-collector.newrelic.com", "eu": "https://insights-collector.eu01.nr-data.net"}


class NewRelicSettings(Settings, frozen=True, kw_only=True):
    account_id: Secret
    insert_key: Secret
    data_center: Literal["us", "eu"] = "us"
    custom_event_type: str = "rudderstack"
    send_device_context: bool = False
    send_user_and_anonymous_id: bool = msgspec.field(default=False, name="sendUserIdanonymousId")


destination = DestinationType(
    "New Relic",
    NewRelicSettings,
    docs="https://docs.newrelic.com/docs/data-apis/ingest-apis/event-api/introduction-event-api/",
    quirks=[
        "Booleans are sent as strings.",
        "A property named like a word of NRQL, such as `limit`, is sent in quotes.",
        "An invalid time is left out.",
    ],
    answers=[
        Answer("success", 200, {"success": True, "uuid": "00000000-0000-4000-8000-000000000000"}),
        Answer("bad key", 403, {"error": "Insert key is not valid"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"error": "Missing or invalid data"}),
    ],
)

API = Endpoint(by_setting("data_center", _HOSTS), JSON, Header("Api-Key", "{insert_key}"))


@converter
def whole_second(value: Json) -> int | str:
    """Convert to Unix seconds; a number is read as milliseconds. Invalid times become "", which a table leaves out."""
    when = moment(value)
    return "" if when is None else int(when.timestamp())


ACTION = Table({"event": verbatim("event"), "timestamp": whole_second(TIME)})
PERSON = Table({"userId": verbatim("userId"), "anonymousId": verbatim("anonymousId")})


@destination.on("track")
def send_action(event: Event, settings: NewRelicSettings) -> Payload:
    """Return one custom event, of the configured type."""
    own = {f"'{key}'" if key in _WORDS else key: value for key, value in flatten(event.properties).items()}
    body = {**own, **ACTION(event)}
    if settings.send_user_and_anonymous_id:
        body |= PERSON(event)
    if settings.send_device_context:
        body |= flatten(event.context)
    path = f"v1/accounts/{settings.account_id.reveal()}/events"
    return API.post(settings, path, {**_plain(body), "eventType": settings.custom_event_type})


def _plain(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members without nulls, and with booleans as strings, because New Relic has no booleans."""
    return {
        key: text(value) if isinstance(value, bool) else value for key, value in members.items() if value is not None
    }
