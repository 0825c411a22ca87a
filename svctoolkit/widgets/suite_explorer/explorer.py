"""Suites in a notebook: select scenarios, run them, see why they failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit import display
from svctoolkit.json_types import Json
from svctoolkit.runner.report import view
from svctoolkit.widgets._base import controls
from svctoolkit.widgets._base.grid.grid import Grid
from svctoolkit.widgets.suite_explorer.state import EVERYTHING, SCENARIOS, SUITES, SuiteState

if TYPE_CHECKING:
    import pandas as pd

_IN_FULL = 10  # failures shown together; each can be selected individually


class SuiteExplorer(controls.Explorer):
    """The scenarios of suite files as a grid, next to their outcomes.

    `paths` are files, folders, or `FILE::ID` for one scenario. Files are reloaded for every run, so you can edit them
    in between.
    """

    def __init__(self, *paths: str | Path) -> None:
        self.state = SuiteState(paths or ["."])
        self._work: controls.Work[None] = controls.Work(self._finish, fail=self._fail, busy=self._tell_busy)
        self._painter = controls.Painter(self._paint, fail=self._fail_to_paint)
        self._problem, self._running = display.Html(), False
        self._make_controls()
        runs = controls.bar(self._run_all, self._run_chosen, self._run_failed, self._cancel, self._coverage)
        lists = controls.card("Suites and scenarios", self._suites.box, self._scenarios.box)
        cards = controls.grid(lists, controls.card("Result", self._details), least="420px")
        super().__init__([runs, self._progress, cards], closing=[self.state.stop, self._painter.close])
        self._coverage.observe(self._covering, "value")
        self._paint()
        self._work.start(self.state.load)
        self._work.wait(10)  # so that a saved notebook does not say that files are being read

    def _make_controls(self) -> None:
        self._coverage = controls.checkbox("With coverage")
        self._run_all = controls.button("Run all", self.run, icon="play", primary=True)
        self._run_chosen = controls.button("Run chosen", lambda: self._run(self._names_chosen))
        self._run_failed = controls.button("Run failed", lambda: self._run(self.state.failures))
        self._cancel = controls.button("Cancel", self.state.stop, icon="stop")
        self._cancel.disabled = True
        self._suites = Grid("Suites", self._choose, height=5, plain=True)
        self._scenarios = Grid("Scenarios", self._choose)
        self._rows: object = None
        self._progress, self._details = controls.html(), controls.html()

    def run(self) -> None:
        """Run every scenario. Returns immediately; `wait` waits for the end."""
        self._run(lambda: self.state.below(EVERYTHING))

    def _names_chosen(self) -> list[str]:
        """The selected scenario, or those of the selected suite that the search finds."""
        names = self.state.below(self.state.chosen)
        if not self._scenarios.box.search.strip() or names == [self.state.chosen]:
            return names
        found = {self.state.name(key) for key in self._scenarios.found}
        return [name for name in names if name in found]

    def wait(self, timeout: float = 60.0) -> bool:
        """Wait until all runs are finished and shown; False after `timeout` seconds."""
        return self._work.wait(timeout) and self._painter.wait(timeout)

    def _run(self, names: Callable[[], Sequence[str]]) -> None:
        self._problem = display.Html()
        self._work.start(lambda: self.state.run(names, self._painter.poke))

    def _covering(self, change: dict[str, Any]) -> None:
        self.state.coverage = change["new"]

    def _choose(self, key: int) -> None:
        self.state.chosen = self.state.name(key)
        self._select(**self.state.selection())
        self._painter.poke()

    def _finish(self, _nothing: None) -> None:
        self._painter.poke()

    def _fail(self, message: display.Html) -> None:
        self._problem = message
        self._painter.poke()

    def _fail_to_paint(self, message: display.Html) -> None:
        self._progress.value = display.page(message)

    def _tell_busy(self, busy: bool) -> None:
        for control in (self._run_all, self._run_chosen, self._run_failed):
            control.disabled = busy
        self._cancel.disabled, self._running = not busy, busy
        self._painter.poke()

    def _paint(self) -> None:
        """Draw everything that depends on the state. Called only in the painter's thread, so nothing is drawn twice."""
        self._progress.value = display.page(self._summarize())
        self._paint_lists()
        self._details.value = display.page(*self._details_parts())

    def _paint_lists(self) -> None:
        state = self.state
        if not state.below(state.chosen):  # it is no longer in its file
            state.chosen = EVERYTHING
        suites, scenarios = state.suite_rows(), state.scenario_rows()
        rows = state.chosen, suites, scenarios
        if rows == self._rows:
            return
        self._rows = rows
        self._suites.update(suites[0], SUITES, suites[1], state.key(state.suite))
        selected = state.key(state.chosen) if state.chosen != state.suite else -1
        self._scenarios.update(scenarios[0], SCENARIOS, scenarios[1], selected)

    def _summarize(self) -> display.Html:
        """The progress of a run, its error, or its summary."""
        results = self.state.results
        if self._problem:
            return self._problem
        if self._running:
            if not results.total:
                return display.message("reading the files", "info")
            bar = f'<progress max="{results.total}" value="{results.done}" aria-label="progress"></progress>'
            return display.message(display.Html(f"{bar} {results.done} of {results.total} finished"), "info")
        return results.summary_block() if results.outcomes else display.message("nothing has run yet", "plain")

    def _details_parts(self) -> Iterator[display.Html]:
        """The outcome of the selection: one scenario in full, or a table of several with the failed ones."""
        results, chosen = self.state.results, self.state.chosen
        outcomes = [results.outcomes[name] for name in self.state.below(chosen) if name in results.outcomes]
        if len(outcomes) == 1 and outcomes[0].scenario.name == chosen:
            yield view.outcome(outcomes[0])
            return
        if not outcomes:
            yield display.message("Run the scenarios to see their outcomes.", "plain")
            return
        failed = [outcome for outcome in outcomes if not outcome.ok]
        yield from map(view.outcome, failed[:_IN_FULL])
        if len(failed) > _IN_FULL:
            yield display.message(f"{len(failed) - _IN_FULL} more failed; select one to see why", "info")
        elif not failed:
            yield display.message("nothing failed here; select a scenario to see its stages", "plain")
        if results.coverage is not None and chosen == EVERYTHING:
            yield view.coverage(results.coverage)

    @property
    def events(self) -> list[dict[str, Json]]:
        """The events written in the selected scenarios. Secrets are masked."""
        return self.state.events()

    def frame(self) -> pd.DataFrame:
        """Return a row for each outcome of the selected scenarios."""
        return self.state.results.only(self.state.below(self.state.chosen)).frame()

    def static(self) -> display.Html:
        """The summary and the failures."""
        results = self.state.results
        return display.page(results.html() if results.outcomes else self._summarize())

    def __repr__(self) -> str:
        return f"SuiteExplorer {', '.join(self.state.paths)}\n{self.state.results}"
