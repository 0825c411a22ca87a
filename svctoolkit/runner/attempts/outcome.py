"""The notices of a run: started, one outcome per scenario, coverage, finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from svctoolkit.displayed import Displayed
from svctoolkit.inputs import Inputs
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.planes.plane import Answer
from svctoolkit.runner.suite.model import Place, Scenario, Step

if TYPE_CHECKING:
    from svctoolkit.runner.attempts.origins import Origins, ValueOrigin
    from svctoolkit.runner.coverage.collector import Coverage

Status: TypeAlias = Literal["passed", "failed", "error", "skipped", "xfailed", "warned"]


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of one step: `results` are under the names that expectations use, with secrets in clear text."""

    step: Step
    results: dict[str, Any] = field(default_factory=dict, repr=False)
    differences: Sequence[Difference] = ()
    answer: Answer | None = field(default=None, repr=False)
    milliseconds: float = 0.0
    causes: Sequence[Cause] = ()
    hook: Literal["", "setup", "teardown"] = ""
    generated: int = 0  # number of generated events up to this one
    origins: Origins | None = field(default=None, repr=False, compare=False)  # if something differs

    def place(self, difference: Difference) -> Place:
        """Return where the expectation of a difference is written."""
        if difference.place:
            return difference.place
        where = difference.expectation
        return (*self.step.place, *(where[1:] if where[:1] == ("..",) else ("expect", *where)))

    def origin(self, difference: Difference) -> ValueOrigin | None:
        """Return where the value of a difference came from, as far as that is known. Measured on request."""
        return None if self.origins is None else self.origins.of(difference)


@dataclass(frozen=True, slots=True)
class Outcome(Displayed):
    """The outcome of one scenario.

    - `failed`: a step has `differences`, or it passed although it has `xfail`
    - `error`: it could not run to the end, for a reason outside the suite
    - `warned`: a step has `differences`, and the scenario has `severity: warn`
    - `skipped`, `xfailed`: as the scenario says

    `reason` is the text of skip or xfail, or the error. `run` is the data plane's id of this run. `requests` has the
    number of requests to each destination, `checked` the invariants that were compared with at least one value.
    """

    scenario: Scenario
    status: Status
    steps: Sequence[StepOutcome] = ()
    reason: str = ""
    milliseconds: float = 0.0
    run: str = ""
    requests: Mapping[str, int] = field(default_factory=dict, repr=False)
    checked: Set[Place] = field(default_factory=frozenset, repr=False)
    inputs: Inputs = field(default_factory=Inputs, repr=False)  # what it read while it ran

    def __repr__(self) -> str:
        return f"<Outcome of {self.scenario.name}: {self.status}>"

    @property
    def ok(self) -> bool:
        return self.status not in ("failed", "error")

    @property
    def deviates(self) -> bool:
        """Whether a report explains it: it failed, could not run, or warns."""
        return not self.ok or self.status == "warned"

    @property
    def differences(self) -> list[Difference]:
        """All differences, in the order of the steps."""
        return [difference for step in self.steps for difference in step.differences]


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins."""

    scenarios: Sequence[Scenario]


@dataclass(frozen=True, slots=True)
class Finished(Displayed):
    """The run has ended. `counts` has the number of scenarios by status; those that did not run are not counted.

    `changed` are the inputs of failed scenarios that differ from when these last passed, as far as that is known.
    """

    counts: Counter[str]
    seconds: float
    total: int
    interrupted: bool = False
    changed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Covered:
    """What the scenarios cover and miss; comes before `Finished`, if coverage was requested."""

    coverage: Coverage


Notice: TypeAlias = Started | Outcome | Covered | Finished
