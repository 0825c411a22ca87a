"""`ServiceClient`: the calls that an application makes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

from svctoolkit.errors import DeliveryError, InvalidCall, ToolkitError
from svctoolkit.sdk._display import mime_bundle
from svctoolkit.sdk.base import process
from svctoolkit.sdk.base.gate import Gate
from svctoolkit.sdk.base.ready import Ready
from svctoolkit.sdk.base.reporter import DROPPED, Reporter, Stats
from svctoolkit.sdk.base.settings import Configuration, LogLevel, Settings, new_id, settings
from svctoolkit.sdk.base.values import json_text, text
from svctoolkit.sdk.engine import Engine
from svctoolkit.sdk.events import lifecycle
from svctoolkit.sdk.events.event_text import Call
from svctoolkit.sdk.events.identity import Identity
from svctoolkit.sdk.events.options import NONE, Options
from svctoolkit.sdk.events.options import options as checked_options
from svctoolkit.sdk.queue.contents import Numbers
from svctoolkit.sdk.screen_view import ScreenView

if TYPE_CHECKING:
    import pandas as pd

_EARLY_CALLS = 1000
_EXIT_SECONDS = 5.0
_Options = Mapping[str, Any] | None


class _Early(NamedTuple):
    """A call made before `initialize`."""

    is_event: bool
    opt_out: bool | None
    work: Callable[[Engine], None]


class ServiceClient:
    """Records what users do and brings it to a data plane, without ever getting in the application's way.

    An event is on disk when its call returns; a daemon thread sends it. Calls raise `InvalidCall` for an argument of
    the wrong type or an empty ID, at the call, and nothing else ever: network, disk and data plane are the client's
    own affair, told to `on_error` and `on_drop`, counted in `stats()`.

    >>> from svctoolkit.sdk import ServiceClient
    >>> client = ServiceClient(application_name="shop", application_version="1.4.0")
    >>> client.initialize("WRITE_KEY", {"dataPlaneUrl": "http://127.0.0.1:8091"})      # doctest: +SKIP
    >>> client.identify("u-1", {"email": "ada@example.com"})                           # doctest: +SKIP
    >>> client.track("Order Completed", {"revenue": 12.5})                             # doctest: +SKIP

    Settings can be given here (Python spelling) and to `initialize` (either spelling), which wins:

    | setting | default | |
    |---|---|---|
    | logLevel | NONE | how much goes to the standard logger `svctoolkit.sdk`; VERBOSE is level 5 |
    | dataPlaneUrl | SVCTOOLKIT_DATA_PLANE_URL, else http://127.0.0.1:8091 | where events go |
    | controlPlaneUrl | the data plane's | where the source configuration is |
    | flushQueueSize | 30 | events in one request, 1 to 100 |
    | dbThresholdCount | 10000 | events kept on disk; over it the oldest are deleted, counted and told to `on_drop` |
    | sleepTimeout | 10 | seconds after which fewer events than `flushQueueSize` are sent too |
    | configRefreshInterval | 2 | hours, 1 to 24, after which the source configuration is fetched again |
    | autoCollectAdvertId | False | taken for compatibility: a computer has no advertising ID to collect |
    | trackLifecycleEvents | True | Application Installed, Updated, Opened, Backgrounded; sessions |
    | recordScreenViews | False | whether `screen_view` records |
    | dataResidency | "US" | which of the source's data planes is used, if its configuration names any: "US" or "EU" |
    | dataDirectory | the platform's | where the queue and the identity live; ":memory:" keeps nothing |
    | applicationName, -Version, -Build, -Namespace | "" | `context.app`, and what lifecycle events compare |
    | gzip | True | whether requests are compressed (never to this machine: it would only cost time) |
    | transport | HTTP | a `DataPlane` of this process, or anything with `send(request)`; see `Transport` |
    | factories | () | device mode; see `Factory` |
    | clock, newId | time.time, random | for tests that want no surprises |
    | backoff(failures) | 3 s doubling to 300 s | seconds until the next attempt after so many failures in a row |
    | probeAfter(pauses) | 30 s doubling to 300 s | seconds until a paused client looks whether it may send again |
    | on_error(error) | None | what went wrong, as a `ToolkitError`; called without locks, mostly in the worker |
    | on_drop(event, reason) | None | every event that is given up |
    """

    LogLevel = LogLevel
    _repr_mimebundle_ = mime_bundle
    SPEC_VERSION = "1.3.0"

    def __init__(self, **configuration: Unpack[Configuration]) -> None:
        """Raises `ConfigError` with every problem of `configuration`. Nothing is opened before `initialize`."""
        settings(configuration)
        self._configuration = configuration
        self._reporter = Reporter()
        self._starting = Gate()
        self._origin = new_id()
        self._carried = 0
        self._engine: Engine | None = None
        self._early: deque[_Early] = deque()
        self._launched = False
        self._in_background = False
        self._scope: ContextVar[Identity | None] = ContextVar("svctoolkit_identity", default=None)
        process.at_exit(self, ServiceClient._at_exit)
        process.at_fork(self, child=ServiceClient._after_fork)

    def initialize(
        self, write_key: str, configuration: Mapping[str, Any] | None = None, options: _Options = None
    ) -> Ready:
        """Start: open the queue, record the application's start, let the worker run.

        `options` hold for every event unless its call says otherwise. Gives back a `Ready` to `await` or `wait` for;
        there is no need to. Initializing again replaces key, settings and options; what waits is kept. Raises
        `InvalidCall` and `ConfigError`.
        """
        key, initial = text("initialize", "writeKey", write_key), checked_options("initialize", options)
        checked = settings(self._configuration, configuration)
        if not self._starting.enter():
            raise InvalidCall("initialize: it is under way in this very thread")
        try:
            engine = self._start(checked, key, initial)
        finally:
            self._starting.leave()
        self._catch_up(engine)
        self._safely(engine, Engine.start)
        self._reporter.publish()
        return engine.dispatcher.ready

    def _start(self, checked: Settings, key: str, initial: Options) -> Engine:
        self._reporter.use(checked)
        before, self._engine = self._engine, None
        if before is not None:
            before.close(1.0)
        engine = Engine(self, checked, key, initial, self._reporter, self._origin, before)
        numbers, counts = engine.queue.numbers()
        self._carried += numbers.waiting + numbers.parked - _remaining(counts, self._carried)
        early = [self._early.popleft() for _ in range(len(self._early))]
        first_event = next((place for place, call in enumerate(early) if call.is_event), len(early))
        opted_out = [call.opt_out for call in early if call.opt_out is not None]
        for call in early[:first_event]:
            self._safely(engine, call.work)
        if not self._launched and not (opted_out and opted_out[-1]):
            self._safely(engine, lambda engine: engine.recorder.record_launch())
        self._launched = True
        for call in early[first_event:]:
            self._safely(engine, call.work)
        self._engine = engine
        return engine

    # The specified calls

    def identify(self, user_id: str, traits: Mapping[str, Any] | None = None, options: _Options = None) -> None:
        """This user is `user_id` from now on. Traits are merged into those known of the same user, and kept."""
        self._event("identify", ("userId", user_id), ("traits", traits), options)

    def track(self, name: str, properties: Mapping[str, Any] | None = None, options: _Options = None) -> None:
        """The user did something."""
        self._event("track", ("name", name), ("properties", properties), options)

    def group(self, group_id: str, group_traits: Mapping[str, Any] | None = None, options: _Options = None) -> None:
        """The user belongs to an organisation. Later events do not carry it."""
        self._event("group", ("groupId", group_id), ("groupTraits", group_traits), options)

    def screen(self, screen_name: str, properties: Mapping[str, Any] | None = None, options: _Options = None) -> None:
        """The user saw a screen. Its name stands in `properties.name` too."""
        self._event("screen", ("screenName", screen_name), ("property", properties), options)

    def alias(self, new_id: str, options: _Options = None) -> None:
        """The user's ID is `new_id` from now on; the event names the old one."""
        self._event("alias", ("newId", new_id), ("", None), options)

    def reset(self) -> None:
        """Forget user ID, traits and external IDs, as at a logout. Anonymous ID, opt-out and stored events stay."""
        scoped = self._scope.get()
        self._do(lambda engine: engine.recorder.reset(scoped))

    def opt_out(self, flag: bool) -> None:
        """True: record nothing from now on, also after a restart; what is stored still goes. False: record again."""
        if not isinstance(flag, bool):
            raise InvalidCall(f"optOut: flag must be true or false, got {type(flag).__name__}")
        scoped = self._scope.get()
        self._do(lambda engine: engine.recorder.opt_out(flag, scoped), opt_out=flag)

    def put_anonymous_id(self, id: str) -> None:
        """Use this anonymous ID instead of the device's."""
        self._put("putAnonymousId", "anonymous_id", "id", id)

    def put_advertising_id(self, id: str) -> None:
        """Set the advertising ID (`context.device.advertisingId`). May come before `initialize`."""
        self._put("putAdvertisingId", "advertising_id", "id", id)

    def put_device_token(self, token: str) -> None:
        """Set the push token (`context.device.token`)."""
        self._put("putDeviceToken", "device_token", "token", token)

    optOut = opt_out  # noqa: N815 - the specified names
    putAnonymousId = put_anonymous_id  # noqa: N815
    putAdvertisingId = put_advertising_id  # noqa: N815
    putDeviceToken = put_device_token  # noqa: N815

    # Sending

    def flush(self, timeout: float = 10.0) -> bool:
        """Send everything that waits, now. True when all of it is delivered (or parked) within `timeout` seconds.

        Failures are tried again within the timeout. False at once while the client is paused, and before `initialize`.
        """
        engine = self._engine
        if engine is None:
            return False
        return bool(self._guard(False, lambda: engine.flush(timeout)))

    async def flush_async(self, timeout: float = 10.0) -> bool:
        """`flush` without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.flush, timeout)

    def shutdown(self, timeout: float = 10.0) -> bool:
        """Flush, end the worker, close the files; whether everything was delivered. A later call starts it all again.

        Happens at the end of the process by itself, with one attempt and at most 5 seconds: what is not delivered
        then is sent at the next start.
        """
        return self._shutdown(timeout, patient=True)

    def retry_parked(self) -> int:
        """Put events that the data plane refused back into the queue; how many."""
        engine = self._engine
        return 0 if engine is None else int(self._guard(0, engine.queue.retry_parked))

    def stats(self) -> Stats:
        """Counts since the client was made, and the queue's state now."""
        engine, early = self._engine, sum(call.is_event for call in list(self._early))
        nothing = (Numbers(0, 0, 0), self._reporter.tally.totals())
        numbers, counts = nothing if engine is None else engine.queue.numbers()
        return Stats(
            recorded=counts.get("recorded", 0) + early,
            carried=self._carried,
            delivered=counts.get("delivered", 0),
            retried=counts.get("retried", 0),
            refused_fields=counts.get("refused_fields", 0),
            missed=counts.get("missed", 0),
            dropped={name.removeprefix(DROPPED): n for name, n in counts.items() if name.startswith(DROPPED)},
            waiting=numbers.waiting + early,
            parked=numbers.parked,
            in_memory=numbers.in_memory,
            paused="" if engine is None else engine.dispatcher.pause.cause.value,
            last_error=self._reporter.last_error,
        )

    def frame(self) -> pd.DataFrame:
        """The queue, one row per event, oldest first.

        Columns: id, stored_at (UTC), state (waiting, device, parked, memory), status and reason (of parked events),
        message_id, type, event, user_id, anonymous_id, bytes, and the `payload` as a dict.
        """
        from svctoolkit.sdk._frame import frame

        return frame([] if self._engine is None else self._engine.queue.listing())

    # Around the calls

    def foreground(self) -> None:
        """The application came to the front: Application Opened, and a new session if the last one is old."""
        if self._in_background:
            self._in_background = False
            self._lifecycle(lifecycle.OPENED, {"from_background": True})

    def background(self) -> None:
        """The application went to the back: Application Backgrounded."""
        if not self._in_background:
            self._in_background = True
            self._lifecycle(lifecycle.BACKGROUNDED, None)

    def screen_view(self, name: str) -> ScreenView:
        """Records a screen when entered, if `recordScreenViews` is on: `with client.screen_view("Basket"):`, or above
        a function, also an async one."""
        return ScreenView(self, text("screen_view", "name", name))

    def scope(self, *, anonymous_id: str, user_id: str = "") -> AbstractContextManager[None]:
        """Inside the `with`, calls concern this user and not the installation's: for servers with many users.

        Threads and tasks do not see each other's. Nothing of it is kept afterwards; `identify`, `reset` and
        `opt_out` inside concern this scope only. There is no session.
        """
        return self._identity_scope(_visitor(anonymous_id, user_id))

    def enter_scope(self, *, anonymous_id: str, user_id: str = "") -> None:
        """`scope` until the current `contextvars` context ends: for servers that give each request its own."""
        self._scope.set(_visitor(anonymous_id, user_id))

    @contextmanager
    def _identity_scope(self, identity: Identity) -> Iterator[None]:
        token = self._scope.set(identity)
        try:
            yield
        finally:
            self._scope.reset(token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        await asyncio.to_thread(self.shutdown)

    # Inside

    def record_page(self, name: str, properties: Mapping[str, Any]) -> None:
        """A page event, as the web middlewares record it."""
        self._event("page", ("name", name), ("properties", properties), None)

    def record_screen_view(self, name: str) -> None:
        """An automatic screen event, if `recordScreenViews` is on."""
        engine = self._engine
        if engine is not None and engine.settings.record_screen_views:
            self._event("screen", ("name", name), ("properties", {"automatic": True}), None)

    def _event(
        self, kind: str, named: tuple[str, str], bodied: tuple[str, Mapping[str, Any] | None], options: _Options
    ) -> None:
        name = text(kind, *named)
        member, content = bodied
        if content is not None and not isinstance(content, Mapping):
            raise InvalidCall(f"{kind}: {member} must be a mapping or None, got {type(content).__name__}")
        checked = NONE if options is None else checked_options(kind, options)
        try:
            call = self._call(kind, name, member, content, checked)
        except Exception as error:  # noqa: BLE001 - odd objects of the host (a failing __iter__...) must not reach it
            self._fault(error)
            self._reporter.drop("unreadable", [], 1, unstored=True)
            self._reporter.publish()
            return
        self._do(lambda engine: engine.record(call), is_event=True)

    def _call(self, kind: str, name: str, member: str, content: Mapping[str, Any] | None, options: Options) -> Call:
        if kind == "screen":
            content = {**(content or {}), "name": name}
        body = "" if content is None else json_text(content, member, self._refuse_field)
        return Call(kind, self._now(), name, body, options, self._scope.get())

    def _now(self) -> float:
        engine = self._engine
        return engine.settings.clock() if engine else settings(self._configuration).clock()

    def _refuse_field(self, error: ToolkitError) -> None:
        self._reporter.count("refused_fields")
        self._reporter.error(error, LogLevel.WARN)

    def _put(self, call: str, member: str, argument: str, value: str) -> None:
        content, scoped = text(call, argument, value), self._scope.get()
        self._do(lambda engine: engine.recorder.put(member, content, scoped))

    def _lifecycle(self, name: str, properties: Mapping[str, Any] | None) -> None:
        def record(engine: Engine) -> None:
            if engine.settings.track_lifecycle_events:
                engine.recorder.resume_session()
                engine.recorder.record_lifecycle(name, properties)
                engine.worker.wake()

        self._do(record, is_event=True)

    def _do(self, work: Callable[[Engine], None], *, is_event: bool = False, opt_out: bool | None = None) -> None:
        engine = self._engine
        if engine is None:
            self._postpone(_Early(is_event, opt_out, work))
        else:
            self._run(engine, work)
        self._reporter.publish()

    def _run(self, engine: Engine, work: Callable[[Engine], None]) -> None:
        engine.turnstile.run(lambda: self._safely(engine, work))
        self._safely(engine, Engine.deliver_embedded)

    def _postpone(self, call: _Early) -> None:
        if len(self._early) < _EARLY_CALLS:
            self._early.append(call)
        elif call.is_event:
            self._reporter.drop("too many before initialize", [], 1, unstored=True)
        engine = self._engine
        if engine is not None:  # `initialize` was faster
            self._catch_up(engine)

    def _catch_up(self, engine: Engine) -> None:
        """What was called in the middle of `initialize`."""
        with suppress(IndexError):
            while self._early:
                self._run(engine, self._early.popleft().work)

    def _safely(self, engine: Engine, work: Callable[[Engine], None]) -> None:
        try:
            work(engine)
        except Exception as error:  # noqa: BLE001 - the host application must not suffer from a fault of ours
            self._fault(error)

    def _guard(self, otherwise: Any, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - as in _safely
            self._fault(error)
            return otherwise
        finally:
            self._reporter.publish()

    def _fault(self, error: Exception) -> None:
        self._reporter.error(DeliveryError(f"internal fault: {type(error).__name__}: {error}", code="EINTERNAL"))

    def _shutdown(self, timeout: float, *, patient: bool) -> bool:
        engine = self._engine
        if engine is None:
            return True
        delivered = self._guard(False, lambda: engine.flush(timeout, patient=patient))
        self._guard(None, lambda: engine.close(1.0))
        return bool(delivered)

    def _at_exit(self) -> None:
        engine = self._engine
        if engine is not None and engine.worker.alive:
            self._shutdown(_EXIT_SECONDS, patient=False)

    def _after_fork(self) -> None:
        self._starting = Gate()


def _remaining(counts: Mapping[str, int], carried: int) -> int:
    """How many events have to be in the queue, as far as the client knows."""
    gone = sum(number for name, number in counts.items() if name.startswith(DROPPED) or name == "delivered")
    return counts.get("recorded", 0) + carried - gone


def _visitor(anonymous_id: str, user_id: str) -> Identity:
    identity = Identity(text("scope", "anonymous_id", anonymous_id))
    if user_id:
        identity.user_id = text("scope", "user_id", user_id)
    return identity
