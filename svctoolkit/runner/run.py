"""Run scenarios, and tell whoever listens: reporters, pytest, a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal, TypeAlias

from svctoolkit.runner import _verify
from svctoolkit.runner._model import Scenario
from svctoolkit.runner.compare import Difference
from svctoolkit.runner.plane import Answer, Planes

Status: TypeAlias = Literal["passed", "failed", "error", "skipped", "xfailed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one scenario.

    - `failed`: it has `differences`, or passed although it has `xfail`
    - `error`: it could not be run to its end, through no fault of the suite
    - `skipped`, `xfailed`: as the scenario says

    `reason` is the text of skip or xfail, or what the error was.
    """

    scenario: Scenario
    status: Status
    differences: Sequence[Difference] = ()
    reason: str = ""
    answer: Answer | None = field(default=None, repr=False)
    milliseconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status not in ("failed", "error")


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins."""

    scenarios: Sequence[Scenario]


@dataclass(frozen=True, slots=True)
class Finished:
    """The run is over. `counts` has the number of scenarios by status; those that did not run are in none."""

    counts: Counter[str]
    seconds: float
    total: int
    interrupted: bool = False


Notice: TypeAlias = Started | Outcome | Finished


def run(
    scenarios: Sequence[Scenario],
    planes: Planes,
    *,
    fail_fast: bool = False,
    clock: Callable[[], float] = perf_counter,
) -> Iterator[Notice]:
    """Run scenarios one after another: one `Started`, one `Outcome` each, one `Finished`.

    With `fail_fast` the first that fails is the last. An interrupt (Ctrl-C) ends the run, and is told in `Finished`.
    """
    counts: Counter[str] = Counter()
    began = clock()
    interrupted = False
    yield Started(scenarios)
    for scenario in scenarios:
        try:
            outcome = _marked(scenario, planes, clock)
        except KeyboardInterrupt:
            interrupted = True
            break
        counts[outcome.status] += 1
        yield outcome
        if fail_fast and not outcome.ok:
            break
    yield Finished(counts, clock() - began, len(scenarios), interrupted)


def _marked(scenario: Scenario, planes: Planes, clock: Callable[[], float]) -> Outcome:
    """The outcome with `skip` and `xfail` taken into account."""
    if scenario.skip:
        return Outcome(scenario, "skipped", reason=scenario.skip)
    outcome = attempt(scenario, planes, clock=clock)
    if not scenario.xfail or outcome.status == "error":
        return outcome
    status: Status = "failed" if outcome.ok else "xfailed"
    return Outcome(scenario, status, (), scenario.xfail, outcome.answer, outcome.milliseconds)


def attempt(scenario: Scenario, planes: Planes, *, clock: Callable[[], float] = perf_counter) -> Outcome:
    """Run one scenario, whatever it says of skip and xfail: `passed`, `failed` or `error`."""
    began = clock()
    try:
        answer = _verify.ask(scenario, planes.of(scenario.suite.workspace))
    except Exception as error:  # noqa: BLE001 - one scenario that breaks the data plane is no reason to lose the others
        reason = f"the data plane broke: {type(error).__name__}: {error}"
        return Outcome(scenario, "error", reason=reason, milliseconds=(clock() - began) * 1000)
    found = _verify.compared(scenario, answer)
    return Outcome(scenario, "failed" if found else "passed", found, "", answer, (clock() - began) * 1000)
