"""pytest runs `*.suite.yaml` and `*.suite.yml` like test files: every scenario, and every row of it, is a test.

Tags are markers (`-m "orders and not slow"`), `skip` and `xfail` mean what they mean to pytest. The suffix is the
opt-in: a project without such files pays nothing, for everything else is imported when the first one is found.

Tests in Python get fixtures: `workspace`, `data_plane`, `recorder`, `service_client` and `run_scenario`; and
helpers to import from here: `assert_delivered`, `assert_never_delivered` and `assert_dropped`.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from svctoolkit.delivery import Recorder
    from svctoolkit.runner import Collector, Outcome, Planes, Scenario, Snapshots, Suite
    from svctoolkit.sdk import ServiceClient
    from svctoolkit.server import DataPlane
    from svctoolkit.workspace import Workspace

__all__ = ["assert_delivered", "assert_dropped", "assert_never_delivered"]

_SUFFIXES = (".suite.yaml", ".suite.yml")
_ANNOTATION = "svctoolkit annotation"
_COVERED = "svctoolkit coverage"
_PLANES: pytest.StashKey[Planes] = pytest.StashKey()
_SNAPSHOTS: pytest.StashKey[Snapshots] = pytest.StashKey()
_COVERAGE: pytest.StashKey[Collector] = pytest.StashKey()
_WORKSPACES: pytest.StashKey[dict[Path, Any]] = pytest.StashKey()
_TAGS: pytest.StashKey[set[str]] = pytest.StashKey()
_SUITES: pytest.StashKey[list[Suite]] = pytest.StashKey()
_PARTIAL: pytest.StashKey[bool] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("suites", "suites of svctoolkit (*.suite.yaml)")
    group.addoption(
        "--suite-update",
        nargs="?",
        const="all",
        choices=("all", "new"),
        help="write snapshots that differ (or only new)",
    )
    group.addoption("--suite-live", action="store_true", help="also live scenarios: their requests really go out")
    group.addoption("--suite-base-url", metavar="URL", help="against the service there (SVC_EMAIL, SVC_TOKEN)")
    group.addoption("--suite-var", action="append", default=[], metavar="NAME=VALUE", help="a variable of suites")
    group.addoption("--suite-coverage", action="store_true", help="what no scenario touches")
    group.addoption("--trust-code", action="store_true", help="run transformations even where the sandbox is not whole")
    parser.addini("suite_workspace", "workspace file of the fixture `workspace`", default="workspace.yaml")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--suite-update") and os.environ.get("CI"):
        raise pytest.UsageError("--suite-update writes what should be reviewed first: not in CI")
    if config.getoption("--trust-code"):
        from svctoolkit.transformations import trust_code

        trust_code()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    return SuiteFile.from_parent(parent, path=file_path) if file_path.name.endswith(_SUFFIXES) else None


def pytest_unconfigure(config: pytest.Config) -> None:
    if _PLANES in config.stash:
        config.stash[_PLANES].close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Under xdist: what this worker has covered goes to whoever started it."""
    config = session.config
    if _COVERAGE in config.stash and hasattr(config, "workeroutput"):
        config.workeroutput[_COVERED] = _coverage_counts(config).counts()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of xdist has ended."""
    counts = getattr(node, "workeroutput", {}).get(_COVERED)
    if counts:
        from svctoolkit import runner

        node.config.stash.setdefault(_COVERAGE, runner.Collector([])).merge(counts)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """After a run of a part nothing can be said about snapshots that nobody used."""
    for item in items[:1]:
        item.config.stash[_PARTIAL] = True


def _unused_snapshots(config: pytest.Config) -> list[Path]:
    """The snapshots that no scenario looked at, after a run of whole suites in this process."""
    partial = config.stash.get(_PARTIAL, False) or any("::" in argument for argument in config.args)
    if partial or _SNAPSHOTS not in config.stash or getattr(config.option, "numprocesses", None):
        return []
    snapshots = config.stash[_SNAPSHOTS]
    return [path for suite in config.stash.get(_SUITES, []) for path in snapshots.find_unused(suite.snapshot_folder)]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for path in _unused_snapshots(config):
        name = os.path.relpath(path, config.rootpath)
        terminalreporter.write_line(f"{name}: no scenario uses this snapshot; delete it if it is old")
    for report in terminalreporter.getreports("failed"):
        for name, text in getattr(report, "user_properties", ()):
            if name == _ANNOTATION:
                terminalreporter.write(text)
    if _COVERAGE in config.stash:
        from svctoolkit.runner import coverage_lines

        terminalreporter.section("suites")
        for line in coverage_lines(_coverage_counts(config).coverage()):
            terminalreporter.write_line(line)


def _coverage_counts(config: pytest.Config) -> Collector:
    """What scenarios have touched in this process, the lines of user code included."""
    collector = config.stash[_COVERAGE]
    if _PLANES in config.stash:
        collector.lines(config.stash[_PLANES].lines())
    return collector


class SuiteFile(pytest.File):
    """A suite file. A mistake in it is told at collection, with its place."""

    def collect(self) -> Iterator[ScenarioItem]:
        from svctoolkit import runner
        from svctoolkit.errors import ConfigError

        workspaces = self.config.stash.setdefault(_WORKSPACES, {})
        try:
            suite = runner.load(self.path, workspaces=workspaces, variables=_variables(self.config))
        except ConfigError as error:
            raise self.CollectError(str(error)) from error
        self.config.stash.setdefault(_SUITES, []).append(suite)
        if self.config.getoption("--suite-coverage"):
            self.config.stash.setdefault(_COVERAGE, runner.Collector([])).include(suite)
        for scenario in suite.scenarios:
            yield ScenarioItem.from_parent(self, name=scenario.id, scenario=scenario)


def _variables(config: pytest.Config) -> dict[str, str]:
    pairs = [text.partition("=") for text in config.getoption("--suite-var")]
    return {name: value for name, _, value in pairs}


class ScenarioItem(pytest.Item):
    """One scenario, or one row of its `cases` or `matrix`."""

    def __init__(self, *, scenario: Scenario, **given: Any) -> None:
        super().__init__(**given)
        self.scenario = scenario
        for tag in scenario.tags:
            self._declare(tag)
            self.add_marker(tag)
        if scenario.serial and (hasattr(self.config, "workerinput") or self.config.pluginmanager.hasplugin("xdist")):
            self.add_marker(pytest.mark.xdist_group(scenario.serial))
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

        planes = _planes(self.config)
        reason = runner.skip_reason(self.scenario, planes)
        if reason:
            pytest.skip(reason)
        outcome = runner.attempt(self.scenario, planes, snapshots=_snapshots(self.config))
        if _COVERAGE in self.config.stash:
            self.config.stash[_COVERAGE].add(outcome)
        if not outcome.ok and os.environ.get("GITHUB_ACTIONS") == "true":
            self.user_properties.append((_ANNOTATION, runner.github_commands(outcome)))
        if outcome.status == "error":
            raise RuntimeError(outcome.reason)
        if not outcome.ok:
            raise AssertionError(runner.explanation(outcome))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.scenario.line - 1, self.scenario.title


class AssertionError(builtins.AssertionError):  # editors tell a failure from an error by this very name
    """A scenario that failed; the text says why."""


def _planes(config: pytest.Config) -> Planes:
    """The data planes of this session, made for the first scenario."""
    if _PLANES not in config.stash:
        from svctoolkit import runner

        live, url = config.getoption("--suite-live"), config.getoption("--suite-base-url")
        environ = os.environ
        config.stash[_PLANES] = (
            runner.remote_planes(url, environ.get("SVC_EMAIL", ""), environ.get("SVC_TOKEN", ""), live=live)
            if url
            else runner.Planes(live=live, coverage=config.getoption("--suite-coverage"))
        )
    return config.stash[_PLANES]


def _snapshots(config: pytest.Config) -> Snapshots:
    """`--suite-update`; or syrupy's options for the same thing, where syrupy is installed."""
    if _SNAPSHOTS not in config.stash:
        from svctoolkit import runner

        update = config.getoption("--suite-update")
        for option, means in (("--snapshot-update", "all"), ("--snapshot-update-new-only", "new")):
            if update is None and config.pluginmanager.hasplugin("syrupy") and config.getoption(option, default=False):
                update = means
        config.stash[_SNAPSHOTS] = runner.Snapshots(update or "none")
    return config.stash[_SNAPSHOTS]


