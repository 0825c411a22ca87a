"""The requests, log lines and losses of user code, as a step's expectations see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from svctoolkit.expect.compare import is_matchers
from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.shape import shape_values
from svctoolkit.runner.planes.code import by_destination
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.suite.model import Scenario, Step
from svctoolkit.runner.suite.results import is_by_destination

NAMES = ("fetched", "logs", "losses")


class CodeResults:
    """What the user code of one step did: `values` by name and destination, and the requests that scripts answered."""

    def __init__(self, scenario: Scenario, step: Step, plane: Plane, run: str) -> None:
        self.values: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
        self.scripts: Counter[str] = Counter()
        if not scenario.suite.workspace.transformations:
            return
        records = plane.code_records(run)
        self._keys = [] if step.kind == "transformation" else list(scenario.destinations_of(step))
        self.values = {name: by_destination(records.get(name, ())) for name in NAMES}
        self.scripts = Counter(str(record["script"]) for record in records.get("scripts", ()))

    def results(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        """Return the values that exist or are expected, in the form of the expectation."""
        return {
            name: _shape(values, self._keys, expected.get(name), name)
            for name, values in self.values.items()
            if name in expected or values
        }


def forbidden_losses(scenario: Scenario, step: Step, code: CodeResults) -> Iterator[Difference]:
    """Yield a difference for each value that user code has lost, where `losses: forbid` applies.

    The same loss of several events is one difference.
    """
    if not scenario.forbids_losses or "losses" in step.expect:
        return
    lost = Counter(
        tuple(str(loss[name]) for name in ("path", "destination", "transformation", "value", "becomes"))
        for losses in code.values.get("losses", {}).values()
        for loss in losses
    )
    for (path, destination, transformation, value, becomes), count in lost.items():
        at = f"{destination}: " if destination and destination != transformation else ""
        times = f" ({count} times)" if count > 1 else ""
        text = f"losses: {at}{path}: the code of {transformation!r} returns {value}, which becomes {becomes}{times}"
        place = (*scenario.written,)
        yield Difference(("losses",), ("losses", destination, path), "nothing lost", value, text=text, place=place)


def _shape(values: Mapping[str, list[Mapping[str, Any]]], keys: Sequence[str], expected: Any, name: str) -> Any:
    by_key: dict[str, list[Any]] = {key: list(values.get(key, ())) for key in keys or values} or {"": []}
    keyed = is_by_destination(expected, by_key)
    if name == "logs" and expected is not None:
        texts = {key: is_about_texts(expected[key] if keyed and key in expected else expected) for key in by_key}
        by_key = {key: [r["text"] for r in records] if texts[key] else records for key, records in by_key.items()}
    return shape_values(by_key, expected)


def is_about_texts(expected: Json) -> bool:
    """Return whether an expectation of log lines is about their texts: it names no member of a line."""
    if isinstance(expected, list):
        return all(map(is_about_texts, expected))
    if isinstance(expected, Mapping):
        return is_matchers(expected) and all(map(is_about_texts, expected.values()))
    return True
