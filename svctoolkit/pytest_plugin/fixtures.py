"""Fixtures: `workspace`, `data_plane`, `recorder`, `warehouse`, `send_webhook`, `delete_users` and others."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from svctoolkit.json_types import Json
from svctoolkit.pytest_plugin import items, state
from svctoolkit.pytest_plugin.waiting import settled

if TYPE_CHECKING:
    from svctoolkit.delivery import Recorder
    from svctoolkit.plans import Plan
    from svctoolkit.runner import Outcome
    from svctoolkit.sdk import ServiceClient
    from svctoolkit.server import Answer, DataPlane
    from svctoolkit.server.regulations.model import Regulation
    from svctoolkit.warehouse import Warehouse
    from svctoolkit.workspace import Workspace


@pytest.fixture
def workspace(pytestconfig: pytest.Config) -> Workspace:
    """The workspace in the file that the ini option `suite_workspace` names. Override it with your own fixture."""
    from svctoolkit.errors import ConfigError
    from svctoolkit.workspace import Workspace

    try:
        return Workspace.load(pytestconfig.rootpath / str(pytestconfig.getini("suite_workspace")))
    except ConfigError as error:
        text = f"{error}\nThe ini option `suite_workspace` names it, or define your own fixture `workspace`."
        pytest.fail(text, pytrace=False)


@pytest.fixture
def tracking_plan(workspace: Workspace) -> Plan:
    """The tracking plan of `workspace` if it has exactly one; to choose another, define your own fixture."""
    from svctoolkit.errors import UsageError

    if len(workspace.tracking_plans) != 1:
        raise UsageError(
            f"the workspace has {len(workspace.tracking_plans)} tracking plans: define the fixture yourself"
        )
    return next(iter(workspace.tracking_plans.values())).chosen


@pytest.fixture
def data_plane(workspace: Workspace, pytestconfig: pytest.Config) -> Generator[DataPlane]:
    """A data plane that serves `workspace` while the test runs: `data_plane.url`, `data_plane.write_key("web")`.

    Retries do not wait. Everything is recorded and nothing leaves the machine. All tests of a session share one server,
    but each test starts with an empty one: switches, responses and the clock are reset, and a late event with a write
    key that `write_key()` gave to an earlier test is rejected.
    """
    with state.shared_planes(pytestconfig).lend(workspace) as plane:
        state.FAILURES_EXPECTED.discard(plane)
        yield plane


@pytest.fixture
def recorder(data_plane: DataPlane) -> Recorder:
    """The stand-in for every destination's server: `recorder.requests`, `recorder.answer(host, ...)`."""
    return data_plane.recorder


@pytest.fixture
def warehouse(data_plane: DataPlane) -> Callable[..., Warehouse]:
    """Return a function that opens a warehouse destination's tables: `warehouse("wh").sql("select ...")`.

    It sends what `service_client` has queued, and waits until no event is in progress. If the workspace has only one
    warehouse, the name may be omitted.
    """

    def ask(destination: str = "", *, timeout: float = 30.0) -> Warehouse:
        from svctoolkit.errors import UsageError
        from svctoolkit.warehouse import is_warehouse

        keys = [key for key, d in data_plane.workspace.destinations.items() if is_warehouse(d.type)]
        if not destination and len(keys) != 1:
            raise UsageError(f"name the warehouse destination: {', '.join(keys) or 'the workspace does not have any'}")
        settled(data_plane, None, timeout)
        return data_plane.warehouse(destination or keys[0])

    return ask


@pytest.fixture
def send_webhook(data_plane: DataPlane) -> Callable[..., Answer]:
    """Return a function that sends a webhook to `data_plane`: `send_webhook(order, source="shop", topic="x")`.

    It returns the answer, with the arguments of `DataPlane.send_webhook`. A body that is a `Path` is read from that
    file. If the workspace has only one webhook source, `source` may be omitted.
    """

    def send(body: Any = b"", *, source: str = "", **request: Any) -> Answer:
        from svctoolkit.errors import UsageError

        keys = [key for key, found in data_plane.workspace.sources.items() if found.webhook_type]
        if not source and len(keys) != 1:
            raise UsageError(f"name the webhook source: {', '.join(keys) or 'the workspace does not have any'}")
        content = body.read_bytes() if isinstance(body, Path) else body
        return data_plane.send_webhook(source or keys[0], content, **request)

    return send


