"""TikTok's Events API: every request is answered 200, and a code says whether its events are kept.

Rules with their checks and answers are in `facts.yaml`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from svctoolkit.simulations import Fold, Request, Response, Simulation, Visit, header, object_at, objects

simulation = Simulation(
    "TikTok Ads", facts=Path(__file__).with_name("facts.yaml"), credentials=header("Access-Token", "accessToken")
)
EVENTS = simulation.table(
    "events", folds=(Fold("tt.fold", ("pixel", "name", "id"), "first", within=48 * 3600, needs=("id",)),)
)


@simulation.on("POST /open_api/v1.3/pixel/track")
@simulation.on("POST /open_api/v1.3/pixel/batch")
@simulation.on("POST /open_api/v1.3/event/track")
def take(visit: Visit, request: Request) -> Response:
    """Keep the events if all are valid and the account has the pixel."""
    body, prefix = request.object, ""
    pixel, events = body.get("pixel_code") or body.get("event_source_id"), [body]
    for name in ("batch", "data"):
        if name in body:
            events, prefix = objects(body[name]), f"{name.title()}."
    if visit.account.entry("pixels", pixel) is None and visit.report("tt.permission", EVENTS, value=pixel):
        return visit.answer("no_pixel", id=pixel)
    batch = visit.batch()
    kept = list(batch.judge(EVENTS, events))
    if batch.refused:
        batch.report_others("tt.type", EVENTS, events)
        return visit.answer("refused", message=_message(events, prefix))
    for place, event in kept:
        visit.record_of = event
        values = {"name": event.get("event"), "properties": object_at(event, "properties"), "pixel": pixel}
        time = event.get("timestamp", event.get("event_time"))
        visit.record(EVENTS, {**values, "time": time, "id": event.get("event_id")}, None, place)
    return visit.answer("taken")


def _message(events: list[dict[str, Any]], prefix: str) -> str:
    places = [
        f"{prefix}{f'{place}.' if prefix else ''}properties.contents.{number}.content_id: Not a valid string"
        for place, event in enumerate(events)
        for number, content in enumerate(objects(object_at(event, "properties").get("contents")))
        if "content_id" in content and not isinstance(content["content_id"], str)
    ]
    return "; ".join(places)
