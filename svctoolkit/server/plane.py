"""The data plane as a Python object."""

from __future__ import annotations

import asyncio
import atexit
import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from svctoolkit.delivery import Answer as RecorderAnswer
from svctoolkit.delivery import Recorder, Transport
from svctoolkit.delivery.faults import FaultInjector, Faults, FaultState
from svctoolkit.destinations import Context
from svctoolkit.errors import ConfigError, StillWaiting
from svctoolkit.events.values import plain_event
from svctoolkit.interrupts import uninterrupted
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Simulated, Warehouses
from svctoolkit.server import serving
from svctoolkit.server.admin import Control, Reloader
from svctoolkit.server.faults import switch
from svctoolkit.server.forwarding.theirs import TheirAnswers
from svctoolkit.server.ingest.direct import Direct
from svctoolkit.server.ingest.routes import Ingest
from svctoolkit.server.ingest.routes import new_id as _new_id
from svctoolkit.server.ingest.sending import Fields, webhook_request
from svctoolkit.server.inspect import arrivals
from svctoolkit.server.inspect.arrivals import Totals
from svctoolkit.server.inspect.metrics import Metrics
from svctoolkit.server.inspect.overview import Reload
from svctoolkit.server.inspect.views import View
from svctoolkit.server.regulations.model import Regulation
from svctoolkit.server.regulations.worker import Regulations
from svctoolkit.server.serving import Tls
from svctoolkit.server.store.database import Store
from svctoolkit.server.store.memory import IdentityMemory
from svctoolkit.server.store.retention import Retention
from svctoolkit.server.store.traces import stored_trace
from svctoolkit.server.tracing import Traces
from svctoolkit.server.web.answer import Answer
from svctoolkit.server.web.gate import Gate
from svctoolkit.server.web.in_process import Loop, call
from svctoolkit.server.web.requests import RUN_HEADER
from svctoolkit.server.worker import Backoff, Engine, Knobs
from svctoolkit.simulations import Level, SimulatedServer
from svctoolkit.workspace import Destination, UserCode, Workspace

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider
    from starlette.applications import Starlette

    from svctoolkit.warehouse import Warehouse

_SOON = 0.02  # seconds in which most events arrive


_now = partial(datetime.now, UTC)


def _warehouses(workspace: Workspace, store: Path | str | None, clock: Callable[[], datetime]) -> Warehouses:
    folder = Path(f"{store}-warehouses") if store else None
    return Warehouses(workspace, clock=clock, in_batches=True, folder=folder)