@pytest.fixture
def workspace(pytestconfig: pytest.Config) -> Workspace:
    """The workspace in the file that the ini option `suite_workspace` names. Define your own fixture at will."""
    from svctoolkit.workspace import Workspace

    return Workspace.load(pytestconfig.rootpath / str(pytestconfig.getini("suite_workspace")))


@pytest.fixture
def data_plane(workspace: Workspace) -> Generator[DataPlane]:
    """A data plane that serves `workspace` while the test runs: `data_plane.url`, `data_plane.write_key("web")`.

    Retries do not wait. Everything is recorded, nothing leaves the machine.
    """
    from svctoolkit.server import DataPlane
    from svctoolkit.server.worker import Backoff

    with DataPlane(workspace.in_mode("record"), backoff=Backoff(scale=0)) as plane:
        yield plane


@pytest.fixture
def recorder(data_plane: DataPlane) -> Recorder:
    """What stands in for every destination's server: `recorder.requests`, `recorder.answer(host, ...)`."""
    return data_plane.recorder


@pytest.fixture
def service_client(data_plane: DataPlane) -> Generator[ServiceClient]:
    """A `ServiceClient` that sends to `data_plane`, for the workspace's first source; nothing of it is kept.

    `service_client(source="app")` gives one for another source, `service_client(source="app", flush_queue_size=1)`
    with settings of its own.
    """
    from svctoolkit.sdk import ServiceClient

    clients: list[ServiceClient] = []

    class Client(ServiceClient):
        def __call__(self, *, source: str, **settings: Any) -> Client:
            return start(source, **settings)

    def start(source: str, **settings: Any) -> Client:
        options = {"data_directory": ":memory:", "track_lifecycle_events": False, **settings}
        client = Client(data_plane_url=data_plane.url, **options)
        clients.append(client)
        client.initialize(data_plane.write_key(source)).wait(10.0)
        return client

    yield start(next(iter(data_plane.workspace.sources)))
    for client in clients:
        client.shutdown(1.0)


