"""Meta's Conversions API, of FACEBOOK_PIXEL and FACEBOOK_CONVERSIONS. One invalid event refuses a whole request.

Rules with their checks and answers are in `meta_conversions.yaml`. Meta keeps no profiles that could be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.simulations import Request, Response, Simulation, Visit, objects


def _is_authentic(config: Mapping[str, Any], request: Request) -> bool:
    expected = config.get("accessToken")
    return not expected or expected in (request.query.get("access_token"), request.object.get("access_token"))


simulation = Simulation(
    "Meta Conversions API",
    facts=Path(__file__).with_name("meta_conversions.yaml"),
    auth="fb.auth",
    is_authentic=_is_authentic,
)
EVENTS = simulation.table("events")


@simulation.on("POST /{version}/{pixel}/events")
def receive(visit: Visit, request: Request) -> Response:
    """Keep the events if all are valid."""
    _, pixel = request.parts
    if visit.account.entry("pixels", pixel) is None and visit.report("fb.pixel", EVENTS, value=pixel):
        return visit.answer("unknown_pixel", id=pixel)
    events = _events(request.object.get("data"))
    refusal = visit.refuse("request.events", {"data": events})
    if refusal is not None:
        return refusal
    batch = visit.batch()
    valid = [event for _, event in batch.judge(EVENTS, events)]
    for place, event in enumerate(events):
        is_store = event.get("action_source") == "physical_store"
        _, broken = visit.judge("events.physical_store" if is_store else "events.usual", event, place)
        batch.refused += [broken] if broken else []
    if batch.refused:
        batch.report_others("fb.all", EVENTS, events)
        return visit.refusal(batch.refused[0])
    for place, event in enumerate(valid):
        visit.record_of = event
        properties, user = event.get("custom_data") or {}, event.get("user_data")
        values = {"name": event.get("event_name"), "properties": properties, "time": event.get("event_time")}
        visit.record(EVENTS, {**values, "id": event.get("event_id"), "user": user, "pixel": pixel}, None, place)
    return visit.answer("received", count=len(events))


def _events(data: Json) -> list[dict[str, Any]]:
    """Return the events in the field `data`: a JSON list whose items are objects, or JSON texts of them."""
    value = _decode(data)
    return objects([_decode(item) for item in (value if isinstance(value, list) else [value])])


def _decode(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return None