class DataPlane(View):
    """A data plane in this process: accepts events over HTTP, delivers them, and exposes everything in between.

    >>> workspace = Workspace("shop")
    >>> hook = workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    >>> web = workspace.source("web", destinations=["hook"])
    >>> with DataPlane(workspace) as plane:
    ...     answer = plane.send({"type": "track", "event": "Signed Up", "userId": "u1"}, source="web")
    ...     plane.drain()
    ...     [delivery.payload["endpoint"] for delivery in plane.delivered]
    ['https://hook.example/in']

    It starts to listen when it is created, by default on a free port of 127.0.0.1. With `listen=False` there is no
    socket, and `ingest` and `send` still work. Everything is kept in memory, or in the SQLite file `store`, where the
    next data plane continues. `workspace` may be a path: the file is reloaded when it changes, and `reload_problem`
    says why if that fails. Changes to a workspace object take effect at once.

    `transport` answers deliveries, instead of the workspace's delivery mode. `backoff`, `concurrency` (requests to one
    destination at a time), `dedup_window` (seconds that a `messageId` is remembered) and `retention` are limits;
    `lenient` rejects only the bad events of a batch and accepts the rest. The defaults of these are the current
    `delivery` and `data_plane` settings of the workspace. `timeout`: see `app`. `clock` and `new_id` supply times and
    ids. With `advance_clock`, time does not pass between attempts until `drain`, which calls it with the seconds by
    which `clock` moves on. `adjust` may change a workspace before it is used, also after each reload. With `coverage`,
    `lines()` returns which lines of the users' code have run. With `tls` it serves https. `simulate` is how the servers
    of destinations that do not set it are simulated (`answers`, `simulated` or `strict`; default: as `delivery` says),
    and `simulated` has these servers, by default its own. `token` replaces the random token of this data plane. With
    `traces`, a provider of OpenTelemetry, spans of events are made with it.

    Raises `ConfigError` if the address or the store cannot be used, `InvalidWorkspace` for a bad file.
    """

    def __init__(
        self,
        workspace: Workspace | Path | str,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        store: Path | str | None = None,
        listen: bool = True,
        lenient: bool | None = None,
        transport: Transport | None = None,
        backoff: Backoff | None = None,
        concurrency: int | None = None,
        dedup_window: float | None = None,
        retention: Retention | None = None,
        timeout: float = 300.0,
        clock: Callable[[], datetime] = _now,
        new_id: Callable[[], str] = _new_id,
        advance_clock: Callable[[float], None] | None = None,
        coverage: bool = False,
        tls: Tls | None = None,
        simulate: Level | None = None,
        simulated: Simulated | None = None,
        traces: TracerProvider | None = None,
        adjust: Callable[[Workspace], object] = lambda _: None,
        token: str = "",
    ) -> None:
        file = Path(workspace) if isinstance(workspace, (Path, str)) else None
        self.workspace = workspace if isinstance(workspace, Workspace) else Workspace.load(workspace)
        adjust(self.workspace)
        self.token, self.token_is_given = token or secrets.token_urlsafe(24), bool(token)
        if tls:
            tls.check()
        self._tls = tls
        # Bound before anything starts, so that `url` is known and a port in use fails at once.
        self._socket = serving.listening_at(host, port) if listen else None
        self.url = serving.url_of(self._socket, "https" if tls else "http") if self._socket else ""
        self.loopback = self._socket is None or serving.is_loopback(self._socket)
        context = Context(clock=clock, new_id=new_id)
        self._pipeline = Pipeline(
            self.workspace,
            transport=transport,
            context=context,
            loopback=self.loopback,
            coverage=coverage,
            warehouses=_warehouses(self.workspace, store, clock),
            simulated=simulated,
            simulate=simulate,
        )
        knobs = Knobs(
            self.workspace,
            in_file=store is not None,
            backoff=backoff,
            concurrency=concurrency,
            dedup_window=dedup_window,
            retention=retention,
            lenient=lenient,
        )
        opened = self._open(store)
        known = Traces(traces, partial(stored_trace, opened))
        engine = Engine(self._pipeline, opened, clock, knobs=knobs, advance_clock=advance_clock, traces=known)
        super().__init__(engine)
        self._regulations = Regulations(engine, self._pipeline, new_id)
        self._metrics = Metrics(engine)
        self._direct = Direct(engine, Ingest(engine, new_id=new_id), self._metrics.count)
        self._release_clients: Callable[[], None] = lambda: None
        self._control = Control(engine)
        self._new_id, self._timeout = new_id, timeout
        self._reloader = Reloader(file, self._control, adjust, engine.clock) if file else None
        self._ended = asyncio.Event()
        self._server: Any = None
        self._loop = Loop(self._main, self._end)
        atexit.register(self.stop)
        self._stopped = False

    def _open(self, store: Path | str | None) -> Store:
        try:
            return Store(Path(store) if store else None)
        except ConfigError:
            if self._socket:
                self._socket.close()
            raise

    @property
    def port(self) -> int:
        """The port it listens on; 0 without a socket."""
        return int(self._socket.getsockname()[1]) if self._socket else 0

    def _reload(self) -> Reload:
        reloader = self._reloader
        return Reload(str(reloader.file), reloader.at, reloader.problem) if reloader else Reload()

    def lines(self) -> dict[str, dict[int, int]]:
        """Return how often each line of the users' code has run, by file; empty without `coverage`."""
        return self._pipeline.user_code.coverage()

    @property
    def recorder(self) -> Recorder:
        """The recorder that answers for every destination, in delivery mode `record`."""
        return self._pipeline.recorder

    @property
    def injector(self) -> FaultInjector:
        """What decides which faults its requests meet; `set_faults` switches profiles by any key."""
        return self._pipeline.faults

    @property
    def user_code(self) -> UserCode:
        """The transformations of the workspace, as this data plane runs them."""
        return self._pipeline.user_code

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called. Its records can still be read."""
        return self._stopped

    @property
    def reload_problem(self) -> str:
        """Why the changed workspace file is not in use; empty if it is."""
        return self._reloader.problem if self._reloader else ""

    def write_key(self, source: str, *, run: str = "") -> str:
        """Return the write key of a source (key or id). With `run`, return one whose events belong to that run.

        Raises `UnknownName`.
        """
        key = self.workspace.source(source).write_key
        return f"{key}~{run}" if run else key

    def ingest(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Answer:
        """Return the answer to this request, without a socket. `path` may have a query. Thread-safe."""
        if not self._stopped:
            answer = self._direct.answer(method, path, headers or {}, body)
            if answer is not None:
                return answer
        return self._loop.submit(call(self.asgi, method, path, headers or {}, body)).result()

    def send(self, event: Mapping[str, Json] | Sequence[Mapping[str, Json]], *, source: str, run: str = "") -> Answer:
        """Send one event or a batch of them to `/v1/batch` with the source's write key. Return the answer.

        Values of pandas and numpy, dates and decimals are sent as JSON.
        """
        batch = [plain_event(one) for one in ([event] if isinstance(event, Mapping) else event)]
        login = base64.b64encode(f"{self.write_key(source)}:".encode()).decode()
        headers = {"authorization": f"Basic {login}", "content-type": "application/json"}
        if run:
            headers[RUN_HEADER] = run
        return self.ingest("POST", "/v1/batch", headers=headers, body=encode({"batch": batch}))

    # Any: JSON, or the bytes of any body
    def send_webhook(
        self,
        source: str,
        body: Any = b"",
        *,
        topic: str = "",
        query: Fields | None = None,
        form: Fields | None = None,
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
        run: str = "",
    ) -> Answer:
        """Send a webhook to a source (key or id), such as one of the type `Shopify`. Return the answer.

        A `body` that is text or bytes is sent as it is, any other as JSON; `form` is sent instead of it. `topic` is the
        query parameter of that name. Raises `UnknownName`, and `UsageError` for a body and a form.
        """
        request = webhook_request(
            self.write_key(source), body, topic=topic, query=query, form=form, headers=headers, method=method, run=run
        )
        return self.ingest(request.method, request.path, headers=request.headers, body=request.body)

    def memory(self, source: str, *, run: str = "") -> IdentityMemory:
        """Return what a source (key or id) remembers between webhooks in a run: carts and visitors of Shopify.

        Raises `UnknownName`.
        """
        return self._engine.memories.of(self.workspace.source(source).key, run)

    def delete(self, users: Json, *, destinations: Sequence[str] | None = None, run: str = "") -> Regulation:
        """Delete users at `destinations` (keys or ids), by default at all whose type can. Return the regulation.

        `users` is an id, an object with `userId` and other attributes, or a list of these. The jobs run in the
        background, one at a time: `drain` waits for them.

        Raises `InvalidDeletion` for bad users, `UnknownName` for an unknown destination.
        """
        return self._regulations.add(users, destinations, run)

    @property
    def regulations(self) -> list[Regulation]:
        """The requests to delete users, oldest first, with their jobs."""
        return self._regulations.of_run()

    def of_run(self, run: str) -> View:
        """Return a view of one run: events with the header `X-Svctoolkit-Run` or with `write_key(..., run=run)`."""
        return View(self._engine, run)

    def drain(self, timeout: float = 10.0, *, run: str = "") -> None:
        """Return when nothing is under way any more, including scheduled retries but not disabled destinations.

        With `run`, wait only for that run.

        Raises `StillWaiting` after `timeout` seconds, which says what is under way and why.
        """
        chosen = run or None
        with self._engine.hurry(chosen):
            # Most drains end within milliseconds; waking every lane first would cost more than the wait.
            if self._engine.await_idle(chosen, min(_SOON, timeout)):
                return
            self._engine.wake()  # a destination may have been enabled without notice
            idle = self._engine.await_idle(chosen, timeout)
        if not idle:
            raise StillWaiting(f"events are still under way after {timeout:.2g} s: {self._engine.describe(chosen)}")

    def advance(self, seconds: float, *, timeout: float = 10.0) -> None:
        """Let `seconds` pass at once: retries that become due are made, and the clock moves on.

        Raises `StillWaiting` if that takes longer than `timeout` real seconds.
        """
        if not self._engine.advance(seconds, timeout):
            events = self._engine.describe(None)
            raise StillWaiting(f"the retries of {seconds:g} s are not finished after {timeout:g} s: {events}")

    def time(self) -> float:
        """Return the time of its clock in seconds since 1970, including what `advance` has added.

        A client with `clock=plane.time` lives in the same time: its sessions end while `advance` passes.
        """
        return self._engine.clock().timestamp()

    def wait(self, condition: Callable[[], object], timeout: float = 10.0) -> None:
        """Return when `condition()` is true. It is checked after every change, and ten times a second.

        The condition may therefore depend on other things, such as your own server. Raises `StillWaiting`.
        """
        if not self._engine.notifier.wait(lambda: bool(condition()), timeout, every=0.1):
            raise StillWaiting(f"the condition is false after {timeout:g} s: {self._engine.describe(None)}")

    def totals(self) -> Totals:
        """Return counts since the start. They are kept up to date, so this is cheap, unlike counting the records."""
        return arrivals.totals(self._engine)

    def warehouse(self, destination: str) -> Warehouse:
        """Return the tables of a warehouse destination (key or id). Reading them loads the events so far.

        Raises `UnknownName`, also for a destination of another type.
        """
        return self._pipeline.warehouse(destination)

    def mask(self, value: Json) -> Json:
        """Return a copy of `value` (JSON) with every secret of the workspace masked."""
        return self._engine.masker().mask(value)

    def watch(self, listener: Callable[[str, list[dict[str, Json]]], None]) -> Callable[[], None]:
        """Call `listener(kind, changes)` after every change. Return a function that stops this.

        Kinds are `received`, `rejected`, `delivery`, `fate`, `violation`, and `end` when the data plane stops. The
        listener is called in, and blocks, the thread that makes the change: one of the data plane's, or the caller of
        `send`. Its errors are logged (`svctoolkit.delivery`), and the events continue.
        """
        self._engine.journal.feed.listen(listener)
        return partial(self._engine.journal.feed.unlisten, listener)

    # Any: a `svctoolkit.runner.record.api.Recording`, from a higher layer
    def record(self, *, file: Path | str | None = None, source: str = "", personal: bool = False, run: str = "") -> Any:
        """Record the received events as a suite: one scenario for each shape of event. With `run`, only of that run.

        Same as `svctoolkit.record(plane, ...)`, which documents the arguments and errors.
        """
        from svctoolkit import record

        received = self.of_run(run).received if run else self.received
        return record(received, self.workspace, file=file, source=source, personal=personal)

    def simulation(self, destination: str, *, run: str = "") -> SimulatedServer:
        """Return the simulated server of a destination (key or id), with what it holds in a run.

        Raises `UnknownName`, or `UsageError` if the destination is not simulated.
        """
        return self._pipeline.simulated.server(self.workspace.destination(destination), run)

    def simulated_destinations(self) -> list[Destination]:
        """Return the destinations whose servers are simulated, in the order of the workspace."""
        is_simulated = self._pipeline.simulated.is_simulated
        return [destination for destination in self.workspace.destinations.values() if is_simulated(destination)]

    def script(self, destination: str, *answers: RecorderAnswer, run: str = "") -> None:
        """Let the recorder answer a destination (key or id) with these answers, in order; the last is repeated.

        `destination` may be a URL prefix instead, such as `https://crm.example/lookup`, for requests of user code.
        With `run`, this applies only to requests of that run. Without answers, restore the default. Raises
        `UnknownName`.
        """
        key = destination if "://" in destination else self.workspace.target_key(destination)
        self.recorder.script(key, *answers, run=run)

    def set_faults(
        self,
        profile: str | Faults | None,
        *,
        destination: str | None = None,
        source: str | None = None,
        run: str = "",
    ) -> None:
        """Switch a fault profile on at a destination, or for the requests of a source's clients (keys or ids).

        `profile` is a name in the workspace, or a profile; None: no faults, whatever the workspace says. With `run`, it
        applies only to requests of that run. `reset` returns to what the workspace says; `faults` shows what is on.

        Raises `UnknownName`, and `UsageError` for a profile that contradicts itself.
        """
        switch(self._engine.faults, self.workspace, profile, destination=destination, source=source, run=run)

    @property
    def faults(self) -> list[FaultState]:
        """The fault profiles that are switched on, with what they have done."""
        return self._engine.faults.states()

    def reset(self, run: str = "") -> int:
        """Delete settled events, recorded requests, scripts and faults that were set. Return how many events.

        With `run`, delete only what belongs to it or to a run within it (`run/...`). Pending events stay.
        """
        self.recorder.reset(run)
        self._engine.faults.reset(run)
        self.user_code.forget(run)
        if not run:
            self._pipeline.warehouses.clear()
        return self._engine.forget(run or None)

    def replay(self, destination: str | None = None, *, run: str | None = None, status: str = "dead") -> int:
        """Retry dead events (or, with `status`, `failed` ones). Return how many. Raises `UnknownName`."""
        key = self.workspace.target_key(destination) if destination else None
        return self._engine.replay([status], key, run)

    def enable(self, *, source: str | None = None, destination: str | None = None, enabled: bool = True) -> None:
        """Enable or disable a source or a destination. Events that wait for a disabled destination stay pending.

        Raises `UnknownName`.
        """
        self._control.enable(source=source, destination=destination, enabled=enabled)

    def stop(self, timeout: float = 5.0) -> None:
        """Stop listening and delivering. Attempts under way get `timeout` seconds; a `store` keeps what is pending.

        Ctrl-C is raised after it has stopped; a second one immediately.
        """
        if self._stopped:
            return
        with uninterrupted(once=True):
            self._stopped = True
            if self._reloader:
                self._reloader.stop()
            atexit.unregister(self.stop)
            # First release waiting threads and readers, then the loop that serves them, then the workers.
            self._engine.close()
            self._release_clients()
            self._loop.close()
            if self._socket:
                self._socket.close()
            self._engine.stop(timeout)
            self._engine.journal.traces.close(timeout)

    def __enter__(self) -> DataPlane:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<svctoolkit data plane at {self.url or 'no address'}>"

    @cached_property
    def asgi(self) -> Gate:
        """The whole application, for other servers and for clients that call it in process."""
        theirs = TheirAnswers(self._application(), self._pipeline)
        self._release_clients = theirs.stop
        return Gate(theirs, self._metrics.count)

    def _application(self) -> Starlette:
        # A plane without HTTP clients, as in suites, does not need all that.
        from svctoolkit.server.application import application

        return application(
            self._engine,
            self._pipeline,
            self._metrics,
            self._control,
            self._regulations,
            reload=self._reload,
            new_id=self._new_id,
            loopback=self.loopback,
            token=self.token,
            timeout=self._timeout,
        )

    async def _main(self) -> None:
        if self._socket is None:
            await self._ended.wait()
            return
        self._server = serving.uvicorn_server(self.asgi, self._tls, head=lambda: self._engine.knobs.limits.head)
        # `stop` may be called before the server exists; it would then never see `should_exit`.
        if self._ended.is_set():
            return
        await self._server.serve(sockets=[self._socket])

    def _end(self) -> None:
        self._ended.set()
        if self._server is not None:
            self._server.should_exit = True
