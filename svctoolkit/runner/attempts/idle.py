"""Parts of a suite without any effect: unused recorder responses, ignored paths that never occur, idle invariants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from svctoolkit.destinations.lookups import asks_in_order, looks_up
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.paths import is_in
from svctoolkit.runner.attempts.outcome import Outcome, StepOutcome
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.model import Place, Scenario, Suite, as_list


def idle_ignores(scenario: Scenario, steps: Sequence[StepOutcome]) -> Iterator[Difference]:
    """Report ignored paths that occur in no result: misspelt, or obsolete."""
    for index, rule in enumerate(scenario.own_ignores):
        if not any(is_in(rule, step.results) for step in steps):
            text = f"ignore: {'.'.join(rule)!r} is nowhere in the results"
            place = (*scenario.written, "ignore", index)
            yield Difference((), ("ignore", index), "a value to ignore", "none", text=text, place=place)


def idle_answers(
    scenario: Scenario, requests: Mapping[str, int], idle: Callable[[str], Sequence[int]]
) -> Iterator[Difference]:
    """Report recorder responses that no request received: the case that they were written for did not happen.

    `idle` returns the positions of those of a destination, which only the recorder has if responses have conditions.
    """
    for key in scenario.scripted:
        if _has_conditions(scenario.recorder[key]) or _may_be_asked(scenario, key):
            for index in idle(key):
                text = f"recorder: no request to {key} got response {index + 1} of {len(scenario.recorder[key])}"
                place = (*scenario.written, "recorder", key, index)
                yield Difference((), ("recorder", key), "a request", "none", text=text, place=place)
            continue
        uses, count = _uses(scenario.recorder[key]), requests.get(key, 0)
        if count < len(uses):
            text = f"recorder: {key} used {count} of its {len(uses)} responses: remove the rest"
            place = (*scenario.written, "recorder", key, uses[count])
            yield Difference((), ("recorder", key), f"{len(uses)} requests", str(count), text=text, place=place)


def idle_invariants(scenario: Scenario, checked: Set[Place]) -> Iterator[Difference]:
    """Report a scenario's own invariants for a stage that produced no value: they test nothing."""
    for invariant in scenario.invariants:
        if invariant.kind == "always" and invariant.place[0] == "scenarios" and invariant.place not in checked:
            text = f"always: {_NOTHING.format(invariant.stage)}"
            yield Difference((), ("always", invariant.stage), "something", "nothing", text=text, place=invariant.place)


_NOTHING = "{} had no values to check (without a transformation, the output is just the input)"


def _has_conditions(script: Sequence[_format.RecorderAnswer]) -> bool:
    return any(answer.when is not UNSET for answer in script)


def _may_be_asked(scenario: Scenario, key: str) -> bool:
    """Return whether look-ups of a mapping may get the responses for a destination or URL: only the recorder counts."""
    destinations = scenario.suite.workspace.destinations
    if key in destinations:
        return asks_in_order(destinations[key].type)
    return any(looks_up(destination.type) for destination in destinations.values())


def _uses(script: Sequence[_format.RecorderAnswer]) -> list[int]:
    """Return, for each request that a script covers, the number of its response."""
    return [index for index, answer in enumerate(script) for _ in range(answer.times or 1)]


@dataclass
class IdleParts:
    """Collect outcomes; `lines` and `failures` then report which suite-wide settings no scenario needed."""

    _results: dict[int, list[Any]] = field(default_factory=dict)
    _requests: dict[int, dict[str, int]] = field(default_factory=dict)
    _ran: dict[int, set[str]] = field(default_factory=dict)
    _checked: dict[int, set[Place]] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of one scenario. Scenarios that were skipped or could not run are not counted."""
        suite, scenario = outcome.scenario.suite, outcome.scenario
        if outcome.status in ("skipped", "error") or not (_says_for_all(suite) or scenario.invariants):
            return
        self._ran.setdefault(id(suite), set()).add(scenario.id)
        self._checked.setdefault(id(suite), set()).update(outcome.checked)
        ignores = self._results.setdefault(id(suite), [])
        for rule in _ignores(suite):
            if rule not in ignores and any(is_in(rule.split("."), step.results) for step in outcome.steps):
                ignores.append(rule)
        most = self._requests.setdefault(id(suite), {})
        for key, count in outcome.requests.items():
            # Only requests that the suite's script answered; a scenario's own script replaces it.
            if key not in scenario.scripted:
                most[key] = max(most.get(key, 0), count)

    def lines(self, suites: Iterable[Suite]) -> Iterator[str]:
        """Yield a line with its position for each unused part, for suites whose scenarios all ran."""
        for suite in suites:
            if not _says_for_all(suite) or len(self._ran.get(id(suite), ())) < len(suite.scenarios):
                continue
            for index, rule in enumerate(_ignores(suite)):
                if rule not in self._results[id(suite)]:
                    yield f"{suite.document.where(['ignore', index])}: ignore: {rule!r} is not in any result"
            for key, script in suite.document.data.get("recorder", {}).items():
                if any("when" in answer for answer in as_list(script)):
                    continue  # how many requests there were does not say which of them met a condition
                answers = sum(int(answer.get("times") or 1) for answer in as_list(script))
                most = self._requests[id(suite)].get(key, 0)
                if most < answers:
                    text = f"no scenario uses more than {most} of the {answers} responses for {key!r}"
                    yield f"{suite.document.where(['recorder', key])}: recorder: {text}"

    def failures(self, suites: Iterable[Suite]) -> Iterator[str]:
        """Yield a line with its position for each `always` that had no value in the whole run: it shows nothing.

        One in `_common.yaml` needs a value in one suite of its folder. Only if all scenarios of these suites ran.
        """
        unmet: dict[str, str] = {}
        met, unknown = set[str](), set[str]()
        for suite in suites:
            is_whole = len(self._ran.get(id(suite), ())) == len(suite.scenarios)
            rules = {rule.place: rule for scenario in suite.scenarios for rule in scenario.invariants}
            for place, rule in rules.items():
                if rule.kind == "always" and place[0] != "scenarios":
                    where = suite.document.where(place)
                    unmet.setdefault(where, f"{where}: always: {_NOTHING.format(rule.stage)}, in any scenario")
                    if place in self._checked.get(id(suite), ()):
                        met.add(where)
                    elif not is_whole:
                        unknown.add(where)
        yield from (line for where, line in unmet.items() if where not in met | unknown)


def _says_for_all(suite: Suite) -> bool:
    return any(suite.document.data.get(key) for key in ("ignore", "recorder"))


def _ignores(suite: Suite) -> list[str]:
    return list(suite.document.data.get("ignore", ()))
