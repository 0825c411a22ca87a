"""The data planes of a run: one for each workspace, and others for scenarios that change its clock or answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from svctoolkit.runner.coverage.lines import Branches, Counts, Lines
from svctoolkit.runner.planes.embedded import EmbeddedPlane
from svctoolkit.runner.planes.lineages import Lineages
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.planes.time import Times

if TYPE_CHECKING:
    from svctoolkit.runner.planes.loops import Loops
    from svctoolkit.runner.suite.model import Scenario, Suite


@contextmanager
def open_planes(*, live: bool = False, limit: float = 10.0) -> Iterator[Planes]:
    """Data planes in this process, one per workspace, until the block ends. With `live`, live scenarios run, too.

    `limit` is the time in real seconds that scenarios without their own limit may take.
    """
    planes = Planes(live=live, limit=limit)
    try:
        yield planes
    finally:
        planes.close()


class Planes:
    """Data planes in this process, created on first use. `close()` stops them.

    A scenario that freezes the clock or scripts the recorder uses a plane exclusively while it runs. The plane is then
    reused with the next scenario's clock, ids and responses, because starting a plane and its user-code workers takes
    most of a scenario's time.
    """

    def __init__(self, *, live: bool = False, coverage: bool = False, limit: float = 10.0) -> None:
        self.live, self.limit, self._coverage = live, limit, coverage
        self._lines = Lines()
        #: where values that differ came from
        self.lineages = Lineages()
        self._loops: Loops | None = None
        self._planes: dict[int, tuple[Suite, EmbeddedPlane]] = {}
        self._free: dict[tuple[int, str], list[EmbeddedPlane]] = {}
        self._lent: list[tuple[Suite, EmbeddedPlane]] = []
        self._lock = threading.Lock()

    @contextmanager
    def open(self, scenario: Scenario) -> Iterator[Plane]:
        """The data plane for one run of a scenario."""
        if not _needs_its_own(scenario):
            yield self._shared_plane(scenario.suite)
            return
        if self._coverage:
            self._shared_plane(scenario.suite)  # counts the lines that no scenario runs
        plane = self._borrow(scenario)
        try:
            yield plane
        finally:
            # A plane that still has events under way would leak them into the next scenario.
            if plane.reset() and not scenario.live:
                with self._lock:
                    self._free[_pool(scenario)].append(plane)

    def _borrow(self, scenario: Scenario) -> EmbeddedPlane:
        """Return a plane for this scenario alone, free or new. A live plane really sends, so it is not reused."""
        with self._lock:
            free = self._free.setdefault(_pool(scenario), [])
            plane = free.pop() if free and not scenario.live else None
        if plane is None:
            workspace = scenario.suite.workspace
            plane = EmbeddedPlane(workspace, self._start_loops, scenario, times=Times(), coverage=self._coverage)
            with self._lock:
                self._lent.append((scenario.suite, plane))
        plane.begin(scenario)
        return plane

    def unable(self, _scenario: Scenario) -> str:
        """Return why a scenario cannot run here, or an empty string. In this process every scenario can."""
        return ""

    def lines(self, *, unused: bool = True) -> Counts:
        """Return how often each line of user code ran, by file, if the engine can count. Empty without `coverage`.

        With `unused`, include code that no scenario loaded.
        """
        for suite, plane in self._planes.values():
            self._lines.add(suite, plane.code_counts(all=self._coverage and unused))
        for suite, plane in self._lent:
            self._lines.add(suite, plane.code_counts())
        return self._lines.counts

    def branches(self) -> Branches:
        """Return how often each branch of user code was taken, as known since the last call of `lines`."""
        return self._lines.branches

    def _shared_plane(self, suite: Suite) -> EmbeddedPlane:
        """Return the data plane for the workspace of `suite`, which must not change from now on."""
        workspace = suite.workspace
        with self._lock:
            entry = self._planes.get(id(workspace))
        if entry is None:
            fresh = suite, EmbeddedPlane(workspace, self._start_loops, coverage=self._coverage)
            with self._lock:
                # Two threads may have created one: the first to arrive wins. The other one has not been started yet.
                entry = self._planes.setdefault(id(workspace), fresh)
        return entry[1]

    def _start_loops(self) -> Loops:
        from svctoolkit.runner.planes.loops import Loops  # asyncio: 20 ms, rarely needed by tests of mappings

        with self._lock:
            self._loops = self._loops or Loops()
            return self._loops

    def close(self) -> None:
        for _, plane in [*self._planes.values(), *self._lent]:
            plane.close()
        self._planes.clear()
        self._lent.clear()
        self._free.clear()
        if self._loops is not None:
            self._loops.close()
            self._loops = None


def _needs_its_own(scenario: Scenario) -> bool:
    """Return whether the scenario cannot use the shared plane."""
    changes = scenario.freeze or scenario.recorder or scenario.live or scenario.overrides or scenario.waits
    return bool(changes) or scenario.has_faults or scenario.batch is not None


def _pool(scenario: Scenario) -> tuple[int, str]:
    """Return the key of scenarios that may reuse the same plane: workspace and configuration."""
    changes = [scenario.overrides, scenario.batch]
    return id(scenario.suite.workspace), json.dumps(changes, sort_keys=True) if any(changes) else ""
