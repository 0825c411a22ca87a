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
    shared = _common(route, source)
    return route.code.run(events, [{**shared, **_own(event)} for event in events])


#: Member of the metadata -> member of the event.
_OF_EVENT = {
    "messageId": "messageId",
    "rudderId": "rudderId",
    "receivedAt": "receivedAt",
    "eventName": "event",
    "eventType": "type",
}


def _own(event: Mapping[str, Any]) -> dict[str, Any]:
    """What `metadata(event)` says about the event."""
    return {name: value for name, member in _OF_EVENT.items() if (value := event.get(member)) is not None}


def _common(route: Route, source: Source | None) -> dict[str, Any]:
    """What it says about where all these events come from and go to, as far as known."""
    destination, transformation = route.destination, route.transformation
    metadata = {
        "workspaceId": route.workspace.name,
        "destinationId": destination.id,
        "destinationName": destination.name,
        "destinationType": destination.type,
    }
    if source is not None:
        metadata |= {"sourceId": source.id, "sourceName": source.name, "sourceType": source.type}
    if transformation is not None:
        metadata |= {
            "transformationId": transformation.id,
            "transformationVersionId": transformation.version_id or transformation.id,
        }
    return {name: value for name, value in metadata.items() if value is not None}
