"""What a suite explorer knows, without widgets: the scenarios, the filter, what is chosen, what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from svctoolkit import runner
from svctoolkit.errors import ConfigError
from svctoolkit.runner.report import view
from svctoolkit.widgets.suite_explorer.results import Results

if TYPE_CHECKING:
    from svctoolkit.runner import Scenario, Suite

EVERYTHING = ""
_INDENT = "\N{NO-BREAK SPACE}" * 5  # a list box drops plain blanks at the beginning of a line


class SuiteState:
    """The scenarios of some suite files. `load` reads them; nothing runs before `run`."""

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
        """Read the files anew. Raises `ConfigError` with every problem, and for a folder without suites."""
        self.suites, self.scenarios = runner.collect(self.paths)
        if not self.suites:
            raise ConfigError(f"no *.suite.yaml file in {', '.join(self.paths)}")
        self.results.forget_all_but({scenario.name for scenario in self.scenarios})

    def entries(self) -> list[tuple[str, str]]:
        """The lines of the list, each with the key of what it stands for: everything, a suite, a scenario."""
        visible = set(self.matching())
        lines = [(f"All suites: {self._count(self.scenarios)}", EVERYTHING)]
        for suite in self.suites:
            inside = [scenario for scenario in suite.scenarios if scenario in visible]
            if inside:
                lines.append((f"▾ {suite.title}: {self._count(suite.scenarios)}", suite.name))
                lines += [(self._line(scenario), scenario.name) for scenario in inside]
        return lines

    def matching(self) -> Iterator[Scenario]:
        """The scenarios that the filter lets through: every word of it stands in the file, the title, a tag."""
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
        """The names of the scenarios that a line stands for: those that the filter shows."""
        return [s.name for s in self.matching() if key in (EVERYTHING, s.suite.name, s.name)]

    def failures(self) -> list[str]:
        """The names of the scenarios that failed when they ran last."""
        return [name for name, outcome in self.results.outcomes.items() if not outcome.ok]

    def run(self, names: Callable[[], Sequence[str]], tell: Callable[[], None]) -> None:
        """Read the files anew and run the scenarios that `names` then gives; `tell` hears that there is something new.

        `stop` ends it after the scenario that runs. Raises `ConfigError`.
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
        """End the run after the scenario that runs now."""
        self._stop.set()
