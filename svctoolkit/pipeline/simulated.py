"""The simulated servers of a workspace: one for each destination and run."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import parse_qsl

import msgspec

from svctoolkit import simulations
from svctoolkit.delivery import Answer, HttpRequest, gunzip, parse_body
from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json
from svctoolkit.pipeline.route import Route
from svctoolkit.simulations import Level, check_level
from svctoolkit.workspace import Destination, Workspace

if TYPE_CHECKING:
    from svctoolkit.simulations import About, Disk, Loss, Request, SimulatedServer, StoredRow

#: `(destination, run)` -> the rows and losses of a server that were stored
Load: TypeAlias = "Callable[[str, str], tuple[Sequence[StoredRow], Sequence[Loss]]]"
_RUNS = 1_000  # states in memory


class HeldChanges(msgspec.Struct, frozen=True):
    """What one request changed at a simulated server, for the store."""

    destination: str
    run: str
    rows: Sequence[StoredRow]
    losses: Sequence[Loss]


def state_run(run: str) -> str:
    """Return the run whose state a request changes: the steps of a scenario (`r/1`, `r/2`) share that of `r`.

    Generated events (`r/g1`) have their own.
    """
    return run if "/g" in run else run.partition("/")[0]


class Simulated:
    """The simulated servers of a workspace, created when a destination with a simulation gets its first request.

    State belongs to a destination and a run. At most 1,000 states are in memory; the least recently used are dropped.
    With `history="existing"`, accounts that do not say otherwise have data that is unknown here. `level` is that of
    destinations that do not set one, instead of the workspace's. With a `disk`, states of millions of events fit.
    """

    def __init__(
        self,
        workspace: Workspace,
        clock: Callable[[], datetime],
        *,
        history: Literal["new", "existing"] = "new",
        level: Level | None = None,
        disk: Disk | None = None,
    ) -> None:
        self._disk = disk
        self._workspace, self.clock, self._history = workspace, clock, history
        self._default = None if level is None else check_level(level)
        self._only: Level | None = None  # instead of every other level
        self._servers: OrderedDict[tuple[str, str], tuple[Destination, SimulatedServer]] = OrderedDict()
        self._lock = threading.Lock()
        #: loads stored states; None: nothing is stored
        self.load: Load | None = None
        #: lists the destinations and runs that have a stored state
        self.stored: Callable[[], Sequence[tuple[str, str]]] = tuple

    @property
    def workspace(self) -> Workspace:
        """The workspace, with the level of these servers."""
        return self._workspace if self._default is None else self._workspace.at_level(self._default)

    def level(self, destination: Destination) -> Level:
        """Return the level of a destination: its own, or else that of the workspace."""
        if self._only is not None:
            return self._only if simulations.is_simulated(destination.type) else "answers"
        return self._workspace.simulation_level(destination, self._default)

    def at(self, level: Level | None) -> Simulated:
        """Return the same servers at another level, whatever destinations say; with None, as they are."""
        if level is None:
            return self
        other = copy.copy(self)  # shares the servers and their lock
        other._only = check_level(level)
        return other

    def is_simulated(self, destination: Destination) -> bool:
        """Whether a destination's server is simulated."""
        return self.level(destination) != "answers"

    def server(self, destination: Destination, run: str = "") -> SimulatedServer:
        """Return the server of a destination for a run.

        Raises `UsageError` if it is not simulated, and no test has asked for a simulation either.
        """
        level = self.level(destination)
        if level != "answers":
            return self._server(destination, run, level)
        entry = self._servers.get((destination.key, state_run(run) if run else ""))
        if entry is None or entry[0].type != destination.type:
            raise UsageError(_reason(destination))
        return entry[1]

    def _server(self, destination: Destination, run: str, level: Level) -> SimulatedServer:
        key = destination.key, state_run(run) if run else ""
        with self._lock:
            entry = self._servers.get(key)
            if entry is None or entry[0].type != destination.type:
                entry = self._servers[key] = destination, self._open(destination, key[1])
                while len(self._servers) > _RUNS:
                    self._servers.popitem(last=False)
            self._servers.move_to_end(key)
        server = entry[1]
        server.level = level
        return server

    def _open(self, destination: Destination, run: str) -> SimulatedServer:
        server = simulations.open(
            destination.type,
            destination.config,
            account={"history": self._history, **destination.declared},
            level=self.level(destination),
            clock=lambda: self.clock(),
            destination=destination.key,
            run=run,
            disk=self._disk,
        )
        if self.load is not None:
            server.restore(*self.load(destination.key, run))
        return server

    def servers(self, run: str | None = None) -> list[SimulatedServer]:
        """Return the servers that have a state, in the order of the workspace's destinations; of one run or of all."""
        with self._lock:
            known = {*self._servers, *self.stored()}
        return [
            self.server(destination, of)
            for destination in self._workspace.destinations.values()
            for of in sorted(of for key, of in known if key == destination.key)
            if self.is_simulated(destination) and (run is None or of == state_run(run))
        ]

    @contextmanager
    def watch(self, destination: Destination, run: str, events: tuple[str, ...]) -> Iterator[list[Loss]]:
        """Yield a list that gets what a destination loses of these events meanwhile."""
        lost: list[Loss] = []
        server = self.server(destination, run) if self.is_simulated(destination) else None
        before = server.requests if server else 0
        yield lost
        lost += [loss for loss in server.losses if loss.request > before and loss.events == events] if server else []

    def reset(self, run: str = "") -> None:
        """Drop all states, or those of one run and the runs within it."""
        with self._lock:
            for key in [key for key in self._servers if not run or key[1] == run or key[1].startswith(f"{run}/")]:
                del self._servers[key]

    def respond(
        self,
        route: Route,
        request: HttpRequest,
        run: str = "",
        events: tuple[str, ...] = (),
        about: About | None = None,
    ) -> tuple[Answer | None, HeldChanges | None]:
        """Return the simulated server's answer to a request, and what it changed if states are stored.

        The answer is None if the destination is not simulated, or the simulation does not have the endpoint.
        """
        level = self.level(route.destination)
        if level == "answers":
            return None, None
        server = self._server(route.destination, run, level)
        server.use_config(route.config)
        response, rows, losses = server.handle(read_request(request, events, run, about), stored=self.load is not None)
        held = HeldChanges(server.destination, server.run, rows, losses) if rows or losses else None
        if response is None:
            return None, held
        body = "" if response.body is None else response.body
        return Answer(response.status, body, dict(response.headers)), held


def _reason(destination: Destination) -> str:
    if not simulations.is_simulated(destination.type):
        return f"destination {destination.key!r} is not simulated: {destination.type} has no simulation"
    return f"destination {destination.key!r} is not simulated: set `simulate: simulated`"


def read_request(
    request: HttpRequest, events: tuple[str, ...] = (), run: str = "", about: About | None = None
) -> Request:
    """Return an HTTP request as simulations read it, its body decompressed and parsed."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    content = request.body
    if "gzip" in headers.get("content-encoding", ""):
        content = gunzip(content) or b""
    body = _body(content, headers.get("content-type", ""))
    return simulations.Request(request.method.upper(), request.url, headers, body, events, len(content), run, about)


def _body(content: bytes, kind: str) -> Json:
    if not content:
        return None
    if "x-www-form-urlencoded" in kind:
        return dict(parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True))
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_body(content)
