"""Lineage, measured: a route runs again with one leaf of the event, or one setting, changed or gone at a time.

A prepared route is deterministic, so what became different depends on what was changed. It holds for every mapping and
for user code in both languages. Clock and ids stand still meanwhile, and look-ups are answered from the first run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from svctoolkit.destinations import Context, definitions
from svctoolkit.errors import EventError, ToolkitError, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.pipeline.leaves import GONE, differing_leaves, leaves, open_payload, other, replace_at
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.stages import dest_transform, load, user_transform
from svctoolkit.results.lineage import Destiny, Lineage, Loss, Origin, Path, dotted_path, merge
from svctoolkit.secrets import reveal
from svctoolkit.url_secrets import mask_http
from svctoolkit.warehouse import Notes
from svctoolkit.workspace import Source

_SHAPES = 200  # of events that are measured: 10,000 events of a shop have a few dozen
_MOST = 2_000  # leaves of an event that are looked at: each costs two runs


_Payload: TypeAlias = Mapping[str, Any]  # opened: see `open_payload`; of a warehouse the rows of an event, by table
_Field: TypeAlias = tuple[int, Path]  # which payload, and where in it


class _Way(NamedTuple):
    """What an event goes through."""

    route: Route
    context: Context
    source: Source | None


class _Run(NamedTuple):
    """What came of an event: what the user's code gave, and each payload; None: refused.

    `in_tables`: the payloads are rows.
    """

    items: Sequence[Mapping[str, Any]] | None
    payloads: list[_Payload]
    in_tables: bool = False


class _Effect(NamedTuple):
    """What another value of a leaf of the event or of the configuration, and its absence, did.

    `into` are the fields that its value goes into, `decides` those that it only decides about. `required`: without it
    there is no payload. `unseen`: what the user's code gives is the same.
    """

    path: Path
    into: set[_Field]
    decides: set[_Field]
    required: bool
    unseen: bool

    @property
    def is_lost(self) -> bool:
        """Whether it reaches no payload and decides nothing."""
        return not (self.into or self.decides or self.required)


class _Settings(NamedTuple):
    """What settings do. `effects`: the fields that one's value goes into, and those that it only decides about.

    `losing`: by leaf of the event those that lose it, with another value it would go into a payload; `refusing`: those
    that refuse the event. Both by name, in order.
    """

    effects: dict[Path, tuple[set[_Field], set[_Field]]]
    losing: dict[Path, dict[str, None]]
    refusing: dict[str, None]


def measure(event: Mapping[str, Json], route: Route, context: Context, source: Source | None) -> Lineage:
    """The lineage of one event. Of one that leads to no payload it says which settings decide that, if any do.

    The fields of a warehouse are `table.column`; all rows of an event are one payload.
    """
    way = _Way(route, _frozen(context), source)
    values = {path: value for path, value in list(leaves(dict(event)).items())[:_MOST] if path}
    events = [event, *(replace_at(event, path, other(value)) for path, value in values.items())]
    events += [replace_at(event, path, GONE) for path in values]
    base, *runs = _run_all(events, way)
    changed, without = runs[: len(values)], runs[len(values) :]
    effects = [_effect(path, values[path], base, *both) for path, *both in zip(values, changed, without, strict=True)]
    settings, coded = _settings(event, base, effects, changed, way), _coded(event, base, way)
    shown_event = leaves(route.masker.mask(dict(event)))
    return Lineage(
        route.destination.key,
        [_origin(field, value, effects, settings, coded) for field, value in _masked_fields(base, way)],
        [_destiny(effect, shown_event.get(effect.path), base, route, settings) for effect in effects],
        refused_by=tuple(settings.refusing),
    )


def _masked_fields(base: _Run, way: _Way) -> Iterator[tuple[_Field, Any]]:
    """The fields of the payloads, for people: without secrets."""
    payloads = _payloads(base.items or (), way, lambda payload: mask_http(way.route.masker.mask(payload)))
    for number, (payload, fields) in enumerate(zip(payloads, base.payloads, strict=True)):
        masked = leaves(payload)
        for path in leaves(fields):
            yield (number, path), masked.get(path)


def measure_many(
    events: Iterable[Mapping[str, Json]], route: Route, context: Context, source: Source | None
) -> Lineage:
    """The lineage of many events: one event of each shape is measured, the first `_SHAPES` of them."""
    shapes: dict[Any, Mapping[str, Any]] = {}
    for event in events:
        if len(shapes) < _SHAPES:
            shapes.setdefault((event.get("type"), event.get("event"), frozenset(leaves(dict(event)))), event)
    return merge(route.destination.key, [measure(event, route, context, source) for event in shapes.values()])


def _effect(path: Path, value: Any, base: _Run, changed: _Run, without: _Run) -> _Effect:
    into: set[_Field] = set()
    decides: set[_Field] = set()
    required = bool(base.payloads) and not without.payloads
    if changed.payloads:
        for field, new in _differences(base, changed):
            (decides if new is GONE else into).add(field)
    elif required:  # no other value can be tried: what has the same value has it from there
        into |= {(n, p) for n, payload in enumerate(base.payloads) for p, v in leaves(payload).items() if v == value}
    if without.payloads:
        decides |= {field for field, _ in _differences(base, without)}
    unseen = without.items == base.items and changed.items == base.items
    return _Effect(path, into, decides - into, required, unseen)


def _differences(base: _Run, run: _Run) -> Iterator[tuple[_Field, Any]]:
    """The fields that have another value now, with it, or that are gone."""
    for number, (before, after) in enumerate(zip(base.payloads, _aligned(base, run), strict=True)):
        for path, new in differing_leaves(before, after) if before != after else ():
            yield (number, path), new


def _aligned(base: _Run, run: _Run) -> Sequence[_Payload]:
    """The payloads of `run` as they stand beside those of `base`: by number, or by address where one is missing."""
    if len(base.payloads) == len(run.payloads):
        pairs = zip(base.payloads, run.payloads, strict=True)
        return [_with_tables_of(*pair) for pair in pairs] if base.in_tables else run.payloads
    rest = list(run.payloads)
    aligned: list[_Payload] = []
    for payload in base.payloads:
        twin = next((p for p in rest if p.get("endpoint") == payload.get("endpoint")), {})
        rest = [p for p in rest if p is not twin]
        aligned.append(twin)
    return aligned


def _with_tables_of(base: _Payload, rows: _Payload) -> _Payload:
    """Rows under the names of the tables that stand at their places: an event of another name has another table."""
    return dict(zip(base, rows.values(), strict=True)) if len(base) == len(rows) else rows


def _origin(
    field: _Field,
    shown: Any,
    effects: Sequence[_Effect],
    settings: _Settings,
    coded: Container[_Field],
) -> Origin:
    return Origin(
        field[0] + 1,
        dotted_path(field[1]),
        shown,
        tuple(dotted_path(effect.path) for effect in effects if field in effect.into),
        tuple(
            [dotted_path(effect.path) for effect in effects if field in effect.decides]
            + [f"config.{dotted_path(p)}" for p, (into, about) in settings.effects.items() if field in about - into]
        ),
        tuple(dotted_path(path) for path, (into, _) in settings.effects.items() if field in into),
        field in coded,
    )


def _destiny(effect: _Effect, shown: Any, base: _Run, route: Route, settings: _Settings) -> Destiny:
    several = len(base.payloads) > 1
    lost_at: Loss = ""
    if effect.is_lost and base.payloads:
        lost_at = "user_transform" if effect.unseen and route.code is not None else "dest_transform"
    into, decides = (
        tuple(_name(field, several) for field in sorted(f, key=str)) for f in (effect.into, effect.decides)
    )
    lost_by = tuple(settings.losing.get(effect.path, ()))
    return Destiny(dotted_path(effect.path), shown, into, decides, lost_at, effect.required, lost_by)


def _name(field: _Field, several: bool) -> str:
    return f"{field[0] + 1}: {dotted_path(field[1])}" if several else dotted_path(field[1])


def _frozen(context: Context) -> Context:
    """Clock and ids as in the first run, in every run; look-ups get the answer that the first run got."""
    now = context.clock()
    answers: dict[str, tuple[int, Any]] = {}

    def lookup(request: Mapping[str, Any]) -> tuple[int, Any]:
        place = str(request.get("url")).partition("?")[0].rpartition("/")[0]  # ids stand at the end
        key = f"{request.get('method')} {place}"
        if key not in answers:
            answers[key] = context.lookup(request)
        return answers[key]

    return replace(context, clock=lambda: now, lookup=lookup)


def _with_ids(context: Context) -> Context:
    """The same ids in the same order."""
    numbers = count(1)
    return replace(context, new_id=lambda: f"00000000-0000-4000-8000-{next(numbers):012d}")


def _run_all(events: Sequence[Mapping[str, Any]], way: _Way) -> list[_Run]:
    """One call of the user's code for all of them."""
    outputs = user_transform.run(events, way.route, way.source)
    if outputs is None:
        return [_map([event], way) for event in events]
    return [_map(None if output.error is not None else output.events, way) for output in outputs]


