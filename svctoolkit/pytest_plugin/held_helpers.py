"""Assertions about what simulated destinations hold and have lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from svctoolkit.json_types import Json
from svctoolkit.pytest_plugin import items

if TYPE_CHECKING:
    from svctoolkit.server import DataPlane


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
    data_plane.drain(timeout, run=run)
    hide = data_plane.workspace.masker.mask
    texts = [str(found.shorten(hide)) for found in runner.held_differences(destination, expected, server.state())]
    if texts:
        raise items.AssertionError("\n".join(texts))


def assert_nothing_lost(
    data_plane: DataPlane, *, destination: str = "", run: str | None = None, timeout: float = 30.0
) -> None:
    """Assert that no simulated destination (or not this one) has lost anything.

    The failure has a line for each loss, with the vendor's rule and its source.
    """
    __tracebackhide__ = True
    data_plane.drain(timeout, run=run or "")
    key = data_plane.workspace.destination(destination).key if destination else ""
    view = data_plane if run is None else data_plane.of_run(run)
    lost = [loss for loss in view.lost if not key or loss.destination == key]
    if lost:
        lines = [f"{loss.destination}: {', '.join(loss.events)}: {loss.text}" for loss in lost]
        raise items.AssertionError(data_plane.workspace.masker.mask("\n".join(lines)))
