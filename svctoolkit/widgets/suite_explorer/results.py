"""The outcomes of scenarios in a notebook, collected from the runner and shown as a page."""

from __future__ import annotations

from collections.abc import Collection
from io import StringIO
from typing import TYPE_CHECKING, Any

from svctoolkit.display import Html, bundle, page
from svctoolkit.runner import REPORTERS, Covered, Finished, Outcome, Output, Started, coverage_lines, explanation
from svctoolkit.runner.report import view

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.runner import Coverage, Notice

_IN_FULL = 50  # failures shown on a page
_LISTED = 50  # scenarios listed in plain text; with more, only failed ones


class Results:
    """Receives the notices of runs, and keeps the last outcome of each scenario by name (`file::id`).

    `total`, `done` and `seconds` are those of the last run.
    """

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.coverage: Coverage | None = None
        self.total = self.done = 0
        self.seconds = 0.0

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Started):
            self.total, self.done, self.coverage = len(notice.scenarios), 0, None
        elif isinstance(notice, Outcome):
            self.outcomes[notice.scenario.name] = notice
            self.done += 1
        elif isinstance(notice, Covered):
            self.coverage = notice.coverage
        elif isinstance(notice, Finished):
            self.seconds = notice.seconds

    def forget_all_but(self, names: Collection[str]) -> None:
        """Forget the outcomes of scenarios that no longer exist."""
        self.outcomes = {name: outcome for name, outcome in self.outcomes.items() if name in names}

    def only(self, names: Collection[str]) -> Results:
        """The same with the outcomes of these scenarios."""
        some = Results()
        some.outcomes = {name: outcome for name, outcome in self.outcomes.items() if name in names}
        return some

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(outcome.ok for outcome in self.outcomes.values())

    @property
    def summary(self) -> str:
        """The counts by status, the worst first, and the time: "1 failed, 12 passed in 0.42 s"."""
        return f"{view.count_text(self.outcomes.values())}{self._count_missing} in {self.seconds:.2f} s"

    @property
    def _count_missing(self) -> str:
        """The number of scenarios that the last run did not reach."""
        return f", {self.total - self.done} not run" if self.done < self.total else ""

    def frame(self) -> pd.DataFrame:
        """One row per scenario."""
        reporter: Any = REPORTERS["frame"](Output(StringIO()))
        for outcome in self.outcomes.values():
            reporter(outcome)
        table: pd.DataFrame = reporter.frame
        return table

    def __str__(self) -> str:
        lines = [self.summary]
        everything = len(self.outcomes) <= _LISTED
        for outcome in (o for o in self.outcomes.values() if everything or not o.ok):
            lines.append(f"{view.word(outcome)}: {view.title(outcome)}")
            lines += [] if outcome.ok else [f"  {line}" for line in explanation(outcome).splitlines()]
        return "\n".join([*lines, *(coverage_lines(self.coverage) if self.coverage else ())])

    __repr__ = __str__

    def html(self) -> Html:
        """The summary, all scenarios, failures in full, and coverage."""
        outcomes = list(self.outcomes.values())
        blocks = [self.summary_block(), view.scenarios(outcomes)]
        blocks += [view.outcome(outcome) for outcome in outcomes if not outcome.ok][:_IN_FULL]
        blocks += [view.coverage(self.coverage)] if self.coverage else []
        return Html("".join(blocks))

    def summary_block(self) -> Html:
        """The summary on one line."""
        return view.summary(self.outcomes.values(), f"{self._count_missing} in {self.seconds:.2f} s".lstrip(", "))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return bundle(page(self.html()), str(self))
