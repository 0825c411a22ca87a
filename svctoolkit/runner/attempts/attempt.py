"""Run one scenario: setup, steps with the values that they capture, teardown."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from svctoolkit.errors import StillWaiting, ToolkitError
from svctoolkit.expect import resources
from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING
from svctoolkit.expect.paths import at
from svctoolkit.expect.snapshots import ScenarioSnapshots, Snapshots
from svctoolkit.runner.attempts import verify as _verify
from svctoolkit.runner.attempts.code import CodeResults, forbidden_losses
from svctoolkit.runner.attempts.consequences import causes_first
from svctoolkit.runner.attempts.evidence import Evidence
from svctoolkit.runner.attempts.held import simulated_results, step_differences
from svctoolkit.runner.attempts.idle import idle_answers, idle_ignores, idle_invariants
from svctoolkit.runner.attempts.invariants import broken_invariants
from svctoolkit.runner.attempts.outcome import Outcome, StepOutcome
from svctoolkit.runner.attempts.policies import broken_policies
from svctoolkit.runner.attempts.result import Result
from svctoolkit.runner.attempts.shape import EVERYTHING, exact_part
from svctoolkit.runner.attempts.taken import take_snapshots
from svctoolkit.runner.attempts.violations import forbidden_violations
from svctoolkit.runner.planes.lineages import Lineages
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.planes.pool import Planes
from svctoolkit.runner.suite.checks.claims import ANY
from svctoolkit.runner.suite.format import ScenarioFaults, seconds
from svctoolkit.runner.suite.model import Place, Scenario, Step
from svctoolkit.runner.suite.results import SIMULATED

if TYPE_CHECKING:
    from svctoolkit.runner.attempts.clients import Clients
    from svctoolkit.runner.attempts.origins import Origins


def attempt(
    scenario: Scenario,
    planes: Planes,
    *,
    snapshots: Snapshots | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Outcome:
    """Run one scenario, ignoring its skip and xfail: the status is `passed`, `failed` or `error`."""
    began = clock()
    # A random part: the same scenario may run several times (--repeat, --jobs) on one plane.
    run = f"{scenario.id}-{secrets.token_hex(4)}"
    outcomes: list[StepOutcome] = []
    requests: dict[str, int] = {}
    checked: set[Place] = set()
    snapshots = snapshots or Snapshots()
    reason = ""
    try:
        with planes.open(scenario) as plane, resources.use(scenario.suite.resources):
            limit = planes.limit if scenario.limit is None else scenario.limit
            whole = _Attempt(
                scenario, plane, run, snapshots, clock, outcomes, requests, limit, checked, planes.lineages
            )
            whole.run_all()
    except ToolkitError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - a scenario that crashes the data plane must not stop others
        reason = f"the data plane crashed: {type(error).__name__}: {error}"
    failed = any(step.differences for step in outcomes)
    status = "error" if reason else "failed" if failed else "passed"
    if status == "passed":
        # Only a passed scenario has used all of its snapshots; unused ones are reported as stale.
        snapshots.complete.add(scenario.suite.snapshot_folder / scenario.id)
    return Outcome(scenario, status, tuple(outcomes), reason, (clock() - began) * 1000, run, requests, checked)  # type: ignore[arg-type]


_HOOKS = ("setup.", "teardown.")  # prefixes of their snapshots


def _target(scenario: Scenario, step: Step) -> str:
    """Return the key of the destination or transformation that a step names; an empty string if it names none."""
    if step.spec.destination is not UNSET:
        return scenario.suite.workspace.destination(step.spec.destination).key
    return "" if step.spec.transformation is UNSET else step.spec.transformation


@dataclass
class _Attempt:
    """One scenario on a plane.

    `outcomes` collects the outcomes of its steps, and of setup and teardown if they fail. `requests` counts the
    requests to each destination. `checked` has the invariants that were compared with at least one value.
    """

    scenario: Scenario
    plane: Plane
    run: str
    snapshots: Snapshots
    clock: Callable[[], float]
    outcomes: list[StepOutcome]
    requests: dict[str, int]
    limit: float
    checked: set[Place]
    lineages: Lineages
    captured: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock() if self.scenario.limit is not None else 0.0
        self._clients: Clients | None = None
        self._evidence = Evidence(self.scenario)

    def run_all(self) -> None:
        try:
            if not self._hooks("setup", self.scenario.setup):
                return  # later failures would only be consequences of the failed setup
            if self.scenario.recorder:
                self.plane.script(self.run, self.scenario.recorder)
            if self.scenario.has_faults:
                self.plane.set_faults(self.run, self.scenario.faults)
            if self.scenario.given:
                self.plane.give(self.run, self.scenario.given)
            if self._steps():
                self._poll()
                self._add(
                    [
                        *self._slowness(),
                        *idle_answers(self.scenario, self.requests, partial(self.plane.idle_answers, self.run)),
                        *idle_ignores(self.scenario, self.outcomes),
                    ]
                )
                # After a failure, an invariant may just not have been reached.
                if not any(step.differences for step in self.outcomes):
                    self._add([*idle_invariants(self.scenario, self.checked), *self._evidence.missing()])
        finally:
            if self.scenario.recorder:
                # Teardown must not meet scripted faults.
                self.plane.script(self.run, dict.fromkeys(self.scenario.recorder, ()))
            if self.scenario.has_faults:
                self.plane.set_faults(self.run, ScenarioFaults())
            self._hooks("teardown", self.scenario.teardown)
            if self._clients is not None:
                self._clients.close()
            self.plane.forget(self.run)

    def _hooks(self, when: Literal["setup", "teardown"], steps: Sequence[Step]) -> bool:
        """Run the steps of `setup` or `teardown` and return whether all passed. Only failures are reported."""
        ok = True
        for step in steps:
            outcome = self._perform(step, f"{self.run}/{when}", prefix=f"{when}.")
            if outcome.differences:
                labelled = [replace(d, text=f"{when}: {d}") for d in outcome.differences]
                self.outcomes.append(replace(outcome, differences=labelled, hook=when))
                ok = False
        return ok

    def _steps(self) -> bool:
        """Return whether every step could run, whatever its outcome."""
        several = len(self.scenario.steps) > 1
        for number, step in enumerate(self.scenario.steps, 1):
            # Each step has its own run, so that a step's expectations do not see the events of another.
            within = f"{self.run}/{'w' if self.scenario.waits else ''}{number}"
            run, prefix = (within, f"step{number}.") if several else (self.run, "")
            self.outcomes.append(self._perform(step, run, prefix=prefix))
            if any(d.expectation[:1] == ("capture",) or d.path == ("limit",) for d in self.outcomes[-1].differences):
                return False  # later steps would only repeat that the variable is missing, or that the time is up
        return True

    def _perform(self, step: Step, run: str, *, prefix: str) -> StepOutcome:
        if step.spec.generate is not UNSET:
            from svctoolkit.runner.attempts.generate import generate  # few suites generate events

            return generate(step, lambda sends, number: self._perform(sends, f"{run}/g{number}", prefix=prefix))
        began = self.clock()
        try:
            step = step.complete(self.captured)
        except msgspec.ValidationError as error:
            return StepOutcome(step, {}, [Difference((), (), "a captured value that fits", str(error))])
        try:
            if step.spec.wait is not UNSET:
                self.plane.wait(seconds(step.spec.wait), self._remaining())
            if step.kind == "wait":
                return StepOutcome(step, {}, [])
            result = self._result(step, run)
        except StillWaiting as error:
            return StepOutcome(step, {}, [self._too_long(str(error))])
        except ToolkitError as error:
            if step.spec.calls is UNSET:
                raise
            return StepOutcome(step, {}, [self._wrong_call(step, error)])
        elapsed_ms = (self.clock() - began) * 1000
        for key, count in result.request_counts().items():
            self.requests[key] = self.requests.get(key, 0) + count
        results = result.results(step.expect)
        results |= simulated_results(self.scenario, step, self.plane, run)
        code = CodeResults(self.scenario, step, self.plane, run)
        results |= code.results(step.expect)
        for key, count in code.scripts.items():
            self.requests[key] = self.requests.get(key, 0) + count
        hide = self.scenario.suite.masker.mask
        store = self._store(prefix)
        found = list(self._differences(step, result, results, code, store))
        found += take_snapshots(self.scenario, step, result, store, found)
        if prefix not in _HOOKS:
            self._evidence.add(step, result, store)
        if self.scenario.suite.policies is not None:
            found += broken_policies(self.scenario, step, result.results(EVERYTHING), self.plane, run)
        failed_events = result.causes() if found else ()
        found = causes_first(
            found, results, failed_events, self.scenario.suite.workspace.destinations, _target(self.scenario, step)
        )
        differing = [d.shorten(hide) for d in found]
        if "capture" in step.expect:
            differing += self._capture(step, results, result.results(EVERYTHING) | code.results(EVERYTHING))
            failed_events = failed_events or (result.causes() if differing else ())
        origins = self._origins(step, results, run) if differing else None
        return StepOutcome(step, results, differing, result.answer, elapsed_ms, failed_events, origins=origins)

    def _origins(self, step: Step, results: dict[str, Any], run: str) -> Origins | None:
        """Return what can say where values came from. A scenario without differences pays nothing for it."""
        from svctoolkit.runner.attempts.origins import origins_of

        return origins_of(self.scenario, step, results, self.plane, run, self.lineages)

    def _result(self, step: Step, run: str) -> Result:
        if step.kind != "python":
            return self._send_or_verify(step, run)
        from svctoolkit.runner.attempts import python_step  # few suites have any
        from svctoolkit.runner.steps import Context

        earlier = [outcome.results for outcome in self.outcomes if not outcome.hook]
        context = Context(self.scenario.suite.workspace, dict(self.captured), earlier)
        return python_step.perform(step, context, self._remaining())

    def _send_or_verify(self, step: Step, run: str) -> Result:
        if step.kind == "delete":
            from svctoolkit.runner.attempts import delete  # few suites delete users

            return delete.perform(self.scenario, step, self.plane, run, self._remaining())
        if step.kind != "send":
            return _verify.perform(self.scenario, step, self.plane, run, self._remaining())
        from svctoolkit.runner.attempts import send  # many suites only verify

        return send.perform(self.scenario, step, self.plane, run, self._remaining(), self._client_of_steps)

    def _client_of_steps(self) -> Clients:
        """Return the clients that the steps share: what a user does in one of them is known in the next."""
        from svctoolkit.runner.attempts.clients import Clients, tracks_lifecycle  # few suites make calls

        if self._clients is None:
            steps = (*self.scenario.setup, *self.scenario.steps, *self.scenario.teardown)
            calls = [call for step in steps if step.spec.calls is not UNSET for call in step.spec.calls]
            self._clients = Clients(self.plane, lifecycle=tracks_lifecycle(calls))
        return self._clients

    def _differences(
        self, step: Step, result: Result, results: dict[str, Any], code: CodeResults, store: ScenarioSnapshots
    ) -> Iterator[Difference]:
        yield from result.unexpected_failures(step.expect)
        suite = self.scenario.suite
        # Defaults such as "the status is 200" apply unless the scenario mentions the member.
        expected = {**result.default_expectation(step.expect), **step.expect}
        comparison = Comparison(ignore=self.scenario.ignore, snapshots=store, careful=True)
        violations = results.get("violations", ())
        # An unmentioned violation fails only if the suite forbids them; the lines of the rules are added here.
        if expected.get("violations", [] if violations else None) == []:
            written = "violations" in expected
            yield from forbidden_violations(self.scenario, step, violations, written=written)
        for name, expectation in expected.items():
            if (
                name in ("capture", *SIMULATED)
                or (name == "failed" and expectation == ANY)
                or (name == "violations" and expectation == [])
            ):
                continue
            value, exact = results.get(name, MISSING), name in self.scenario.exact
            value = exact_part(value, expectation, name, suite.workspace.destinations) if exact else value
            yield from comparison.member(name, exact=exact).differences(expectation, value)
        yield from step_differences(self.scenario, step, results)
        yield from forbidden_losses(self.scenario, step, code)
        yield from broken_invariants(self.scenario, step, result.everywhere, results, code.values, self.checked)

    def _store(self, prefix: str) -> ScenarioSnapshots:
        suite = self.scenario.suite
        return ScenarioSnapshots(
            self.snapshots, suite.snapshot_folder, f"{self.scenario.id}.{prefix}", suite.named_secrets
        )

    def _remaining(self) -> float:
        """Return the seconds left to wait. A limit that the scenario sets applies to all of its steps together."""
        if self.scenario.limit is None:
            return self.limit
        return max(0.0, self.limit - (self.clock() - self._began))

    def _wrong_call(self, step: Step, error: ToolkitError) -> Difference:
        """Return the difference for a call that ServiceClient rejects: a mistake in the suite, not a fault of ours."""
        source = step.spec.source
        text = str(error)
        if source is not UNSET and not self.scenario.suite.workspace.source(source).enabled:
            text = f"the source {source!r} is disabled, so ServiceClient sends nothing: enable it"
        return Difference(("..", "calls"), ("calls",), "calls that succeed", text, text=f"calls: {text}")

    def _too_long(self, why: str) -> Difference:
        text = f"it took longer than its limit of {self.limit:g} s: {why}"
        return Difference(
            (), ("limit",), f"{self.limit:g} s", "more", text=text, place=(*self.scenario.written, "limit")
        )

    def _capture(self, step: Step, results: dict[str, Any], everything: dict[str, Any]) -> list[Difference]:
        """Store what a step captures for later steps; a missing value is a difference."""
        missing = []
        for name, path in step.expect["capture"].items():
            value = at(everything, path)
            # Captures may name results in either form: complete, or as this step's expectations see them.
            value = at(results, path) if value is MISSING else value
            if value is MISSING:
                missing.append(Difference(("capture", name), tuple(path.split(".")), "a value to capture", "nothing"))
            else:
                self.captured[name] = value
        return missing

    def _poll(self) -> None:
        """Poll the real service if the scenario is live and has passed so far."""
        live_check = self.scenario.live
        if not live_check or not live_check.verify or any(step.differences for step in self.outcomes):
            return
        from svctoolkit.runner.attempts import live  # 50 ms, and only live scenarios need the network

        differing = live.poll(live_check, self.captured, hide=self.scenario.suite.masker.mask)
        self.outcomes[-1] = replace(self.outcomes[-1], differences=differing)

    def _add(self, differing: Sequence[Difference]) -> None:
        """Attach differences of the scenario as a whole to its last step."""
        if differing:
            last = self.outcomes[-1]
            self.outcomes[-1] = replace(last, differences=[*last.differences, *differing])

    def _slowness(self) -> Iterator[Difference]:
        """Yield a difference if the scenario exceeded its own limit.

        Others are not measured: they must not fail because a machine is busy.
        """
        if self.scenario.limit is None:
            return
        elapsed = self.clock() - self._began
        if elapsed > self.limit:
            yield self._too_long(f"{elapsed:.3g} s")
