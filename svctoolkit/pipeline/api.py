"""The two calls of the Test API, in process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit import events
from svctoolkit.delivery import Recorder, Sender, Transport, live
from svctoolkit.destinations import Context, definitions
from svctoolkit.errors import RequestError, ToolkitError, Unsupported
from svctoolkit.pipeline.route import route
from svctoolkit.pipeline.run import Stages, run
from svctoolkit.results import DestinationResult, SourceResult
from svctoolkit.transformations import CallableTransformation, Runnable
from svctoolkit.workspace import Destination, Workspace


class Pipeline:
    """Runs events through a workspace.

    `transport` answers the requests of `send_to_destination`. Without one the workspace's delivery mode decides: in
    mode `record` that is `recorder`, which keeps every request and lets nothing leave the machine.
    `context` gives mappings their clock, ids and look-ups. `loopback` is false where other machines can ask for events
    to be sent: live delivery then refuses private targets unless `workspace.delivery.allow` lists them.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        transport: Transport | None = None,
        context: Context | None = None,
        loopback: bool = True,
    ) -> None:
        self.workspace = workspace
        self.recorder = Recorder()
        self._transport, self._context, self._loopback = transport, context or Context(), loopback

    def test_destination(
        self,
        destination: str,
        event: Mapping[str, Any],
        *,
        stages: Stages | None = None,
        config: Mapping[str, Any] | None = None,
        force: bool = False,
    ) -> DestinationResult:
        """Verify one destination, named by key or id. `config` overrides its configuration key by key.

        Raises `UnknownName`, `InvalidMessageType`, `InvalidConfig` or `Unsupported`; what goes wrong with the event
        itself stands in the result.
        """
        found = self.workspace.destination(destination)
        return self._destination(found, events.check(event), stages or Stages(), config, force, "")

    def test_source(
        self, source: str, event: Mapping[str, Any], *, stages: Stages | None = None, force: bool = False
    ) -> SourceResult:
        """Verify every destination that is connected to one source, named by key or id.

        Raises `UnknownName`, `InvalidMessageType`, or `RequestError` for a disabled source (without `force`) and for
        one without destinations. A destination that cannot be tested has its reason in its own result.
        """
        found = self.workspace.source(source)
        events.check(event)
        if not found.enabled and not force:
            raise RequestError(400, {"message": f"Source with {found.id} is disabled"})
        connected = self.workspace.connected(found)
        if not connected:
            raise RequestError(400, {"message": f"Source with id {found.id} is not connected to any destination"})
        chosen = stages or Stages()
        return SourceResult([self._of_source(d, event, chosen, force, found.id) for d in connected])

    def _of_source(
        self, destination: Destination, event: Mapping[str, Any], stages: Stages, force: bool, source_id: str
    ) -> DestinationResult:
        try:
            return self._destination(destination, event, stages, None, force, source_id)
        except ToolkitError as error:
            return DestinationResult(destination.id, destination.name, error=str(error))

    def _destination(
        self,
        destination: Destination,
        event: Mapping[str, Any],
        stages: Stages,
        config: Mapping[str, Any] | None,
        force: bool,
        source_id: str,
    ) -> DestinationResult:
        if config:
            definitions.check_variables(destination.type, config)
        if not destination.enabled and not force:
            error = f"Destination with id {destination.id} is disabled"
            return DestinationResult(destination.id, destination.name, error=error)
        way = route(destination, self._runnable(destination), config)
        data = run(event, way, stages, self.sender(), self._context, source_id)
        return DestinationResult(destination.id, destination.name, destination.type, data, masker=way.masker)

    def sender(self) -> Sender:
        """What stage 3 sends with, by the workspace's delivery mode as it is now."""
        delivery = self.workspace.delivery
        transport = self._transport
        if transport is None and delivery.mode == "record":
            transport = self.recorder
        elif transport is None:
            transport = live.shared(tuple(delivery.allow), loopback=self._loopback)
        return Sender(transport, timeout=delivery.timeout)

    def _runnable(self, destination: Destination) -> Runnable | None:
        if destination.transformation is None:
            return None
        found = self.workspace.transformation(destination.transformation)
        if found.function is None:
            raise Unsupported(
                f"transformation {found.key!r} is code in a file; this version runs Python functions only"
            )
        return CallableTransformation(found.function)
