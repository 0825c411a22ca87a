"""Event in, events out: the user's code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.pipeline.route import Route
from svctoolkit.transformations import Output
from svctoolkit.workspace import Source


def run(event: Mapping[str, Any], route: Route, source: Source | None) -> Output | None:
    """What became of the event, or None where the destination has no user transformation."""
    if route.code is None:
        return None
    return route.code.run([event], [metadata(event, route, source)])[0]


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
