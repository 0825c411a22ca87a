"""The calls of the Test API, in process, and what else can be asked about events and a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from svctoolkit.delivery import Recorder, calling
from svctoolkit.destinations import definitions
from svctoolkit.displayed import Displayed
from svctoolkit.errors import RequestError, ToolkitError, UsageError
from svctoolkit.events import RECORD, check
from svctoolkit.json_types import Json
from svctoolkit.pipeline.outside import message_ids
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.rules import takes_type
from svctoolkit.pipeline.run import run
from svctoolkit.pipeline.runtime import Runtime
from svctoolkit.pipeline.simulated import Simulated
from svctoolkit.pipeline.stages.stages import Stages, check_config, check_flag
from svctoolkit.pipeline.together import together
from svctoolkit.pipeline.warehouses import check_runs
from svctoolkit.results import DestinationResult, SharedDeliveries, SourceResult
from svctoolkit.workspace import Destination, Source, by_id

if TYPE_CHECKING:
    from svctoolkit.results.lineage import Lineage
    from svctoolkit.simulations import Level, Loss


class Pipeline(Runtime, Displayed):
    """Runs events through a workspace.

    `transport` responds to the requests of `send_to_destination`. Without one the workspace's delivery mode decides: in
    mode `record` it is `recorder`, which keeps every request and lets nothing leave the machine.
    `context` gives mappings their clock, ids and look-ups; by default look-ups also go through the transport.
    `loopback` is false if other machines can request deliveries: live delivery then refuses private
    targets unless `workspace.delivery.allow` lists them. With `coverage`, `user_code.coverage()` returns which lines
    of the user's code have run. As in RudderStack's Test API, warehouses and types without a mapping cannot be tested.
    With `exploring` they can: the tables of a warehouse are shown and loaded, `warehouse` returns them, and the user's
    code runs for a type without a mapping. `warehouses` are those to load, by default its own. `simulated` has the
    simulated servers, by default its own, and `simulate` is the level of destinations that do not set one (see
    `svctoolkit.simulations`).
    """

    def __repr__(self) -> str:
        mode = self.workspace.delivery.mode
        return f"<Pipeline of workspace {self.workspace.name!r}, delivery mode {mode}>"

    def test_destination(
        self,
        destination: str,
        event: Mapping[str, Json],
        *,
        stages: Stages | Mapping[str, bool] | None = None,
        config: Mapping[str, Json] | None = None,
        force: bool = False,
        run: str = "",
        simulate: Level | None = None,
    ) -> DestinationResult:
        """Verify one destination, named by key or id. `config` overrides its configuration key by key.

        `run` labels the requests in the recorder. `simulate` is the level at which its server is simulated in this
        test, whatever the destination says: the stage `send_to_destination` gets the simulated server's answer, and by
        default also runs. `lost` of the result is what that server lost.

        `stages` may also be the member `stage` of a request: `{"send_to_destination": True}`.

        Raises `RequestError`, as `TestApiClient` does for the same fault: `UnknownId`, `InvalidMessageType`,
        `InvalidConfig`, `Unsupported` (a type that cannot be tested, a warehouse, a type without a mapping), or itself
        for an argument of the wrong type. Raises `UsageError` if `simulate` has no effect in the workspace's delivery
        mode. Problems with the event itself are part of the result.
        """
        item = by_id("destination", destination, self.workspace.destinations)
        is_record = isinstance(event, Mapping) and event.get("type") == RECORD and takes_type(RECORD, item)
        if not is_record:
            check(event)
        chosen = _default(simulate) if stages is None else Stages.from_json(stages)
        overrides = {} if config is None else check_config(config)
        check_flag("force", force, "true or false")
        servers = self._servers(simulate)
        return self._destination(item, event, chosen, overrides, force, None, run, servers)

    def test_source(
        self,
        source: str,
        event: Mapping[str, Json],
        *,
        stages: Stages | Mapping[str, bool] | None = None,
        force: bool = False,
        run: str = "",
        simulate: Level | None = None,
    ) -> SourceResult:
        """Verify every destination that is connected to one source, named by key or id.

        Raises `RequestError`, as `TestApiClient` does: `UnknownId`, `InvalidMessageType`, or itself for a disabled
        source (without `force`), for one without destinations, and for an argument of the wrong type. If a destination
        cannot be tested, its own result has the reason. `simulate`: see `test_destination`.
        """
        item = by_id("source", source, self.workspace.sources)
        check(event)
        chosen = _default(simulate) if stages is None else Stages.from_json(stages)
        check_flag("force", force, "true or false")
        if not item.enabled and not force:
            raise RequestError(400, {"message": f"Source with {item.id} is disabled"})
        connected = self.workspace.destinations_of(item)
        if not connected:
            raise RequestError(400, {"message": f"Source with id {item.id} is not connected to any destination"})
        servers = self._servers(simulate)
        return SourceResult([self._of_source(d, event, chosen, force, item, run, servers) for d in connected])

    def _servers(self, level: Level | None) -> Simulated:
        """Return the simulated servers at a level. Raises `UsageError` if they would not be asked."""
        servers, mode = self.simulated.at(level), self.workspace.delivery.mode
        if level not in (None, "answers") and not isinstance(self.transport(), Recorder):
            raise UsageError(f"simulated servers answer in delivery mode `record` only; the mode is `{mode}`")
        return servers

    def _of_source(
        self,
        destination: Destination,
        event: Mapping[str, Any],
        stages: Stages,
        force: bool,
        source: Source,
        run: str,
        servers: Simulated,
    ) -> DestinationResult:
        try:
            return self._destination(destination, event, stages, None, force, source, run, servers)
        except ToolkitError as error:
            return DestinationResult(destination.id, destination.name, error=self.workspace.masker.text(str(error)))

    def _destination(
        self,
        destination: Destination,
        event: Mapping[str, Any],
        stages: Stages,
        config: Mapping[str, Any] | None,
        force: bool,
        source: Source | None,
        run_name: str,
        servers: Simulated,
    ) -> DestinationResult:
        if config:
            definitions.check_variables(destination.type, config)
        if not destination.enabled and not force:
            error = f"Destination with id {destination.id} is disabled"
            return DestinationResult(destination.id, destination.name, error=error)
        self._check_testable(destination.type, stages)
        to = self.route(destination, config)
        context, lookup = self.context_of(to), self.lookup_of(to, run_name, event, servers=servers)
        context = context if lookup is None else replace(context, lookup=lookup)
        sender = self.sender(to, run_name, event, servers=servers)
        watched: AbstractContextManager[list[Loss]] = nullcontext([])
        if stages.send_to_destination:
            watched = servers.watch(destination, run_name, message_ids([event]))
        with watched as lost, calling(run_name, destination.key):
            data = run(event, to, stages, sender, context, source, self.warehouses)
        head = destination.id, destination.name, destination.type
        return DestinationResult(
            *head,
            data,
            masker=to.masker,
            unmapped=to.unmapped if self.exploring else "",
            measure=lambda item: self._measure(item, to, source, servers),
            lost=tuple(lost),
        )

    def _check_testable(self, type: str, stages: Stages) -> None:
        """Raise `Unsupported` for a type that a test cannot run. The user's code alone needs no mapping."""
        if self.exploring:
            check_runs(type)
            return
        definitions.check_supported(type)
        if stages.dest_transform or stages.send_to_destination:
            definitions.check_mapped(type)

    def _measure(self, event: Mapping[str, Any], to: Route, source: Source | None, servers: Simulated) -> Lineage:
        from svctoolkit.pipeline.lineage import measure

        return measure(event, to, self.context_of(to), source, servers.level(to.destination))

    def deliveries(
        self,
        destination: str,
        events: Sequence[Mapping[str, Json]],
        *,
        jobs: int | None = None,
        source: str | None = None,
        config: Mapping[str, Json] | None = None,
        times: Sequence[datetime] | None = None,
    ) -> SharedDeliveries:
        """Return the requests for many events at one destination (key or id), as a data plane would send them.

        They show which events share a request, and why others do not. `jobs` is the number of jobs per call (by default
        the workspace's), `source` is where the events come from, `config` overrides the destination's configuration
        key by key. `times` has the current time for the mapping of each event. Nothing is sent.

        Raises `UnknownName`, `InvalidMessageType`, `InvalidConfig` or `Unsupported`.
        """
        item = self.workspace.destination(destination)
        definitions.check_supported(item.type)
        if config:
            definitions.check_variables(item.type, config)
        to, calls = self.route(item, config), self.workspace.delivery.batch
        size = jobs or (calls.jobs if calls else 1)
        sent_by = None if source is None else self.workspace.source(source)
        messages = [check(event) for event in events]
        context = self.context_of(to)
        contexts = [replace(context, clock=time.replace) for time in times or ()] or [context] * len(messages)
        requests = together(messages, to, size, self.sender(to), contexts, sent_by)
        return SharedDeliveries(item.key, [*requests], to.masker)

    def lineage(
        self,
        destination: str,
        event: Mapping[str, Json] | Iterable[Mapping[str, Json]],
        *,
        source: str | None = None,
        simulate: Level | None = None,
    ) -> Lineage:
        """Return where each field of a destination's payloads comes from, and where each event field goes.

        It is measured: the event runs again with one leaf changed or removed at a time, and the same for each setting.
        The user's code gets all of these events in one call. Of many events, one per shape is measured, and the
        result is the union over them. `destination` is a key or id, `source` is where the event comes from. Nothing is
        sent. The fields of a warehouse are its columns, `table.column`.

        If the destination's server is simulated (`simulate` overrides its level), the last stage says in which cells
        the values ended up, and by which rules the vendor loses others. It starts with an account that holds nothing.

        Raises `UnknownName`, `InvalidMessageType`, `InvalidConfig` or `Unsupported`.
        """
        from svctoolkit.pipeline.lineage import measure_many

        item = self.workspace.destination(destination)
        check_runs(item.type)
        servers = self.simulated.at(simulate)
        to, sent_by = self.route(item), None if source is None else self.workspace.source(source)
        if isinstance(event, Mapping):
            return self._measure(check(event), to, sent_by, servers)
        return measure_many(map(check, event), to, self.context_of(to), sent_by, servers.level(item))

    def webhook_events(self, source: str, request: Mapping[str, Json]) -> list[dict[str, Json]]:
        """Return the events that a webhook source (key or id) makes of a webhook, with what the gateway adds.

        `request` is the webhook, as `svctoolkit.sources.pack` returns it. Raises `UnknownName`, `UsageError` for a
        source of SDK events, and `InvalidWebhook` if the webhook is refused.
        """
        from svctoolkit.pipeline.webhooks import handle

        return handle(self.workspace.source(source), request, self.context.clock(), self.context.new_id).events

    def webhook_lineage(self, destination: str, request: Mapping[str, Json], *, source: str, event: int = 0) -> Lineage:
        """Return which members of a webhook each field of a destination's payloads comes from: `body.total_price`.

        `event` is the number of the webhook's event, from 0. Like `lineage`; raises also what `webhook_events` raises,
        and `UsageError` if the webhook has fewer events.
        """
        from svctoolkit.pipeline.webhooks import through_source

        events, sent_by, now = self.webhook_events(source, request), self.workspace.source(source), self.context.clock()
        if event >= len(events):
            raise UsageError(f"event {event} does not exist: the webhook becomes {len(events)} events")
        measured = self.lineage(destination, events[event], source=source)
        return through_source(measured, sent_by, request, event, now, self.workspace.masker)


def _default(simulate: Level | None) -> Stages:
    """Return the stages of a test that does not name any: a simulated server shows itself in the last one."""
    return Stages(send_to_destination=simulate not in (None, "answers"))
