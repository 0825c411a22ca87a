"""Whether a scenario shows anything: whether an expectation would fail if no event had arrived anywhere.

`lost: []`, `logs: []` and `delivered: {$length: {$lte: 3}}` hold when nothing happens. They only count if something
arrived at a destination that they are about. Otherwise the expectations are compared with the empty outcome: the
scenario has evidence if one of them fails there, or says that nothing arrives (`delivered: []`).

The same goes for each step, and for each destination that an expectation is about: what arrived in an earlier step or
at another destination shows nothing there.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
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
from svctoolkit.runner.suite.results import CODE, STAGES, is_by_destination
from svctoolkit.workspace import Workspace

_ANSWER: Final = ("response", "status", "headers", "body", "error")
#: Expectations that can say that nothing arrives.
_ARRIVALS: Final = ("delivered", "attempts", "received", *STAGES)
#: Their actual results are those of the empty outcome if nothing arrived at the destinations that they are about.
_STATES: Final = ("holds", "warehouse")
#: Steps that check something themselves: a response, a finished deletion, a function's result.
_OF_THEMSELVES: Final = ("delete", "python")
#: Steps whose destinations are known, so that each of them needs evidence.
_SENDING: Final = ("send", "verify", "transformation")


@dataclass
class Evidence:
    """Collect the steps of a scenario; `missing` then reports that none of their expectations shows anything."""

    scenario: Scenario
    is_found: bool = False
    arrived: set[str] = field(default_factory=set)
    _steps: list[_Performed] = field(default_factory=list)
    _partial: list[_Performed] = field(default_factory=list)  # steps with a destination at which nothing arrived

    def add(self, step: Step, result: Result, snapshots: ScenarioSnapshots) -> None:
        """Add a step that was performed. `snapshots` are those that its expectations have been compared with."""
        arrived = result.arrived()
        performed = _Performed(step, result, snapshots, frozenset(arrived))
        if step.expect and step.kind in _SENDING and not arrived >= _reached(self.scenario, step):
            self._partial.append(performed)
        if self.is_found:
            return
        self.arrived |= arrived
        if step.kind in _OF_THEMSELVES or (step.kind == "request" and any(name in step.expect for name in _ANSWER)):
            self.is_found = True
        elif self.arrived and (not step.expect or any(name in step.expect for name in _ARRIVALS)):
            self.is_found = self._has_arrived(step)
        if self.is_found:
            return
        self._steps.append(performed)

    def missing(self) -> Iterator[Difference]:
        """Yield a difference if the scenario, one of its steps or a destination has no evidence."""
        if self.scenario.live is not None:
            return
        if self._has_evidence():
            generated = [step.place for step in self.scenario.steps if step.spec.generate is not UNSET]
            sent = [each for each in self._partial if each.step.place not in generated]  # some generated events may end
            yield from (found for each in sent if (found := self._idle(each)) is not None)
            return
        about = {key for each in self._steps for key in _about(self.scenario, each.step)}
        yield _difference(self._steps[-1], about, "no expectation of this scenario would fail without events")

    def _has_evidence(self) -> bool:
        if self.is_found or not self._steps:
            return True
        return any(self._has_arrived(each.step) or self._fails_empty(each, each.step.expect) for each in self._steps)

    def _idle(self, performed: _Performed) -> Difference | None:
        """Return a difference if an expectation is only about destinations of its step at which nothing arrived."""
        parts = [*_parts(self.scenario, performed.step)]
        idle = [part for part in parts if part.about and part.about.isdisjoint(performed.arrived)]
        if not idle:
            return None
        claimed = {key for part in parts if self._says_what_is_missing(part, performed) for key in part.about}
        for part in idle:
            if part.about.isdisjoint(claimed):
                return _difference(performed, part.about, "no expectation about it would fail without events")
        return None

    def _says_what_is_missing(self, part: _Part, performed: _Performed) -> bool:
        """Return whether an expectation says that nothing arrives, why, or everything that does."""
        if part.name in _ARRIVALS and not part.about.isdisjoint(performed.arrived):
            return part.is_complete or says_nothing(part.expected, self.scenario.suite.workspace.destinations)
        return self._fails_empty(performed, {part.name: part.expected})

    def _fails_empty(self, performed: _Performed, expect: Mapping[str, Json]) -> bool:
        # Another store: nothing is compared with the empty outcome to be written.
        taken = replace(performed.snapshots, run=Snapshots(), pending=[])
        return fails_empty(self.scenario, expect, performed.result, taken)

    def _has_arrived(self, step: Step) -> bool:
        return not self.arrived.isdisjoint(_about(self.scenario, step))


class _Performed(msgspec.Struct, frozen=True):
    step: Step
    result: Result
    snapshots: ScenarioSnapshots
    arrived: frozenset[str]


class _Part(msgspec.Struct, frozen=True):
    """An expectation, or what it says of one destination. A complete one covers all that arrives at these."""

    name: str
    expected: Json
    about: Set[str]
    is_complete: bool = False


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


def _difference(performed: _Performed, about: Set[str], why: str) -> Difference:
    step = performed.step
    where = f" at {', '.join(sorted(about))}" if about else ""
    text = f"nothing arrived{where}{_reason(performed.result, about)}, and {why}"
    place = step.place if step.spec.expect is UNSET else (*step.place, "expect")
    expected, advice = "an expectation that needs an event", _ADVICE.get(step.kind, _ADVICE["send"])
    return Difference((), ("evidence",), expected, "none", text=f"{text}: {advice}", place=place)


def _parts(scenario: Scenario, step: Step) -> Iterator[_Part]:
    """Yield the expectations of a step, one for each destination that they name."""
    reached, workspace = _reached(scenario, step), scenario.suite.workspace
    for name, expected in step.expect.items():
        is_about_all = step.kind == "transformation" or name in (*_ANSWER, "capture")
        about = reached if is_about_all else _named(name, expected, reached, workspace)
        if not is_about_all and is_by_destination(expected, workspace.destinations):
            for key in about:
                yield _Part(name, expected[key], {key})
        else:
            yield _Part(name, expected, about, is_complete=_is_complete(expected))


def _is_complete(expected: Json) -> bool:
    """Return whether a list, or its length, says how much arrives at all destinations together."""
    if not isinstance(expected, Mapping):
        return True
    length = expected.get("$length")
    return isinstance(length, int) or any(name in expected for name in ("$unordered", "$exact", "$only", "$snapshot"))


def _reached(scenario: Scenario, step: Step) -> set[str]:
    """Return the destinations (or the transformation) that a step sends to: all, of a request."""
    if step.kind == "transformation":
        return {str(step.spec.transformation)}
    return {*(scenario.suite.workspace.destinations if step.kind == "request" else scenario.destinations_of(step))}


def _about(scenario: Scenario, step: Step) -> set[str]:
    """Return the destinations (or the transformation) that a step's expectations are about."""
    reached, workspace = _reached(scenario, step), scenario.suite.workspace
    if step.kind == "transformation":
        return reached
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


def _reason(result: Result, about: Set[str]) -> str:
    """Return the first cause of these destinations, in parentheses."""
    causes = sorted(result.causes(), key=lambda cause: cause.destination not in about)
    return f" ({causes[0]})" if causes else ""