@pytest.fixture
def delete_users(data_plane: DataPlane) -> Callable[..., Regulation]:
    """Return a function that deletes users at the destinations of the test's data plane, and waits until it is done.

    `delete_users("ada")`, or with a list and `destinations=["braze"]`. It fails the test if a deletion is aborted.
    """

    def delete(users: Json, *, destinations: Sequence[str] | None = None, timeout: float = 30.0) -> Regulation:
        __tracebackhide__ = True
        regulation = data_plane.delete(users, destinations=destinations)
        data_plane.drain(timeout)
        aborted = [
            f"{job.destination}: {job.status}: {job.error}" for job in regulation.jobs if job.status != "complete"
        ]
        if aborted:
            pytest.fail("users were not deleted everywhere:\n" + "\n".join(aborted), pytrace=False)
        return regulation

    return delete


@pytest.fixture
def service_client(data_plane: DataPlane) -> Generator[ServiceClient]:
    """A `ServiceClient` that sends to `data_plane` for the workspace's first source, on its clock, without a disk.

    `service_client(source="app")` returns one for another source; `service_client(source="app", flush_queue_size=1)`
    also overrides settings.
    """
    from svctoolkit.errors import UnknownName
    from svctoolkit.sdk import ServiceClient

    clients: list[ServiceClient] = []

    class Client(ServiceClient):
        def __call__(self, *, source: str, **settings: Any) -> Client:
            __tracebackhide__ = True
            return start(source, **settings)

        def send_waiting(self, timeout: float) -> bool:
            """Send the waiting events with one attempt; a patient `flush` would wait for a server that is offline."""
            return self._runtime.ask(not self._settings.enabled, lambda engine: engine.flush(timeout, patient=False))

    def start(source: str, **settings: Any) -> Client:
        __tracebackhide__ = True
        try:
            key = data_plane.write_key(source)
        except UnknownName as error:
            raise error.with_traceback(None) from None
        options = {"data_directory": ":memory:", "track_lifecycle_events": False, "clock": data_plane.time, **settings}
        client = Client(data_plane_url=data_plane.url, **options)
        clients.append(client)
        state.CLIENTS.setdefault(data_plane, []).append(client)
        client.initialize(key).wait(10.0)
        return client

    yield start(next(iter(data_plane.workspace.sources)))
    for client in clients:
        client.shutdown(1.0)


@pytest.fixture
def run_scenario(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> Callable[..., Outcome]:
    """Run one scenario and fail with its explanation: `run_scenario("suites/orders.suite.yaml::refund")`.

    A scenario can also be written in Python, for the fixture `workspace`: `run_scenario({"name": ..., "send": ...,
    "expect": ...})`.
    """

    def run(scenario: str | Mapping[str, Any]) -> Outcome:
        __tracebackhide__ = True
        from svctoolkit import runner
        from svctoolkit.errors import ConfigError

        try:
            if isinstance(scenario, str):
                _, scenarios = runner.collect([scenario])
            else:
                written = {"scenarios": [{"name": request.node.name, **scenario}]}
                workspace = request.getfixturevalue("workspace")
                scenarios = runner.suite_of(written, workspace, name=request.node.nodeid).scenarios
        except ConfigError as error:
            raise error.with_traceback(None) from None
        planes, snapshots = state.planes(pytestconfig), state.snapshots(pytestconfig)
        outcomes = [runner.attempt(chosen, planes, snapshots=snapshots) for chosen in scenarios]
        for outcome in outcomes:
            if not outcome.ok:
                raise items.AssertionError(runner.explanation(outcome))
        return outcomes[0]

    return run
