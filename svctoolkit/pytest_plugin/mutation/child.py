"""Tests in a forked child of a session that has collected them. The child reports through a pipe, and then ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import pytest

from svctoolkit.errors import UsageError
from svctoolkit.mutation import Change
from svctoolkit.mutation.change import alter
from svctoolkit.pytest_plugin import pytest_unconfigure
from svctoolkit.pytest_plugin.mutation.uses import Measured, file_of, uses_of
from svctoolkit.workspace import Workspace, on_load

_LINES = 5  # of a failure


class Child:
    """A process that runs `work`, which sends values. Raises `UsageError` where processes cannot be forked."""

    def __init__(self, work: Callable[[Connection], None]) -> None:
        try:
            context = get_context("fork")
        except ValueError:
            raise UsageError("--runner pytest needs a system that can fork processes: Linux or macOS") from None
        self.results, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_begin, args=(work, sender), daemon=False)
        self._process.start()
        sender.close()

    def stop(self) -> None:
        """End the process, and everything that it has started in its process group."""
        if self._process.pid is not None and self._process.is_alive():
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
        self._process.join()
        self.results.close()


def _begin(work: Callable[[Connection], None], sender: Connection) -> None:
    with suppress(OSError):
        os.setpgid(0, 0)  # Ctrl-C reaches the first process only, which stops this one
    silent = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(silent, number)
    work(sender)
    sender.close()
    os._exit(0)  # the session, its plugins and its reports belong to the first process


class Reports:
    """A plugin that keeps the reports of the test that is running, for its outcome."""

    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(report)

    def outcome(self) -> tuple[str, str]:
        """Return the outcome of the last test, and the text of its failure."""
        for report in self.reports:
            if report.failed:
                return "failed", _text(report)
        skipped = any(report.skipped for report in self.reports)
        return ("skipped" if skipped else "passed"), ""


def _text(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else report.longreprtext


def measure(
    items: Sequence[pytest.Item], imported: Mapping[str, Sequence[str]], reports: Reports, sender: Connection
) -> None:
    """Run all tests, and send a `Measured` for each; then the names of our modules that they have imported."""
    loaded: list[str] = []
    uses: dict[str, Any] = {}

    class Watch:
        """Reads what a test uses before its fixtures end."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_teardown(self, item: pytest.Item) -> None:
            uses[item.nodeid] = uses_of(item, imported.get(str(item.path), ()), loaded)

    with _session(items[0].session, Watch()), on_load(lambda workspace: loaded.append(file_of(workspace))):
        for number, item in enumerate(items):
            began = time.monotonic()
            status, text = _run(items, number, reports)
            sender.send(Measured(item.nodeid, status, text, uses.get(item.nodeid, {}), time.monotonic() - began))
            loaded.clear()
    sender.send([name for name in sys.modules if name.startswith("svctoolkit.")])


def judge(
    items: Sequence[pytest.Item],
    change: Change,
    workspaces: Sequence[Workspace],
    reports: Reports,
    sender: Connection,
) -> None:
    """Change the workspaces, run tests until one fails, and send each outcome: the id, and the lines of the failure."""
    for workspace in workspaces:
        alter(workspace, change.alteration)
    with _session(items[0].session, None), on_load(lambda workspace: alter(workspace, change.alteration)):
        for number, item in enumerate(items):
            status, text = _run(items, number, reports)
            failed = status == "failed"
            sender.send((item.nodeid, tuple(text.splitlines()[:_LINES]) if failed else None))
            if failed:
                return


def _run(items: Sequence[pytest.Item], number: int, reports: Reports) -> tuple[str, str]:
    reports.reports.clear()
    item, after = items[number], items[number + 1] if number + 1 < len(items) else None
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
    return reports.outcome()


@contextmanager
def _session(session: pytest.Session, plugin: object) -> Iterator[None]:
    """End the fixtures and data planes of a session, also after a failure."""
    config = session.config
    if plugin is not None:
        config.pluginmanager.register(plugin)
    try:
        yield
    finally:
        with suppress(Exception):  # a failing fixture has been reported, or its test was not the last one
            session._setupstate.teardown_exact(None)
        pytest_unconfigure(config)
