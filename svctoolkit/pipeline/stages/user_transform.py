"""Event in, events out: the user's code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.pipeline.route import Route
from svctoolkit.transformations import Output


def run(event: Mapping[str, Any], route: Route, source_id: str) -> Output | None:
    """What became of the event, or None where the destination has no user transformation."""
    if route.transformation is None:
        return None
    metadata = {
        "sourceId": source_id,
        "destinationId": route.destination.id,
        "destinationName": route.destination.name,
        "destinationType": route.destination.type,
        "messageId": event.get("messageId"),
    }
    return route.transformation.run([event], [metadata])[0]
