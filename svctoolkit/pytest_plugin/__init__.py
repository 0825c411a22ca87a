"""pytest runs `*.suite.yaml` and `*.suite.yml` like test files: every scenario, and every row of one, is a test.

Where code is trusted, the examples of destination types next to a workspace (`destinations/NAME/examples.yaml`) are
tests, too.

Tags become markers (`-m "orders and not slow"`); `skip` and `xfail` work as usual in pytest. The suffix is the opt-in:
a project without such files pays nothing, because everything else is imported when the first one is found.

Python tests get fixtures (`workspace`, `data_plane`, `recorder`, `warehouse`, `tracking_plan`, `send_webhook`,
`delete_users`, `service_client` and `run_scenario`), and helpers to import from here: `assert_delivered`,
`assert_never_delivered`, `assert_dropped`, `assert_held`, `assert_nothing_lost`, `assert_violations`,
`assert_conforms`, `assert_policies`, `assert_fetched` and `assert_logged`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from svctoolkit.inputs import is_suite
from svctoolkit.pytest_plugin import state
from svctoolkit.pytest_plugin.code_helpers import assert_fetched, assert_logged
from svctoolkit.pytest_plugin.fixtures import (
    data_plane,
    delete_users,
    recorder,
    run_scenario,
    send_webhook,
    service_client,
    tracking_plan,
    warehouse,
    workspace,
)
from svctoolkit.pytest_plugin.held_helpers import assert_held, assert_nothing_lost
from svctoolkit.pytest_plugin.helpers import (
    assert_delivered,
    assert_dropped,
    assert_never_delivered,
)
from svctoolkit.pytest_plugin.items import ANNOTATION, ExamplesFile, ScenarioItem, SuiteFile, variables
from svctoolkit.pytest_plugin.plan_helpers import assert_conforms, assert_violations
from svctoolkit.pytest_plugin.policy_helpers import assert_policies

if TYPE_CHECKING:
    from svctoolkit.runner import Collector, Suite

__all__ = [
    "assert_conforms",
    "assert_delivered",
    "assert_dropped",
    "assert_fetched",
    "assert_held",
    "assert_logged",
    "assert_never_delivered",
    "assert_nothing_lost",
    "assert_policies",
    "assert_violations",
    "data_plane",
    "delete_users",
    "recorder",
    "run_scenario",
    "send_webhook",
    "service_client",
    "tracking_plan",
    "warehouse",
    "workspace",
]

_COVERED = "svctoolkit coverage"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("suites", "svctoolkit suites (*.suite.yaml)")
    group.addoption(
        "--suite-update",
        nargs="?",
        const="all",
        choices=("all", "new"),
        help="write changed snapshots (new: only missing ones)",
    )
    group.addoption("--suite-live", action="store_true", help="also run live scenarios: their requests are really sent")
    group.addoption(
        "--suite-base-url", metavar="URL", help="run against the service at this URL (login: SVC_EMAIL, SVC_TOKEN)"
    )
    group.addoption(
        "--suite-var",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a suite variable; NAME:=JSON for a typed value",
    )
    group.addoption("--suite-coverage", action="store_true", help="report what no scenario covers")
    group.addoption("--trust-code", action="store_true", help="run transformations even if the sandbox is incomplete")
    parser.addini(
        "svctoolkit_strict",
        "fail a test whose data plane had unexpected failures or unused answers, or that sent and asserted nothing",
        type="bool",
        default=False,
    )
    parser.addini("suite_workspace", "workspace file for the fixture `workspace`", default="workspace.yaml")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--suite-update") and os.environ.get("CI"):
        raise pytest.UsageError("--suite-update is not allowed in CI: update snapshots locally and review them first")
    variables(config)  # fail early: a malformed --suite-var stops the session
    if config.getoption("--trust-code"):
        from svctoolkit.transformations import trust_code

        trust_code()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | ExamplesFile | None:
    if is_suite(file_path):
        return SuiteFile.from_parent(parent, path=file_path)
    if file_path.name == "examples.yaml" and _is_beside_a_workspace(file_path.parent.parent):
        return ExamplesFile.from_parent(parent, path=file_path)
    return None


def _is_beside_a_workspace(folder: Path) -> bool:
    return folder.name == "destinations" and (folder.parent / "workspace.yaml").is_file()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse untrusted code once, before anything runs. With xdist, where workers collect, each scenario refuses it."""
    suites = {id(item.scenario.suite): item.scenario.suite for item in items if isinstance(item, ScenarioItem)}
    is_local = not config.getoption("--suite-base-url") and not config.getoption("--collect-only")
    if not suites or not is_local or hasattr(config, "workerinput"):
        return
    from svctoolkit.errors import UntrustedCode
    from svctoolkit.workspace import require_trust

    try:
        require_trust(*(suite.workspace for suite in suites.values()))
    except UntrustedCode as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """With `svctoolkit_strict`, look at the data plane of a test that has passed."""
    result = yield
    if item.config.getini("svctoolkit_strict") and "data_plane" in getattr(item, "fixturenames", ()):
        from svctoolkit.pytest_plugin.strict import lent_plane, strict_problems

        plane = lent_plane(item)
        problems = [plane.mask(problem) for problem in strict_problems(plane, item)] if plane else []
        if problems:
            pytest.fail("\n".join(f"svctoolkit_strict: {problem}" for problem in problems), pytrace=False)
    return result


