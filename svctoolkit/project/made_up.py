"""Events that are made up to show a change: with members and values that user code or a tracking plan mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product, zip_longest
from typing import Any, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.pipeline.leaves import GONE, leaves, replace_at
from svctoolkit.project.literals import Literals, code_literals
from svctoolkit.workspace import Language

#: Steps to a member: names, and places in lists.
Path: TypeAlias = tuple[str | int, ...]

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
MOST = 1500
_ANYWAY: tuple[Json, ...] = (0, 1, -1, 0.555, 12.345678, "", " Mixed Case ", "10.0.0.1", True, None, [], {})
_PLACES = ((), ("properties",), ("context",), ("context", "traits"), ("traits",))
_EACH: tuple[Json, ...] = ("text", 12.345)
_CONTAINERS = {"properties", "context", "traits"}
_AS_IT_IS = object()
#: What each member is together with each value of the others, besides values that the code mentions.
_TOGETHER: tuple[Any, ...] = (_AS_IT_IS, GONE, None, "", "text", True, 12.345)


def variations(
    events: Iterable[Mapping[str, Json]], code: str, language: Language | None, *, most: int = MOST
) -> list[Mapping[str, Json]]:
    """Return the events, and `most` variations: members with other values, without members, with further ones."""
    found = code_literals(code, language)
    values = values_for(code, found)
    return _varied(events, found.members - {""}, values, most)


def values_for(code: str, found: Literals) -> list[Json]:
    """Return the values that may show what code does: around its numbers, its texts, and some of each type."""
    around = [
        number for value in numbers(code) for number in (value, value + 1, value - 1, value + 0.5, 2 * value, value / 2)
    ]
    return [*dict.fromkeys(around), *found.compared, *_ANYWAY]


def combinations(
    events: Sequence[Mapping[str, Json]], code: str, language: Language | None, *, most: int
) -> list[Mapping[str, Json]] | None:
    """Return events with all members that the code mentions, each with each value, together; None if more than `most`.

    A condition such as `revenue > 100 && currency == "EUR"` depends on several members at once. The combinations are
    those of the first event of each type; a member is set wherever an event could have it.
    """
    found = code_literals(code, language)
    originals = list({str(event.get("type")): dict(event) for event in reversed(events)}.values())
    known = {path[-1] for event in originals for path in leaves(event) if path}
    members = sorted(name for name in found.members - _CONTAINERS - {""} if name in known or name not in found.compared)
    around = [value + step for value in numbers(code) for step in (0, 1, -1)]
    texts = [spelt for text in found.compared for spelt in (text, text.upper(), text.lower(), f" {text} ")]
    values = [*dict.fromkeys(around), *dict.fromkeys(texts), *_TOGETHER]
    if len(originals) * len(values) ** len(members) > most:
        return None
    return [
        _with_all(original, zip(members, chosen, strict=True))
        for original in originals
        for chosen in product(values, repeat=len(members))
    ]


def numbers(code: str) -> list[float]:
    """Return the numbers in code, each once."""
    return [float(text) if "." in text else int(text) for text in dict.fromkeys(_NUMBER.findall(code))]


def _with_all(event: dict[str, Any], values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a copy in which members have these values, where they are and in each place where they could be."""
    for member, value in values:
        if value is _AS_IT_IS:
            continue
        there = {path[: at + 1] for path in leaves(event) for at, step in enumerate(path) if step == member}
        for path in sorted(there, key=len, reverse=True):  # those within others first
            event = replace_at(event, path, value)
        for place in _PLACES if value is not GONE else ():
            event = _with(event, (*place, member), value)
    return event


def planned_variations(events: Iterable[Mapping[str, Json]], schema: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """Return the events, and variations of them in the members that a rule of a tracking plan has, and in another."""
    members, values = {"unplanned"}, list[Json]()
    _collect(schema, members, values)
    return _varied(events, members, [*values, *_ANYWAY], MOST)


def _varied(
    events: Iterable[Mapping[str, Json]], members: Iterable[str], values: list[Json], most: int
) -> list[Mapping[str, Json]]:
    """Return the events, then variations of each in turn: the limit must not leave out those of the last events."""
    originals = [dict(event) for event in events]
    turns = zip_longest(*(_of(original, sorted(members), values) for original in originals))
    made = (event for turn in turns for event in turn if event is not None)
    return [*originals, *islice(made, most)]


def _collect(node: Json, members: set[str], values: list[Json]) -> None:
    """Add the members that a schema describes, and the values that it compares with."""
    if isinstance(node, list):
        for inner in node:
            _collect(inner, members, values)
    elif isinstance(node, Mapping):
        described = node.get("properties")
        members.update(described if isinstance(described, Mapping) else ())
        values += [value for value in node.get("enum") or () if value not in values]
        values += [node[word] for word in ("const", "minimum", "maximum") if word in node]
        for inner in node.values():
            _collect(inner, members, values)


def _of(event: dict[str, Any], members: list[str], values: list[Json]) -> Iterator[Mapping[str, Json]]:
    known, new = places_of(event, members)
    for path in known:
        yield changed(event, path, GONE)
    # Each member in each place first, as code may have many, and a limit ends the variations.
    for value in _EACH:
        for added in new:
            yield changed(event, added, value)
    for path in known:
        for value in values:
            yield changed(event, path, value)
    for added in new:
        for value in values:
            yield changed(event, added, value)


# Any: members of events
def places_of(event: Mapping[str, Any], members: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Return the paths of an event with these members, or with its name or type, and those where it could have them."""
    paths = {path for path in leaves(dict(event)) if path and (path[-1] in members or path[-1] in ("event", "type"))}
    new = [(*place, member) for place in _PLACES for member in members if (*place, member) not in paths]
    return sorted(paths, key=str), new


# Any: members of events
def changed(event: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a copy with a value at a path, or without it (`GONE`), creating objects on the way."""
    if value is GONE or not all(isinstance(step, str) for step in path):
        return dict(replace_at(dict(event), path, value))
    return _with(event, tuple(map(str, path)), value)


def _with(event: Mapping[str, Any], path: tuple[str, ...], value: Json) -> dict[str, Any]:
    """Return a copy with a value at a path, creating objects on the way."""
    inner = event.get(path[0])
    rest = _with(inner if isinstance(inner, Mapping) else {}, path[1:], value) if path[1:] else value
    return {**event, path[0]: rest}
