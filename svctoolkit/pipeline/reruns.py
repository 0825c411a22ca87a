"""Rerun events through a route, unchanged or with another value of one setting.

Clock and ids are frozen for the reruns, and look-ups get the responses of the first run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from svctoolkit.destinations import Context, definitions
from svctoolkit.errors import EventError, ToolkitError, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.pipeline.fates import NOTHING_SENT
from svctoolkit.pipeline.leaves import GONE, leaves, open_payload, other, replace_at
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.stages import dest_transform, load, user_transform
from svctoolkit.pipeline.steady import REPEATS, Items, Unsteady, unsteady
from svctoolkit.results.lineage import Path, dotted_path
from svctoolkit.secrets import reveal
from svctoolkit.transformations import Output
from svctoolkit.warehouse import Notes
from svctoolkit.workspace import Source

OpenPayload: TypeAlias = Mapping[str, Json]  # see `open_payload`; for a warehouse, an event's rows by table


class Way(NamedTuple):
    """A route for events, and the context they run in. `held` are values of user code that do not change."""

    route: Route
    context: Context
    source: Source | None
    held: Unsteady = Unsteady()


class Run(NamedTuple):
    """The result of running an event: the output of the user's code, and each payload; None if it was rejected.

    `in_tables`: the payloads are table rows.
    """

    items: Sequence[Mapping[str, Json]] | None
    payloads: list[OpenPayload]
    in_tables: bool = False


def freeze(context: Context) -> Context:
    """Return a context with a fixed clock and ids for every run. Look-ups get the response that the first run got."""
    now = context.clock()
    answers: dict[str, tuple[int, Any]] = {}

    def lookup(request: Mapping[str, Json]) -> tuple[int, Any]:
        place = str(request.get("url")).partition("?")[0].rpartition("/")[0]  # ids are the last segment
        key = f"{request.get('method')} {place}"
        if key not in answers:
            answers[key] = context.lookup(request)
        return answers[key]

    return replace(context, clock=lambda: now, lookup=lookup)


def _with_ids(context: Context) -> Context:
    """Return a context that yields the same ids in the same order."""
    numbers = count(1)
    return replace(context, new_id=lambda: f"00000000-0000-4000-8000-{next(numbers):012d}")


def run_all(events: Sequence[Mapping[str, Json]], way: Way) -> list[Run]:
    """Run all events."""
    outputs = _outputs(events, way.route, way.source)
    if outputs is None:
        return [_map([event], way) for event in events]
    return [_map(way.held.hold(_items(output)), way) for output in outputs]


def run_changes(
    event: Mapping[str, Json], changes: Sequence[Mapping[str, Json]], way: Way
) -> tuple[Way, Run, list[Run]]:
    """Run an event and changes of it.

    The event runs several times: what differs between its own runs is held in all runs, and in those of the returned
    way.
    """
    held, items = run_code(event, changes, way.route, way.source)
    way = way._replace(held=held)
    base, *runs = (_map(each, way) for each in items)
    return way, base, runs


def run_code(
    event: Mapping[str, Json], changes: Sequence[Mapping[str, Json]], route: Route, source: Source | None
) -> tuple[Unsteady, list[Items]]:
    """Return what the user's code makes of an event and changes of it, with `held` values as in `run_changes`."""
    again = [event] * REPEATS
    outputs = _outputs([*again, *changes, *again], route, source)
    if outputs is None:  # without code, the event itself
        return Unsteady(), [[each] for each in (event, *changes)]
    items = [_items(output) for output in outputs]
    held = unsteady([*items[:REPEATS], *items[-REPEATS:]])
    return held, [items[0], *(held.hold(each) for each in items[REPEATS:-REPEATS])]


def _outputs(events: Sequence[Mapping[str, Json]], route: Route, source: Source | None) -> list[Output] | None:
    """Return what the user's code makes of each event, in one call if it takes events one by one.

    What a batch function returns belongs to the input with the same messageId. Changes of one event have the same one,
    so that each gets a call of its own.
    """
    outputs = user_transform.run(events, route, source)
    if outputs is None or not any(output.order for output in outputs):
        return outputs
    return [output for event in events for output in user_transform.run([event], route, source) or ()]


