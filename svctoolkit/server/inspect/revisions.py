"""The revisions of a data plane's workspace: an event is measured with the one that it was sent by."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

from svctoolkit.delivery import Recorder
from svctoolkit.delivery.faults import FaultSettings
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import UserCode, Workspace

_MOST = 8  # replaced workspaces: each may have megabytes of code


class Revision(NamedTuple):
    """A workspace. `until` is when it was replaced, None for the current one."""

    workspace: Workspace
    number: int
    until: datetime | None


class Revisions:
    """The workspaces that were in use since the start, the last few of them. Thread-safe.

    Changes of a workspace in place, by code that has the object, make no revision.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._lock = engine, Lock()
        self._since, self._number = engine.clock(), 0
        self._replaced = deque[Revision]()

    def keep(self) -> None:
        """Keep the current workspace, which is replaced now."""
        workspace, now = self._engine.workspace, self._engine.clock()
        with self._lock:
            # A copy with the same items: the object itself gets those of the next revision.
            self._replaced.append(Revision(workspace.in_mode(workspace.delivery.mode), self._number, now))
            self._number += 1
            if len(self._replaced) > _MOST:
                self._since = self._replaced.popleft().until or self._since

    def current(self) -> Revision:
        """Return the current revision."""
        with self._lock:
            return Revision(self._engine.workspace, self._number, None)

    def between(self, first: datetime, last: datetime) -> list[Revision]:
        """Return the revisions that were in use in this period, the last one first; empty if they are not known."""
        current = self.current()
        with self._lock:
            if last < self._since:
                return []
            used = [one for one in self._replaced if one.until is not None and first <= one.until]
        later = next((number for number, one in enumerate(used) if one.until is not None and last <= one.until), None)
        return [*used, current][::-1] if later is None else used[: later + 1][::-1]


# Any: values that are only compared
def dependencies(workspace: Workspace, key: str) -> tuple[Any, ...]:
    """Return what the payloads of a destination depend on, to be compared with that of another revision or time."""
    destination = workspace.destinations.get(key)
    if destination is None:
        return ()
    transformation = workspace.transformations.get(destination.transformation or "")
    code = transformation and UserCode(workspace, Recorder()).source(transformation)
    # A copy: the configuration may be changed in place.
    return destination.type, deepcopy(destination.config), code


def unsent(workspace: Workspace) -> Pipeline:
    """Return a pipeline that runs events again. It sends nothing, also for user code of a live workspace."""
    copy = workspace.in_mode("record")
    copy.faults = FaultSettings()
    return Pipeline(copy)
