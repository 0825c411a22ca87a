"""What a test uses of workspaces in files: a change of anything else cannot make it fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from svctoolkit.mutation import Change
from svctoolkit.pytest_plugin.items import ScenarioItem
from svctoolkit.pytest_plugin.strict import lent_plane
from svctoolkit.runner.suite.dependencies import items_of
from svctoolkit.server import DataPlane
from svctoolkit.workspace import Workspace

#: The items that a test uses (`destinations.hook`), by the file of their workspace; None for all of them.
Uses: TypeAlias = Mapping[str, Sequence[str] | None]
_ASKS_ALL = ("workspace", "run_scenario", "tracking_plan")


@dataclass(frozen=True, slots=True)
class Measured:
    """A test that ran without a change: its outcome, its failure, what it uses, and how many seconds it took."""

    id: str
    status: str
    text: str
    uses: Uses
    seconds: float

    def depends(self, change: Change, workspaces: Iterable[Workspace]) -> bool:
        """Return whether a change of one of the workspaces may change the outcome."""
        for workspace in workspaces:
            place = file_of(workspace)
            if place in self.uses and change.alteration.apply(workspace) is not workspace:
                items = self.uses[place]
                if items is None or change.items & set(items):
                    return True
        return False


def file_of(workspace: Workspace) -> str:
    """Return the absolute path of a workspace's file; an empty string without one."""
    return str(workspace.file.resolve()) if workspace.file else ""


def uses_of(item: pytest.Item, imported: Iterable[str], loaded: Sequence[str]) -> Uses:
    """Return what a test uses: call it while the test's fixtures exist.

    `imported` are the files of workspaces that its module loads, `loaded` those that the test itself has loaded. A test
    uses everything in them. Only if it has nothing but a data plane, and sends events, it uses just the destinations
    that these events may reach.
    """
    if isinstance(item, ScenarioItem):
        return {file_of(item.scenario.suite.workspace): sorted(items_of(item.scenario))}
    uses: dict[str, Sequence[str] | None] = dict.fromkeys([*imported, *loaded])
    plane = lent_plane(item)
    if plane is not None:
        place = file_of(plane.workspace)
        asks_all = set(_ASKS_ALL) & set(_arguments(item)) or loaded.count(place) > 1
        uses[place] = None if asks_all else _reached(plane)
    return uses


def _arguments(item: pytest.Item) -> Sequence[str]:
    """Return the fixtures that a test function names itself."""
    function = getattr(item, "function", None)
    code = getattr(function, "__code__", None)
    return code.co_varnames[: code.co_argcount] if code is not None else _ASKS_ALL


def _reached(plane: DataPlane) -> list[str] | None:
    """Return the items that the events of a data plane may reach; None without events."""
    workspace = plane.workspace
    sources = {received.source for received in plane.received}
    if not sources:
        return None
    keys = {connection.destination for key in sources for connection in workspace.sources[key].connections}
    destinations = [workspace.destination(key) for key in keys]
    return sorted(
        {
            *(f"sources.{key}" for key in workspace.sources),
            *(f"trackingPlans.{key}" for key in workspace.tracking_plans),
            *(f"libraries.{key}" for key in workspace.libraries),
            *(f"destinations.{destination.key}" for destination in destinations),
            *(f"transformations.{d.transformation}" for d in destinations if d.transformation),
        }
    )
