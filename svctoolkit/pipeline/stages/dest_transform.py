"""Event in, payloads out: the mapping of the destination's type."""

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
    """The payloads in the service's format. Raises `MappingError`, and nothing else. The route has a mapping.

    Of a type whose events may share requests they are what the router makes of this event alone.
    """
    if route.mapping is None:
        return []
    if route.shares:
        return [payload for batch in route.mapping.batches([(0, event)], [context]) for payload in _payloads(batch)]
    return cast("list[Payload]", [payload.to_dict() for payload in route.mapping.transform(Event(event), context)])


def _payloads(batch: Batch) -> list[Payload]:
    if batch.refusal is not None:
        raise MappingError(batch.refusal)
    return cast("list[Payload]", list(batch.payloads))
