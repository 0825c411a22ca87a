"""Event in, payloads out: the mapping of the destination's type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from svctoolkit.destinations import Context
from svctoolkit.events import Event
from svctoolkit.pipeline.route import Route
from svctoolkit.results import Payload


def run(event: Mapping[str, Any], route: Route, context: Context) -> list[Payload]:
    """The payloads in the service's format. Raises `EventError`, and nothing else."""
    return cast("list[Payload]", [payload.to_dict() for payload in route.mapping.transform(Event(event), context)])
