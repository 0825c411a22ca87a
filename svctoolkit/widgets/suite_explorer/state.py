"""The state of a suite explorer, without widgets: scenarios, filter, selection, outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
_INDENT = "\N{NO-BREAK SPACE}" * 5  # list boxes strip leading plain spaces


class SuiteState:
    """The scenarios of some suite files. `load` reads them; nothing runs until `run`."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self.paths = [str(path) for path in paths]
        self.suites: list[Suite] = []
        self.scenarios: list[Scenario] = []
        self.results = Results()
        self.words = ""
        self.failed_only = False
        self.coverage = False
        self.chosen = EVERYTHING
        self._stop = Event()

    def load(self) -> None:
        """Reload the files. Raises `ConfigError` with all problems, or for a folder without suites."""
        self.suites, self.scenarios = runner.collect(self.paths)
        if not self.suites:
            raise ConfigError(f"no *.suite.yaml file in {', '.join(self.paths)}")
        self.results.forget_all_but({scenario.name for scenario in self.scenarios})

    def entries(self) -> list[tuple[str, str]]:
        """The lines of the list, each with the key of its target: everything, a suite, or a scenario."""
        visible = set(self.matching())
        lines = [(f"All suites: {self._count(self.scenarios)}", EVERYTHING)]
        for suite in self.suites:
            inside = [scenario for scenario in suite.scenarios if scenario in visible]
            if inside:
                lines.append((f"▾ {suite.title}: {self._count(suite.scenarios)}", suite.name))
                lines += [(self._line(scenario), scenario.name) for scenario in inside]
        return lines

    def matching(self) -> Iterator[Scenario]:
        """The scenarios that match the filter: each of its words is in the file, the title or a tag."""
        words = self.words.lower().split()
        for scenario in self.scenarios:
            outcome = self.results.outcomes.get(scenario.name)
            text = f"{scenario.name} {scenario.title} {' '.join(scenario.tags)}".lower()
            failed = outcome is not None and not outcome.ok
            if all(word in text for word in words) and (failed or not self.failed_only):
                yield scenario

    def _count(self, scenarios: Sequence[Scenario]) -> str:
        ran = [self.results.outcomes[s.name] for s in scenarios if s.name in self.results.outcomes]
        skipped = len(scenarios) - len(ran)
        words = [view.count_text(ran)] if ran else []
        return ", ".join([*words, *([f"{skipped} not run"] if skipped else [])]) or "no scenario"

    def _line(self, scenario: Scenario) -> str:
        outcome = self.results.outcomes.get(scenario.name)
        word = "" if outcome is None or outcome.status == "passed" else f"{view.word(outcome)}: "
        return f"{_INDENT}{view.sign(outcome)} {word}{scenario.suite.masker.mask(scenario.title)}"

    def below(self, key: str) -> list[str]:
        """The names of the scenarios under a line that match the filter."""
        return [s.name for s in self.matching() if key in (EVERYTHING, s.suite.name, s.name)]

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
