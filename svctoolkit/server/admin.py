"""Changes to a running data plane: switches, a changed workspace file, replays of dead events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.errors import ConfigError, RequestError, ToolkitError, UnknownName
from svctoolkit.events.builders import iso
from svctoolkit.server.inspect.revisions import Revisions
from svctoolkit.server.web.json import refuse
from svctoolkit.server.web.operation import Handler, Operation, Parameter, ResponseDoc
from svctoolkit.server.web.requests import read_object
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import TrackingPlan, Workspace, forwarded_source

_LOG = logging.getLogger("svctoolkit.workspace")
_SECONDS = 0.5  # between two checks of the workspace file


class Switch(Struct, frozen=True, forbid_unknown_fields=True):
    """The state of a source or a destination."""

    enabled: bool


class Replay(Struct, frozen=True, forbid_unknown_fields=True):
    """Which events to retry."""

    status: Literal["dead", "failed"] = "dead"
    destination: Annotated[str, Meta(description="Key or id; without it, all destinations.")] = ""
    run: str = ""


class Replayed(Struct, frozen=True):
    """How many events are retried."""

    replayed: int


class Control:
    """Changes the workspace of an engine, one change at a time, and notifies the lanes.

    `revisions` are the workspaces that were replaced.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._lock = engine, Lock()
        self.revisions = Revisions(engine)

    @property
    def tracking_plans(self) -> list[TrackingPlan]:
        """Return the current tracking plans of the workspace."""
        return list(self._engine.workspace.tracking_plans.values())

    def enable(self, *, source: str | None = None, destination: str | None = None, enabled: bool) -> None:
        """Enable or disable a source or a destination. Raises `UnknownName`."""
        workspace = self._engine.workspace
        with self._lock:
            if source is not None:
                workspace.source(source).enabled = enabled
            if destination is not None:
                self._enable_destination(workspace.target_key(destination), enabled=enabled)
        self._engine.wake()
        self._engine.notifier.notify()

    def _enable_destination(self, key: str, *, enabled: bool) -> None:
        workspace = self._engine.workspace
        if key in workspace.destinations:
            workspace.destinations[key].enabled = enabled
            return
        source = forwarded_source(key, workspace.sources)
        if source is not None and source.forward is not None:
            source.forward = replace(source.forward, enabled=enabled)

    def replace(self, new: Workspace) -> None:
        """Copy the content of `new` into the workspace. The object stays the same, so all its users see the change."""
        workspace = self._engine.workspace
        members = {field.name: getattr(new, field.name) for field in fields(Workspace) if field.init}
        with self._lock:
            self.revisions.keep()
            # A source must never refer to a missing destination, not even briefly.
            workspace.destinations = workspace.destinations | new.destinations
            for name, value in members.items():
                setattr(workspace, name, value)
        self._engine.wake()
        self._engine.notifier.notify()

    def replay(self, status: str, destination: str, run: str) -> int:
        """Retry settled events of this status. Return how many. Raises `UnknownName`."""
        key = self._engine.workspace.target_key(destination) if destination else None
        return self._engine.replay([status], key, run or None)


