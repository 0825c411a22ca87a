"""A run of all tests prints a page at most: a line for each tenth, failures, and at the end what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

#: What a worker returns to the process that started it: the tests that it left out.
LEFT_OUT = "tests left out"


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
    """The number of slow tests that were not selected, on the last line."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.number = 0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.number += len(items)

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[LEFT_OUT] = self.number

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.number += getattr(node, "workeroutput", {}).get(LEFT_OUT, 0)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter and self.number:
            reporter.write_line(f"{self.number} slow tests left out: bash .ci/run")


def register(config: pytest.Config) -> None:
    """For a run of all default tests; lines in place of dots unless `-v` or `-q` asks for another output."""
    is_worker = hasattr(config, "workerinput")
    is_whole = config.args_source == pytest.Config.ArgsSource.TESTPATHS and config.option.markexpr == "not slow"
    if is_worker or is_whole:
        config.pluginmanager.register(LeftOut(config))
    if is_whole and not is_worker and config.option.verbose == 0:
        config.pluginmanager.register(Brief(config))
