"""Suites in a notebook: select scenarios, run them, see why they failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit import display
from svctoolkit.json_types import Json
from svctoolkit.runner.report import view
from svctoolkit.widgets._base import controls
from svctoolkit.widgets.suite_explorer.state import EVERYTHING, SuiteState

if TYPE_CHECKING:
    import pandas as pd

_HEIGHT = "400px"
_IN_FULL = 10  # failures shown together; each can be selected individually


class SuiteExplorer(controls.Explorer):
    """The scenarios of suite files as a list, next to their outcomes.

    `paths` are files, folders, or `FILE::ID` for one scenario. Files are reloaded for every run, so you can edit them
    in between.
    """

    def __init__(self, *paths: str | Path) -> None:
        self.state = SuiteState(paths or ["."])
        self._work: controls.Work[None] = controls.Work(self._finish, fail=self._fail, busy=self._tell_busy)
        self._painter = controls.Painter(self._paint, fail=self._fail_to_paint)
        self._problem, self._running = display.Html(), False
        self._make_controls()
        filters = controls.bar(self._words, self._failed_only, self._coverage)
        runs = controls.bar(self._run_all, self._run_chosen, self._run_failed, self._cancel)
        cards = controls.grid(controls.card("Suites", filters, self._list), controls.card("Result", self._details))
        super().__init__([runs, self._progress, cards], closing=[self.state.stop, self._painter.close])
        self._observe()
        self._paint()
        self._work.start(self.state.load)

    def _make_controls(self) -> None:
        self._words = controls.text("Filter", placeholder="words in title, file or tags")
        self._words.continuous_update = True
        self._failed_only = controls.checkbox("Only failed")
        self._coverage = controls.checkbox("With coverage")
        self._run_all = controls.button("Run all", self.run, icon="play", primary=True)
        self._run_chosen = controls.button("Run chosen", lambda: self._run(self._names_chosen))
        self._run_failed = controls.button("Run failed", lambda: self._run(self.state.failures))
        self._cancel = controls.button("Cancel", self.state.stop, icon="stop")
        self._cancel.disabled = True
        self._list = controls.listing("Scenarios", self.state.entries())
        self._list.value = EVERYTHING
        self._list.layout.height = _HEIGHT
        self._progress, self._details = controls.html(), controls.html()

    def _observe(self) -> None:
        self._words.observe(self._apply_filter, "value")
        self._failed_only.observe(self._apply_filter, "value")
        self._coverage.observe(self._covering, "value")
        self._list.observe(self._choose, "value")

    def run(self) -> None:
        """Run every scenario that matches the filter. Returns immediately; `wait` waits for the end."""
        self._run(lambda: self.state.below(EVERYTHING))

    def _names_chosen(self) -> list[str]:
        return self.state.below(self.state.chosen)

    def wait(self, timeout: float = 60.0) -> bool:
        """Wait until all runs are finished and shown; False after `timeout` seconds."""
        return self._work.wait(timeout) and self._painter.wait(timeout)

    def _run(self, names: Callable[[], Sequence[str]]) -> None:
        self._problem = display.Html()
        self._work.start(lambda: self.state.run(names, self._painter.poke))

    def _apply_filter(self, _change: dict[str, Any]) -> None:
        self.state.words, self.state.failed_only = self._words.value, self._failed_only.value
        self._painter.poke()

    def _covering(self, change: dict[str, Any]) -> None:
        self.state.coverage = change["new"]

    def _choose(self, change: dict[str, Any]) -> None:
        if change["new"] is not None:
            self.state.chosen = change["new"]
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
        self._paint_list()
        self._details.value = display.page(*self._details_parts())

    def _paint_list(self) -> None:
        entries = self.state.entries()
        if tuple(entries) == self._list.options:
            return
        if self.state.chosen not in (key for _, key in entries):
            self.state.chosen = EVERYTHING
        self._list.unobserve(
            self._choose, "value"
        )  # setting options selects the first one, which is not the user's choice
        self._list.options = entries
        self._list.value = self.state.chosen
        self._list.observe(self._choose, "value")

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
