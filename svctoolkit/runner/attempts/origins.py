"""Where a value that differs came from: by lineage, measured only when a report asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from svctoolkit.causes import json_value
from svctoolkit.expect.difference import Difference, Path
from svctoolkit.expect.paths import at_path
from svctoolkit.json_types import Json
from svctoolkit.runner.planes.lineages import Lineages, Subject
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.planes.recording import transformation_id
from svctoolkit.runner.planes.traces import Trace
from svctoolkit.runner.suite.model import Scenario, Step, as_list

if TYPE_CHECKING:
    from svctoolkit.results.lineage import Destiny, LostAt, Origin
    from svctoolkit.workspace import Workspace

_STAGES = ("user_transform", "dest_transform", "delivered")
_FEW = 3  # fields or settings that a text names


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """Where the value of `destination` at a path came from.

    `events` are the paths of the event whose values go into it. `code` are the lines of user code that wrote it
    (`enrich.js:12`), or the name of the transformation if the line is unknown. `settings` are the configuration
    variables that go into it, `defaults` those that are not set and whose default does. `conditions` only decide about
    it: paths, and `config.NAME`. Without any of these, the mapping made it.

    A value that is missing has `lost_at`, the stage that lost `events`, and `lost_by`, the settings that caused it.
    """

    destination: str
    events: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    lost_at: LostAt = ""
    lost_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.lost_at:
            if self.code:
                return f"{_few(self.events)} is removed by {_few(self.code)}"
            by = [f"setting {name}" for name in self.lost_by]
            return f"{_few(self.events)} is lost in {self.lost_at}{f', by {_few(by)}' if by else ''}"
        sources = [*self.events, *(f"setting {name}" for name in self.settings)]
        sources += [f"the default of setting {name}" for name in self.defaults]
        code = f"{'changed' if sources else 'made'} by {_few(self.code)}" if self.code else ""
        if sources or code:
            return ", ".join(text for text in (f"from {_few(sources)}" if sources else "", code) if text)
        chosen = f", depending on {_few(self.conditions)}" if self.conditions else ""
        return f"made by the mapping{chosen}"


def origin_line(difference: Difference, origin: ValueOrigin) -> str:
    """Return the line below a difference: `total: from properties.total, changed by enrich.js:12`."""
    names = [number for number, part in enumerate(difference.path) if isinstance(part, str)]
    return f"{'.'.join(map(str, difference.path[names[-1] :]))}: {origin}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


@dataclass(frozen=True, slots=True)
class Origins:
    """Measures where the values of some results came from.

    `traces` say which events they belong to, by destination. `source` is where these were sent from, `config` overrides
    the configuration of the destination. `elsewhere`: a service returned the results, perhaps with other code and
    settings than those of `workspace`, so only values that are the same here have an origin.
    """

    lineages: Lineages
    workspace: Workspace
    results: Mapping[str, Any]
    traces: Mapping[str, Trace]
    source: str = ""
    config: Mapping[str, Json] | None = None
    elsewhere: bool = False

    def of(self, difference: Difference) -> ValueOrigin | None:
        """Return where the value of a difference came from; None if that cannot be measured.

        It cannot for a value that user code makes anew in each run, such as a random number.
        """
        if difference.path[:1] == ("policies",):
            return self._of_breach(difference)
        value = _find_value(difference.path, self.results, self.traces)
        if value is None:
            return None
        for subject, number in self._subjects(value):
            origin = self._origin(value, subject, number)
            if origin is None and difference.got.startswith("nothing"):
                origin = self._loss(value, subject)
            if origin is not None:
                return origin
        return None

    def _of_breach(self, breach: Difference) -> ValueOrigin | None:
        """Return where the value of a breach came from: of the first event with this value in this place."""
        key, steps = str(breach.path[1]), _plain_steps(breach.path[2:])
        events = self.traces[key].events.values() if key in self.traces and steps else ()
        for event in events:
            subject = Subject(self.workspace, key, event, self.source, self.config)
            lineage = self.lineages.lineage(subject)
            if lineage is None:
                continue
            for origin in lineage.fields:
                is_here = _plain_steps(origin.field.split("."))[-len(steps) :] == steps
                if is_here and json_value(self.workspace.masker.mask(origin.value)) == breach.got:
                    return self._value_origin(key, self.lineages.located(subject, origin, in_code=False))
            if breach.got == json_value(None) and not self.elsewhere:  # nothing where a value is required
                path = ".".join(map(str, breach.path[2:]))
                if line := self.lineages.removal(subject, path):
                    return ValueOrigin(key, (path,), (line,), lost_at="user_transform")
        return None

    def _subjects(self, value: _Value) -> Iterator[tuple[Subject, int]]:
        """Yield the events of a value, each with the number, from 1, of its payload or its event."""
        trace = self.traces[value.key]
        ids = [[value.event]] if value.event else trace.stages.get(value.stage, ())
        for id in ids[value.index] if value.index < len(ids) else ():
            if id in trace.events:
                number = 1 + sum(id in earlier for earlier in ids[: value.index])
                yield Subject(self.workspace, value.key, trace.events[id], self.source, self.config), number

    def _origin(self, value: _Value, subject: Subject, number: int) -> ValueOrigin | None:
        in_code = value.stage == "user_transform"
        lineage = None if in_code else self.lineages.lineage(subject)
        if lineage is not None and lineage.stopped_at:
            return None
        fields = self.lineages.code(subject) if in_code else lineage.fields if lineage is not None else ()
        names = list(_names(value))
        for origin in sorted(fields, key=lambda origin: origin.payload != number):
            if origin.field.lower() in names and self._is_same(origin, value):
                if origin.unsteady:
                    return None
                located = self.lineages.located(subject, origin, in_code=in_code)
                return self._value_origin(subject.destination, located)
        return self._of_members(value, subject.destination, [o for o in fields if o.payload == number], names)

    def _is_same(self, origin: Origin, value: _Value) -> bool:
        """Return whether what was measured is what was there; code that reads the clock gives other values."""
        if not origin.code and not self.elsewhere:
            return True
        found = self.workspace.masker.mask(value.value)
        return found == origin.value or (value.stage == "delivered" and str(found) == str(origin.value))

    def _of_members(
        self, value: _Value, destination: str, fields: Sequence[Origin], names: Sequence[str]
    ) -> ValueOrigin | None:
        """Return the origin of an object or a list whose members all come from one object or list of the event."""
        if self.elsewhere:
            return None
        within = [o for o in fields for name in names if o.field.lower().startswith(f"{name}.")]
        paths = [path.split(".") for origin in within for path in origin.events]
        if not value.rest or not paths or not all(origin.events and not origin.unsteady for origin in within):
            return None
        common = [steps[0] for steps in zip(*paths, strict=False) if len(set(steps)) == 1]
        common = common[: next((n for n, step in enumerate(common) if any(p[n] != step for p in paths)), len(common))]
        code = (self._name_of_code(destination),) if any(origin.code for origin in within) else ()
        return ValueOrigin(destination, (".".join(common),), code) if len(common) > 1 else None

    def _value_origin(self, destination: str, origin: Origin) -> ValueOrigin:
        code = origin.lines or (self._name_of_code(destination),) if origin.code else ()
        sources = origin.events, code, origin.settings, origin.defaults
        return ValueOrigin(destination, *sources, () if any(sources) else origin.conditions)

    def _name_of_code(self, destination: str) -> str:
        key = next((key for key in self.workspace.transformations if transformation_id(key) == destination), None)
        key = key or str(self.workspace.destination(destination).transformation)
        return self.workspace.transformations[key].file_name if key in self.workspace.transformations else key

    def _loss(self, value: _Value, subject: Subject) -> ValueOrigin | None:
        """Return where a missing value was lost: a field of the event with its path, or else its name."""
        lineage = None if self.elsewhere else self.lineages.lineage(subject)
        if lineage is None or not value.rest:
            return None
        ends = (_dotted(value.rest), _dotted(value.rest[1:]), str(value.rest[-1]))
        lost = [d for d in lineage.lost if d.lost_at != "held"]
        destiny: Destiny | None = next(
            (d for end in ends if end for d in lost if d.path == end or d.path.endswith(f".{end}")), None
        )
        if destiny is None:
            return None
        code: tuple[str, ...] = ()
        if destiny.lost_at == "user_transform":
            line = self.lineages.removal(subject, destiny.path)
            code = (line or self._name_of_code(subject.destination),)
        return ValueOrigin(subject.destination, (destiny.path,), code, lost_at=destiny.lost_at, lost_by=destiny.lost_by)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of a stage: the number, from 0, of the payload or event at destination `key`, and the path in it.

    A column of a warehouse has the path `table.column`, and the id of the `event` that its row comes from.
    """

    stage: str
    key: str
    index: int
    rest: Path
    value: Any
    event: str = ""


