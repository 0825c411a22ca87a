"""What decides that an event does not arrive at a destination: a line of the user's code, or settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from svctoolkit.causes import CodeError
from svctoolkit.destinations import Context
from svctoolkit.json_types import Json
from svctoolkit.pipeline.fates import Passage, event_of
from svctoolkit.pipeline.reruns import Way, freeze, refusing
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.rules import exclusion
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Destination, Source


def decision(
    passage: Passage, event: Mapping[str, Json], route: Route, context: Context, source: Source
) -> tuple[str, ...]:
    """The place in the user's code (`clean.py:2:12`; its key, where no line is known), or the destination's settings by
    name, that decide on a fate.

    With another value of one of these settings the event would go on. It is measured: at routing by the rules alone, at
    the mapping with a run of it for each setting, the user's code does not run again. Nothing for a fate that neither
    decides, such as that of an event without a field that is needed whatever the settings are.
    """
    fate, transformation = passage.fate, route.transformation
    if fate.by == "user_transform":
        place = fate.cause.where if isinstance(fate.cause, CodeError) else ""
        return (place or transformation.key,) if transformation is not None else ()
    if fate.by == "routing" and fate.status == "filtered":
        return _at_routing(event, source, route.destination)
    if fate.by == "dest_transform" and fate.status in ("failed", "filtered"):
        items = [item for result in passage.results if (item := event_of(result)) is not None]
        return refusing(items, Way(route, freeze(context), source))
    return ()


def _at_routing(event: Mapping[str, Any], source: Source, destination: Destination) -> tuple[str, ...]:
    """The settings without which the event would be for this destination."""
    if not destination.enabled:
        return ("enabled",)
    config = reveal(destination.config)
    without = {name: {key: value for key, value in config.items() if key != name} for name in config}
    return tuple(n for n, fewer in without.items() if not exclusion(event, source, replace(destination, config=fewer)))
