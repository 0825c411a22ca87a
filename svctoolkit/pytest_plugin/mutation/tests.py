"""The tests of a session, and what they say about changes."""

from __future__ import annotations

import io
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.errors import ToolkitError
from svctoolkit.mutation import Change, Project, Verdict
from svctoolkit.mutation.verdict import names_place
from svctoolkit.pytest_plugin import state
from svctoolkit.pytest_plugin.mutation.child import Child, Reports, judge, measure
from svctoolkit.pytest_plugin.mutation.uses import Measured, file_of
from svctoolkit.workspace import Workspace, on_load

#: Reports of the session would be those of forked processes; captured files would be shared with them.
_OPTIONS = ("-q", "-p", "no:cacheprovider", "--capture=sys", "--no-header", "--disable-warnings")
_SECONDS = 30.0  # how long one test may take, in addition to ten times what it took without a change
_SLOWER = 10
_SHOWN = 5


class Tests:
    """Tests that pytest has collected.

    `measure` first: it runs them without a change. `project` then has the workspaces that they use, and the changes.
    """

    def __init__(
        self,
        items: Sequence[pytest.Item],
        loaded: Sequence[Workspace],
        imported: Mapping[str, Sequence[str]],
        reports: Reports,
        seconds: float,
    ) -> None:
        self.count = len(items)
        self._items = {item.nodeid: item for item in items}
        self._loaded, self._imported = loaded, imported
        self._reports, self._seconds = reports, seconds
        self._measured: list[Measured] = []

    def measure(self) -> Iterator[None]:
        """Run all tests without a change; yield after each. Raises `ToolkitError` if one fails."""
        child = Child(partial(measure, list(self._items.values()), self._imported, self._reports))
        try:
            for _ in self._items:
                self._measured.append(child.results.recv())
                yield
            # so that not every process of a change imports them
            for name in child.results.recv():
                import_module(name)
        except EOFError:
            name = list(self._items)[min(len(self._measured), self.count - 1)]
            raise ToolkitError(f"nothing was changed: the process of the tests ended in {name}") from None
        finally:
            child.stop()
        self._require_green()

    def _require_green(self) -> None:
        failed = [test for test in self._measured if test.status == "failed"]
        if failed:
            what = "1 test fails" if len(failed) == 1 else f"{len(failed)} tests fail"
            shown = [f"  {test.id}: {test.text.partition(chr(10))[0]}" for test in failed[:_SHOWN]]
            more = [f"  and {len(failed) - _SHOWN} more"] if len(failed) > _SHOWN else []
            head = f"nothing was changed: {what} already. Fix the tests first"
            raise ToolkitError("\n".join([head, *shown, *more]))

    def project(self) -> Project:
        """Return the workspaces that the tests use, in files, with their changes."""
        suites = [suite for item in list(self._items.values())[:1] for suite in item.config.stash.get(state.SUITES, [])]
        files = {place for test in self._measured for place in test.uses if place}
        files -= {file_of(suite.workspace) for suite in suites}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the tests have shown them
            others = [Workspace.load(file) for file in sorted(files)]
        return Project.of_tests(suites, others)

    def judge_all(self, project: Project, changes: Sequence[Change], jobs: int) -> Generator[Verdict]:
        """Yield the verdict on each change as soon as it is known; `jobs` of them are judged at a time."""
        work = iter(changes)
        running: dict[Any, _Judged] = {}  # by the connection, as `wait` returns it
        try:
            while True:
                while len(running) < jobs and (change := next(work, None)) is not None:
                    tests = self._dependents(change, project)
                    if not tests:
                        yield Verdict(change, "unnoticed", reason="no test uses it", is_covered=False)
                        continue
                    items = [self._items[test.id] for test in tests]
                    child = Child(partial(judge, items, change, self._loaded, self._reports))
                    running[child.results] = _Judged(change, tests, child, self._seconds)
                if not running:
                    return
                for connection in list(wait([*running], min(judged.left for judged in running.values()))):
                    verdict = running[connection].receive()
                    if verdict is not None:
                        running.pop(connection).child.stop()
                        yield verdict
                for connection in [c for c, judged in running.items() if judged.left <= 0]:
                    judged = running.pop(connection)
                    judged.child.stop()
                    yield judged.noticed(f"{judged.test}: still running after {judged.limit:.0f} s")
        finally:
            for judged in running.values():
                judged.child.stop()

    def _dependents(self, change: Change, project: Project) -> list[Measured]:
        """Return the tests that a change may affect, those that took the least time first."""
        tests = [test for test in self._measured if test.status == "passed"]
        dependents = [test for test in tests if test.depends(change, project.workspaces)]
        # tests of one file share fixtures, so they stay together
        cost: dict[str, float] = {}
        for test in dependents:
            cost[_file(test)] = cost.get(_file(test), 0) + test.seconds
        return sorted(dependents, key=lambda test: (round(cost[_file(test)], 1), _file(test)))


