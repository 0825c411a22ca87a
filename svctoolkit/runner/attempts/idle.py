"""What a suite says and nothing needed: answers that nobody asked for, paths to ignore, invariants of nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from svctoolkit.runner.attempts.outcome import Outcome, StepOutcome
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.expect.paths import is_in
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.model import Place, Scenario, Suite, as_list


def idle_ignores(scenario: Scenario, steps: Sequence[StepOutcome]) -> Iterator[Difference]:
    """A path to ignore that is nowhere is misspelt, or what it was written for is gone."""
    for index, rule in enumerate(scenario.own_ignores):
        if not any(is_in(rule, step.results) for step in steps):
            text = f"ignore: {'.'.join(rule)!r} is nowhere in the results"
            place = (*scenario.written, "ignore", index)
            yield Difference((), ("ignore", index), "a value to ignore", "none", text=text, place=place)


def idle_answers(scenario: Scenario, requests: Mapping[str, int]) -> Iterator[Difference]:
    """Answers that nobody asked for are a difference: what they were written for did not happen."""
    for key in scenario.scripted:
        uses, count = _uses(scenario.recorder[key]), requests.get(key, 0)
        if count < len(uses):
            text = f"recorder: {len(uses) - count} of {key}'s {len(uses)} answers came to no use: take them away"
            place = (*scenario.written, "recorder", key, uses[count])
            yield Difference((), ("recorder", key), f"{len(uses)} requests", str(count), text=text, place=place)


def idle_invariants(scenario: Scenario, checked: Set[Place]) -> Iterator[Difference]:
    """What a scenario itself says of a stage that gives nothing shows nothing."""
    for invariant in scenario.invariants:
        if invariant.kind == "always" and len(invariant.place) > _OF_SUITE and invariant.place not in checked:
            text = f"always: {_NOTHING.format(invariant.stage)}"
            yield Difference((), ("always", invariant.stage), "something", "nothing", text=text, place=invariant.place)


_OF_SUITE = 2  # steps to `always: {delivered: ...}` of a suite; to that of a scenario there are more
_NOTHING = "nothing came of {} that it could hold for (what no transformation touches is what went in)"


def _uses(script: Sequence[_format.RecorderAnswer]) -> list[int]:
    """For each request that a script is written for, the number of its answer."""
    return [index for index, answer in enumerate(script) for _ in range(answer.times or 1)]


@dataclass
class IdleParts:
    """Hears outcomes; then `lines` tells what a suite says for all of its scenarios and none of them needed."""

    _results: dict[int, list[Any]] = field(default_factory=dict)
    _requests: dict[int, dict[str, int]] = field(default_factory=dict)
    _ran: dict[int, set[str]] = field(default_factory=dict)
    _checked: dict[int, set[Place]] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Hear what one scenario came to. One that was skipped or could not run says nothing."""
        suite, scenario = outcome.scenario.suite, outcome.scenario
        if outcome.status in ("skipped", "error") or not _says_for_all(suite):
            return
        self._ran.setdefault(id(suite), set()).add(scenario.id)
        self._checked.setdefault(id(suite), set()).update(outcome.checked)
        ignores = self._results.setdefault(id(suite), [])
        for rule in _ignores(suite):
            if rule not in ignores and any(is_in(rule.split("."), step.results) for step in outcome.steps):
                ignores.append(rule)
        most = self._requests.setdefault(id(suite), {})
        for key, count in outcome.requests.items():
            if key not in scenario.scripted:
                most[key] = max(most.get(key, 0), count)

    def lines(self, suites: Iterable[Suite]) -> Iterator[str]:
        """A line with its place for each, of those suites all of whose scenarios ran."""
        for suite in suites:
            if not _says_for_all(suite) or len(self._ran.get(id(suite), ())) < len(suite.scenarios):
                continue
            for index, rule in enumerate(_ignores(suite)):
                if rule not in self._results[id(suite)]:
                    yield f"{suite.document.where(['ignore', index])}: ignore: no scenario has {rule!r} in its results"
            for key, script in suite.document.data.get("recorder", {}).items():
                answers = sum(int(answer.get("times") or 1) for answer in as_list(script))
                most = self._requests[id(suite)].get(key, 0)
                if most < answers:
                    text = f"no scenario asks {key!r} for more than {most} of its {answers} answers"
                    yield f"{suite.document.where(['recorder', key])}: recorder: {text}"
            for stage in suite.document.data.get("always", ()):
                if ("always", stage) not in self._checked[id(suite)]:
                    place = suite.document.where(["always", stage])
                    yield f"{place}: always: {_NOTHING.format(stage)}, in any scenario"


def _says_for_all(suite: Suite) -> bool:
    return any(suite.document.data.get(key) for key in ("ignore", "recorder", "always"))


def _ignores(suite: Suite) -> list[str]:
    return list(suite.document.data.get("ignore", ()))