def _find_column(path: Path, results: Mapping[str, Any], traces: Mapping[str, Trace]) -> _Value | None:
    """Return the column at a path of `warehouse`, which may be by destination; rows may be in a list, or single."""
    tables, rest, key = results.get("warehouse") or {}, path[1:], ""
    if rest and tables.keys() <= traces.keys():
        key, tables, rest = str(rest[0]), tables.get(str(rest[0])), rest[1:]
    row = at_path(tables, rest[:-1]) if len(rest) > 1 else None
    if not isinstance(row, Mapping):
        return None
    id = next((str(value) for name, value in row.items() if name.lower() == "id"), "")
    key = key or next((known for known, trace in traces.items() if id in trace.events), "")
    if key not in traces or id not in traces[key].events:  # such as a row of `users`, whose id is that of the user
        return None
    return _Value("warehouse", key, 0, (rest[0], rest[-1]), row.get(str(rest[-1])), id)


def _find_value(path: Path, results: Mapping[str, Any], traces: Mapping[str, Trace]) -> _Value | None:
    """Return the value at a path of results, which may be by destination, in a list, or single."""
    if path[:1] == ("warehouse",):
        return _find_column(path, results, traces)
    if not path or path[0] not in _STAGES or not traces:
        return None
    stage, rest, key = str(path[0]), path[1:], ""
    value = results.get(stage)
    if isinstance(value, Mapping) and value and value.keys() <= traces.keys():
        if not rest:
            return None
        key, value, rest = str(rest[0]), value.get(str(rest[0])), rest[1:]
    elif len(traces) == 1:
        key = next(iter(traces))
    index = 0
    if isinstance(value, list):
        if not rest or not isinstance(rest[0], int) or rest[0] >= len(value):
            return None
        index, value, rest = rest[0], value[rest[0]], rest[1:]
    if not key:  # the values of all destinations in one list
        places = [(key, n) for key, trace in traces.items() for n in range(len(trace.stages.get(stage, ())))]
        key, index = places[index] if index < len(places) else ("", 0)
    return _Value(stage, key, index, rest, at_path(value, rest)) if key in traces else None


