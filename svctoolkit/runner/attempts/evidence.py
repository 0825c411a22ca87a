"""Whether a scenario shows anything: whether an expectation would fail if no event had arrived anywhere.

`lost: []`, `logs: []` and `delivered: {$length: {$lte: 3}}` hold when nothing happens. They only count if something
arrived at a destination that they are about. Otherwise the expectations are compared with the empty outcome: the
scenario has evidence if one of them fails there, or says that nothing arrives (`delivered: []`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from svctoolkit.expect.compare import Comparison, is_matchers
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING
from svctoolkit.expect.paths import at
from svctoolkit.expect.snapshots import ScenarioSnapshots, Snapshots
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.result import Result
from svctoolkit.runner.suite.checks.claims import ANY
from svctoolkit.runner.suite.model import Scenario, Step
from svctoolkit.runner.suite.reach import names_destinations
from svctoolkit.runner.suite.results import CODE, STAGES
from svctoolkit.workspace import Workspace

_ANSWER: Final = ("response", "status", "headers", "body", "error")
#: Expectations that can say that nothing arrives.
_ARRIVALS: Final = ("delivered", "attempts", "received", *STAGES)
#: Their actual results are those of the empty outcome if nothing arrived at the destinations that they are about.
_STATES: Final = ("holds", "warehouse")
#: Steps that check something themselves: a response, a finished deletion, a function's result.
_OF_THEMSELVES: Final = ("delete", "python")


@dataclass
class Evidence:
    """Collect the steps of a scenario; `missing` then reports that none of their expectations shows anything."""

    scenario: Scenario
    is_found: bool = False
    arrived: set[str] = field(default_factory=set)
    _steps: list[_Performed] = field(default_factory=list)

    def add(self, step: Step, result: Result, snapshots: ScenarioSnapshots) -> None:
        """Add a step that was performed. `snapshots` are those that its expectations have been compared with."""
        if self.is_found:
            return
        self.arrived |= result.arrived()
        if step.kind in _OF_THEMSELVES or (step.kind == "request" and any(name in step.expect for name in _ANSWER)):
            self.is_found = True
        elif self.arrived and (not step.expect or any(name in step.expect for name in _ARRIVALS)):
            self.is_found = self._has_arrived(step)
        if self.is_found:
            return
        self._steps.append(_Performed(step, result, snapshots))

    def missing(self) -> Iterator[Difference]:
        """Yield a difference if the scenario has no evidence."""
        if self.is_found or not self._steps or self.scenario.live is not None:
            return
        if any(self._has_arrived(each.step) or self._fails_empty(each) for each in self._steps):
            return
        step, result = self._steps[-1].step, self._steps[-1].result
        about = {key for each in self._steps for key in _about(self.scenario, each.step)}
        where = f" at {', '.join(sorted(about))}" if about else ""
        advice = _ADVICE.get(step.kind, _ADVICE["send"])
        text = f"nothing arrived{where}{_reason(result)}, and no expectation of this scenario would fail without events"
        place = step.place if step.spec.expect is UNSET else (*step.place, "expect")
        expected = "an expectation that needs an event"
        yield Difference((), ("evidence",), expected, "none", text=f"{text}: {advice}", place=place)

    def _fails_empty(self, performed: _Performed) -> bool:
        # Another store: nothing is compared with the empty outcome to be written.
        taken = replace(performed.snapshots, run=Snapshots(), pending=[])
        return fails_empty(self.scenario, performed.step.expect, performed.result, taken)

    def _has_arrived(self, step: Step) -> bool:
        return not self.arrived.isdisjoint(_about(self.scenario, step))


class _Performed(msgspec.Struct, frozen=True):
    step: Step
    result: Result
    snapshots: ScenarioSnapshots


def fails_empty(
    scenario: Scenario, expect: Mapping[str, Json], result: Result, snapshots: ScenarioSnapshots | None
) -> bool:
    """Return whether an expectation of a step fails on the empty outcome, or says that nothing arrives."""
    keys = scenario.suite.workspace.destinations
    comparison = Comparison(ignore=scenario.ignore, snapshots=snapshots, careful=True)
    for name, expected in expect.items():
        if name in _STATES or (name, expected) == ("failed", ANY):
            continue
        if name in _ARRIVALS and says_nothing(expected, keys):
            return True
        if name == "capture":
            answer = _empty_answer(result)
            fails = isinstance(expected, Mapping) and any(at(answer, path) is MISSING for path in expected.values())
        else:
            at_name, empty = comparison.member(name), _empty(name, expected, result, keys)
            fails = not any(at_name.matches(expected, value) for value in empty)
        if fails:
            return True
    return False


_ADVICE: Final = {
    "send": "add `dropped: [{}]` or `delivered: []` if that is right, or expect something of what arrives",
    "verify": "expect the `error` in `user_transform` or `dest_transform: []` if that is right, or something of the "
    "payload in `dest_transform`",
    "transformation": "add `user_transform: []` if that is right, or expect something of the event",
}


def _about(scenario: Scenario, step: Step) -> set[str]:
    """Return the destinations (or the transformation) that a step's expectations are about."""
    if step.kind == "transformation":
        return {str(step.spec.transformation)}
    workspace = scenario.suite.workspace
    reached = {*workspace.destinations} if step.kind == "request" else {*scenario.destinations_of(step)}
    about = set[str]()
    names = [name for name in step.expect if name not in (*_ANSWER, "capture")]
    for name in names:
        about |= _named(name, step.expect[name], reached, workspace)
    return about if names else reached