class Reloader:
    """Reloads a workspace file when it changes. A file with mistakes is not used; `problem` says why. `at` is the
    time of the last reload, or empty if there was none.

    `adjust` may change the loaded workspace before it is used.
    """

    def __init__(
        self,
        file: Path,
        control: Control,
        adjust: Callable[[Workspace], object],
        clock: Callable[[], datetime],
    ) -> None:
        self.problem = self.at = ""
        self.file, self._clock = file, clock
        self._control, self._adjust = control, adjust
        self._last_stamp = self._stamp()
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="svctoolkit workspace", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_SECONDS):
            stamp = self._stamp()
            if stamp != self._last_stamp:
                self._last_stamp = stamp
                self._load()

    def _load(self) -> None:
        try:
            if self.file.is_fifo():  # reading would wait for a writer, perhaps forever
                raise ConfigError(f"{self.file}: is a pipe, and was read before; put a file there")
            workspace = Workspace.load(self.file)
            self._adjust(workspace)
            self._control.replace(workspace)
        except ToolkitError as error:
            self.problem = str(error)
            _LOG.error("the workspace file cannot be used; keeping the previous version:\n%s", error)
        else:
            self.problem, self.at = "", iso(self._clock())
            _LOG.info("the workspace file %s was reloaded", self.file)

    def _stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Return a stamp that changes with the file, one of its tracking plans, or a folder that contains those."""
        plans = [file for item in self._control.tracking_plans for file in item.project.files]
        return tuple(_stamp_of(path) for path in (self.file, *plans, *sorted({file.parent for file in plans})))


def _stamp_of(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


class Admin:
    """The operations under `/admin`. They always require credentials."""

    def __init__(self, control: Control, protected: Callable[[Handler], Handler]) -> None:
        self._control, self._protected = control, protected

    async def switch_source(self, request: Request) -> Response:
        return await self._switch(request, "source")

    async def switch_destination(self, request: Request) -> Response:
        return await self._switch(request, "destination")

    async def _switch(self, request: Request, kind: str) -> Response:
        raw, _ = await read_object(request)
        enabled = raw.get("enabled")
        if set(raw) != {"enabled"} or not isinstance(enabled, bool):
            refuse('the body must be {"enabled": true} or {"enabled": false}')
        try:
            target: dict[str, Any] = {kind: request.path_params["id"]}
            self._control.enable(**target, enabled=enabled)
        except UnknownName as error:
            raise RequestError(404, {"message": str(error)}) from error
        return json_response({"enabled": enabled})

    async def replay(self, request: Request) -> Response:
        raw, _ = await read_object(request)
        unknown = set(raw) - set(Replay.__struct_fields__)
        texts = {
            name: raw.get(name, default) for name, default in (("status", "dead"), ("destination", ""), ("run", ""))
        }
        if unknown or texts["status"] not in ("dead", "failed") or not all(isinstance(v, str) for v in texts.values()):
            refuse('the body may have "status" ("dead" or "failed"), "destination" and "run"')
        try:
            return json_response({"replayed": self._control.replay(**texts)})
        except UnknownName as error:
            raise RequestError(404, {"message": str(error)}) from error

    def operations(self, examples: Mapping[str, str]) -> list[Operation]:
        """Return the operations; `examples` has an id of a source and of a destination."""
        refusals = {
            400: ResponseDoc("The body is invalid.", (Refusal,)),
            401: ResponseDoc("Credentials are missing or wrong.", (Refusal,)),
            404: ResponseDoc("The source or destination does not exist.", (Refusal,)),
            413: ResponseDoc("The body is too large.", (Refusal,)),
            415: ResponseDoc("The Content-Type or the encoding is not supported.", (Refusal,)),
        }
        switches = (("source", self.switch_source), ("destination", self.switch_destination))
        switching = [
            Operation(
                method="POST",
                path=f"/admin/{kind}s/{{id:path}}",
                id=f"switch{kind.title()}",
                summary=f"Enable or disable a {kind}",
                description="Takes effect immediately. Events that wait for a disabled destination stay pending.",
                handle=self._protected(handle),
                login="token",
                parameters=(
                    Parameter(
                        "id", "path", f"Key or id of the {kind}.", {"type": "string", "minLength": 1}, examples[kind]
                    ),
                ),
                body=Switch,
                example=lambda: {"enabled": True},
                responses={200: ResponseDoc("The new state.", (Switch,)), **refusals},
            )
            for kind, handle in switches
        ]
        replay = Operation(
            method="POST",
            path="/admin/replay",
            id="replay",
            summary="Retry dead letters",
            description="Retries dead events, or with `failed` those that the destination refused.",
            handle=self._protected(self.replay),
            login="token",
            body=Replay,
            example=lambda: {"status": "dead"},
            responses={200: ResponseDoc("The number of events that are retried.", (Replayed,)), **refusals},
        )
        return [*switching, replay]
