"""What a suite says once for all: values that never leave, and what every event, payload and request has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.shape import as_lists
from svctoolkit.runner.expect.compare import Comparison, json_line
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.expect.matchers.values.anywhere import places
from svctoolkit.runner.suite.model import Invariant, Place, Scenario, Step

#: The results in which forbidden values are looked for: all that a stage makes, and all that is sent.
_LEAVES = ("user_transform", "dest_transform", "tries", "send_to_destination", "delivered")


def broken_invariants(
    scenario: Scenario,
    step: Step,
    everywhere: Mapping[str, Json] | None,
    results: Mapping[str, Json],
    checked: set[Place],
) -> Iterator[Difference]:
    """A difference for each stage and destination in which something is that never may, or is not what always is.

    `checked` gets the places of those that there was something for.
    """
    if not scenario.invariants:
        return
    values = dict(_values(scenario, step, everywhere, results))
    for invariant in scenario.invariants:
        if any(made and invariant.stage in ("", name) for (name, _), made in values.items()):
            checked.add(invariant.place)
        check = _forbidden if invariant.kind == "never" else _not_so
        yield from check(invariant, values)


def _values(
    scenario: Scenario, step: Step, everywhere: Mapping[str, Any] | None, results: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, str], list[Any]]]:
    """What each stage gave, by its name and the destination."""
    if everywhere is None:
        keys = list(scenario.destinations_of(step))
        for name in _LEAVES:
            for key, values in as_lists(results.get(name), keys).items():
                yield (name, key), values
        return
    transformed = {key for key, d in scenario.suite.workspace.destinations.items() if d.transformation}
    for name in _LEAVES:
        for key, values in everywhere.get(name, {}).items():
            if name != "user_transform" or key in transformed:  # else it is only the event that the scenario sent
                yield (name, key), values


def _forbidden(invariant: Invariant, values: Mapping[tuple[str, str], list[Any]]) -> Iterator[Difference]:
    for (name, key), made in values.items():
        if name == "delivered" and ("tries", key) in values:
            continue  # every request is among the tries
        stage = "send_to_destination" if name == "tries" else name
        for place in _places(invariant.operand, made):
            where = ".".join(map(str, (stage, key, *place.path)))
            text = f"never: {json_line(invariant.operand)} is at {where}"
            yield Difference((), (stage, key, *place.path), "nothing like that", "it", text=text, place=invariant.place)
            break  # one place of a stage is enough to find it


def _places(operand: Any, made: list[Any]) -> Iterator[Comparison]:
    if isinstance(operand, Mapping) and set(operand) == {"key"}:
        yield from _keys(str(operand["key"]), made, Comparison())
    else:
        yield from places(operand, made, Comparison())


def _keys(name: str, value: Any, comparison: Comparison) -> Iterator[Comparison]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key.lower() == name.lower():
                yield comparison.child(key)
            yield from _keys(name, inner, comparison.child(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _keys(name, inner, comparison.child(index))


def _not_so(invariant: Invariant, values: Mapping[tuple[str, str], list[Any]]) -> Iterator[Difference]:
    for (name, key), made in values.items():
        if name != invariant.stage:
            continue
        for index, value in enumerate(made):
            comparison = Comparison(path=(name, key, index))
            for found in comparison.differences(invariant.operand, value):
                yield replace(found, text=f"always: {found}", place=(*invariant.place, *found.expectation))
