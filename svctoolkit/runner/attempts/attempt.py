"""One scenario: its setup, its steps with what they capture, its teardown."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Protocol

import msgspec

from svctoolkit.errors import ToolkitError
from svctoolkit.runner.attempts import verify as _verify
from svctoolkit.runner.attempts.outcome import Outcome, StepOutcome
from svctoolkit.runner.attempts.shape import EVERYTHING
from svctoolkit.runner.expect.compare import Difference, differences
from svctoolkit.runner.expect.matchers import MISSING
from svctoolkit.runner.expect.paths import at
from svctoolkit.runner.expect.snapshots import ScenarioSnapshots, Snapshots
from svctoolkit.runner.planes.embedded import Planes
from svctoolkit.runner.planes.plane import Answer, Plane
from svctoolkit.runner.suite.model import Scenario, Step


def attempt(
    scenario: Scenario,
    planes: Planes,
    *,
    snapshots: Snapshots | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Outcome:
    """Run one scenario, whatever it says of skip and xfail: `passed`, `failed` or `error`."""
    began = clock()
    run = f"{scenario.id}-{secrets.token_hex(4)}"
    steps: list[StepOutcome] = []
    reason = ""
    try:
        with planes.open(scenario) as plane:
            _attempt(scenario, plane, run, snapshots or Snapshots(), clock, steps)
    except ToolkitError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - one scenario that breaks the data plane is no reason to lose the others
        reason = f"the data plane broke: {type(error).__name__}: {error}"
    failed = any(step.differences for step in steps)
    status = "error" if reason else "failed" if failed else "passed"
    return Outcome(scenario, status, tuple(steps), reason, (clock() - began) * 1000, run)  # type: ignore[arg-type]


def _attempt(
    scenario: Scenario,
    plane: Plane,
    run: str,
    snapshots: Snapshots,
    clock: Callable[[], float],
    outcomes: list[StepOutcome],
) -> None:
    try:
        _run_hooks(scenario, scenario.setup, plane, f"{run}.setup")
        if scenario.recorder:
            plane.script(scenario.recorder)
        captured: dict[str, Any] = {}
        for number, step in enumerate(scenario.steps, 1):
            step_run = f"{run}.{number}" if len(scenario.steps) > 1 else run
            outcomes.append(_step(scenario, step, plane, step_run, _Shared(snapshots, captured, number), clock))
            if any(d.expectation[:1] == ("capture",) for d in outcomes[-1].differences):
                return  # what follows would only repeat that the variable is not there
        if scenario.live and scenario.live.verify and not any(step.differences for step in outcomes):
            from svctoolkit.runner.attempts import live  # 50 ms, and only what is live needs the network

            last = outcomes[-1]
            differing = live.poll(scenario.live, captured, hide=scenario.suite.masker.masked)
            outcomes[-1] = StepOutcome(last.step, last.results, differing, last.answer, last.milliseconds)
    finally:
        _run_hooks(scenario, scenario.teardown, plane, f"{run}.teardown")


class Result(Protocol):
    """What came of a step."""

    @property
    def answer(self) -> Answer | None:
        """The answer of the data plane, where there is one."""
        ...

    def results(self, expected: Mapping[str, Any]) -> dict[str, Any]:
        """The results under the names that expectations use, in the form in which `expected` has them."""
        ...

    def default_expectation(self, expected: Mapping[str, Any]) -> dict[str, Any]:
        """What is expected although nobody wrote it."""
        ...


class _Shared:
    """What steps have in common: snapshots, and variables as they are captured."""

    def __init__(self, snapshots: Snapshots, captured: dict[str, Any], number: int) -> None:
        self.snapshots, self.captured, self.number = snapshots, captured, number


def _step(
    scenario: Scenario, step: Step, plane: Plane, run: str, shared: _Shared, clock: Callable[[], float]
) -> StepOutcome:
    began = clock()
    try:
        step = step.complete(shared.captured)
    except msgspec.ValidationError as error:
        misfit = Difference((), (), "a captured value that fits", str(error))
        return StepOutcome(step, {}, [misfit], None, 0.0)
    result = _perform(scenario, step, plane, run)
    spent = (clock() - began) * 1000
    results = result.results(step.expect)
    expected = {**result.default_expectation(step.expect), **{k: v for k, v in step.expect.items() if k != "capture"}}
    several = len(scenario.steps) > 1
    suite, prefix = scenario.suite, f"{scenario.id}.step{shared.number}." if several else f"{scenario.id}."
    store, hide = ScenarioSnapshots(shared.snapshots, suite.snapshot_folder, prefix, suite.masker), suite.masker.masked
    differing = differences(expected, results, ignore=scenario.ignore, snapshots=store, hide=hide)
    if "capture" in step.expect:
        differing += _capture(step, results, result.results(EVERYTHING), shared.captured)
    return StepOutcome(step, results, differing, result.answer, spent)


def _capture(
    step: Step, results: dict[str, Any], everything: dict[str, Any], captured: dict[str, Any]
) -> list[Difference]:
    """Puts what a step captures into `captured`; what is not there is a difference."""
    missing = []
    for name, path in step.expect["capture"].items():
        value = at(everything, path)
        value = at(results, path) if value is MISSING else value
        if value is MISSING:
            missing.append(Difference(("capture", name), tuple(path.split(".")), "a value to capture", "nothing"))
        else:
            captured[name] = value
    return missing


def _run_hooks(scenario: Scenario, steps: Sequence[Step], plane: Plane, run: str) -> None:
    for step in steps:
        _perform(scenario, step, plane, run)


def _perform(scenario: Scenario, step: Step, plane: Plane, run: str) -> Result:
    if step.kind != "send":
        return _verify.perform(scenario, step, plane, run)
    from svctoolkit.runner.attempts import send  # many suites only verify

    return send.perform(scenario, step, plane, run)
