"""One data plane shared by the tests of a session; each test sees an empty one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count

from svctoolkit.errors import StillWaiting
from svctoolkit.json_types import Json
from svctoolkit.server import DataPlane
from svctoolkit.server.worker import Backoff
from svctoolkit.simulations import SimulatedServer
from svctoolkit.workspace import Destination, Source, Workspace

_SECONDS = 1.0  # how long to wait for events that a test left in progress
_STOP_SECONDS = 0.1


class SharedPlanes:
    """The data planes of a session: one for each set of limits that workspaces configure. `close()` stops them."""

    def __init__(self) -> None:
        self._planes: list[tuple[object, SharedPlane]] = []
        self._runs = count(1)

    @contextmanager
    def lend(self, workspace: Workspace) -> Iterator[DataPlane]:
        """Lend an empty data plane that serves `workspace`."""
        recording = workspace.in_mode("record")
        limits = (recording.delivery, recording.data_plane)  # fixed when a data plane starts
        plane = next((plane for other, plane in self._planes if other == limits), None)
        if plane is None:
            plane = SharedPlane(recording)
            self._planes.append((limits, plane))
        lent = plane.lend(recording, f"test-{next(self._runs)}")
        try:
            yield lent
        finally:
            if not plane.end(lent):
                self._planes.remove((limits, plane))
                plane.stop(_STOP_SECONDS)

    def close(self) -> None:
        for _, plane in self._planes:
            plane.stop()


class SharedPlane(DataPlane):
    """A data plane that is lent to one test after another. Each test has its own run, which ends with the test."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, backoff=Backoff(scale=0))
        self._test = ""
        self._undo = ExitStack()

    def lend(self, workspace: Workspace, run: str) -> SharedPlane:
        """Serve this workspace, and return the plane for one test: what is sent with it belongs to `run`.

        It has the same server, but its own run: a thread of the test that sends later is rejected, as its client is.
        """
        self._control.replace(workspace)
        lent = copy.copy(self)
        lent._test = run
        switches: list[Source | Destination] = [*workspace.sources.values(), *workspace.destinations.values()]
        for item in switches:
            self._undo.callback(setattr, item, "enabled", item.enabled)
        return lent

    def end(self, lent: SharedPlane) -> bool:
        """Reset to the initial state. Return False if the test stopped the server, or events are still in progress."""
        self._engine.closed_runs.add(lent._test)
        self._undo.close()
        self._stopped = lent.stopped
        if self.stopped:
            return False
        with suppress(StillWaiting):
            self.drain(_SECONDS)
        if self._engine.pending.destinations() or not self._engine.pending.all_routed():
            return False
        self._engine.rewind()
        self.reset()
        return True

    def write_key(self, source: str, *, run: str = "") -> str:
        return super().write_key(source, run=run or self._test)

    def simulation(self, destination: str, *, run: str = "") -> SimulatedServer:
        """Return the simulated server with what the test's events have left there: those sent with `write_key()`.

        If there are none, it is that of events with the write key of the workspace file, which belong to no run.
        """
        own = super().simulation(destination, run=run or self._test)
        if run or own.requests:
            return own
        shared = super().simulation(destination)
        return shared if shared.requests else own

    def watch(self, listener: Callable[[str, list[dict[str, Json]]], None]) -> Callable[[], None]:
        watching = ExitStack()
        watching.callback(super().watch(listener))
        self._undo.push(watching)
        return watching.close