def _map(items: Sequence[Mapping[str, Any]] | None, way: _Way) -> _Run:
    payloads = [] if items is None else _payloads(items, way)
    return _Run(items, payloads, in_tables=way.route.tables is not None)


def _payloads(
    items: Sequence[Mapping[str, Any]], way: _Way, mask: Callable[[dict[str, Any]], Any] = lambda payload: payload
) -> list[_Payload]:
    """The payloads of all events that are not refused."""
    if way.route.tables is not None:
        return [mask(rows) for rows in _tables_of(items, way)]
    return [open_payload(mask(payload)) for payload in _map_all(items, way)]


def _map_all(items: Sequence[Mapping[str, Any]], way: _Way) -> Iterator[dict[str, Any]]:
    for item in items:
        with contextlib.suppress(EventError):
            for payload in dest_transform.run(item, way.route, _with_ids(way.context)):
                yield dict(payload)


def _tables_of(items: Sequence[Mapping[str, Any]], way: _Way) -> Iterator[dict[str, Any]]:
    """The rows of each event that has any: table -> column -> value."""
    for item in items:
        with contextlib.suppress(EventError):
            entries = load.entries(item, way.route, _with_ids(way.context), way.source, Notes())
            if entries:
                yield {row["table"]: row["data"] for row, _ in entries}


