"""Event in, events out: the user's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from svctoolkit.pipeline.route import Route
from svctoolkit.transformations import Output
from svctoolkit.workspace import Source


def run(events: Sequence[Mapping[str, Any]], route: Route, source: Source | None) -> list[Output] | None:
    """What became of each event, or None where the destination has no user transformation. One call of the code."""
    if route.code is None:
        return None
    return route.code.run(events, [metadata(event, route, source) for event in events])


def metadata(event: Mapping[str, Any], route: Route, source: Source | None) -> dict[str, Any]:
    """What `metadata(event)` gives to the user's code: where the event comes from and goes to, as far as known."""
    destination, transformation = route.destination, route.transformation
    found = {
        "workspaceId": route.workspace.name,
        "destinationId": destination.id,
        "destinationName": destination.name,
        "destinationType": destination.type,
        "messageId": event.get("messageId"),
        "rudderId": event.get("rudderId"),
        "receivedAt": event.get("receivedAt"),
        "eventName": event.get("event"),
        "eventType": event.get("type"),
    }
    if source is not None:
        found |= {"sourceId": source.id, "sourceName": source.name, "sourceType": source.type}
    if transformation is not None:
        found |= {
            "transformationId": transformation.id,
            "transformationVersionId": transformation.version_id or transformation.id,
        }
    return {name: value for name, value in found.items() if value is not None}