def pytest_unconfigure(config: pytest.Config) -> None:
    if state.PLANES in config.stash:
        config.stash[state.PLANES].close()
    if state.SHARED in config.stash:
        config.stash[state.SHARED].close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send this xdist worker's coverage to the controller. An `always` without any value fails the session."""
    config = session.config
    is_green = session.exitstatus == pytest.ExitCode.OK and not hasattr(config, "workeroutput")
    if is_green and state.IDLE in config.stash and any(_idle_rules(config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if state.COVERAGE in config.stash and hasattr(config, "workeroutput"):
        config.workeroutput[_COVERED] = _coverage_counts(config).counts()


@pytest.hookimpl(optionalhook=True)
# Any: xdist's node
def pytest_testnodedown(node: Any) -> None:
    """Merge the coverage of an xdist worker that has ended."""
    counts = getattr(node, "workeroutput", {}).get(_COVERED)
    if counts:
        from svctoolkit import runner

        node.config.stash.setdefault(state.COVERAGE, runner.Collector([])).merge(counts)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Remember that only part of the suites ran: unused snapshots cannot be reported then."""
    for item in items[:1]:
        item.config.stash[state.PARTIAL] = True


def _unused_snapshots(config: pytest.Config) -> list[Path]:
    """Return the snapshots that no scenario used, after a run of whole suites in this process."""
    partial = config.stash.get(state.PARTIAL, False) or any("::" in argument for argument in config.args)
    if partial or state.SNAPSHOTS not in config.stash or getattr(config.option, "numprocesses", None):
        return []
    snapshots = config.stash[state.SNAPSHOTS]
    return [
        path
        for suite in config.stash.get(state.SUITES, [])
        for path in snapshots.find_unused(suite.snapshot_folder, [scenario.id for scenario in suite.scenarios])
    ]


# Any: pytest's reporter
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if state.IDLE in config.stash:
        suites = config.stash[state.SUITES]
        idle = config.stash[state.IDLE]
        for line in (*idle.lines(suites), *_idle_rules(config)):
            terminalreporter.write_line(line)
    for line in (*_unknown_members(config), *_overlooked(config), *_changes(config)):
        terminalreporter.write_line(line)
    for path, what in config.stash[state.SNAPSHOTS].new_files.items() if state.SNAPSHOTS in config.stash else ():
        note = f" ({what})" if what else ""
        terminalreporter.write_line(f"snapshot written: {os.path.relpath(path, config.rootpath)}{note}")
    for path in _unused_snapshots(config):
        name = os.path.relpath(path, config.rootpath)
        terminalreporter.write_line(f"{name}: no scenario uses this snapshot; delete it if it is old")
    properties = [each for report in terminalreporter.getreports("failed") for each in report.user_properties]
    if commands := [value for name, value in properties if name == ANNOTATION]:
        from svctoolkit.runner import merged_commands

        for text in merged_commands(commands):  # one for each cause: GitHub shows ten of a step
            terminalreporter.write(text)
    if state.COVERAGE in config.stash:
        from svctoolkit.runner import coverage_lines

        terminalreporter.section("suites")
        for line in coverage_lines(_coverage_counts(config).coverage()):
            terminalreporter.write_line(line)


def _idle_rules(config: pytest.Config) -> Iterator[str]:
    """Yield a line for each `always` that had no value in this session."""
    suites: list[Suite] = config.stash[state.SUITES]
    yield from config.stash[state.IDLE].failures(suites)


def _unknown_members(config: pytest.Config) -> Iterator[str]:
    """Yield a line for each member of an event in a suite that belongs to no event of its type, as `run` does."""
    if state.SUITES in config.stash and state.RAN in config.stash:
        from svctoolkit.runner import unknown_members

        suites: list[Suite] = config.stash[state.SUITES]
        yield from unknown_members(suites)


def _overlooked(config: pytest.Config) -> Iterator[str]:
    """Yield a line for each file next to the suites of this session that looks like a suite, and has another name."""
    folders = dict.fromkeys(suite.path.parent for suite in config.stash.get(state.SUITES, []))
    if folders:
        from svctoolkit.runner import overlooked

        yield from dict.fromkeys(overlooked(folders))


def _changes(config: pytest.Config) -> Iterator[str]:
    """Yield which inputs of failed scenarios have changed since these last passed, and store those that pass now.

    They are in pytest's cache. Workers of xdist do not share theirs, so it is not known there.
    """
    cache = getattr(config, "cache", None)
    if state.RAN not in config.stash or cache is None:
        return
    from svctoolkit.runner.report.ending import changed_line
    from svctoolkit.runner.suite.dependencies import inputs_of
    from svctoolkit.runner.suite.last_run import Passed

    ran = config.stash[state.RAN]
    passed = Passed.load(Path(cache.mkdir("svctoolkit")) / "passed.json")
    if changed := passed.changed_since(name for name, (ok, _, _) in ran.items() if not ok):
        yield changed_line(changed)
    passed.keep({name: [*inputs_of(scenario), read] for name, (ok, scenario, read) in ran.items() if ok})


def _coverage_counts(config: pytest.Config) -> Collector:
    """Return what scenarios in this process have covered, including the lines of user code."""
    collector = config.stash[state.COVERAGE]
    if state.PLANES in config.stash:
        collector.lines(config.stash[state.PLANES].lines())
        collector.branches(config.stash[state.PLANES].branches())
    return collector
