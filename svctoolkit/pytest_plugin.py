"""pytest runs `*.suite.yaml` and `*.suite.yml` like test files: every scenario, and every row of `cases`, is a test.

Tags are markers (`-m "orders and not slow"`), `skip` and `xfail` mean what they mean to pytest. The suffix is the
opt-in: a project without such files pays nothing, for everything else is imported when the first one is found.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from svctoolkit.runner import Outcome, Planes, Scenario

_SUFFIXES = (".suite.yaml", ".suite.yml")
_PLANES: pytest.StashKey[Planes] = pytest.StashKey()
_WORKSPACES: pytest.StashKey[dict[Path, Any]] = pytest.StashKey()
_TAGS: pytest.StashKey[set[str]] = pytest.StashKey()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    return SuiteFile.from_parent(parent, path=file_path) if file_path.name.endswith(_SUFFIXES) else None


def pytest_unconfigure(config: pytest.Config) -> None:
    if _PLANES in config.stash:
        config.stash[_PLANES].close()


class SuiteFile(pytest.File):
    """A suite file. A mistake in it is told at collection, with its place."""

    def collect(self) -> Iterator[ScenarioItem]:
        from svctoolkit import runner
        from svctoolkit.errors import ConfigError

        try:
            suite = runner.load(self.path, workspaces=self.config.stash.setdefault(_WORKSPACES, {}))
        except ConfigError as error:
            raise self.CollectError(str(error)) from error
        for scenario in suite.scenarios:
            yield ScenarioItem.from_parent(self, name=scenario.id, scenario=scenario)


class ScenarioItem(pytest.Item):
    """One scenario, or one row of its `cases`."""

    def __init__(self, *, scenario: Scenario, **given: Any) -> None:
        super().__init__(**given)
        self.scenario = scenario
        for tag in scenario.tags:
            self._declare(tag)
            self.add_marker(tag)
        if scenario.skip:
            self.add_marker(pytest.mark.skip(reason=scenario.skip))
        if scenario.xfail:
            self.add_marker(pytest.mark.xfail(reason=scenario.xfail, strict=True, raises=AssertionError))
        self.user_properties += [("suite", scenario.suite.title), ("title", scenario.title)]

    def _declare(self, tag: str) -> None:
        """Tell pytest of the marker: it warns of those that nobody declared, and refuses them where it is strict."""
        declared = self.config.stash.setdefault(_TAGS, set())
        if tag not in declared:
            declared.add(tag)
            self.config.addinivalue_line("markers", f"{tag}: scenarios with this tag")

    def runtest(self) -> None:
        from svctoolkit import runner

        if _PLANES not in self.config.stash:
            self.config.stash[_PLANES] = runner.Planes()
        outcome = runner.attempt(self.scenario, self.config.stash[_PLANES])
        if outcome.status == "error":
            raise RuntimeError(outcome.reason)
        if not outcome.ok:
            raise AssertionError(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.scenario.line - 1, self.scenario.title


class AssertionError(builtins.AssertionError):  # editors tell a failure from an error by this very name
    """A scenario that failed; the text says why."""

    def __init__(self, outcome: Outcome) -> None:
        from svctoolkit import runner

        super().__init__(runner.explanation(outcome))
