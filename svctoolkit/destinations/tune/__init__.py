"""TUNE: partner marketing events, with the parameters that the configuration maps.

track sends events whose names are configured; others are rejected. Only mapped strings, lists and objects are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeAlias

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import NotConfigured, path, without_scalars

#: a function that returns a value of the raw event
Source: TypeAlias = Callable[[Mapping[str, Json]], Json]


class TuneEvent(msgspec.Struct, frozen=True, rename="camel"):
    """An event's name, and the sources of its parameters: properties, or any path in the event."""

    event_name: str = ""
    standard_mapping: tuple[Rows, ...] = ()
    adv_sub_id_mapping: tuple[Rows, ...] = ()
    adv_unique_id_mapping: tuple[Rows, ...] = ()

    def sources(self) -> dict[str, Source]:
        """The value in the event for each parameter."""
        rows = [(row.to, f"properties.{row.from_}") for row in self.standard_mapping if row.from_]
        rows += [(row.to, row.from_) for row in (*self.adv_sub_id_mapping, *self.adv_unique_id_mapping)]
        return {to: path(source) for to, source in rows if to and source}


class TuneSettings(Settings, frozen=True, kw_only=True):
    subdomain: str
    tune_events: tuple[TuneEvent, ...] = ()

    @cached_property
    def parameters(self) -> dict[str, dict[str, Source]]:
        """The sources of the parameters for each event's name; the first entry of a name counts."""
        return {kind.event_name: kind.sources() for kind in reversed(self.tune_events)}


destination = DestinationType(
    "Tune",
    TuneSettings,
    docs="https://developers.tune.com/affiliate/",
    quirks=["Numbers and booleans are not sent, only strings, lists and objects."],
    answers=[
        Answer("success", 200, {"response": {"status": 1, "httpStatus": 200}}),
        Answer("bad key", 401, {"response": {"status": -1, "errorMessage": "Invalid security token"}}),
        Answer("rate limit", 429, {"response": {"status": -1, "errorMessage": "API usage exceeded rate limit"}}),
        Answer("invalid field", 400, {"response": {"status": -1, "errorMessage": "Missing transaction_id"}}),
    ],
)


@destination.on("track")
def send_event(event: Event, settings: TuneSettings) -> Payload:
    """Return the mapped parameters of the event, in the query."""
    name = event.raw.get("event")
    sources = settings.parameters.get(name) if isinstance(name, str) else None
    if sources is None:
        raise NotConfigured("event", name, setting="tuneEvents")
    params = {to: value(event.raw) for to, value in sources.items()}
    return Payload(endpoint=f"https://{settings.subdomain}.go2cloud.org/aff_l", params=without_scalars(params))
