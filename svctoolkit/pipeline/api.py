"""The two calls of the Test API, in process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from svctoolkit.delivery import Recorder, Sender, Transport, calling
from svctoolkit.delivery.faults import FaultInjector
from svctoolkit.delivery.faults.arrival import reach
from svctoolkit.destinations import Context, Lookup, definitions
from svctoolkit.displayed import Displayed
from svctoolkit.errors import RequestError, ToolkitError, UsageError
from svctoolkit.events import RECORD, check
from svctoolkit.json_types import Json
from svctoolkit.pipeline.outside import account_metadata, lookup_at, lookup_through, message_ids, transport_of
from svctoolkit.pipeline.route import Route, Routes, route
from svctoolkit.pipeline.rules import takes_type
from svctoolkit.pipeline.run import run
from svctoolkit.pipeline.simulated import HeldChanges, Simulated
from svctoolkit.pipeline.stages.stages import Stages
from svctoolkit.pipeline.together import together
from svctoolkit.pipeline.warehouses import Warehouses, check_runs
from svctoolkit.results import DestinationResult, SharedDeliveries, SourceResult
from svctoolkit.workspace import Destination, Source, UserCode, Workspace, config_secrets, require_trust

if TYPE_CHECKING:
    from svctoolkit.results.lineage import Lineage
    from svctoolkit.simulations import Level, Loss, SimulatedServer
    from svctoolkit.warehouse import Warehouse

_MOST_OVERRIDES = 10_000  # secrets of overrides to remember; the recorder keeps the same number of requests


class Pipeline(Displayed):
    """Runs events through a workspace.

    `transport` responds to the requests of `send_to_destination`. Without one the workspace's delivery mode decides: in
    mode `record` it is `recorder`, which keeps every request and lets nothing leave the machine.
    `context` gives mappings their clock, ids and look-ups; by default look-ups also go through the transport.
    `loopback` is false if other machines can request deliveries: live delivery then refuses private
    targets unless `workspace.delivery.allow` lists them. With `coverage`, `user_code.coverage()` returns which lines
    of the user's code have run. Events for warehouse destinations are loaded, and `warehouse` returns their tables.
    With `warehouses`, those are used, and as in RudderStack, warehouses cannot be tested. `simulated` has the
    simulated servers, by default its own, and `simulate` is the level of destinations that do not set one (see
    `svctoolkit.simulations`).
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        transport: Transport | None = None,
        context: Context | None = None,
        loopback: bool = True,
        coverage: bool = False,
        warehouses: Warehouses | None = None,
        simulated: Simulated | None = None,
        simulate: Level | None = None,
    ) -> None:
        require_trust(workspace)
        self.workspace = workspace
        self._override_secrets: deque[str] = deque(maxlen=_MOST_OVERRIDES)
        #: the fault profiles that are switched on
        self.faults = FaultInjector(lambda: workspace.faults)
        self.recorder = Recorder(secrets=self._secrets, faults=self.faults)
        self.user_code = UserCode(workspace, self.recorder, transport=transport, loopback=loopback, coverage=coverage)
        given_context, self._looks_up = context or Context(), False
        if given_context.lookup is Context().lookup:
            given_context = replace(given_context, lookup=lookup_through(self.sender))
            self._looks_up = True
        self.context = given_context
        self.loopback = loopback
        self._routes = Routes(workspace, self.user_code)
        self._is_service = warehouses is not None
        self.warehouses = warehouses or Warehouses(workspace, clock=self.context.clock)
        #: the simulated servers of its destinations
        self.simulated = simulated or Simulated(workspace, self.context.clock, level=simulate)
        self._transport = transport
        self._last_transport: tuple[object, Transport] | None = None  # cached: a data plane needs it for every attempt

    def __repr__(self) -> str:
        mode = self.workspace.delivery.mode
        return f"<Pipeline of workspace {self.workspace.name!r}, delivery mode {mode}>"

    def test_destination(
        self,
        destination: str,
        event: Mapping[str, Json],
        *,
        stages: Stages | None = None,
        config: Mapping[str, Json] | None = None,
        force: bool = False,
        run: str = "",
        simulate: Level | None = None,
    ) -> DestinationResult:
        """Verify one destination, named by key or id. `config` overrides its configuration key by key.

        `run` labels the requests in the recorder. `simulate` is the level at which its server is simulated in this
        test, whatever the destination says: the stage `send_to_destination` gets the simulated server's answer, and by
        default also runs. `lost` of the result is what that server lost.

        Raises `UnknownName`, `InvalidMessageType`, `InvalidConfig` or `Unsupported`, and `UsageError` if `simulate` has
        no effect in the workspace's delivery mode; problems with the event itself are part of the result.
        """
        item = self.workspace.destination(destination)
        servers = self._servers(simulate)
        is_record = isinstance(event, Mapping) and event.get("type") == RECORD and takes_type(RECORD, item)
        return self._destination(
            item, event if is_record else check(event), stages or _default(simulate), config, force, None, run, servers
        )

    def test_source(
        self,
        source: str,
        event: Mapping[str, Json],
        *,
        stages: Stages | None = None,
        force: bool = False,
        run: str = "",
        simulate: Level | None = None,
    ) -> SourceResult:
        """Verify every destination that is connected to one source, named by key or id.

        Raises `UnknownName`, `InvalidMessageType`, or `RequestError` for a disabled source (without `force`) and for
        one without destinations. If a destination cannot be tested, its own result has the reason. `simulate`: see
        `test_destination`.
        """
        item = self.workspace.source(source)
        check(event)
        if not item.enabled and not force:
            raise RequestError(400, {"message": f"Source with {item.id} is disabled"})
        connected = self.workspace.destinations_of(item)
        if not connected:
            raise RequestError(400, {"message": f"Source with id {item.id} is not connected to any destination"})
        chosen, servers = stages or _default(simulate), self._servers(simulate)
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
        self._check_runs(destination.type)
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
            unmapped=to.unmapped,
            measure=lambda item: self._measure(item, to, source, servers),
            lost=tuple(lost),
        )

    def _measure(self, event: Mapping[str, Any], to: Route, source: Source | None, servers: Simulated) -> Lineage:
        from svctoolkit.pipeline.lineage import measure

        return measure(event, to, self.context_of(to), source, servers.level(to.destination))

    def _check_runs(self, type: str) -> None:
        (definitions.check_supported if self._is_service else check_runs)(type)

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
        self._check_runs(item.type)
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

    def route(self, destination: Destination, config: Mapping[str, Json] | None = None) -> Route:
        """Return the route to a destination in the current workspace; `config` overrides its configuration key by key.

        Without `config` the route, with its mapping, is cached until something that it depends on changes. Raises what
        `svctoolkit.pipeline.route` raises.
        """
        if config:
            self._override_secrets.extend(config_secrets(destination.type, config))
            return route(self.workspace, destination, self.user_code, config)
        return self._routes.route(destination)

    def simulation(self, destination: str, *, run: str = "") -> SimulatedServer:
        """Return the simulated server of a destination (key or id), with what it holds in a run.

        Raises `UnknownName`, or `UsageError` if the destination is not simulated.
        """
        return self.simulated.server(self.workspace.destination(destination), run)

    def warehouse(self, destination: str) -> Warehouse:
        """Return the tables of a warehouse destination (key or id). Raises `UnknownName`, also for another type."""
        return self.warehouses.warehouse(destination)

    def _secrets(self) -> Iterator[str]:
        """Yield the strings to mask in recorded requests."""
        yield from self.workspace.secrets()
        yield from list(self._override_secrets)

    @property
    def given_transport(self) -> Transport | None:
        """The transport that it was created with; None if the delivery mode decides."""
        return self._transport

    def transport(self) -> Transport:
        """Return what responds to the requests of stage 3, by the workspace's current delivery mode."""
        if self._transport is not None:
            return self._transport
        delivery = self.workspace.delivery
        setting = (delivery.mode, tuple(delivery.allow), delivery.cassette, self.workspace.folder)
        if self._last_transport is None or self._last_transport[0] != setting:
            transport = self.workspace.transport(self.recorder, loopback=self.loopback)
            self._last_transport = setting, transport
        return self._last_transport[1]

    def transport_to(
        self,
        route: Route,
        run: str = "",
        events: tuple[str, ...] = (),
        changed: Callable[[HeldChanges], None] = lambda _: None,
        *,
        servers: Simulated | None = None,
    ) -> Transport:
        """Return what responds to the requests for a destination, by the delivery mode and its fault profile.

        `changed` gets what a request changed at a simulated server whose state is stored.
        """
        transport = self.transport()
        if isinstance(transport, Recorder):
            return transport_of(route, transport, run, servers or self.simulated, events, changed)
        key, sleep = route.destination.key, self.recorder.sleep
        return partial(reach, transport, faults=self.faults, destination=key, run=run, sleep=sleep)

    def context_of(self, route: Route) -> Context:
        """Return the context for a route's mapping, including the data of the destination's account."""
        account = account_metadata(self.workspace, route.destination)
        return replace(self.context, metadata={**self.context.metadata, **account}) if account else self.context

    def lookup_of(
        self,
        route: Route,
        run: str,
        event: Mapping[str, Json],
        changed: Callable[[HeldChanges], None] = lambda _: None,
        *,
        servers: Simulated | None = None,
    ) -> Lookup | None:
        """Return look-ups for the mapping of an event that the destination's simulated server answers.

        None if it has none. `changed` gets what the look-ups changed there.
        """
        simulated = servers or self.simulated
        if not self._looks_up or not simulated.is_simulated(route.destination):
            return None
        transport = self.transport()
        if not isinstance(transport, Recorder):
            return None
        return partial(_look_up, route, transport, simulated, run, event, changed)

    def sender(
        self,
        route: Route | None = None,
        run: str = "",
        event: Mapping[str, Json] | None = None,
        *,
        servers: Simulated | None = None,
    ) -> Sender:
        """Return the sender of stage 3. With a route, mode `record` responds like that destination's server.

        `event` is the one whose requests are sent.
        """
        events = message_ids([event] if event else [])
        transport = self.transport() if route is None else self.transport_to(route, run, events, servers=servers)
        return Sender(transport, timeout=self.workspace.delivery.timeout)


def _default(simulate: Level | None) -> Stages:
    """Return the stages of a test that does not name any: a simulated server shows itself in the last one."""
    return Stages(send_to_destination=simulate not in (None, "answers"))


def _look_up(
    route: Route,
    recorder: Recorder,
    simulated: Simulated,
    run: str,
    event: Mapping[str, Json],
    changed: Callable[[HeldChanges], None],
    request: Mapping[str, Json],
) -> tuple[int, Json]:
    """Answer one look-up. What it needs is put together here, because few events ask."""
    return lookup_at(route, recorder, simulated, run, message_ids([event]), changed)(request)
