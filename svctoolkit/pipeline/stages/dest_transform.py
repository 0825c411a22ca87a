"""Map an event to payloads with the mapping of the destination's type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from svctoolkit.destinations import Batch, Context
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.pipeline.route import Route
from svctoolkit.results import Payload


def run(event: Mapping[str, Json], route: Route, context: Context) -> list[Payload]:
    """Return the payloads in RudderStack's format. Raises only `MappingError`. The route must have a mapping.

    For a type whose events may share requests, these are the payloads that the router makes of this event alone.
    """
    if route.mapping is None:
        return []
    if route.shares:
        return [payload for batch in route.mapping.batches([(0, event)], [context]) for payload in _payloads(batch)]
    return cast("list[Payload]", [payload.to_dict() for payload in route.mapping.transform(Event(event), context)])


def sends(event: Mapping[str, Json], route: Route, context: Context) -> bool:
    """Return whether `run` returns any payload, which takes less time. Raises only `MappingError`."""
    if route.mapping is None:
        return False
    if route.shares:
        return route.mapping.sends_alone(event, context)
    return bool(route.mapping.transform(Event(event), context))


def _payloads(batch: Batch) -> list[Payload]:
    if batch.refusal is not None:
        raise MappingError(batch.refusal)
    return cast("list[Payload]", list(batch.payloads))
