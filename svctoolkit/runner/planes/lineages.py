"""Lineage for failures: measured when a report asks, once for each event at a destination."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING

import msgspec

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.runner.planes.recording import recording_workspace
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    from svctoolkit.destinations import Context
    from svctoolkit.pipeline import Pipeline
    from svctoolkit.pipeline.route import Route
    from svctoolkit.results.lineage import Lineage, Origin
    from svctoolkit.workspace import Source

_MOST = 100  # measurements of one run; each takes 0.1 s with user code


class Subject(msgspec.Struct, frozen=True):
    """An event at a destination (its key), as it was sent: from a source, with overridden settings."""

    workspace: Workspace
    destination: str
    event: Mapping[str, Json]
    source: str = ""
    config: Mapping[str, Json] | None = None

    def key(self) -> tuple[int, str]:
        """Return what identifies the measurement."""
        parts = [self.destination, self.event, self.source, dict(self.config or {})]
        return id(self.workspace), json.dumps(parts, sort_keys=True, default=str)


class Lineages:
    """Measures lineage in copies of the workspaces, in delivery mode `record`. Thread-safe.

    `measured` is how often it has done so. After `most` times, it measures nothing more: a run in which everything
    fails must still end soon.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most, self.measured = most, 0
        self._pipelines: dict[int, tuple[Workspace, Pipeline]] = {}
        self._whole: dict[tuple[int, str], Lineage | None] = {}
        self._code: dict[tuple[int, str], Sequence[Origin]] = {}
        self._lines: dict[tuple[object, ...], Origin] = {}
        self._lock = RLock()

    def lineage(self, subject: Subject) -> Lineage | None:
        """Return the lineage of an event; None if it cannot be measured."""
        from svctoolkit.pipeline.lineage import measure

        with self._lock:
            key = subject.key()
            if key not in self._whole:
                self._whole[key] = None
                if self.measured < self._most:
                    self.measured += 1
                    try:
                        self._whole[key] = measure(subject.event, *self._way(subject))
                    except ToolkitError:  # the scenario reports it
                        return None
            return self._whole[key]

    def code(self, subject: Subject) -> Sequence[Origin]:
        """Return the origins of the fields of the events that the user's code returns."""
        from svctoolkit.pipeline.lineage import measure_code

        with self._lock:
            key = subject.key()
            if key not in self._code:
                self._code[key] = ()
                if self.measured < self._most:
                    self.measured += 1
                    try:
                        route, _, source = self._way(subject)
                        self._code[key] = measure_code(subject.event, route, source)
                    except ToolkitError:
                        return ()
            return self._code[key]

    def located(self, subject: Subject, origin: Origin, *, in_code: bool) -> Origin:
        """Return the origin with the lines of user code that wrote its value."""
        from svctoolkit.pipeline.writers import locate

        with self._lock:
            key = subject.key(), origin.payload, origin.field, in_code
            if key not in self._lines:
                self._lines[key] = locate(origin, subject.event, *self._way(subject), in_code=in_code)
            return self._lines[key]

    def removal(self, subject: Subject, path: str) -> str:
        """Return the line of user code that removes a field of the event, or an empty text."""
        from svctoolkit.pipeline.writers import locate_removal

        with self._lock:
            route, _, source = self._way(subject)
            return locate_removal(path, subject.event, route, source)

    def _way(self, subject: Subject) -> tuple[Route, Context, Source | None]:
        pipeline = self._pipeline(subject.workspace)
        workspace = pipeline.workspace
        route = pipeline.route(workspace.destination(subject.destination), subject.config)
        source = workspace.source(subject.source) if subject.source else None
        return route, pipeline.context_of(route), source

    def _pipeline(self, workspace: Workspace) -> Pipeline:
        from svctoolkit.pipeline import Pipeline

        if id(workspace) not in self._pipelines:
            self._pipelines[id(workspace)] = workspace, Pipeline(recording_workspace(workspace))
        return self._pipelines[id(workspace)][1]