def _file(test: Measured) -> str:
    return test.id.partition("::")[0]


class _Judged:
    """A change whose tests are running: which of them, and until when it may run."""

    def __init__(self, change: Change, tests: Sequence[Measured], child: Child, seconds: float) -> None:
        self._change, self._tests, self.child, self._seconds = change, list(tests), child, seconds
        self._number = 0
        self._since = time.monotonic()

    @property
    def test(self) -> str:
        """The id of the test that is running."""
        return self._tests[min(self._number, len(self._tests) - 1)].id

    @property
    def limit(self) -> float:
        """How many seconds the test that is running may take."""
        return self._seconds + _SLOWER * self._tests[min(self._number, len(self._tests) - 1)].seconds

    @property
    def left(self) -> float:
        """How many of these seconds are left."""
        return max(0.0, self.limit - (time.monotonic() - self._since))

    def receive(self) -> Verdict | None:
        """Return the verdict, if the next outcome decides it."""
        try:
            _, lines = self.child.results.recv()
        except (EOFError, OSError):
            return self.noticed(f"{self.test}: the process of the test ended")
        if lines is not None:
            return self.noticed(*lines)
        self._number, self._since = self._number + 1, time.monotonic()
        if self._number < len(self._tests):
            return None
        count = len(self._tests)
        what = "1 test uses it" if count == 1 else f"{count} tests use it"
        return Verdict(self._change, "unnoticed", reason=f"{what}, none fails")

    def noticed(self, *lines: str) -> Verdict:
        """Return the verdict that the test which is running notices the change."""
        return Verdict(self._change, "noticed", self.test, lines, names_place(self._change, lines))


class _Plugin(Reports):
    """Takes over the loop of a session: calls `work` with its tests instead of running them once."""

    def __init__(self, work: Callable[[Tests], None], seconds: float) -> None:
        super().__init__()
        self._work, self._seconds = work, seconds
        self.error: BaseException | None = None
        self.began = False
        self._loaded: list[Workspace] = []
        self._imported: dict[str, list[str]] = {}

    def load(self, workspace: Workspace) -> None:
        """Remember a workspace that is loaded while tests are collected."""
        self._loaded.append(workspace)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, object, object]:
        """Attribute what a module loads to its tests; what a `conftest.py` loads, to all."""
        before = len(self._loaded)
        result = yield
        if isinstance(collector, pytest.Module):
            places = [file_of(workspace) for workspace in self._loaded[before:]]
            self._imported.setdefault(str(collector.path), []).extend(places)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return True
        self.began = True
        attributed = [place for places in self._imported.values() for place in places]
        of_all = [place for place in map(file_of, self._loaded) if place not in attributed]
        of_suites = [file_of(suite.workspace) for suite in session.config.stash.get(state.SUITES, [])]
        shared = [place for place in of_all if place not in of_suites]
        imported = {str(item.path): [*self._imported.get(str(item.path), []), *shared] for item in session.items}
        try:
            self._work(Tests(session.items, self._loaded, imported, self, self._seconds))
        except BaseException as error:  # noqa: BLE001 - pytest would print it as an internal error
            self.error = error
        return True


def with_tests(paths: Sequence[str], work: Callable[[Tests], None], *, seconds: float = _SECONDS) -> None:
    """Let pytest collect the tests of these paths, and call `work` with them.

    With a change, a test may take `seconds` more than ten times what it takes without: then it notices the change.

    Raises what `work` raises, and `ToolkitError` with pytest's output if the tests cannot be collected.
    """
    plugin = _Plugin(work, seconds)
    output = io.StringIO()
    options = [*_OPTIONS, *(["-n0"] if find_spec("xdist") else [])]
    with redirect_stdout(output), on_load(plugin.load):
        code = pytest.main([*options, *paths], plugins=[plugin])
    if plugin.error is not None:
        raise plugin.error
    if code == pytest.ExitCode.INTERRUPTED and not plugin.began and "KeyboardInterrupt" in output.getvalue():
        raise KeyboardInterrupt
    if not plugin.began:
        where = ", ".join(paths) or str(Path.cwd())
        raise ToolkitError(f"pytest cannot collect the tests of {where}:\n{output.getvalue().strip()}")
