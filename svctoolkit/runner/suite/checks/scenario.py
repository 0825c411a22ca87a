"""Checks of one scenario that a schema cannot express."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from msgspec import UNSET

from svctoolkit.errors import Problem, UnknownName, did_you_mean
from svctoolkit.expect.expectation import problems
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.checks.claims import (
    claims_nothing,
    hollow_claims,
    ignored_expectations,
    invariant_problems,
)
from svctoolkit.runner.suite.checks.expectation import expectation_problems, name_problems
from svctoolkit.runner.suite.checks.faults import fault_problems
from svctoolkit.runner.suite.checks.ineffective import event_typos, silent_scripts
from svctoolkit.runner.suite.checks.reach import unreachable_expectations, unreachable_settings
from svctoolkit.runner.suite.checks.settings import freeze_problems, recorder_problems, tag_problems
from svctoolkit.runner.suite.checks.simulated import given_problems, held_problems
from svctoolkit.runner.suite.checks.step import shape_problems
from svctoolkit.runner.suite.model import Place, Places, Scenario, Step, within
from svctoolkit.runner.suite.results import EXPECTED
from svctoolkit.runner.suite.webhooks import webhook_problems
from svctoolkit.yamlfile import Document

#: What setup and teardown may expect; everything else must succeed.
_OF_HOOKS = ("response", "status", "error", "failed")


def scenario_problems(scenario: Scenario, spec: _format.Scenario) -> Iterator[Problem]:
    """Yield every problem of one scenario."""
    document, problems_at = scenario.suite.document, list[tuple[Place, str]]()
    if spec.skip and spec.xfail:
        problems_at.append((("xfail",), "a scenario can have `skip` or `xfail`, not both"))
    problems_at += _xfail(scenario)
    problems_at += [(("tags",), message) for message in tag_problems(spec.tags)]
    problems_at += recorder_problems(scenario.suite, {key: scenario.recorder[key] for key in scenario.scripted})
    problems_at += fault_problems(scenario)
    problems_at += given_problems(scenario.suite.workspace, {key: scenario.given[key] for key in scenario.own_given})
    if spec.freeze is not UNSET:
        problems_at += freeze_problems({"time": spec.freeze.time})
    problems_at += _live(scenario)
    yield from _located(document, scenario.written, problems_at)
    for when, steps in (("setup", scenario.setup), ("teardown", scenario.teardown)):
        for step in steps:
            found = [*_hook_problems(step, when), *shape_problems(step), *name_problems(scenario, step)]
            yield from _located(document, step.place, [*found, *webhook_problems(scenario, step)])
    for step in scenario.steps:
        held = held_problems(step.expect, scenario.suite.workspace, pending=step.pending is not None)
        found = [*shape_problems(step), *name_problems(scenario, step), *expectation_problems(scenario, step), *held]
        found += [*event_typos(scenario, step), *webhook_problems(scenario, step)]
        yield from _located(document, step.place, found)
    raw = document.data["scenarios"][scenario.written[1]] if scenario.written[0] == "scenarios" else {}
    yield from _located(document, scenario.written, invariant_problems(raw, scenario.suite.workspace.destinations))
    with suppress(UnknownName):  # reported above, with its position
        yield from _claim_problems(scenario)
        yield from _located(document, scenario.written, [*unreachable_settings(scenario), *silent_scripts(scenario)])
        for step in scenario.steps:
            yield from _located(document, step.place, unreachable_expectations(scenario, step))


def _located(document: Document, place: Place, problems_there: Iterable[tuple[Place, str]]) -> Iterator[Problem]:
    """Yield problems with their positions in the file; their paths start at `place`."""
    return (document.problem(path, message, key=True) for path, message in within(place, problems_there))


def _claim_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield the expectations of a scenario that would prove nothing."""
    document = scenario.suite.document
    if any(step.expect for step in scenario.steps) and (text := claims_nothing(scenario)):
        yield document.problem([*scenario.steps[-1].place, "expect"], text, key=True)
    for step in scenario.steps:
        written = _raw_expectation(step, document)
        for path, message in [*hollow_claims(scenario, step), *ignored_expectations(scenario, written)]:
            place = path if path[:1] in _OF_STEP else ("expect", *path)
            yield document.problem([*step.place, *place], message, key=True)


_OF_STEP = ((), ("expect",), ("source",))


def _raw_expectation(step: Step, document: Document) -> Any:
    """Return a step's expectation as written in the file, with references to fixtures not yet replaced."""
    value: Any = document.data
    part: Any  # a key, or the number of an element
    for part in (*step.place, "expect"):
        if isinstance(value, Mapping) and part not in value:
            return None
        value = value[part]
    return value


def _hook_problems(step: Step, when: str) -> Places:
    for name in step.expect:
        if name not in _OF_HOOKS:
            yield ("expect", name), f"`{when}` must succeed; it can only expect {', '.join(_OF_HOOKS)}"


def _xfail(scenario: Scenario) -> Places:
    """Check the paths of `xfail: {differs: ...}`: each must begin with a result that a step can have."""
    if scenario.xfail and scenario.only_warns:
        yield ("xfail",), "a scenario that only warns cannot be expected to fail: remove `xfail` or `severity`"
    if not scenario.differs:
        return
    results = dict.fromkeys(name for step in scenario.steps for name in (*EXPECTED[step.kind], "failed"))
    for path in scenario.differs:
        if path[0] not in results:
            near = did_you_mean(path[0], results) or f" It has {', '.join(results)}."
            yield ("xfail", "differs"), f"unknown result {path[0]!r}: a path begins with one.{near}"


def _live(scenario: Scenario) -> Places:
    if scenario.live is None:
        return
    if scenario.live.destination:
        try:
            scenario.suite.workspace.destination(scenario.live.destination)
        except UnknownName as error:
            yield ("live", "destination"), str(error)
    verify = scenario.live.verify or {}
    checked = {k: verify[k] for k in ("status", "body", "fail_when") if k in verify}
    yield from within(("live", "verify"), problems(checked, pending=True))
    if scenario.live.every <= 0 or scenario.live.within < scenario.live.every:
        yield ("live",), "`every` must be greater than 0, and `within` at least `every`"
