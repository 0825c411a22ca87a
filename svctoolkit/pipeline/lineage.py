"""Measured lineage: a route reruns with one leaf of the event, or one setting, changed or removed at a time.

A prepared route is deterministic, so any difference is caused by the change. This works for every mapping and
for user code in both languages. Clock and ids are frozen, and look-ups get the responses of the first run. What user
code makes anew in each run, such as random numbers, keeps the value of the first run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from svctoolkit.destinations import Context
from svctoolkit.json_types import Json
from svctoolkit.pipeline.held_lineage import HeldStage, HeldValue
from svctoolkit.pipeline.leaves import GONE, differing_leaves, leaves, of_other_kind, other, replace_at
from svctoolkit.pipeline.reruns import (
    OpenPayload,
    Run,
    Way,
    freeze,
    other_routes,
    payloads_of,
    refusing,
    run_all,
    run_changes,
    run_code,
    stop_reason,
)
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.steady import Unsteady
from svctoolkit.results.lineage import Destiny, Lineage, LostAt, Origin, Path, dotted_path, merge
from svctoolkit.secrets import Masker
from svctoolkit.simulations import Level
from svctoolkit.url_secrets import mask_http
from svctoolkit.workspace import Source

_SHAPES = 200  # shapes of events to measure; 10,000 events of a shop have a few dozen
_MOST = 2_000  # leaves of an event to measure; each costs two runs


_Field: TypeAlias = tuple[int, Path]  # index of the payload, and the path in it


class _Effect(NamedTuple):
    """The effect of changing or removing a leaf of the event or the configuration.

    `into` are the fields that receive its value, `decides` those that it only influences. `required`: there is no
    payload without it. `unseen`: it does not affect the output of the user's code. `unsure`: it may affect values that
    the code makes anew in each run.
    """

    path: Path
    into: set[_Field]
    decides: set[_Field]
    required: bool
    unseen: bool
    unsure: bool

    @property
    def is_lost(self) -> bool:
        """Whether it reaches no payload and influences nothing."""
        return not (self.into or self.decides or self.required or self.unsure)


class _Settings(NamedTuple):
    """The effects of settings. `effects`: the fields that receive a setting's value, and those that it only influences.

    `losing`: by event leaf, the names of the settings that drop it (with another value it would reach a payload), in
    order. `defaults`: the fields that receive the default of a setting which is not set.
    """

    effects: dict[Path, tuple[set[_Field], set[_Field]]]
    losing: dict[Path, dict[str, None]]
    defaults: dict[Path, set[_Field]]


def measure(
    event: Mapping[str, Json], route: Route, context: Context, source: Source | None, level: Level = "answers"
) -> Lineage:
    """Return the lineage of one event. If no payload comes out, it covers the stages that the event reached, and names
    the fields and settings that prevent a payload, if any do.

    The fields of a warehouse are `table.column`; all rows of an event are one payload. With another `level` than
    `answers`, the last stage is the destination's simulated server.
    """
    way = Way(route, freeze(context), source)
    values = {path: value for path, value in list(leaves(dict(event)).items())[:_MOST] if path}
    events = [replace_at(event, path, new(value)) for new in (other, _without) for path, value in values.items()]
    way, base, runs = run_changes(event, events, way)
    changed, without = runs[: len(values)], runs[len(values) :]
    if not base.payloads:
        return _measure_stopped(event, base, list(zip(values.items(), changed, without, strict=True)), way)
    effects = [
        _effect(path, values[path], base, *both, unsure=bool(way.held))
        for path, *both in zip(values, changed, without, strict=True)
    ]
    settings, coded = _settings(event, base, effects, changed, way), _coded(event, base, way)
    shown_event, held = leaves(route.masker.mask(dict(event))), HeldStage(base, way, level)
    return Lineage(
        route.destination.key,
        [
            replace(_origin(route.masker, field, value, effects, settings, coded), held=held.cells(field))
            for field, value in _masked_fields(base, way)
        ],
        [
            _held_destiny(
                _destiny(
                    route.masker,
                    effect,
                    shown_event.get(_mask_path(effect.path, route.masker)),
                    len(base.payloads),
                    _lost_at(effect, route),
                    settings.losing.get(effect.path, ()),
                ),
                held.of_event(values[effect.path], [*effect.into], both),
            )
            for effect, *both in zip(effects, changed, without, strict=True)
        ],
        level=level,
        losses=held.losses,
    )


def _held_destiny(destiny: Destiny, held: HeldValue) -> Destiny:
    """Return the destiny with its last stage. A value that no cell contains is only lost if a rule says so."""
    lost_at: LostAt = "held" if destiny.fields and held.losses and not held.cells else destiny.lost_at
    return replace(destiny, held=held.cells, losses=held.losses, breaks=held.breaks, lost_at=lost_at)


def _measure_stopped(
    event: Mapping[str, Any], base: Run, trials: Sequence[tuple[tuple[Path, Any], Run, Run]], way: Way
) -> Lineage:
    """Return the lineage of an event without a payload, using the output of the user's code instead of payloads.

    `trials` are the leaves of the event, each with one run with another value, and one run without it.
    """
    at: LostAt = "dest_transform" if base.items else "user_transform"
    reached = base._replace(payloads=list(base.items or ()), in_tables=False)
    masker, has_code = way.route.masker, way.route.code is not None
    shown_event, destinies, effects = leaves(masker.mask(dict(event))), [], []
    kinds = run_all([replace_at(event, path, of_other_kind(value)) for (path, value), *_ in trials], way)
    for ((path, value), *runs), of_kind in zip(trials, kinds, strict=True):
        of_code = [run._replace(payloads=list(run.items or ())) for run in runs]
        effect = _effect(path, value, reached, *of_code, unsure=bool(way.held))
        stops = any(run.items if at == "user_transform" else run.payloads for run in (*runs, of_kind))
        lost_at: LostAt = "" if stops or effect.unsure else "user_transform" if has_code and effect.unseen else at
        went = effect if has_code else effect._replace(into=set(), decides=set())
        shown = shown_event.get(_mask_path(path, masker))
        destinies.append(_destiny(masker, went, shown, len(reached.payloads), lost_at, stops=stops))
        effects.append(effect)
    origins = _code_origins(event, reached, effects, masker, way.held) if has_code else []
    refused_by = refusing(base.items or (), way)
    reason = masker.text(stop_reason(event, way))
    return Lineage(way.route.destination.key, origins, destinies, refused_by=refused_by, stopped_at=at, reason=reason)


def measure_code(event: Mapping[str, Json], route: Route, source: Source | None) -> list[Origin]:
    """Return the origins of the fields of the events that the user's code returns; `payload` is the event's number."""
    values = {path: value for path, value in list(leaves(dict(event)).items())[:_MOST] if path}
    events = [replace_at(event, path, new(value)) for new in (other, _without) for path, value in values.items()]
    held, outputs = run_code(event, events, route, source)
    base, *runs = [Run(items, list(items or ())) for items in outputs]
    changed, without = runs[: len(values)], runs[len(values) :]
    effects = [_effect(path, values[path], base, *both) for path, *both in zip(values, changed, without, strict=True)]
    return _code_origins(event, base, effects, route.masker, held)


def _without(_value: Json) -> object:
    return GONE


def _code_origins(
    event: Mapping[str, Any], reached: Run, effects: Sequence[_Effect], masker: Masker, held: Unsteady
) -> list[Origin]:
    """Return the origins of the fields of the events that the code returned, which are in place of payloads."""
    before, nothing = leaves(dict(event)), _Settings({}, {}, {})
    masked = [leaves(masker.mask(dict(item))) for item in reached.payloads]
    return [
        _origin(
            masker,
            (n, path),
            masked[n].get(_mask_path(path, masker)),
            effects,
            nothing,
            {(n, path): (n, *path) in held.values}
            if before.get(path, GONE) != value or (n, *path) in held.values
            else {},
        )
        for n, item in enumerate(reached.payloads)
        for path, value in leaves(item).items()
    ]


def _masked_fields(base: Run, way: Way) -> Iterator[tuple[_Field, Any]]:
    """Yield the fields of the payloads with secrets masked."""
    masker = way.route.masker
    payloads = payloads_of(base.items or (), way, lambda payload: mask_http(masker.mask(payload)))
    for number, (payload, fields) in enumerate(zip(payloads, base.payloads, strict=True)):
        masked = leaves(payload)
        for path in leaves(fields):
            yield (number, path), masked.get(_mask_path(path, masker))


def measure_many(
    events: Iterable[Mapping[str, Json]],
    route: Route,
    context: Context,
    source: Source | None,
    level: Level = "answers",
) -> Lineage:
    """Return the lineage of many events: one event per shape is measured, for the first `_SHAPES` shapes."""
    shapes: dict[Any, Mapping[str, Any]] = {}
    for event in events:
        if len(shapes) < _SHAPES:
            shapes.setdefault((event.get("type"), str(event.get("event")), frozenset(leaves(dict(event)))), event)
    return merge(route.destination.key, [measure(event, route, context, source, level) for event in shapes.values()])


def _effect(path: Path, value: Any, base: Run, changed: Run, without: Run, *, unsure: bool = False) -> _Effect:
    into: set[_Field] = set()
    decides: set[_Field] = set()
    required = bool(base.payloads) and not without.payloads
    if changed.payloads:
        for field, new in _differences(base, changed):
            (decides if new is GONE else into).add(field)
    elif required:  # no other value works: fields with the same value come from here
        into |= {(n, p) for n, payload in enumerate(base.payloads) for p, v in leaves(payload).items() if v == value}
    if without.payloads:
        decides |= {field for field, _ in _differences(base, without)}
    unseen = without.items == base.items and changed.items == base.items
    return _Effect(path, into, decides - into, required, unseen, unsure)


def _differences(base: Run, run: Run) -> Iterator[tuple[_Field, Any]]:
    """Yield the fields that changed, with their new value, or that are missing now."""
    for number, (before, after) in enumerate(zip(base.payloads, _aligned(base, run), strict=True)):
        for path, new in differing_leaves(before, after) if before != after else ():
            yield (number, path), new


def _aligned(base: Run, run: Run) -> Sequence[OpenPayload]:
    """Return the payloads of `run` aligned with those of `base`: by index, or by address if one is missing."""
    if len(base.payloads) == len(run.payloads):
        pairs = zip(base.payloads, run.payloads, strict=True)
        return [_with_tables_of(*pair) for pair in pairs] if base.in_tables else run.payloads
    rest = list(run.payloads)
    aligned: list[OpenPayload] = []
    for payload in base.payloads:
        twin = next((p for p in rest if p.get("endpoint") == payload.get("endpoint")), {})
        rest = [p for p in rest if p is not twin]
        aligned.append(twin)
    return aligned


def _with_tables_of(base: OpenPayload, rows: OpenPayload) -> OpenPayload:
    """Return rows under the table names in the same positions: an event with another name has another table."""
    return dict(zip(base, rows.values(), strict=True)) if len(base) == len(rows) else rows


def _origin(
    masker: Masker,
    field: _Field,
    shown: Any,
    effects: Sequence[_Effect],
    settings: _Settings,
    coded: Mapping[_Field, bool],
) -> Origin:
    events = tuple(_dotted(effect.path, masker) for effect in effects if field in effect.into)
    set_by = tuple(dotted_path(path) for path, (into, _) in settings.effects.items() if field in into)
    defaults = [dotted_path(path) for path, into in settings.defaults.items() if field in into]
    return Origin(
        field[0] + 1,
        _dotted(field[1], masker),
        shown,
        events,
        tuple(
            [_dotted(effect.path, masker) for effect in effects if field in effect.decides]
            + [f"config.{dotted_path(p)}" for p, (into, about) in settings.effects.items() if field in about - into]
        ),
        set_by,
        field in coded,
        defaults=() if events or set_by or field in coded else tuple(defaults),
        unsteady=coded.get(field, False),
    )


def _lost_at(effect: _Effect, route: Route) -> LostAt:
    if not effect.is_lost:
        return ""
    return "user_transform" if effect.unseen and route.code is not None else "dest_transform"


def _destiny(
    masker: Masker,
    effect: _Effect,
    shown: Any,
    payloads: int,
    lost_at: LostAt,
    lost_by: Iterable[str] = (),
    *,
    stops: bool = False,
) -> Destiny:
    into, decides = (
        tuple(_name(field, payloads > 1, masker) for field in sorted(f, key=str)) for f in (effect.into, effect.decides)
    )
    path = _dotted(effect.path, masker)
    return Destiny(path, shown, into, decides, lost_at, effect.required and not stops, tuple(lost_by), stops)


def _name(field: _Field, several: bool, masker: Masker) -> str:
    path = _dotted(field[1], masker)
    return f"{field[0] + 1}: {path}" if several else path


def _dotted(path: Path, masker: Masker) -> str:
    return dotted_path(_mask_path(path, masker))


def _mask_path(path: Path, masker: Masker) -> Path:
    """Return the path in the masked value: a key may be a secret."""
    return tuple(masker.key(step) if isinstance(step, str) else step for step in path)


def _settings(
    event: Mapping[str, Any], base: Run, effects: Sequence[_Effect], changed: Sequence[Run], way: Way
) -> _Settings:
    """Return the effect of each configuration variable of the destination: on fields, and on losses.

    `changed` are the runs with another value of the leaf of each effect.
    """
    found, items = _Settings({}, {}, {}), base.items or ()
    # If the leaf is empty, another value may create a new field. No setting causes that.
    lost = [
        (effect, run)
        for effect, run in zip(effects, changed, strict=True)
        if effect.is_lost and not effect.unseen and run.payloads == base.payloads
    ]
    at_once = _all_changed(event, [effect.path for effect, _ in lost], base, way)
    for path, is_set, route in other_routes(way.route):
        other_way = way._replace(route=route)
        payloads = payloads_of(items, other_way)
        if not payloads:
            continue
        name = dotted_path(path)
        if is_set:
            into, decides = found.effects.setdefault(path, (set(), set()))
        else:
            into, decides = found.defaults.setdefault(path, set()), set()
        for field, result in _differences(base, base._replace(payloads=payloads)):
            (decides if result is GONE else into).add(field)
        if at_once is not None and payloads_of(at_once, other_way) == payloads:
            continue
        for effect, run in lost:
            if run.items is not None and payloads_of(run.items, other_way) != payloads:
                found.losing.setdefault(effect.path, {})[name] = None
    return found


def _all_changed(
    event: Mapping[str, Any], paths: Sequence[Path], base: Run, way: Way
) -> Sequence[Mapping[str, Any]] | None:
    """Return the output of the user's code with all these leaves changed at once: one run instead of one per leaf.

    None if together they have an effect that none of them has alone.
    """
    values = leaves(dict(event))
    changed: Any = event
    for path in paths:
        changed = replace_at(changed, path, other(values[path]))
    run = run_all([changed], way)[0] if paths else base
    return run.items if run.payloads == base.payloads else None


def _coded(event: Mapping[str, Any], base: Run, way: Way) -> dict[_Field, bool]:
    """Return the fields that depend on values which the user's code created or changed: anew in each run or not."""
    found: dict[_Field, bool] = {}
    for (number, path), fields in coded_fields(event, base, way).items():
        is_new = (number, *path) in way.held.values
        found |= {field: is_new or found.get(field, False) for field in fields}
    return found


def coded_fields(event: Mapping[str, Json], base: Run, way: Way) -> dict[_Field, set[_Field]]:
    """Return, for each leaf that the user's code created or changed in its events, the fields that depend on it."""
    if way.route.code is None or base.items is None:
        return {}
    before = leaves(dict(event))
    fields: dict[_Field, set[_Field]] = {}
    for path, value in leaves(list(base.items)).items():
        if before.get(path[1:], GONE) == value and path not in way.held.values:
            continue
        number = int(path[0])
        for new in (other(value), GONE):
            payloads = payloads_of(replace_at(list(base.items), path, new), way)
            differing = _differences(base, base._replace(payloads=payloads)) if payloads else ()
            fields.setdefault((number, path[1:]), set()).update(field for field, _ in differing)
    return fields
