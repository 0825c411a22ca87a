"""Snap's Conversions API: events of a pixel. Version 2 keeps whatever it gets, because its end is not documented.

Rules with their checks and answers are in `facts.yaml`.
"""

from __future__ import annotations

from pathlib import Path

from svctoolkit.simulations import Request, Response, Simulation, Visit, object_at, objects

simulation = Simulation("Snapchat Conversion", facts=Path(__file__).with_name("facts.yaml"))
EVENTS = simulation.table("events")


@simulation.on("POST /v3/{pixel}/events", checks="request.events")
def take(visit: Visit, request: Request) -> Response:
    """Keep the events if all are valid; old ones are dropped."""
    events, batch = request.items("data"), visit.batch()
    kept = list(batch.judge(EVENTS, events))
    if batch.refused:
        batch.report_others("sc.required", EVENTS, events)
        return visit.refusal(batch.refused[0])
    for place, event in kept:
        visit.record_of = event
        values = {"name": event.get("event_name"), "properties": object_at(event, "custom_data")}
        values |= {"time": event.get("event_time"), "id": event.get("event_id"), "user": event.get("user_data")}
        visit.record(EVENTS, values, None, place)
    return visit.answer("taken")


@simulation.on("POST /v2/conversion")
def take_older(visit: Visit, request: Request) -> Response:
    """Keep one event, or a list of them."""
    events = objects(request.body if isinstance(request.body, list) else [request.body])
    for place, visit.record_of in enumerate(events):
        event = visit.record_of
        values = {"name": event.get("event_type"), "properties": dict(event), "time": event.get("timestamp")}
        visit.record(EVENTS, {**values, "id": event.get("client_dedup_id")}, None, place)
    return visit.answer("taken_v2")
