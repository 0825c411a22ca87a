"""Which scenarios depend on an input: for `--changed`, `--watch` and `svctoolkit mutate`.

An input is a file, or an item of a workspace: `destinations.hook`, `sources.web`, `transformations.clean`,
`libraries.money`, `trackingPlans.shop`. Everything else in a workspace affects all of its scenarios.

    dependents(scenarios, items=["transformations.clean"])
    dependents(scenarios, files=[Path("plan.json")])

Files are recorded when they are read (`svctoolkit.inputs`): a suite's in `Suite.inputs`, those of single scenarios
(fixtures, rows, schemas) in `Scenario.inputs`, those of items in `Workspace.inputs`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import UNSET

from svctoolkit.inputs import Inputs
from svctoolkit.runner.suite.deletions import deleted_at
from svctoolkit.runner.suite.model import Scenario, Step, Suite
from svctoolkit.workspace import Workspace

#: Sections of a workspace in which a scenario depends on single items. Any other section affects all scenarios.
SECTIONS: Final = ("sources", "destinations", "transformations", "libraries", "trackingPlans")


def dependents(
    scenarios: Sequence[Scenario], *, items: Collection[str] = (), files: Iterable[Path] = ()
) -> list[Scenario]:
    """Return the scenarios that depend on any of these items or files, in their order.

    A scenario that may depend on one is included: one that is left out has the same outcome with and without the input.
    """
    paths = {Path(name(file)) for file in files for name in (os.path.abspath, os.path.realpath)}
    wanted = {suite: _touched(suite, paths) for suite in dict.fromkeys(s.suite for s in scenarios)}
    return [
        scenario
        for scenario in scenarios
        if (touched := wanted[scenario.suite]) is None
        or (touched | set(items)) & items_of(scenario)
        or touches(scenario, paths)
    ]


def _touched(suite: Suite, paths: set[Path]) -> set[str] | None:
    """Return the items that were read from any of the paths; None if the whole suite depends on one."""
    return None if suite.inputs.touched(paths) else touched_items(suite.workspace, paths)


def touched_items(workspace: Workspace, paths: set[Path]) -> set[str]:
    """Return the items of a workspace that were read from any of the absolute paths."""
    return {item for item, read in workspace.inputs.items() if item and read.touched(paths)}


def touches(scenario: Scenario, paths: set[Path]) -> bool:
    """Return whether any of the absolute paths is an input of this scenario alone: a fixture, rows, a snapshot."""
    folder = Path(os.path.abspath(scenario.suite.snapshot_folder))
    # Snapshots are read when the scenario runs, which may be for the first time.
    snapshot = any(path.parent == folder and path.name.startswith(f"{scenario.id}.") for path in paths)
    return snapshot or bool(scenario.inputs.touched(paths))


def inputs_of(scenario: Scenario) -> list[Inputs]:
    """Return everything that a scenario was loaded from: its suite's inputs, those of items, and its own."""
    of_items = scenario.suite.workspace.inputs
    items = [of_items[item] for item in items_of(scenario) if item in of_items] if of_items.keys() - {""} else []
    return [scenario.suite.inputs, *items, scenario.inputs]


def items_of(scenario: Scenario) -> set[str]:
    """Return the items of the workspace that a scenario depends on, such as `destinations.hook`."""
    workspace = scenario.suite.workspace
    items = set[str]()
    for step in (*scenario.setup, *scenario.steps, *scenario.teardown):
        items.update(_of_step(step, workspace))
    if scenario.live and scenario.live.destination:
        items.update(_of_destination(workspace.destination(scenario.live.destination).key, workspace))
    if _conforms(scenario):
        items.update(f"trackingPlans.{key}" for key in workspace.tracking_plans)
    return items


def _conforms(scenario: Scenario) -> bool:
    """Return whether an expectation has `$conforms`, which looks for its event in all plans."""
    if "$conforms" not in scenario.suite.document.text:
        return False
    written = [*(step.expect for step in scenario.steps), *(each.operand for each in scenario.invariants)]
    return "$conforms" in str(written)


def _of_step(step: Step, workspace: Workspace) -> Iterator[str]:
    spec = step.spec
    if step.kind == "transformation":
        yield from _of_transformation(workspace.transformation(str(spec.transformation)).key, workspace)
    elif step.kind == "verify" and spec.destination is not UNSET:
        yield from _of_destination(workspace.destination(spec.destination).key, workspace)
    elif step.kind == "delete":
        chosen = deleted_at(spec)
        for name in workspace.destinations if chosen is None else chosen:
            yield from _of_destination(workspace.destination(name).key, workspace)
    elif step.kind in ("verify", "send") and spec.source is not UNSET:
        yield from _of_source(workspace.source(spec.source).key, workspace)
    else:  # a raw request may name any of them
        for key in workspace.sources:
            yield from _of_source(key, workspace)
        for key in workspace.destinations:
            yield from _of_destination(key, workspace)
        for key in workspace.transformations:
            yield from _of_transformation(key, workspace)


def _of_source(key: str, workspace: Workspace) -> Iterator[str]:
    source = workspace.sources[key]
    yield f"sources.{key}"
    for name, plan in workspace.tracking_plans.items():
        # A project of rudder-cli may link its plans to sources; others are named by the source.
        may_link = plan.format in (None, "rudder-cli") and plan.path is not None and not plan.path.suffix
        if source.tracking_plan == name or (source.tracking_plan is None and may_link):
            yield f"trackingPlans.{name}"
    for destination in workspace.destinations_of(source):
        yield from _of_destination(destination.key, workspace)


def _of_destination(key: str, workspace: Workspace) -> Iterator[str]:
    """Yield a destination, its code, and its sources: a warehouse names its tables after them."""
    destination = workspace.destinations[key]
    yield f"destinations.{key}"
    for source in workspace.sources.values():
        if any(connection.destination in (key, destination.id) for connection in source.connections):
            yield f"sources.{source.key}"
    if destination.transformation is not None:
        yield from _of_transformation(destination.transformation, workspace)


def _of_transformation(key: str, workspace: Workspace) -> Iterator[str]:
    """Yield a transformation and all libraries: imports are not parsed."""
    yield f"transformations.{key}"
    yield from (f"libraries.{name}" for name in workspace.libraries)
