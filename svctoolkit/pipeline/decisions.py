"""Find what keeps an event from reaching a destination: a line of the user's code, or settings."""

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
    """Return what decides a fate: a position in the user's code (`clean.py:2:12`; its key, if no line is known), or the
    names of the destination's settings.

    With another value of one of these settings the event would continue. This is measured: at routing by applying the
    rules, at the mapping with one run per setting. The user's code does not run again. Empty if neither decides the
    fate, for example if the event lacks a field that is required whatever the settings are.
    """
    fate, transformation = passage.fate, route.transformation
    if fate.by == "user_transform":
        place = fate.cause.where if isinstance(fate.cause, CodeError) else ""
        return (place or transformation.key,) if transformation is not None else ()
    if fate.by == "gateway" and source.enabled:
        return ("eventBlocking",)
    if fate.by == "routing" and fate.status == "filtered":
        return _at_routing(event, source, route.destination)
    if fate.by == "dest_transform" and fate.status in ("failed", "filtered"):
        items = [item for result in passage.results if (item := event_of(result)) is not None]
        return refusing(items, Way(route, freeze(context), source))
    return ()


def _at_routing(event: Mapping[str, Any], source: Source, destination: Destination) -> tuple[str, ...]:
    """Return the settings that keep the event from this destination: without one of them it would be routed."""
    if not destination.enabled:
        return ("enabled",)
    config = reveal(destination.config)
    without = {name: {key: value for key, value in config.items() if key != name} for name in config}
    return tuple(n for n, fewer in without.items() if not exclusion(event, source, replace(destination, config=fewer)))
