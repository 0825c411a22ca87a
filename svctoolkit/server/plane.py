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

import msgspec

from svctoolkit.delivery import Answer as RecorderAnswer
from svctoolkit.delivery import Recorder, Transport
from svctoolkit.delivery.live import transport_for
from svctoolkit.destinations import Context
from svctoolkit.errors import ConfigError, StillWaiting
from svctoolkit.interrupts import uninterrupted
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Warehouses
from svctoolkit.server import serving
from svctoolkit.server.admin import Control, Reloader
from svctoolkit.server.forwarding import Tee
from svctoolkit.server.ingest.direct import Direct
from svctoolkit.server.ingest.routes import Ingest
from svctoolkit.server.ingest.routes import new_id as _new_id
from svctoolkit.server.inspect import arrivals
from svctoolkit.server.inspect.arrivals import Totals
from svctoolkit.server.inspect.metrics import Metrics
from svctoolkit.server.inspect.overview import Reload
from svctoolkit.server.inspect.views import View
from svctoolkit.server.serving import Tls
from svctoolkit.server.store.database import Store
from svctoolkit.server.store.retention import Retention
from svctoolkit.server.web.answer import Answer
from svctoolkit.server.web.gate import Gate
from svctoolkit.server.web.in_process import Loop, call
from svctoolkit.server.web.requests import RUN_HEADER
from svctoolkit.server.worker import Backoff, Engine, Knobs
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from svctoolkit.server.application import Addition
    from svctoolkit.warehouse import Warehouse

_SOON = 0.02  # seconds in which most events arrive


def _now() -> datetime:
    return datetime.now(UTC)


def _warehouses(workspace: Workspace, store: Path | str | None, clock: Callable[[], datetime]) -> Warehouses:
    folder = Path(f"{store}-warehouses") if store else None
    return Warehouses(workspace, clock=clock, in_batches=True, folder=folder)


