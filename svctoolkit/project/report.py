"""Which parts of an imported workspace run locally, which do not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.errors import Problem, ToolkitError, UnknownName
from svctoolkit.workspace import Destination, Source, TrackingPlan, Workspace


@dataclass(frozen=True, slots=True)
class Report:
    """Result of an import.

    `states` says what will happen to the events of each destination (by key); `missing` lists code that was not found,
    `unknown` unsupported parts of the export with their positions, `files` the written files. `scenarios` is the number
    of generated scenarios.
    """

    workspace: Workspace
    states: dict[str, str]
    missing: Sequence[str] = ()
    unknown: Sequence[Problem] = ()
    files: Sequence[Path] = field(default_factory=list)
    scenarios: int = 0

    def text(self) -> str:
        """Return the report for a terminal: one line per destination, then what is left to do."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        workspace = self.workspace
        sources, destinations = len(workspace.sources), len(workspace.destinations)
        yield f"workspace {workspace.name}: sources {sources}, destinations {destinations}"
        for key, item in workspace.transformations.items():
            if item.code and not any(d.transformation == key for d in workspace.destinations.values()):
                yield f"  transformation {key}: not used by any destination"
        for key, plan in workspace.tracking_plans.items():
            checked = [s.key for s in workspace.sources.values() if _checks(workspace, s, plan)]
            yield f"  tracking plan {key}: {len(plan.chosen.rules)} events; checks {', '.join(checked) or 'no source'}"
        width = max(map(len, self.states), default=0)
        for key, state in self.states.items():
            yield f"  {key:<{width}}  {workspace.destinations[key].type:<20}  {state}"
        if self.missing:
            yield ""
            yield "code missing from the export; add it with --code FILE_OR_FOLDER, named by id or version:"
            yield from (f"  {name}" for name in self.missing)
        if self.unknown:
            yield ""
            yield "not supported here (kept unchanged), or missing from the export:"
            yield from (f"  {problem}" for problem in self.unknown)


def _checks(workspace: Workspace, source: Source, plan: TrackingPlan) -> bool:
    link = workspace.plan_link(source)
    return link is not None and link.plan is not None and link.plan.id == plan.chosen.id


def states(workspace: Workspace) -> dict[str, str]:
    """Return what will happen to events at each destination."""
    connected = {c.destination for source in workspace.sources.values() for c in source.connections if c.enabled}
    return {
        key: _state(workspace, destination, key in connected) for key, destination in workspace.destinations.items()
    }


def _state(workspace: Workspace, destination: Destination, connected: bool) -> str:
    if not destination.enabled:
        return "disabled"
    transformation = workspace.transformations.get(destination.transformation or "")
    if transformation is not None and not transformation.code:
        return f"waits for the code of transformation {transformation.id}"
    try:
        reason = definitions.reason_unsent(destination.type, destination.config, workspace.delivery.mode)
        if destination.type in CATALOGUE and not reason:
            CATALOGUE[destination.type].prepare(destination.config)
    except UnknownName:
        return "unknown destination type"
    except ToolkitError as error:
        return f"invalid settings: {workspace.masker.text(str(error)).splitlines()[0]}"
    if reason:
        return f"user code only: {reason}" if transformation else reason
    return "runs" if connected else "runs; no source is connected"