def _settings(
    event: Mapping[str, Any], base: _Run, effects: Sequence[_Effect], changed: Sequence[_Run], way: _Way
) -> _Settings:
    """What each variable of the destination's configuration does: to the fields, and to what is lost or refused.

    `changed` are the runs with another value of the leaf of each effect.
    """
    found = _Settings({}, {}, {})
    if base.items is None:
        return found
    # Where it is empty, another value may make a new field: that is no setting's doing.
    lost = [
        (effect, run)
        for effect, run in zip(effects, changed, strict=True)
        if base.payloads and effect.is_lost and not effect.unseen and run.payloads == base.payloads
    ]
    at_once = _all_changed(event, [effect.path for effect, _ in lost], base, way)
    for path, is_set, route in _other_routes(way.route):
        other_way = way._replace(route=route)
        payloads = _payloads(base.items, other_way)
        if not payloads:
            continue
        name = dotted_path(path)
        if not base.payloads:
            found.refusing[name] = None
        elif is_set:
            into, decides = found.effects.setdefault(path, (set(), set()))
            for field, result in _differences(base, base._replace(payloads=payloads)):
                (decides if result is GONE else into).add(field)
        if at_once is not None and _payloads(at_once, other_way) == payloads:
            continue
        for effect, run in lost:
            if run.items is not None and _payloads(run.items, other_way) != payloads:
                found.losing.setdefault(effect.path, {})[name] = None
    return found


def _all_changed(
    event: Mapping[str, Any], paths: Sequence[Path], base: _Run, way: _Way
) -> Sequence[Mapping[str, Any]] | None:
    """What the user's code gives of the event with all these leaves changed, which is one run where each of them would
    be one; None where together they do something, though alone they do nothing."""
    values = leaves(dict(event))
    changed: Any = event
    for path in paths:
        changed = replace_at(changed, path, other(values[path]))
    run = _run_all([changed], way)[0] if paths else base
    return run.items if run.payloads == base.payloads else None


def _other_routes(route: Route) -> Iterator[tuple[Path, bool, Route]]:
    """The way with another value of one setting, or without it, and whether it is set now. Of settings that are not
    set, switches and choices."""
    config = reveal(route.destination.config)
    changes = [
        (path, True, replace_at(config, path, new))
        for path, value in leaves(config).items()
        for new in (*_options(route, path, value), GONE)
        if path and not (new is GONE and isinstance(path[-1], int))
    ]
    changes += [((name,), False, {**config, name: new}) for name, new in _unset(route, config)]
    for path, is_set, changed in changes:
        with contextlib.suppress(ToolkitError):  # refused
            yield path, is_set, route.with_config(changed)


def _unset(route: Route, config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Other values than the default of switches and choices that are not set."""
    with contextlib.suppress(UnknownName):
        for name, variable in definitions.get(route.destination.type).variables.items():
            if name not in config and (variable.type == "boolean" or variable.options):
                values: Sequence[Any] = variable.options or [not variable.default]
                yield from ((name, value) for value in values if value != variable.default)


def _options(route: Route, path: Path, value: Any) -> list[Any]:
    """Other values of a setting: those of its choice, or any."""
    with contextlib.suppress(UnknownName):
        variable = definitions.get(route.destination.type).variables.get(str(path[0])) if path else None
        if variable is not None and variable.options and len(path) == 1:
            return [option for option in variable.options if option != value]
    return [other(value)]


def _coded(event: Mapping[str, Any], base: _Run, way: _Way) -> set[_Field]:
    """The fields that depend on what the user's code made or changed."""
    if way.route.code is None or base.items is None or not base.payloads:
        return set()
    before = leaves(dict(event))
    fields: set[_Field] = set()
    for path, value in leaves(list(base.items)).items():
        if before.get(path[1:], GONE) == value:
            continue
        for new in (other(value), GONE):
            payloads = _payloads(replace_at(list(base.items), path, new), way)
            fields |= (
                {field for field, _ in _differences(base, base._replace(payloads=payloads))} if payloads else set()
            )
    return fields
