"""Google Analytics 4, second version: connected by an account, with event mappings in the configuration.

A track event that the configuration maps (`eventsMapping`) is sent once per mapping, with exactly the values that the
mapping's JSON paths select. All other events are sent as in the first version, except that names of e-commerce events
are not translated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import force_setattr, replace

from svctoolkit.destinations import Context, DestinationType, Payload
from svctoolkit.destinations._families.google_analytics import (
    ANSWERS,
    MeasurementSettings,
    check_name,
    consent,
    custom_parameters,
    event_payload,
    group_parameters,
    judge,
    person,
    send_body,
    session_parameters,
)
from svctoolkit.destinations._families.json_paths import EACH, NOTHING, BodyRow, Name
from svctoolkit.events import Event
from svctoolkit.mapping import Misconfigured, as_object, compact, event_name, text, without_nulls
from svctoolkit.secrets import Secret


class EventRow(msgspec.Struct, frozen=True, rename="camel"):
    """A mapped event: its name in Google Analytics, and its values."""

    rs_event_name: str = ""
    dest_event_name: str = ""
    event_properties: tuple[BodyRow, ...] = ()


class GoogleAnalyticsV2Settings(MeasurementSettings, frozen=True, kw_only=True):
    """The choices made in the Google account are the JSON text `configData`, which overrides single variables."""

    api_secret: Secret = Secret("")
    types_of_client: Literal["", "gtag", "firebase"] = ""
    config_data: Secret = Secret("")
    events_mapping: tuple[EventRow, ...] = ()

    def __post_init__(self) -> None:
        chosen = _chosen(self.config_data.reveal())
        stream, secret = as_object(chosen.get("DATA_STREAM")), as_object(chosen.get("MEASUREMENT_PROTOCOL_SECRET"))
        if stream.get("type") in ("gtag", "firebase"):
            force_setattr(self, "types_of_client", stream["type"])
            of_stream = "measurement_id" if stream["type"] == "gtag" else "firebase_app_id"
            force_setattr(self, of_stream, text(stream.get("value") or ""))
        if secret.get("value"):
            force_setattr(self, "api_secret", Secret(text(secret["value"])))
        super().__post_init__()
        if not self.api_secret:
            raise ValueError("apiSecret: is required, or a configData with MEASUREMENT_PROTOCOL_SECRET")


def _chosen(written: str) -> Mapping[str, Any]:
    try:
        return as_object(msgspec.json.decode(written)) if written else {}
    except msgspec.DecodeError as error:
        raise ValueError(f"configData: expected a JSON object: {error}") from error


_MEMBER_OF_NAME = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]")

destination = DestinationType(
    "Google Analytics 4 (GA4) V2",
    GoogleAnalyticsV2Settings,
    docs="https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference",
    names=("GA4_V2",),
    earlier=("apiSecret", "typesOfClient", "measurementId", "firebaseAppId", "connectionMode"),
    differences=[
        "RudderStack evaluates a mapping's source as an expression. Here it is a path or a constant, and members of "
        "names other than `$`, such as `process.env`, are refused, as RudderStack refuses them.",
    ],
    quirks=[
        "Names of e-commerce events are not translated to Google's: Order Completed is sent as Order_Completed.",
        "Times are sent in whole seconds.",
        "Mappings of page and group events have no effect.",
        "A mapped event has no user properties and no engagement time unless its mapping has them.",
    ],
    answers=ANSWERS,
    needs=["clock"],
)
destination.judge(judge)


@destination.on("track")
def send_event(event: Event, settings: GoogleAnalyticsV2Settings, context: Context) -> list[Payload]:
    """Return the event once per mapping, or as a custom event if it is not mapped."""
    name = event_name(event)
    rows = [row for row in settings.events_mapping if row.rs_event_name == name and row.dest_event_name]
    if rows:
        return [_mapped(event, settings, context, row) for row in rows]
    return [_send(event, settings, context, check_name("_".join(name.split())), custom_parameters(event))]


@destination.on("page")
def send_page(event: Event, settings: GoogleAnalyticsV2Settings, context: Context) -> Payload:
    """Return a page view."""
    return _send(event, settings, context, "page_view", custom_parameters(event))


@destination.on("group")
def send_group(event: Event, settings: GoogleAnalyticsV2Settings, context: Context) -> Payload:
    """Return the event of joining a group."""
    return _send(event, settings, context, "join_group", group_parameters(event))


def _send(
    event: Event, settings: GoogleAnalyticsV2Settings, context: Context, name: str, params: dict[str, Any]
) -> Payload:
    payload = event_payload(event, settings, context, destination.options(event), name, params)
    return replace(payload, json=_in_seconds(payload.json or {}))


def _mapped(event: Event, settings: GoogleAnalyticsV2Settings, context: Context, row: EventRow) -> Payload:
    options = destination.options(event)
    body: dict[str, Any] = _in_seconds(compact(person(event, settings, context, options)))
    body["events"] = [{"params": {}}]
    for value in row.event_properties:
        if value.from_.written and value.to.written:
            _put(body, value, event)
    sent = as_object(_at(body, ("events", 0)))
    params = {**as_object(sent.get("params")), **session_parameters(settings, options)}
    body["events"] = [{**sent, "name": row.dest_event_name, "params": params}]
    return send_body(settings, {**without_nulls(body), "consent": consent(options)})


def _put(body: dict[str, Any], row: BodyRow, event: Event) -> None:
    """Set the value at its path; without a value, create only the enclosing objects.

    An empty list stays empty: no values are set in its elements.
    """
    if row.from_.steps is None and _MEMBER_OF_NAME.match(row.from_.written):
        raise Misconfigured(
            "eventsMapping", "a source is a path that starts with $, or a quoted text", at=row.from_.written
        )
    value, steps = row.from_.of(event.raw), row.to.steps
    if EACH in steps:
        around = steps[: steps.index(EACH)]
        if (isinstance(value, list) and not value) or (value is NOTHING and EACH in (row.from_.steps or ())):
            if _at(body, around) is None:
                Name(row.to.written.partition("[*]")[0]).put(body, [], "eventsMapping")
            return
        if _at(body, around) == []:
            return
    row.to.put(body, NOTHING if value is None else value, "eventsMapping")


def _at(node: Any, steps: Sequence[Any]) -> Any:
    for step in steps:
        if isinstance(node, dict):
            node = node.get(step)
        else:
            node = node[step] if isinstance(node, list) and isinstance(step, int) and step < len(node) else None
    return node


def _in_seconds(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body with its time in whole seconds."""
    when = body.get("timestamp_micros")
    return {**body, **({"timestamp_micros": when - when % 1_000_000} if when is not None else {})}
