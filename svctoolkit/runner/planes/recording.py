"""The workspace as suites run it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svctoolkit.delivery.faults import FaultSettings
from svctoolkit.runner.suite.model import calls_of
from svctoolkit.workspace import Connection, Destination, Workspace

if TYPE_CHECKING:
    from svctoolkit.runner.suite.model import Scenario


def transformation_id(key: str) -> str:
    """Return the id of the destination that is added for testing a transformation alone."""
    return f"transformation alone: {key}"


def recording_workspace(workspace: Workspace, scenario: Scenario | None = None) -> Workspace:
    """Return the workspace as suites run it: only a live scenario's destination receives requests.

    Every transformation gets its own destination, so that it can be tested alone.
    """
    live = scenario.live if scenario else None
    recording = workspace.in_mode("live" if live else "record")
    if scenario is not None and scenario.batch is not None:
        recording.delivery = replace(recording.delivery, batch=calls_of(scenario.batch))
    if recording.delivery.batch:  # a call waits for all of its events, so that requests do not depend on timing
        together = replace(recording.delivery.batch, wait=float("inf"))
        recording.delivery = replace(recording.delivery, batch=together)
    # Suites meet only the faults that a scenario names: those of `serve` would make other scenarios fail.
    recording.faults = FaultSettings(workspace.faults.profiles)
    # Events of tests must not reach a real data plane.
    if any(source.forward for source in workspace.sources.values()):
        recording.sources = {key: replace(source, forward=None) for key, source in workspace.sources.items()}
    recording.destinations = dict(workspace.destinations)
    for key in workspace.transformations:
        id = transformation_id(key)
        config = {"webhookUrl": "https://transformation.invalid/"}
        # A webhook sends the event unchanged, so its payload shows the transformation alone.
        recording.destinations[id] = Destination(id, id, key, "WEBHOOK", config=config, transformation=key)
    for key, override in (scenario.overrides if scenario else {}).items():
        destination = recording.destinations[key]
        recording.destinations[key] = replace(destination, config={**destination.config, **override})
    if live and live.destination:
        chosen = workspace.destination(live.destination).key
        recording.sources = {
            key: replace(
                s, connections=[Connection(c.destination, c.enabled and c.destination == chosen) for c in s.connections]
            )
            for key, s in recording.sources.items()
        }
    return recording
