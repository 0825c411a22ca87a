"""Which line of the user's code writes or removes a value: the code runs with one write changed at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from svctoolkit.delivery import Recorder
from svctoolkit.destinations import Context
from svctoolkit.json_types import Json
from svctoolkit.pipeline.leaves import GONE, leaves, other
from svctoolkit.pipeline.lineage import coded_fields
from svctoolkit.pipeline.reruns import Way, freeze, run_all
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.stages import user_transform
from svctoolkit.results.lineage import Origin, Path, dotted_path
from svctoolkit.transformations.writes import Write, apply, writes
from svctoolkit.workspace import Library, Source, Transformation, UserCode

_MOST = 24  # changed copies of the code for one value; loading one takes a few milliseconds
_VALUES = 3  # values of the code's output that one field of a payload may consist of


class _Place(NamedTuple):
    """A write in the code of `item`."""

    item: Transformation | Library
    write: Write

    @property
    def text(self) -> str:
        return f"{self.item.file_name}:{self.write.line}"


def locate(
    origin: Origin, event: Mapping[str, Json], route: Route, context: Context, source: Source | None, *, in_code: bool
) -> Origin:
    """Return the origin with the lines of user code that wrote its value, as far as they can be found.

    With `in_code`, it is the origin of a field of the events that the code returns.
    """
    if not origin.code or route.transformation is None:
        return origin
    if route.transformation.function is not None:
        return replace(origin, lines=_lines_of_function(route.transformation.function))
    way = Way(route, freeze(context), source)
    base = run_all([event], way)[0]
    number = origin.payload - 1
    if in_code:
        outputs = leaves(dict((base.items or [{}])[number]))
        paths = [(number, path) for path in outputs if dotted_path(path) == origin.field]
    else:
        coded = coded_fields(event, base, way)
        paths = [
            path for path, into in coded.items() if (number, origin.field) in {(n, dotted_path(p)) for n, p in into}
        ]
    lines = [line for number, path in paths[:_VALUES] if (line := _writer(event, number, path, way))]
    return replace(origin, lines=tuple(dict.fromkeys(lines)))


def locate_value(path: str, number: int, event: Mapping[str, Json], route: Route, source: Source | None) -> str:
    """Return the line of user code that writes a value of its output, or an empty text.

    `path` is the dotted path in the event with this number that the code returns.
    """
    if route.transformation is None:
        return ""
    if route.transformation.function is not None:
        return "".join(_lines_of_function(route.transformation.function))
    way = Way(route, freeze(Context()), source)
    found = next((known for known in _output(event, route, source, number) if dotted_path(known) == path), None)
    return "" if found is None else _writer(event, number, found, way)


def locate_removal(path: str, event: Mapping[str, Json], route: Route, source: Source | None) -> str:
    """Return the line of user code that removes a field of the event, such as `properties.total`, or an empty text.

    `path` may be the end of the field's path: `total`.
    """
    field = next((known for known in leaves(dict(event)) if f".{dotted_path(known)}".endswith(f".{path}")), None)
    if field is None or route.transformation is None or route.transformation.function is not None:
        return ""
    if _output(event, route, source, 0).get(field, GONE) is not GONE:
        return ""
    for place in _ranked(field, route, lambda write: write.removes):
        if _output(event, _changed(route, place, None), source, 0).get(field, GONE) is not GONE:
            return place.text
    return ""


def _lines_of_function(function: Callable[..., Any]) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    return (f"{FilePath(code.co_filename).name}:{code.co_firstlineno}",) if code is not None else ()


def _writer(event: Mapping[str, Json], number: int, path: Path, way: Way) -> str:
    """Return the line that writes a leaf: with another value there, the output has that value; or at least another."""
    before = _output(event, way.route, way.source, number)
    new = other(before.get(path))
    influence = ""
    for place in _ranked(path, way.route, lambda write: not write.removes):
        after = _output(event, _changed(way.route, place, new), way.source, number)
        if after.get(path, GONE) == new:
            return place.text
        if after.get(path, GONE) != before.get(path):
            influence = influence or place.text
    return influence


def _ranked(path: Path, route: Route, wanted: Callable[[Write], bool]) -> Sequence[_Place]:
    """Return the writes that may be about a path: of its last name, of computed names, then of what contains it."""
    names = [step for step in reversed(path) if isinstance(step, str)]
    ranks = {name: float(rank) for rank, name in reversed(list(enumerate(names)))} | {"": 0.5}
    places = [place for place in _places(route) if wanted(place.write) and place.write.name in ranks]
    return sorted(places, key=lambda place: ranks[place.write.name])[:_MOST]


def _places(route: Route) -> Iterator[_Place]:
    """Yield the writes of the transformation and of the libraries that it may use."""
    transformation = route.transformation
    assert transformation is not None  # noqa: S101 - the callers have checked
    language = transformation.language or "javascript"
    used = [library for library in route.workspace.libraries.values() if library.language == language]
    items: list[Transformation | Library] = [transformation, *used]
    for item in items:
        yield from (_Place(item, write) for write in writes(item.code, language))


def _changed(route: Route, place: _Place, value: Json) -> Route:
    """Return the route with the code changed in one place."""
    workspace, item, transformation = route.workspace, place.item, route.transformation
    assert transformation is not None  # noqa: S101 - the callers have checked
    code = apply(item.code, place.write, value, transformation.language or "javascript")
    if isinstance(item, Library):
        workspace = workspace.in_mode("record")
        workspace.libraries = {**workspace.libraries, item.key: replace(item, code=code)}
    else:
        transformation = replace(transformation, code=code)
    return replace(route, code=UserCode(workspace, Recorder()).runnable(transformation))


def _output(event: Mapping[str, Json], route: Route, source: Source | None, number: int) -> Mapping[Path, Json]:
    """Return the leaves of one of the events that the code returns; empty if it returned fewer events."""
    outputs = user_transform.run([event], route, source) or []
    events = outputs[0].events if outputs and outputs[0].error is None else ()
    return leaves(dict(events[number])) if number < len(events) else {}
