"""Suite-wide rules: values that must never leave, and what every event, payload and request must match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unicodedata import normalize

from msgspec.structs import replace

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers.values.anywhere import places
from svctoolkit.expect.spellings import spellings
from svctoolkit.json_types import Json
from svctoolkit.readings import readings
from svctoolkit.runner.attempts.shape import as_lists
from svctoolkit.runner.suite.model import Invariant, Place, Scenario, Step
from svctoolkit.runner.suite.results import is_by_destination
from svctoolkit.warehouse import is_warehouse
from svctoolkit.workspace import Workspace

#: The results that are searched for forbidden values: the output of each stage, and every request.
_LEAVES = ("user_transform", "dest_transform", "tries", "send_to_destination", "delivered")


def broken_invariants(
    scenario: Scenario,
    step: Step,
    everywhere: Mapping[str, Json] | None,
    results: Mapping[str, Json],
    code: Mapping[str, Mapping[str, Sequence[Json]]],
    checked: set[Place],
) -> Iterator[Difference]:
    """Yield a difference for each stage and destination where a `never` or `always` rule is broken.

    `code` is what user code requested and logged. `checked` collects the places of the rules that were compared with
    at least one value.
    """
    if not scenario.invariants:
        return
    values = dict(_values(scenario, step, everywhere, results))
    values |= {(name, key): list(made) for name, by_key in code.items() for key, made in by_key.items()}
    for invariant in scenario.invariants:
        if invariant.kind == "never":
            yield from _forbidden(invariant, values)
            continue
        for operand, where, made in _applications(invariant, values, scenario.suite.workspace):
            if made:
                checked.add(invariant.place)
            yield from _not_so(invariant, operand, where, made)


def _values(
    scenario: Scenario, step: Step, everywhere: Mapping[str, Any] | None, results: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, str], list[Any]]]:
    """Yield the values of each stage, by stage name and destination."""
    if everywhere is None:
        keys = list(scenario.destinations_of(step))
        for name in _LEAVES:
            for key, values in as_lists(results.get(name), keys).items():
                yield (name, key), values
        return
    transformed = {key for key, d in scenario.suite.workspace.destinations.items() if d.transformation}
    for name in _LEAVES:
        for key, values in everywhere.get(name, {}).items():
            if name != "user_transform" or key in transformed:  # otherwise it is the event as the scenario sent it
                yield (name, key), values


def _forbidden(invariant: Invariant, values: Mapping[tuple[str, str], list[Any]]) -> Iterator[Difference]:
    for (name, key), made in values.items():
        if name == "delivered" and ("tries", key) in values:
            continue  # the tries include every delivered request
        stage = "send_to_destination" if name == "tries" else name
        for place in _places(invariant.operand, made):
            where = ".".join(map(str, (stage, key, *place.path)))
            text = f"never: {json_line(invariant.operand)} is at {where}"
            yield Difference((), (stage, key, *place.path), "nothing like that", "it", text=text, place=invariant.place)
            break  # one match per stage is enough to locate the problem


def _places(operand: Any, made: list[Any]) -> Iterator[Comparison]:
    if isinstance(operand, Mapping) and set(operand) == {"key"}:
        name = _plain_name(str(operand["key"]))
        # Warehouses flatten `context.traits.email` to `context_traits_email`.
        column = re.compile(rf"context_(?:[a-z]+_)?{re.escape(name)}")
        yield from _search(
            made, Comparison(), lambda key: _plain_name(key) == name or bool(column.fullmatch(key)), None
        )
        return
    yield from places(operand, made, Comparison())
    if isinstance(operand, (str, int, float)) and not isinstance(operand, bool):
        found = spellings(operand).is_in
        yield from _search(made, Comparison(), found, found)


def _plain_name(key: str) -> str:
    return (key if key.isascii() else normalize("NFKC", key)).lower()


def _search(
    value: Any, comparison: Comparison, is_key: Callable[[str], bool], is_value: Callable[[Any], bool] | None
) -> Iterator[Comparison]:
    """Yield the places of matching keys, and of matching texts and numbers; texts are also read as JSON and others."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if is_key(key):
                yield comparison.child(key)
            yield from _search(inner, comparison.child(key), is_key, is_value)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _search(inner, comparison.child(index), is_key, is_value)
    elif is_value is not None and is_value(value):
        yield comparison
    elif isinstance(value, str):
        for read in readings(value):
            is_found = is_value is not None and isinstance(read, str) and is_value(read)
            if is_found or next(_search_inside(read, comparison, is_key, is_value), None) is not None:
                yield comparison
                return


def _search_inside(
    read: Any, comparison: Comparison, is_key: Callable[[str], bool], is_value: Callable[[Any], bool] | None
) -> Iterator[Comparison]:
    """Search what a text contains; the readings of a text are complete, so a text among them is not read again."""
    return iter(()) if isinstance(read, str) else _search(read, comparison, is_key, is_value)


def _applications(
    invariant: Invariant, values: Mapping[tuple[str, str], list[Any]], workspace: Workspace
) -> Iterator[tuple[Any, tuple[Any, ...], list[Any]]]:
    """Yield what an `always` rule requires, and the values to check: its operand may be a map by destination.

    Rows of a warehouse are not requests, so the rule applies to them only if it names the warehouse.
    """
    by_key = is_by_destination(invariant.operand, workspace.destinations)
    for (name, key), made in values.items():
        if name != invariant.stage or (by_key and key not in invariant.operand):
            continue
        destination = workspace.destinations.get(key)
        if not by_key and destination is not None and is_warehouse(destination.type) and name != "user_transform":
            continue
        yield (invariant.operand[key] if by_key else invariant.operand), (name, key), made


def _not_so(invariant: Invariant, operand: Any, where: tuple[Any, ...], made: list[Any]) -> Iterator[Difference]:
    for index, value in enumerate(made):
        comparison = Comparison(path=(*where, index))
        for found in comparison.differences(operand, value):
            expectation = (where[1], *found.expectation) if operand is not invariant.operand else found.expectation
            yield replace(found, text=f"always: {found}", place=(*invariant.place, *expectation))
