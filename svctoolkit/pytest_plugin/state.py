"""State of a pytest session: data planes, snapshots, counts. Each is created on first use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

import pytest

if TYPE_CHECKING:
    from svctoolkit.inputs import Inputs
    from svctoolkit.pytest_plugin.shared_planes import SharedPlanes
    from svctoolkit.runner import Collector, IdleParts, Planes, Scenario, Snapshots, Suite
    from svctoolkit.sdk import Stats
    from svctoolkit.server import DataPlane


class FixtureClient(Protocol):
    """A `ServiceClient` of the fixture `service_client`."""

    def stats(self) -> Stats:
        """Return its counts: `recorded`, `waiting`, ..."""
        ...

    def send_waiting(self, timeout: float) -> bool:
        """Send the waiting events, with one attempt."""
        ...


PLANES: pytest.StashKey[Planes] = pytest.StashKey()
SHARED: pytest.StashKey[SharedPlanes] = pytest.StashKey()
SNAPSHOTS: pytest.StashKey[Snapshots] = pytest.StashKey()
COVERAGE: pytest.StashKey[Collector] = pytest.StashKey()
WORKSPACES: pytest.StashKey[dict[Path, Any]] = pytest.StashKey()
TAGS: pytest.StashKey[set[str]] = pytest.StashKey()
SUITES: pytest.StashKey[list[Suite]] = pytest.StashKey()
#: Scenarios by name: whether they passed, and what they have read.
RAN: pytest.StashKey[dict[str, tuple[bool, Scenario, Inputs]]] = pytest.StashKey()
IDLE: pytest.StashKey[IdleParts] = pytest.StashKey()
REFUSAL: pytest.StashKey[str] = pytest.StashKey()
#: Data planes whose failures a helper has allowed, with `failed="any"`.
FAILURES_EXPECTED: WeakSet[DataPlane] = WeakSet()
#: The clients that the fixture `service_client` has made for a data plane.
CLIENTS: WeakKeyDictionary[DataPlane, list[FixtureClient]] = WeakKeyDictionary()
PARTIAL: pytest.StashKey[bool] = pytest.StashKey()


def planes(config: pytest.Config) -> Planes:
    """Return the data planes of this session, created for the first scenario.

    Raises `UsageError` if the service at `--suite-base-url` does not respond or rejects the login; this is tried once.
    """
    if PLANES not in config.stash:
        from svctoolkit import runner
        from svctoolkit.errors import UsageError

        live, url = config.getoption("--suite-live"), config.getoption("--suite-base-url")
        environ = os.environ
        if REFUSAL in config.stash:
            raise UsageError(config.stash[REFUSAL])
        try:
            config.stash[PLANES] = (
                runner.remote_planes(url, environ.get("SVC_EMAIL", ""), environ.get("SVC_TOKEN", ""), live=live)
                if url is not None
                else runner.Planes(live=live, coverage=config.getoption("--suite-coverage"))
            )
        except UsageError as error:
            config.stash[REFUSAL] = str(error)
            raise
    return config.stash[PLANES]


def shared_planes(config: pytest.Config) -> SharedPlanes:
    """Return the data planes that the tests of this session share."""
    if SHARED not in config.stash:
        from svctoolkit.pytest_plugin.shared_planes import SharedPlanes

        config.stash[SHARED] = SharedPlanes()
    return config.stash[SHARED]


def snapshots(config: pytest.Config) -> Snapshots:
    """Return the snapshots, updated by `--suite-update` or, if syrupy is installed, by its options."""
    if SNAPSHOTS not in config.stash:
        from svctoolkit import runner

        update = config.getoption("--suite-update")
        for option, means in (("--snapshot-update", "all"), ("--snapshot-update-new-only", "new")):
            if update is None and config.pluginmanager.hasplugin("syrupy") and config.getoption(option, default=False):
                update = means
        config.stash[SNAPSHOTS] = runner.Snapshots(update or "none")
    return config.stash[SNAPSHOTS]
