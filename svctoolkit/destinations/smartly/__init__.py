"""Smartly: ad conversions, through the server-to-server events API.

track sends the event under one or more names that the configuration maps its name to, else under its own name. The time
of the interaction may be up to three years in the past and one year in the future.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from svctoolkit.destinations import (
    Answer,
    Batch,
    Context,
    DestinationType,
    MappedJob,
    Merge,
    Payload,
    Rows,
    Settings,
)
from svctoolkit.destinations._batches import merge
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    CLIENT_TIME,
    TIME_EXAMPLE,
    Misfit,
    Table,
    check_age,
    converter,
    js_join,
    leading_number,
    lenient_seconds,
    moment,
    required,
)
from svctoolkit.secrets import Secret

_YEAR = timedelta(days=365)
_PLACE = "/events"
_MERGES = (Merge("events", wraps=True, limit=1000, at=_PLACE, to=f"{_PLACE}/batch"),)


class SmartlySettings(Settings, frozen=True, kw_only=True):
    api_token: Secret
    events_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "Smartly",
    SmartlySettings,
    docs="https://support.smartly.io/hc/en-us/articles/4406049685788-S2S-integration-API-description",
    answers=[
        Answer("success", 200, {"status": "ok"}),
        Answer("bad key", 401, {"error": "Unauthorized"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"error": "ad_unit_id is required"}),
    ],
    differences=["RudderStack's recorded batches without a fixed time contain interactions that are now too old."],
    needs=["clock"],
)


@converter
def amount(value: Json) -> Json:
    """Return the number at the start of a string; anything else is left out."""
    number = leading_number(value)
    return "" if number is None else number


@converter
def as_text(value: Json) -> str:
    return js_join(value)


EVENT = Table(
    {
        "value": amount("properties.total", "properties.value", "properties.revenue"),
        "conversions": "properties.conversions",
        "ad_unit_id": required(as_text("properties.adUnitId", "properties.ad_unit_id")),
        "platform": required("properties.platform"),
        "ad_interaction_time": required(
            lenient_seconds("properties.adInteractionTime", "properties.ad_interaction_time")
        ),
        "installTime": lenient_seconds("properties.installTime"),
        "event_time": lenient_seconds(CLIENT_TIME),
        "value_currency": "properties.currency",
    }
)


@destination.on("track")
def send_event(event: Event, settings: SmartlySettings, context: Context) -> Iterator[Payload]:
    """Yield one payload for each name that the configuration maps the event to, else one."""
    name = event.raw.get("event")
    if not isinstance(name, str):
        raise Misfit("event", "a name as a string", name)
    body = EVENT(event)
    _check_interaction(body.get("ad_interaction_time"), context.clock())
    products = event.properties.get("products")
    body.setdefault("conversions", len(products) if isinstance(products, list) else "1")
    for target in _names(name, settings):
        yield Payload(endpoint=f"https://s2s.smartly.io{_PLACE}", json={**body, "event_name": target})


def _names(name: str, settings: SmartlySettings) -> list[str]:
    key = name.strip().lower()
    return [row.to for row in settings.events_mapping if row.to and row.from_.strip().lower() == key] or [name]


def _check_interaction(seconds: Any, now: datetime) -> None:
    where = "properties.adInteractionTime or properties.ad_interaction_time"
    if seconds is None:
        raise Misfit(where, TIME_EXAMPLE, seconds)
    number = float(seconds) if isinstance(seconds, str) else seconds
    when = moment(number * 1000) or datetime.max.replace(tzinfo=UTC)  # too far in the future for datetime
    check_age(when, now, past=3 * _YEAR, future=_YEAR, field=where)


@destination.batch
def batch(jobs: Sequence[MappedJob], settings: SmartlySettings) -> Iterator[Batch]:
    """Batch all events of a configuration; only the shared request has the token."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {settings.api_token.reveal()}"}
    yield from merge([_authorize(job, headers) for job in jobs], _MERGES)


def _authorize(job: MappedJob, headers: Mapping[str, str]) -> MappedJob:
    payloads = [msgspec.structs.replace(payload, headers=headers) for payload in job.payloads]
    return MappedJob(job.id, job.event, tuple(payloads), None, job.metadata)