class DataPlane(View):
    """A data plane in this process: events in over HTTP, deliveries out, everything in between to look at.

    >>> workspace = Workspace("shop")
    >>> hook = workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    >>> web = workspace.source("web", destinations=["hook"])
    >>> with DataPlane(workspace) as plane:
    ...     answer = plane.send({"type": "track", "event": "Signed Up", "userId": "u1"}, source="web")
    ...     plane.drain()
    ...     [delivery.payload["endpoint"] for delivery in plane.delivered]
    ['https://hook.example/in']

    It listens as soon as it is made, by default on a free port of 127.0.0.1; with `listen=False` there is no socket,
    and `ingest` and `send` still work. Everything is kept in memory, or in the SQLite file `store`, from which the next
    data plane goes on. `workspace` may be a path: the file is read again when it changes, and `reload_problem` says why
    it was not. Changes to a workspace object take effect at once.

    `transport` answers deliveries instead of what the workspace's delivery mode says. `backoff`, `width` (requests to
    one destination at a time), `window` (seconds that a `messageId` counts as known) and `retention` are limits;
    `lenient` sets a bad event of a batch aside and takes the rest; what is not given is as the workspace's `delivery`
    and `data_plane` say at the moment. `timeout`: see `app`. `clock` and `new_id` make times and ids. With `pass_by`
    time stands still between attempts until `drain`, which tells it by how many seconds `clock` goes on. `adjust` may
    change a workspace before it is used, also each time that the file was read again. With `coverage`, `lines()` tells
    which lines of the users' code have run. `additions` give more operations to serve, such as those of suites
    (`svctoolkit.runner.over_http`). With `tls` it is served by https.

    Raises `ConfigError` when the address or the store cannot be used, `InvalidWorkspace` for a bad file.
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
        width: int | None = None,
        window: float | None = None,
        retention: Retention | None = None,
        timeout: float = 300.0,
        clock: Callable[[], datetime] = _now,
        new_id: Callable[[], str] = _new_id,
        pass_by: Callable[[float], None] | None = None,
        coverage: bool = False,
        additions: Sequence[Addition] = (),
        tls: Tls | None = None,
        adjust: Callable[[Workspace], object] = lambda _: None,
    ) -> None:
        file = Path(workspace) if isinstance(workspace, (Path, str)) else None
        self.workspace = workspace if isinstance(workspace, Workspace) else Workspace.load(workspace)
        adjust(self.workspace)
        self.token = secrets.token_urlsafe(24)
        if tls:
            tls.check()
        self._tls = tls
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
        )
        knobs = Knobs(
            self.workspace,
            in_file=store is not None,
            backoff=backoff,
            width=width,
            window=window,
            retention=retention,
            lenient=lenient,
        )
        engine = Engine(self._pipeline, self._open(store), clock, knobs=knobs, pass_by=pass_by)
        super().__init__(engine)
        self._metrics = Metrics(engine)
        self._direct = Direct(engine, Ingest(engine, new_id=new_id), self._metrics.count)
        self._forwards: Callable[[], dict[str, dict[str, Json]]] = dict
        self._control = Control(engine)
        self._additions, self._new_id, self._timeout = additions, new_id, timeout
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
        """The port it listens at; 0 without a socket."""
        return int(self._socket.getsockname()[1]) if self._socket else 0

    def _reload(self) -> Reload:
        reloader = self._reloader
        return Reload(str(reloader.file), reloader.at, reloader.problem) if reloader else Reload()

    def lines(self) -> dict[str, dict[int, int]]:
        """How often each line of the users' code has run, by file; empty without `coverage`."""
        return self._pipeline.user_code.coverage()

    @property
    def recorder(self) -> Recorder:
        """The stand-in for every destination's server, in delivery mode `record`."""
        return self._pipeline.recorder

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called. What it has received and done can be looked at as before."""
        return self._stopped

    @property
    def reload_problem(self) -> str:
        """Why the changed workspace file is not in use; empty if it is."""
        return self._reloader.problem if self._reloader else ""

    def write_key(self, source: str, *, run: str = "") -> str:
        """The write key of a source, named by key or id. With `run`, one whose events belong to that run.

        Raises `UnknownName`.
        """
        key = self.workspace.source(source).write_key
        return f"{key}~{run}" if run else key

    def ingest(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Answer:
        """What the data plane answers to this request, without a socket. `path` may have a query. For any thread."""
        if not self._stopped:
            answer = self._direct.answer(method, path, headers or {}, body)
            if answer is not None:
                return answer
        return self._loop.submit(call(self.asgi, method, path, headers or {}, body)).result()

    def send(self, event: Mapping[str, Json] | Sequence[Mapping[str, Json]], *, source: str, run: str = "") -> Answer:
        """The answer to one event or a batch of them, sent to `/v1/batch` with the source's write key."""
        batch = [event] if isinstance(event, Mapping) else list(event)
        login = base64.b64encode(f"{self.write_key(source)}:".encode()).decode()
        headers = {"authorization": f"Basic {login}", "content-type": "application/json"}
        if run:
            headers[RUN_HEADER] = run
        return self.ingest("POST", "/v1/batch", headers=headers, body=msgspec.json.encode({"batch": batch}))

    def of_run(self, run: str) -> View:
        """What belongs to one run: events sent with the header `X-Svctoolkit-Run` or with `write_key(..., run=run)`."""
        return View(self._engine, run)

    def drain(self, timeout: float = 10.0, *, run: str = "") -> None:
        """Return when nothing is under way any more, scheduled retries included. Disabled destinations do not count.

        With `run`, nothing of that run.

        Raises `StillWaiting`, which says what is under way and why, after `timeout` seconds.
        """
        chosen = run or None
        with self._engine.hurry(chosen):
            if self._engine.await_idle(chosen, min(_SOON, timeout)):
                return
            self._engine.wake()  # somebody may have enabled a destination without a word
            idle = self._engine.await_idle(chosen, timeout)
        if not idle:
            raise StillWaiting(
                f"after {timeout:.2g} s there are still events under way: {self._engine.pending.describe(chosen)}"
            )

    def advance(self, seconds: float, *, timeout: float = 10.0) -> None:
        """Let so many seconds pass at once, as if one had waited: retries that are due are made, and times go on.

        Raises `StillWaiting` if that takes longer than `timeout` real seconds.
        """
        if not self._engine.advance(seconds, timeout):
            events = self._engine.pending.describe(None)
            raise StillWaiting(f"after {timeout:g} s the retries of {seconds:g} s are not over: {events}")

    def wait(self, condition: Callable[[], object], timeout: float = 10.0) -> None:
        """Return when `condition()` is true; it is asked anew after every change, and ten times a second.

        So it may look at what others count, such as a server of one's own. Raises `StillWaiting`.
        """
        if not self._engine.bell.wait(lambda: bool(condition()), timeout, every=0.1):
            raise StillWaiting(f"the condition is not true after {timeout:g} s: {self._engine.pending.describe(None)}")

    def totals(self) -> Totals:
        """Counts since the start. Unlike counting the records, asking costs nothing, however many there are."""
        return arrivals.totals(self._engine)

    def warehouse(self, destination: str) -> Warehouse:
        """The tables of a warehouse destination, named by key or id: what has come so far is loaded when you ask.

        Raises `UnknownName`, also for a destination of another type.
        """
        return self._pipeline.warehouse(destination)

    def mask(self, value: Json) -> Json:
        """A copy of `value` (JSON) with every secret of the workspace masked."""
        return self._engine.masker().mask(value)

    def watch(self, listener: Callable[[str, list[dict[str, Json]]], None]) -> Callable[[], None]:
        """Call `listener(kind, changes)` after every change, until the result is called.

        Kinds are `received`, `rejected`, `delivery`, `fate`, `violation`, and `end` when the data plane stops. It is
        called in the thread in which it happens, which waits for it: one of the data plane's, or that of `send`. What
        it raises is logged (`svctoolkit.delivery`), and the events go on.
        """
        self._engine.journal.feed.listen(listener)
        return partial(self._engine.journal.feed.unlisten, listener)

    # Any: a `svctoolkit.runner.record.api.Recording`, of the layer above
    def record(self, *, file: Path | str | None = None, source: str = "", personal: bool = False, run: str = "") -> Any:
        """What it has received as a suite: one scenario for each shape of event. With `run`, what belongs to that run.

        It is what `svctoolkit.record(plane, ...)` gives, which says what the arguments do and what is raised.
        """
        from svctoolkit import record

        received = self.of_run(run).received if run else self.received
        return record(received, self.workspace, file=file, source=source, personal=personal)

    def script(self, destination: str, *answers: RecorderAnswer, run: str = "") -> None:
        """Let the recorder answer a destination (key or id) with these answers, in order; the last is repeated.

        With `run`, only requests of that run; without answers, as by default again. Raises `UnknownName`.
        """
        self.recorder.script(self.workspace.destination(destination).key, *answers, run=run)

    def reset(self, run: str = "") -> int:
        """Begin anew: forget what is settled, recorded requests and scripts. Returns how many events.

        With `run`, only what belongs to it or to a run within it (`run/...`). What is pending stays.
        """
        self.recorder.reset(run)
        if not run:
            self._pipeline.warehouses.clear()
        return self._engine.forget(run or None)

    def replay(self, destination: str | None = None, *, run: str | None = None, status: str = "dead") -> int:
        """Try dead events again (or, with `status`, `failed` ones): how many there are. Raises `UnknownName`."""
        key = self.workspace.destination(destination).key if destination else None
        return self._engine.replay([status], key, run)

    def enable(self, *, source: str | None = None, destination: str | None = None, enabled: bool = True) -> None:
        """Enable or disable a source or a destination. Events that wait for a disabled destination stay pending.

        Raises `UnknownName`.
        """
        self._control.enable(source=source, destination=destination, enabled=enabled)

    def stop(self, timeout: float = 5.0) -> None:
        """Stop listening and delivering. What is under way gets `timeout` seconds; a `store` keeps what is pending.

        Ctrl-C comes when it has stopped; a second one at once.
        """
        if self._stopped:
            return
        with uninterrupted(once=True):
            self._stopped = True
            if self._reloader:
                self._reloader.stop()
            atexit.unregister(self.stop)
            self._engine.close()
            self._loop.close()
            if self._socket:
                self._socket.close()
            self._engine.stop(timeout)

    def __enter__(self) -> DataPlane:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<svctoolkit data plane at {self.url or 'no address'}>"

    @cached_property
    def asgi(self) -> Gate:
        """The whole application, for other servers and for clients that call it in process."""
        allow, loopback = self.workspace.delivery.allow, self.loopback
        tee = Tee(self._application(), self.workspace, lambda: transport_for(tuple(allow), loopback))
        self._forwards = tee.states
        return Gate(tee, self._metrics.count)

    def _application(self) -> Starlette:
        # a plane that nobody asks over HTTP, as in suites, does without all that
        from svctoolkit.server.application import application

        return application(
            self._engine,
            self._pipeline,
            self._metrics,
            self._control,
            reload=self._reload,
            forwards=lambda: self._forwards(),
            additions=self._additions,
            new_id=self._new_id,
            loopback=self.loopback,
            token=self.token,
            timeout=self._timeout,
        )

    async def _main(self) -> None:
        if self._socket is None:
            await self._ended.wait()
            return
        self._server = serving.uvicorn_server(self.asgi, self._tls)
        if self._ended.is_set():
            return
        await self._server.serve(sockets=[self._socket])

    def _end(self) -> None:
        self._ended.set()
        if self._server is not None:
            self._server.should_exit = True