def _named(name: str, expected: Json, reached: set[str], workspace: Workspace) -> set[str]:
    """Return the destinations that one expectation is about: those that it names, or all that it can be about."""
    keys = names_destinations(name, expected, workspace)
    if keys:
        return set(keys) & reached
    if name in CODE:
        return {key for key in reached if workspace.destinations[key].transformation}
    if name in ("holds", "lost"):
        return {key for key in reached if workspace.simulation_level(workspace.destinations[key]) != "answers"}
    return reached


def says_nothing(expected: Json, keys: Container[str]) -> bool:
    """Return whether an expectation says that nothing arrives, at one destination at least.

    >>> [says_nothing(claim, ["hook"]) for claim in ([], {"hook": []}, {"$length": 0}, {"$length": {"$lte": 3}})]
    [True, True, True, False]
    """
    if isinstance(expected, (list, int)) and not isinstance(expected, bool):
        return expected in ([], 0)
    if not isinstance(expected, Mapping) or not expected:
        return False
    if is_matchers(expected):
        nothing = {"$length": 0, "$exact": [], "$literal": [], "$only": {}, "$unordered": []}
        named = expected.get("$only") or expected.get("$exact")
        return any(expected.get(name, MISSING) == operand for name, operand in nothing.items()) or (
            isinstance(named, Mapping) and bool(named) and says_nothing(named, keys)
        )
    return all(key in keys for key in expected) and any(says_nothing(inner, ()) for inner in expected.values())


def _empty(name: str, expected: Json, result: Result, keys: Container[str]) -> Sequence[Json]:
    """Return the values that a result has in the empty outcome: a stage that returns nothing has several forms."""
    if name in _ANSWER:
        return (_empty_answer(result).get(name, MISSING),)
    by_key = isinstance(expected, Mapping) and bool(expected) and all(key in keys for key in expected)
    forms: Sequence[Json] = (0,) if name == "attempts" and not isinstance(expected, list) else ([],)
    forms = (*forms, {}, MISSING) if name in STAGES else forms
    return [dict.fromkeys(expected, form) for form in forms] if by_key else forms


def _empty_answer(result: Result) -> dict[str, Any]:
    """Return the response in the empty outcome: a successful one is the same, but has no data."""
    answer = result.answer
    if answer is None:
        return {}
    if answer.status >= 300:
        response: dict[str, Any] = {"status": 200, "headers": {}, "body": {}}
    else:
        response = {"status": answer.status, "headers": answer.headers, "body": _without_data(answer.body)}
    return {**response, "response": response}


def _without_data(body: Json) -> Json:
    if isinstance(body, list):
        return [_without_data(element) for element in body]
    if not isinstance(body, Mapping) or not {"data", "error"} & body.keys():
        return body
    return {**{name: value for name, value in body.items() if name != "error"}, "data": []}


def _reason(result: Result) -> str:
    causes = result.causes()
    return f" ({causes[0]})" if causes else ""