def _items(output: Output) -> Items:
    return None if output.error is not None else output.events


def _map(items: Sequence[Mapping[str, Json]] | None, way: Way) -> Run:
    payloads = [] if items is None else payloads_of(items, way)
    return Run(items, payloads, in_tables=way.route.tables is not None)


def stop_reason(event: Mapping[str, Json], way: Way) -> str:
    """Return why an event has no payload: the first error, or that it was dropped. Secrets are not masked."""
    outputs = user_transform.run([event], way.route, way.source)
    items: Sequence[Mapping[str, Json]] = [event]
    if outputs is not None:
        if outputs[0].error is not None:
            return str(outputs[0].error)
        items = outputs[0].events
    if not items:
        return "the user code returns no event"
    for item in items:
        try:
            if way.route.tables is None:
                [*dest_transform.run(item, way.route, _with_ids(way.context))]
            else:
                load.entries(item, way.route, _with_ids(way.context), way.source, Notes())
        except EventError as error:
            return str(error)
    return NOTHING_SENT


def payloads_of(
    items: Sequence[Mapping[str, Json]], way: Way, mask: Callable[[Json], Json] = lambda payload: payload
) -> list[OpenPayload]:
    """Return the payloads of all events that are not rejected."""
    if way.route.tables is not None:
        return [mask(rows) for rows in _tables_of(items, way)]
    return [open_payload(mask(payload)) for payload in _map_all(items, way)]


def _map_all(items: Sequence[Mapping[str, Json]], way: Way) -> Iterator[dict[str, Any]]:
    for item in items:
        with contextlib.suppress(EventError):
            for payload in dest_transform.run(item, way.route, _with_ids(way.context)):
                yield dict(payload)


def _tables_of(items: Sequence[Mapping[str, Json]], way: Way) -> Iterator[dict[str, Any]]:
    """Yield the rows of each event that has any: table -> column -> value."""
    for item in items:
        with contextlib.suppress(EventError):
            entries = load.entries(item, way.route, _with_ids(way.context), way.source, Notes())
            if entries:
                yield {row["table"]: row["data"] for row, _ in entries}


def other_routes(route: Route) -> Iterator[tuple[Path, bool, Route]]:
    """Yield the route with another value of one setting, or without that setting, and whether the setting is set now.

    Of the settings that are not set, switches, choices and texts with a default are tried.
    """
    config = reveal(route.destination.config)
    changes = [
        (path, True, replace_at(config, path, new))
        for path, value in leaves(config).items()
        for new in (*_options(route, path, value), GONE)
        if path and not (new is GONE and isinstance(path[-1], int))
    ]
    changes += [((name,), False, {**config, name: new}) for name, new in _unset(route, config)]
    for path, is_set, changed in changes:
        with contextlib.suppress(ToolkitError):  # rejected: the configuration is invalid
            yield path, is_set, route.with_config(changed)


def refusing(items: Sequence[Mapping[str, Json]], way: Way) -> tuple[str, ...]:
    """Return the settings that prevent a payload for these events: with another value of one there would be one."""
    names = {
        dotted_path(path): None
        for path, _, route in (other_routes(way.route) if items else ())
        if payloads_of(items, way._replace(route=route))
    }
    return tuple(names)


def _unset(route: Route, config: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    """Yield values other than the default for switches, choices and texts with a default that are not set."""
    with contextlib.suppress(UnknownName):
        for name, variable in definitions.get(route.destination.type).variables.items():
            if name in config:
                continue
            if variable.type == "boolean" or variable.options:
                values: Sequence[Any] = variable.options or [not variable.default]
                yield from ((name, value) for value in values if value != variable.default)
            elif isinstance(variable.default, str) and variable.default:
                yield name, other(variable.default)


def _options(route: Route, path: Path, value: Any) -> list[Any]:
    """Return other values of a setting: the other options of a choice, or any value."""
    with contextlib.suppress(UnknownName):
        variable = definitions.get(route.destination.type).variables.get(str(path[0])) if path else None
        if variable is not None and variable.options and len(path) == 1:
            return [option for option in variable.options if option != value]
    return [other(value)]