def _names(value: _Value) -> Iterator[str]:
    """Yield the names, in lower case, that a field of a payload may have for a value: requests name parts otherwise."""
    path = _dotted(value.rest).lower()
    if value.stage != "delivered":
        yield path
        return
    part, _, rest = path.partition(".")
    if part == "body":
        yield from (f"body.{form}.{rest}" for form in ("json", "form", "json_array.batch"))
    yield {"url": "endpoint", "query": f"params.{rest}"}.get(part, path)


def _plain_steps(path: Sequence[str | int]) -> list[str]:
    return [step for step in map(str, path) if step != "*" and not step.isdigit()]


def _dotted(path: Path) -> str:
    from svctoolkit.results.lineage import dotted_path

    return dotted_path(path)


def origins_of(
    scenario: Scenario, step: Step, results: Mapping[str, Json], plane: Plane, run: str, lineages: Lineages
) -> Origins | None:
    """Return what measures the origins of a step's results; None if it has no stages."""
    spec, workspace = step.spec, scenario.suite.workspace
    source = "" if spec.source is UNSET else workspace.source(spec.source).key
    whole = Origins(lineages, workspace, results, {}, source, elsewhere=not plane.embedded)
    if step.kind in ("transformation", "verify"):
        keys = [*scenario.destinations_of(step)]
        if step.kind == "transformation":
            keys = [transformation_id(str(spec.transformation))]
        events = [event for event in as_list(spec.event) if isinstance(event, Mapping)]
        of_test = spec.destinationConfig if isinstance(spec.destinationConfig, dict) else None
        traces = {key: _trace_of_test(events, results, key) for key in keys}
        return replace(whole, traces=traces, config=of_test)
    if step.kind not in ("send", "request"):
        return None
    keys = [*scenario.destinations_of(step)] or list(workspace.destinations)
    config = next(iter(scenario.overrides.values()), None) if step.kind == "send" and len(keys) == 1 else None
    return replace(whole, traces=plane.traces(run, keys), config=config)


def _trace_of_test(events: Sequence[Mapping[str, Json]], results: Mapping[str, Any], key: str) -> Trace:
    """Return the trace of a test: all values belong to its event; a list of events gives one value each."""
    by_id = {str(number): event for number, event in enumerate(events)}
    stages = {}
    for stage in _STAGES:
        value = results.get(stage)
        count = len(as_list(value.get(key) if isinstance(value, Mapping) and key in value else value))
        stages[stage] = [[str(n) if len(events) == count else "0"] for n in range(count)]
    return Trace(by_id, stages)
