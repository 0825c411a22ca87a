"""A run of all tests prints a page at most: a line for each tenth, failures, and at the end what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

#: What a worker returns to the process that started it: the numbers of tests, and of whole files, that it left out.
LEFT_OUT = "left out"
#: The files that were not imported, because they have slow tests only.
FILES = pytest.StashKey[set[Path]]()


class Brief:
    """Lines in place of dots."""

    def __init__(self, config: pytest.Config) -> None:
        self._reporter: Any = config.pluginmanager.getplugin("terminalreporter")
        self._number = self._ran = self._tenths = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Count a passed test, and print nothing for it."""
        return ("passed", "", "") if report.passed and report.when == "call" else None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._number += len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._number += len(ids)

    def pytest_runtest_logfinish(self) -> None:
        self._ran += 1
        if self._number and 10 * self._ran // self._number > self._tenths:
            self._tenths = 10 * self._ran // self._number
            self._reporter.write_line(f"{self._ran} of {self._number} tests")


class LeftOut:
    """What was not selected, on the last line."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._config.stash[FILES] = set()
        self._tests = self._files = 0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._tests += len(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._files += len(self._config.stash[FILES])
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[LEFT_OUT] = [self._tests, self._files]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        tests, files = getattr(node, "workeroutput", {}).get(LEFT_OUT, (0, 0))
        self._tests += tests
        self._files += files

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter and self._tests:
            files = f" and {self._files} files with nothing else" if self._files else ""
            reporter.write_line(f"left out: {self._tests} slow tests{files}; they run with: bash .ci/run")


def register(config: pytest.Config) -> None:
    """For a run of all default tests; lines in place of dots unless `-v` or `-q` asks for another output."""
    is_worker = hasattr(config, "workerinput")
    is_whole = config.args_source == pytest.Config.ArgsSource.TESTPATHS and config.option.markexpr == "not slow"
    if is_worker or is_whole:
        config.pluginmanager.register(LeftOut(config))
    if is_whole and not is_worker and config.option.verbose == 0:
        config.pluginmanager.register(Brief(config))
