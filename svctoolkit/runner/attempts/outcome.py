"""The notices of a run: started, one outcome per scenario, coverage, finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from svctoolkit.displayed import Displayed
from svctoolkit.expect.difference import Difference
from svctoolkit.inputs import Inputs
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.planes.plane import Answer
from svctoolkit.runner.suite.model import Place, Scenario, Step

if TYPE_CHECKING:
    from svctoolkit.runner.attempts.origins import Origins, ValueOrigin
    from svctoolkit.runner.coverage.collector import Coverage

Status: TypeAlias = Literal["passed", "failed", "error", "skipped", "xfailed", "warned"]


class StepOutcome(msgspec.Struct, frozen=True):
    """The outcome of one step: `results` are under the names that expectations use, with secrets in clear text."""

    step: Step
    results: dict[str, Any] = {}
    differences: Sequence[Difference] = ()
    answer: Answer | None = None
    milliseconds: float = 0.0
    causes: Sequence[Cause] = ()
    hook: Literal["", "setup", "teardown"] = ""
    generated: int = 0  # number of generated events up to this one
    origins: Origins | None = None  # if something differs

    def __repr__(self) -> str:
        """Show no results: they may contain secrets."""
        return f"<StepOutcome: {len(self.differences)} differences>"

    def place(self, difference: Difference) -> Place:
        """Return where the expectation of a difference is written."""
        if difference.place:
            return difference.place
        where = difference.expectation
        return (*self.step.place, *(where[1:] if where[:1] == ("..",) else ("expect", *where)))

    def origin(self, difference: Difference) -> ValueOrigin | None:
        """Return where the value of a difference came from, as far as that is known. Measured on request."""
        return None if self.origins is None else self.origins.of(difference)


class Outcome(Displayed, msgspec.Struct, frozen=True):
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
    requests: Mapping[str, int] = {}
    checked: Set[Place] = msgspec.field(default_factory=frozenset)
    inputs: Inputs = msgspec.field(default_factory=Inputs)  # what it read while it ran

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


class Started(msgspec.Struct, frozen=True):
    """The run begins."""

    scenarios: Sequence[Scenario]


class Finished(Displayed, msgspec.Struct, frozen=True):
    """The run has ended. `counts` has the number of scenarios by status; those that did not run are not counted.

    `changed` are the inputs of failed scenarios that differ from when these last passed, as far as that is known.
    """

    counts: Counter[str]
    seconds: float
    total: int
    interrupted: bool = False
    changed: Sequence[str] = ()


class Covered(msgspec.Struct, frozen=True):
    """What the scenarios cover and miss; comes before `Finished`, if coverage was requested."""

    coverage: Coverage


Notice: TypeAlias = Started | Outcome | Covered | Finished
