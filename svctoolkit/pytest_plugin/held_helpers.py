"""Assertions about what simulated destinations hold and have lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from svctoolkit.json_types import Json
from svctoolkit.pytest_plugin import items
from svctoolkit.pytest_plugin.waiting import require_arrivals, settled

if TYPE_CHECKING:
    from svctoolkit.server import DataPlane
    from svctoolkit.server.inspect.views import View


def assert_held(
    data_plane: DataPlane, destination: str, expected: Mapping[str, Json], *, run: str = "", timeout: float = 30.0
) -> None:
    """Assert what a simulated destination holds: rows by table, `counts` and `nobody`, as `holds` in a suite.

    It first waits up to `timeout` seconds until no event is in progress. The failure names the nearest row, and the
    rules by which records were lost. Raises `UsageError` for a destination that is not simulated or an unknown table.
    """
    __tracebackhide__ = True
    from svctoolkit import runner
    from svctoolkit.errors import UsageError

    server = data_plane.simulation(destination, run=run)
    for name in [name for name in expected if name not in (*server.tables, "counts", "nobody")]:
        raise UsageError(f"{destination} has no simulated table {name!r}; it has {', '.join(server.tables)}")
    view = settled(data_plane, run or None, timeout)
    state = data_plane.simulation(destination, run=run).state()
    if not any(state["tables"].values()) and not data_plane.regulations:
        _require_evidence(expected, state, view, data_plane.workspace.destination(destination).key)
    hide = data_plane.workspace.masker.mask
    texts = [str(found.shorten(hide)) for found in runner.held_differences(destination, expected, state)]
    if texts:
        raise items.AssertionError("\n".join(texts))


def _require_evidence(expected: Mapping[str, Json], empty: Mapping[str, Json], view: View, key: str) -> None:
    """Refuse an expectation that an empty server meets before anything has arrived there."""
    __tracebackhide__ = True
    from svctoolkit import runner

    if not runner.held_differences(key, expected, empty):
        require_arrivals(view, [key], "held")


def assert_nothing_lost(
    data_plane: DataPlane, *, destination: str = "", run: str | None = None, timeout: float = 30.0
) -> None:
    """Assert that no simulated destination (or not this one) has lost anything.

    The failure has a line for each loss, with the vendor's rule and its source. Raises `UsageError` if no such
    destination is simulated.
    """
    __tracebackhide__ = True
    from svctoolkit.errors import UsageError

    workspace = data_plane.workspace
    key = workspace.destination(destination).key if destination else ""
    simulated = [k for k, d in workspace.destinations.items() if workspace.simulation_level(d) != "answers"]
    if not simulated or (key and key not in simulated):
        which = f"destination {key!r} is not simulated" if key else "no destination is simulated"
        raise UsageError(f"{which}, so nothing can be lost there: set `simulate: simulated`")
    view = settled(data_plane, run, timeout)
    require_arrivals(view, [key] if key else simulated, "lost")
    lost = [loss for loss in view.lost if not key or loss.destination == key]
    if lost:
        lines = [f"{loss.destination}: {', '.join(loss.events)}: {loss.text}" for loss in lost]
        raise items.AssertionError(data_plane.workspace.masker.mask("\n".join(lines)))
