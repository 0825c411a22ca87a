"""What is told about a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from svctoolkit.displayed import Displayed
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.planes.plane import Answer
from svctoolkit.runner.suite.model import Place, Scenario, Step

if TYPE_CHECKING:
    from svctoolkit.runner.coverage.collector import Coverage

Status: TypeAlias = Literal["passed", "failed", "error", "skipped", "xfailed"]


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What came of one step: `seen` has the results under the names that expectations use, secrets in clear text."""

    step: Step
    results: dict[str, Any] = field(default_factory=dict, repr=False)
    differences: Sequence[Difference] = ()
    answer: Answer | None = field(default=None, repr=False)
    milliseconds: float = 0.0
    causes: Sequence[Cause] = ()
    hook: Literal["", "setup", "teardown"] = ""
    generated: int = 0  # how many events were made up until this one

    def place(self, difference: Difference) -> Place:
        """Where the expectation of a difference is written."""
        if difference.place:
            return difference.place
        where = difference.expectation
        return (*self.step.place, *(where[1:] if where[:1] == ("..",) else ("expect", *where)))


@dataclass(frozen=True, slots=True)
class Outcome(Displayed):
    """What became of one scenario.

    - `failed`: a step has `differences`, or it passed although it has `xfail`
    - `error`: it could not be run to its end, through no fault of the suite
    - `skipped`, `xfailed`: as the scenario says

    `reason` is the text of skip or xfail, or what the error was. `run` is the id under which a data plane knows it.
    `requests` says how many each destination got, `checked` of which invariants there was something to check.
    """

    scenario: Scenario
    status: Status
    steps: Sequence[StepOutcome] = ()
    reason: str = ""
    milliseconds: float = 0.0
    run: str = ""
    requests: Mapping[str, int] = field(default_factory=dict, repr=False)
    checked: Set[Place] = field(default_factory=frozenset, repr=False)

    def __repr__(self) -> str:
        return f"<Outcome of {self.scenario.name}: {self.status}>"

    @property
    def ok(self) -> bool:
        return self.status not in ("failed", "error")

    @property
    def differences(self) -> list[Difference]:
        """Everything that differs, in the order of the steps."""
        return [difference for step in self.steps for difference in step.differences]


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins."""

    scenarios: Sequence[Scenario]


@dataclass(frozen=True, slots=True)
class Finished(Displayed):
    """The run is over. `counts` has the number of scenarios by status; those that did not run are in none."""

    counts: Counter[str]
    seconds: float
    total: int
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Covered:
    """What the scenarios touch and miss; comes before `Finished`, where it was asked for."""

    coverage: Coverage


Notice: TypeAlias = Started | Outcome | Covered | Finished
