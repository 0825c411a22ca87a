"""The state of a suite explorer, without widgets: scenarios, filter, selection, outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from svctoolkit import runner
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.runner.report import view
from svctoolkit.widgets.suite_explorer.results import Results

if TYPE_CHECKING:
    from svctoolkit.runner import Scenario, Suite

EVERYTHING = ""
SUITES = ("suite", "failed", "outcomes")
SCENARIOS = ("outcome", "scenario", "suite", "tags", "ms", "line")


class SuiteState:
    """The scenarios of some suite files. `load` reads them; nothing runs until `run`."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self.paths = [str(path) for path in paths]
        self.suites: list[Suite] = []
        self.scenarios: list[Scenario] = []
        self.results = Results()
        self.coverage = False
        self.chosen = EVERYTHING
        self._stop = Event()
        self._keys = {EVERYTHING: 0}

    def load(self) -> None:
        """Reload the files. Raises `ConfigError` with all problems, or for a folder without suites."""
        self.suites, self.scenarios = runner.collect(self.paths)
        if not self.suites:
            raise ConfigError(f"no *.suite.yaml file in {', '.join(self.paths)}")
        self.results.forget_all_but({scenario.name for scenario in self.scenarios})

    def suite_rows(self) -> tuple[list[tuple[object, ...]], list[int]]:
        """A row for all suites and for each, with the columns of `SUITES`, and their keys: see `name`."""
        suites = [("All suites", EVERYTHING, self.scenarios)]
        suites += [(suite.title, suite.name, list(suite.scenarios)) for suite in self.suites]
        rows: list[tuple[object, ...]] = [(title, *self._counts(scenarios)) for title, _, scenarios in suites]
        return rows, [self.key(name) for _, name, _ in suites]

    def _counts(self, scenarios: Sequence[Scenario]) -> tuple[int, str]:
        ran = [self.results.outcomes[s.name] for s in scenarios if s.name in self.results.outcomes]
        words = [view.count_text(ran)] if ran else []
        words += [f"{len(scenarios) - len(ran)} not run"] if len(ran) < len(scenarios) else []
        return sum(not outcome.ok for outcome in ran), ", ".join(words) or "no scenario"

    def scenario_rows(self) -> tuple[list[tuple[object, ...]], list[int]]:
        """A row for each scenario of the selected suite, or of all, with the columns of `SCENARIOS`, and their keys."""
        listed = [s for s in self.scenarios if self.suite in (EVERYTHING, s.suite.name)]
        return [self._row(scenario) for scenario in listed], [self.key(scenario.name) for scenario in listed]

    def _row(self, scenario: Scenario) -> tuple[object, ...]:
        outcome = self.results.outcomes.get(scenario.name)
        words = f"{view.sign(outcome)} {view.word(outcome) if outcome is not None else 'not run'}"
        title = scenario.suite.masker.mask(scenario.title)
        milliseconds = outcome.milliseconds if outcome is not None else None
        return words, title, scenario.suite.title, ", ".join(scenario.tags), milliseconds, scenario.line

    @property
    def suite(self) -> str:
        """The name of the selected suite, or of that of the selected scenario; empty for all."""
        return self.chosen.partition("::")[0]

    def key(self, name: str) -> int:
        """A number for everything, a suite or a scenario, which stays the same when files are read again."""
        return self._keys.setdefault(name, len(self._keys))

    def name(self, key: int) -> str:
        """The name of a number."""
        return list(self._keys)[key]

    def below(self, key: str) -> list[str]:
        """The names of the scenarios of a suite, or that of a scenario; of all for `EVERYTHING`."""
        return [s.name for s in self.scenarios if key in (EVERYTHING, s.suite.name, s.name)]

    def selection(self) -> dict[str, str]:
        """The selected suite or scenario, by name; empty for all."""
        file, _, scenario = self.chosen.partition("::")
        return {name: value for name, value in (("suite", file), ("scenario", scenario)) if value}

    def events(self) -> list[dict[str, Json]]:
        """The events written in the selected scenarios. Secrets are masked."""
        chosen = set(self.below(self.chosen))
        return [
            scenario.suite.masker.mask(step.spec.event)
            for scenario in self.scenarios
            if scenario.name in chosen
            for step in scenario.steps
            if isinstance(step.spec.event, dict)
        ]

    def failures(self) -> list[str]:
        """The names of the scenarios that failed in their last run."""
        return [name for name, outcome in self.results.outcomes.items() if not outcome.ok]

    def run(self, names: Callable[[], Sequence[str]], tell: Callable[[], None]) -> None:
        """Reload the files and run the scenarios that `names` then returns; `tell` is called after each change.

        `stop` ends the run after the current scenario. Raises `ConfigError`.
        """
        self._stop.clear()
        self.load()
        chosen = set(names())
        planes = runner.Planes(coverage=self.coverage)
        try:
            for notice in runner.run([s for s in self.scenarios if s.name in chosen], planes, coverage=self.coverage):
                self.results(notice)
                tell()
                if self._stop.is_set():
                    break
        finally:
            planes.close()

    def stop(self) -> None:
        """End the run after the current scenario."""
        self._stop.set()
