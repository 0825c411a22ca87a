"""PostHog's server: events, persons who are merged by `$identify` and `$create_alias`, and groups.

Rules with their checks and answers are in `facts.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.simulations import Request, Response, Simulation, Visit, object_at, objects
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.json_text import text_of

simulation = Simulation("PostHog", facts=Path(__file__).with_name("facts.yaml"))
PERSONS = simulation.table("profiles", ids=("distinct_id",))
EVENTS = simulation.table("events", owner=PERSONS)
GROUPS = simulation.table("groups", ids=(("key", "id"),))
_OPERATIONS: dict[str, op.Operation] = {"$set": op.set_value, "$set_once": op.set_once, "$unset": op.unset}


@simulation.on("POST /batch", "POST /capture", "POST /i/v0/e", checks="request.capture")
def capture(visit: Visit, request: Request) -> Response:
    """Keep the events. One without a name or a person refuses the request; others are dropped silently."""
    events = objects(request.object["batch"]) if "batch" in request.object else [request.object]
    batch = visit.batch()
    kept = list(batch.judge(EVENTS, events))
    if batch.refused:
        batch.report_others("ph.required", EVENTS, events)
        return visit.refusal(batch.refused[0])
    for place, event in kept:
        visit.record_of = event
        _keep(visit, event, place)
    return visit.answer("taken")


def _keep(visit: Visit, event: Mapping[str, Any], place: int) -> None:
    properties = object_at(event, "properties")
    id = text_of(event.get("distinct_id") or properties.get("distinct_id"))
    _merge(visit, event.get("event"), id, properties, place)
    person = visit.resolve(PERSONS, {"distinct_id": id})
    for given in (properties, event):
        op.apply(person.values["attributes"], given, _OPERATIONS)
    visit.touch(PERSONS, person)
    if event.get("event") == "$groupidentify":
        ids = {"key": properties.get("$group_type"), "id": properties.get("$group_key")}
        visit.write(GROUPS, visit.resolve(GROUPS, ids), object_at(properties, "$group_set"), op.set_value)
    values = {"name": event.get("event"), "properties": properties, "time": event.get("timestamp")}
    visit.record(EVENTS, {**values, "id": event.get("uuid")}, person, place)


def _merge(visit: Visit, name: Json, id: str, properties: Mapping[str, Any], place: int) -> None:
    """Merge the persons of two IDs, unless one is illegal, or the other one was identified before."""
    other = properties.get({"$identify": "$anon_distinct_id", "$create_alias": "alias"}.get(str(name), ""))
    if other is None or other == id:
        return
    _, illegal = visit.judge("events.merge", {"ids": [id, other]}, place)
    if illegal:
        return
    target, source = visit.resolve(PERSONS, {"distinct_id": id}), visit.find(PERSONS, {"distinct_id": text_of(other)})
    is_identified = source is not None and source is not target and bool(source.values.get("is_identified"))
    if is_identified and visit.report("ph.merge.identified", PERSONS, place, value=other):
        return
    if source is None:
        source = visit.create(PERSONS, {"distinct_id": text_of(other)})
    if source is not target:
        visit.merge(PERSONS, source, target)
    target.values["is_identified"] = True
