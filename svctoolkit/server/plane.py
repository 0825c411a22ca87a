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

from svctoolkit.delivery import Transport
from svctoolkit.destinations import Context
from svctoolkit.errors import ConfigError
from svctoolkit.events.values import plain_event
from svctoolkit.interrupts import uninterrupted
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Simulated, Warehouses
from svctoolkit.server import serving
from svctoolkit.server.admin import Reloader
from svctoolkit.server.base_plane import BaseDataPlane
from svctoolkit.server.forwarding.theirs import TheirAnswers
from svctoolkit.server.ingest.direct import Direct
from svctoolkit.server.ingest.routes import Ingest
from svctoolkit.server.ingest.routes import new_id as _new_id
from svctoolkit.server.ingest.sending import Fields, webhook_request
from svctoolkit.server.inspect.metrics import Metrics
from svctoolkit.server.inspect.overview import Reload
from svctoolkit.server.serving import Tls
from svctoolkit.server.store.database import Store
from svctoolkit.server.store.retention import Retention
from svctoolkit.server.store.traces import stored_trace
from svctoolkit.server.tracing import Traces
from svctoolkit.server.web.answer import Answer
from svctoolkit.server.web.gate import Gate
from svctoolkit.server.web.in_process import Loop, call
from svctoolkit.server.web.requests import RUN_HEADER
from svctoolkit.server.worker import Backoff, Engine, Knobs
from svctoolkit.simulations import Level
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    import uvicorn
    from opentelemetry.trace import TracerProvider
    from starlette.applications import Starlette


_now = partial(datetime.now, UTC)


def _warehouses(workspace: Workspace, store: Path | str | None, clock: Callable[[], datetime]) -> Warehouses:
    folder = Path(f"{store}-warehouses") if store else None
    return Warehouses(workspace, clock=clock, in_batches=True, folder=folder)


class DataPlane(BaseDataPlane):
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
        loaded = workspace if isinstance(workspace, Workspace) else Workspace.load(workspace)
        adjust(loaded)
        self.token, self.token_is_given = token or secrets.token_urlsafe(24), bool(token)
        if tls:
            tls.check()
        self._tls = tls
        # Bound before anything starts, so that `url` is known and a port in use fails at once.
        self._socket = serving.listening_at(host, port) if listen else None
        self.url = serving.url_of(self._socket, "https" if tls else "http") if self._socket else ""
        self.loopback = self._socket is None or serving.is_loopback(self._socket)
        context = Context(clock=clock, new_id=new_id)
        pipeline = Pipeline(
            loaded,
            transport=transport,
            context=context,
            loopback=self.loopback,
            coverage=coverage,
            warehouses=_warehouses(loaded, store, clock),
            simulated=simulated,
            simulate=simulate,
        )
        knobs = Knobs(
            loaded,
            in_file=store is not None,
            backoff=backoff,
            concurrency=concurrency,
            dedup_window=dedup_window,
            retention=retention,
            lenient=lenient,
        )
        opened = self._open(store)
        known = Traces(traces, partial(stored_trace, opened))
        engine = Engine(pipeline, opened, clock, knobs=knobs, advance_clock=advance_clock, traces=known)
        super().__init__(loaded, engine, pipeline, new_id)
        self._metrics = Metrics(engine)
        self._direct = Direct(engine, Ingest(engine, new_id=new_id), self._metrics.count)
        self._release_clients: Callable[[], None] = lambda: None
        self._new_id, self._timeout = new_id, timeout
        self._reloader = Reloader(file, self._control, adjust, engine.clock) if file else None
        self._ended = asyncio.Event()
        # Here and not in the thread of the loop: Python gives up an import that waits for one of another thread.
        self._server = self._http_server() if self._socket is not None else None
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

    # Any: a `svctoolkit.runner.record.api.Recording`, from a higher layer
    def record(self, *, file: Path | str | None = None, source: str = "", personal: bool = False, run: str = "") -> Any:
        """Record the received events as a suite: one scenario for each shape of event. With `run`, only of that run.

        Same as `svctoolkit.record(plane, ...)`, which documents the arguments and errors.
        """
        from svctoolkit import record

        received = self.of_run(run).received if run else self.received
        return record(received, self.workspace, file=file, source=source, personal=personal)

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

    def _http_server(self) -> uvicorn.Server:
        return serving.uvicorn_server(self.asgi, self._tls, head=lambda: self._engine.knobs.limits.head)

    async def _main(self) -> None:
        if self._server is None or self._socket is None:
            await self._ended.wait()
        else:
            await self._server.serve(sockets=[self._socket])

    def _end(self) -> None:
        self._ended.set()
        if self._server is not None:
            self._server.should_exit = True