@pytest.fixture
def run_scenario(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> Callable[..., Outcome]:
    """Run one scenario, and fail with its text if it does: `run_scenario("suites/orders.suite.yaml::refund")`.

    Or one written in Python, for the fixture `workspace`: `run_scenario({"name": ..., "send": ..., "expect": ...})`.
    """

    def run(scenario: str | Mapping[str, Any]) -> Outcome:
        __tracebackhide__ = True
        from svctoolkit import runner

        if isinstance(scenario, str):
            _, scenarios = runner.collect([scenario])
        else:
            workspace = request.getfixturevalue("workspace")
            scenarios = runner.suite_of(
                {"scenarios": [{"name": request.node.name, **scenario}]}, workspace, name=request.node.nodeid
            ).scenarios
        planes, snapshots = _planes(pytestconfig), _snapshots(pytestconfig)
        outcomes = [runner.attempt(chosen, planes, snapshots=snapshots) for chosen in scenarios]
        for outcome in outcomes:
            if not outcome.ok:
                raise AssertionError(runner.explanation(outcome))
        return outcomes[0]

    return run


def assert_delivered(
    data_plane: DataPlane,
    *expected: Any,
    destination: str = "",
    run: str | None = None,
    any_order: bool = False,
    at_least: bool = False,
    count: int | None = None,
    timeout: float = 10.0,
) -> None:
    """That exactly these requests arrived, in this order, once nothing is under way; without any, that none did.

    Each is an expectation as in a suite (`{"body": {"event": "Order Completed"}}`, matchers included) of `method`,
    `url`, `headers`, `query`, `body`. `destination` (key) and `run` narrow down which requests are meant. With
    `any_order` they may come in any, with `at_least` others may come as well; with `count` that many requests match
    the one expectation (or there are that many, without one). Within `timeout` seconds nothing must be under way.
    """
    __tracebackhide__ = True
    results = _results(data_plane, expected, destination, run, timeout)
    _assert("delivered", results, list(expected), any_order=any_order, at_least=at_least, count=count)


def assert_never_delivered(
    data_plane: DataPlane, *expected: Any, destination: str = "", run: str | None = None, timeout: float = 10.0
) -> None:
    """That no request arrived that matches any of these; without any, that none arrived."""
    __tracebackhide__ = True
    results = _results(data_plane, expected, destination, run, timeout)
    for expectation in expected or ({},):
        _assert("delivered", results, [expectation], count=0)


def assert_dropped(
    data_plane: DataPlane,
    *expected: Any,
    destination: str = "",
    run: str | None = None,
    any_order: bool = False,
    at_least: bool = False,
    count: int | None = None,
    timeout: float = 10.0,
) -> None:
    """That exactly these were left out on the way: expectations of `by`, `reason`, `destination`, `event`, `fate`.

    The rest as for `assert_delivered`.
    """
    __tracebackhide__ = True
    results = _results(data_plane, expected, destination, run, timeout)
    _assert("dropped", results, list(expected), any_order=any_order, at_least=at_least, count=count)


def _results(
    data_plane: DataPlane, expected: Sequence[Any], destination: str, run: str | None, timeout: float
) -> Mapping[str, Any]:
    """What became of the events, by destination. Raises `UsageError` for expectations that are none."""
    __tracebackhide__ = True
    from svctoolkit import runner
    from svctoolkit.errors import UsageError

    for path, message in runner.problems(list(expected)):
        raise UsageError(f"{'.'.join(map(str, path))}: {message}")
    keys = [destination] if destination else list(data_plane.workspace.destinations)
    data_plane.drain(timeout, run=run or "")
    return runner.run_results(data_plane.of_run(run) if run is not None else data_plane, keys)


def _assert(
    what: str,
    results: Mapping[str, Any],
    expected: list[Any],
    *,
    any_order: bool = False,
    at_least: bool = False,
    count: int | None = None,
) -> None:
    __tracebackhide__ = True
    from svctoolkit import runner
    from svctoolkit.errors import UsageError

    actual = [record for records in results[what].values() for record in records]
    if count is not None:
        if len(expected) > 1:
            raise UsageError("count goes with one expectation")
        matching = [r for r in actual if not expected or not runner.differences(expected[0], r)]
        like = f" that match {expected[0]}" if expected else ""
        texts = [f"{what}: expected {count}{like}, got {len(matching)}"] if len(matching) != count else []
    else:
        operand: Any = {"$contains": expected} if at_least else {"$unordered": expected} if any_order else expected
        texts = [str(d) for d in runner.differences({what: operand}, {what: actual})]
    if texts:
        reasons = map(str, runner.causes(results)) if what == "delivered" else ()
        raise AssertionError("\n".join([*texts, *reasons]))
