"""What the events of a workspace run with: routes, contexts, look-ups, transports, simulated servers, warehouses."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from svctoolkit.delivery import Recorder, Sender, Transport
from svctoolkit.delivery.faults import FaultInjector
from svctoolkit.delivery.faults.arrival import reach
from svctoolkit.destinations import Context, Lookup
from svctoolkit.json_types import Json
from svctoolkit.pipeline.outside import account_metadata, lookup_at, lookup_through, message_ids, transport_of
from svctoolkit.pipeline.route import Route, Routes, route
from svctoolkit.pipeline.simulated import HeldChanges, Simulated
from svctoolkit.pipeline.warehouses import Warehouses
from svctoolkit.workspace import Destination, UserCode, Workspace, config_secrets, require_trust

if TYPE_CHECKING:
    from svctoolkit.simulations import Level, SimulatedServer
    from svctoolkit.warehouse import Warehouse

_MOST_OVERRIDES = 10_000  # secrets of overrides to remember; the recorder keeps the same number of requests


class Runtime:
    """The routes of a workspace, and how its events reach destinations. The parameters are those of `Pipeline`."""

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
        exploring: bool = False,
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
        #: whether tests also show what the Test API cannot test
        self.exploring = exploring
        self.warehouses = warehouses or Warehouses(workspace, clock=self.context.clock)
        #: the simulated servers of its destinations
        self.simulated = simulated or Simulated(workspace, self.context.clock, level=simulate)
        self._transport = transport
        self._last_transport: tuple[object, Transport] | None = None  # cached: a data plane needs it for every attempt

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
        account, context = account_metadata(self.workspace, route.destination), self.context
        if account:
            context = replace(context, metadata={**context.metadata, **account})
        if not route.looks_up or self.simulated.is_simulated(route.destination):
            return context
        lookup = self.lookup_of(route, "", {})
        return context if lookup is None else replace(context, lookup=lookup)

    def lookup_of(
        self,
        route: Route,
        run: str,
        event: Mapping[str, Json],
        changed: Callable[[HeldChanges], None] = lambda _: None,
        *,
        servers: Simulated | None = None,
    ) -> Lookup | None:
        """Return look-ups for the mapping of an event: see `lookup_at`.

        None if the mapping makes none, or something else than a recorder answers them. `changed` gets what the look-ups
        changed at a simulated server.
        """
        simulated = servers or self.simulated
        if not self._looks_up or not (route.looks_up or simulated.is_simulated(route.destination)):
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
