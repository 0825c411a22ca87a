"""`ServiceClient`: the API for applications."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Self, overload

from svctoolkit.displayed import Displayed, render
from svctoolkit.errors import InvalidCall, ToolkitError
from svctoolkit.sdk.base.ready import Ready
from svctoolkit.sdk.base.reporter import Stats
from svctoolkit.sdk.base.settings import Configuration, LogLevel, SpecifiedConfiguration, settings
from svctoolkit.sdk.base.values import text
from svctoolkit.sdk.calls import Calls
from svctoolkit.sdk.engine import Engine
from svctoolkit.sdk.events import lifecycle
from svctoolkit.sdk.events.identity import Identity
from svctoolkit.sdk.events.options import CallOptions, checked_integrations, checked_options
from svctoolkit.sdk.events.spellings import also_spelled
from svctoolkit.sdk.explanation import Explanation, explanation
from svctoolkit.sdk.metrics import metrics_text, write_metrics
from svctoolkit.sdk.screen_view import ScreenView

if TYPE_CHECKING:
    import pandas as pd


class ServiceClient(Displayed, Calls):
    """Records events and delivers them to a data plane, without ever disturbing the application.

    An event is on disk when its call returns; a daemon thread sends it. Calls raise `InvalidCall` for an argument of
    the wrong type or an empty ID, and nothing else: problems with network, disk or data plane are reported to
    `on_error` and `on_drop`, counted in `stats()` and explained by `diagnose()`.

    Event calls return the event's messageId, and accept keywords for this one event: `timestamp`, `message_id`,
    `context`, `integrations`, and its user, `user_id` and `anonymous_id`. The specification's argument names are
    accepted, too (`groupTraits=`). Calls are safe anywhere: in signal handlers, `__del__`, callbacks, forked children.

    >>> from svctoolkit.sdk import ServiceClient
    >>> client = ServiceClient(application_name="shop", application_version="1.4.0")
    >>> client.initialize("WRITE_KEY", {"dataPlaneUrl": "http://127.0.0.1:8091"})      # doctest: +SKIP
    >>> client.identify("u-1", {"email": "ada@example.com"})                           # doctest: +SKIP
    >>> client.track("Order Completed", {"revenue": 12.5})                             # doctest: +SKIP

    Settings can be given here (Python spelling) and to `initialize` (either spelling), which overrides them:

    | setting | default | |
    |---|---|---|
    | profile | "device" | "server": for many users and processes; no lifecycle events, shorter back-off, see below |
    | logLevel | NONE | how much is logged to the standard logger `svctoolkit.sdk`; no other switch is needed |
    | dataPlaneUrl | SVCTOOLKIT_DATA_PLANE_URL, else http://127.0.0.1:8091 | where events go |
    | controlPlaneUrl | the data plane's | where the source configuration is fetched |
    | flushQueueSize | 30; server: 100 | events in one request, 1 to 100 |
    | dbThresholdCount | 10000 | events kept on disk; the oldest above it are deleted, counted and passed to `on_drop` |
    | sleepTimeout | 10 | seconds after which fewer than `flushQueueSize` events are sent, too |
    | configRefreshInterval | 2 | hours, 1 to 24, after which the source configuration is fetched again |
    | autoCollectAdvertId | False | for compatibility only: a computer has no advertising ID |
    | enabled | True | False, or SVCTOOLKIT_DISABLED=1 in the environment: calls do nothing, no file is opened |
    | strict | True | False: a call with wrong arguments is logged and reported to `on_error` instead of raising |
    | durable | "preferred" | "required": `initialize` raises where events could only be kept in memory |
    | trackLifecycleEvents | True; server: False | Application Installed, Updated, Opened, Backgrounded; sessions |
    | recordScreenViews | False | whether `screen_view` records |
    | dataResidency | "US" | which of the source's data planes to use, if its configuration lists any: "US" or "EU" |
    | dataDirectory | the platform's | directory of the queue and the identity; ":memory:" stores nothing on disk |
    | applicationName, -Version, -Build, -Namespace | "" | `context.app`; lifecycle events compare version and build |
    | gzip | True | compress requests (never to localhost, where it would only cost time) |
    | transport | HTTP | a `DataPlane` in this process, or any object with `send(request)`; see `Transport` |
    | factories | () | device mode; see `Factory` |
    | clock, newId | time.time, random | for deterministic tests |
    | backoff(failures) | 3 s doubling to 300 s; server: 1 s to 15 s | seconds to wait after N failures in a row |
    | probeAfter(pauses) | 30 s doubling to 300 s | seconds until a paused client checks whether it may send again |
    | exitTimeout | 5 s; server: 2 s | how long the end of the process may take; events that remain stay in the queue |
    | maxAge | None | seconds (or a timedelta) after which waiting and parked events are dropped |
    | consent(query) | None | asked when an event is recorded, see `ConsentQuery`; anything but True drops it |
    | adopt | () | old write keys, whose waiting events and user this client takes over |
    | before_send(event) | None | changes an event before it is stored, or drops it by returning None |
    | on_error(error) | None | receives each error as a `ToolkitError`; called without locks, mostly in the worker |
    | on_drop(event, reason) | None | receives every event that is dropped |

    With `profile="server"`, events without a user are about the application: all its processes and containers have the
    same anonymous ID, made from the write key and `applicationName`. `identify` and `alias` do not change the user of
    later events.
    """

    LogLevel = LogLevel

    SPEC_VERSION = "1.3.0"

    def display_text(self) -> str:
        """Return the number of recorded events as text."""
        return render(self, "text")

    @overload
    def initialize(
        self,
        write_key: str,
        configuration: Configuration | SpecifiedConfiguration | None = None,
        options: CallOptions | None = None,
    ) -> Ready: ...

    @overload
    def initialize(
        self,
        *,
        writeKey: str,  # noqa: N803 - the specified name
        configuration: Configuration | SpecifiedConfiguration | None = None,
        options: CallOptions | None = None,
    ) -> Ready: ...

    @also_spelled(writeKey="write_key")
    def initialize(
        self,
        write_key: str,
        configuration: Configuration | SpecifiedConfiguration | None = None,
        options: CallOptions | None = None,
    ) -> Ready:
        """Start the client: open the queue, record the application's start, start the worker.

        `options` apply to every event unless its call overrides them. Return a `Ready` to `await` or `wait` for, which
        is optional. Initializing again replaces key, settings and options; events that this client recorded but has
        not sent yet are sent with the new key. Raises `InvalidCall` and `ConfigError`.
        """
        key, initial = text("initialize", "writeKey", write_key), checked_options("initialize", options)
        self._settings = settings(self._configuration, configuration)
        self._reporter.use(self._settings)
        if not self._settings.enabled:
            ready = Ready()
            ready.set("the client is switched off")
            return ready
        return self._runtime.start(self, self._settings, key, initial)

    # Sending

    def flush(self, timeout: float = 10.0) -> bool:
        """Send all waiting events now. Return True if all were delivered (or parked) within `timeout` seconds.

        Failures are retried within the timeout. Returns False immediately while the client is paused, and before
        `initialize`.
        """
        return self._runtime.ask(not self._settings.enabled, lambda engine: engine.flush(timeout))

    async def flush_async(self, timeout: float = 10.0) -> bool:
        """`flush` without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.flush, timeout)

    def shutdown(self, timeout: float | None = 10.0) -> bool:
        """Flush, stop the worker, close the files; return whether everything was delivered. Later calls start it again.

        Takes at most `timeout` seconds (None: `exitTimeout`). Also delivers what ended processes have left; False if
        another live process has waiting events that it did not move into the queue within `exitTimeout`.

        Called automatically at the end of the process, with one attempt and at most `exitTimeout` seconds: events that
        are not delivered then are sent at the next start. Also works in a signal handler, within `timeout`.
        """
        return self._runtime.shutdown(self._settings.exit_timeout if timeout is None else timeout)

    def forget(self, user_id: str) -> int:
        """Remove every waiting and parked event of a user; return how many there were.

        An event is the user's if `user_id` is its userId, anonymousId or previousId, whichever process recorded it and
        wherever it is: in the queue's file, in a journal, in memory. What another live process has not moved into the
        file yet is removed about a second later. Events that are being sent just now may still arrive. If
        it is the installation's user, also `reset`. The events count as dropped (`forgotten`), without `on_drop`.

        Raises `InvalidCall`, and `StorageError` if the queue's file cannot be written now. May take some seconds while
        a request is under way.
        """
        user = text("forget", "user_id", user_id)
        return self._runtime.forget(user) if self._settings.enabled else 0

    def retry_parked(self) -> int:
        """Put events that the data plane refused back into the queue; return how many."""
        return self._runtime.ask(0, lambda engine: engine.queue.retry_parked())

    def stats(self) -> Stats:
        """Return the counts since the client was created, and the current state of the queue."""
        return self._runtime.stats()

    def metrics(self) -> str:
        """Return `stats()` in Prometheus's text format, labeled with the process. See `middleware.MetricsASGI`."""
        return metrics_text(self.stats())

    def write_metrics(self, path: str | os.PathLike[str]) -> None:
        """Write `metrics()` to a file, atomically: for collectors of text files. Raises `OSError`."""
        write_metrics(self.stats(), path)

    def explain(
        self,
        call: str = "track",
        name: str = "",
        options: CallOptions | None = None,
        *,
        integrations: Mapping[str, object] | None = None,
    ) -> Explanation:
        """Return which destinations a call with these options reaches, and which option decides. Records nothing.

        The destinations are those of the source configuration; without one, those that an option names. Per-call
        `integrations` replace those of `initialize` as a whole. Raises `InvalidCall` for wrong options.
        """
        given = checked_options(call, options).integrations
        if integrations is not None:
            given = checked_integrations(call, "integrations", integrations, objects=True)
        engine = self._engine
        initial = {} if engine is None else engine.options.integrations
        config = None if engine is None else engine.dispatcher.config
        return explanation({"type": call, "event": name}, given, initial, () if config is None else config.destinations)

    def diagnose(self) -> str:
        """Return a readable report: where the data is, waiting events, last answers, and what to do about problems."""
        from svctoolkit.sdk.diagnosis import diagnosis

        return diagnosis(self._settings, self._runtime)

    def frame(self) -> pd.DataFrame:
        """Return the queue as a DataFrame, one row per event, oldest first.

        Columns: id, stored_at (UTC), state (waiting, device, parked, memory), status and reason (of parked events),
        message_id, type, event, user_id, anonymous_id, bytes, and the `payload` as a dict.
        """
        from svctoolkit.sdk._frame import frame

        return frame(self._runtime.ask([], lambda engine: engine.queue.listing()))

    # Application state and scopes

    def foreground(self) -> None:
        """Record Application Opened: the application came to the foreground. Start a new session if necessary."""
        if self._in_background:
            self._in_background = False
            self._lifecycle(lifecycle.OPENED, {"from_background": True})

    def background(self) -> None:
        """Record Application Backgrounded: the application went to the background."""
        if not self._in_background:
            self._in_background = True
            self._lifecycle(lifecycle.BACKGROUNDED, None)

    def screen_view(self, name: str) -> ScreenView:
        """Record a screen on entry, if `recordScreenViews` is on: `with client.screen_view("Basket"):`.

        Also a decorator for functions, including async ones.
        """
        return ScreenView(self._record_screen_view, text("screen_view", "name", name))

    def scope(
        self, *, anonymous_id: str = "", user_id: str = "", context: Mapping[str, object] | None = None
    ) -> AbstractContextManager[None]:
        """Inside the `with`, calls apply to this user instead of the installation's: for servers with many users.

        One of the two ids is required: a server often knows only the user. Raises `InvalidCall` without one.

        Each thread and task has its own scope. Nothing is kept afterwards: `identify`, `reset` and `opt_out` inside
        apply to this scope only. Events have no session and no context of this machine; `context` describes the user's
        (`ip`, `userAgent`, `locale`, `page`...).
        """
        return self._identity_scope(_visitor(anonymous_id, user_id, context))

    def enter_scope(
        self, *, anonymous_id: str = "", user_id: str = "", context: Mapping[str, object] | None = None
    ) -> None:
        """Like `scope`, until the current `contextvars` context ends: for servers with one context per request."""
        self._scope.set(_visitor(anonymous_id, user_id, context))

    def visit(self, identity: Identity) -> AbstractContextManager[None]:
        """Like `scope`, for middlewares: with an identity that asks its request about the user and consent."""
        return self._identity_scope(identity)

    def enter_visit(self, identity: Identity) -> None:
        """Like `enter_scope`, with an identity that asks its request about the user and consent."""
        self._scope.set(identity)

    def scoped_identity(self) -> Identity | None:
        """Return the identity of the scope or request that this code runs in, with the user who is logged in now."""
        return self._identity()

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

    # Internal

    def report(self, error: ToolkitError) -> None:
        """Report a fault outside this client to `on_error`; the first of its kind is logged, too."""
        self._reporter.error(error, topic=str(error))
        self._reporter.publish()

    @property
    def _engine(self) -> Engine | None:
        return self._runtime.engine

    def _record_screen_view(self, name: str) -> None:
        """Record an automatic screen event, if `recordScreenViews` is on."""
        if self._settings.record_screen_views:
            self.screen(name, {"automatic": True})

    def _lifecycle(self, name: str, properties: Mapping[str, object] | None) -> None:
        def record(engine: Engine) -> None:
            if engine.settings.track_lifecycle_events:
                engine.recorder.resume_session()
                engine.recorder.record_lifecycle(name, properties)
                engine.worker.wake()

        self._runtime.do(record, is_event=True)


def _visitor(anonymous_id: str, user_id: str, context: Mapping[str, object] | None) -> Identity:
    if not anonymous_id and not user_id:
        raise InvalidCall("scope: give user_id or anonymous_id")
    anonymous = text("scope", "anonymous_id", anonymous_id) if anonymous_id else ""
    identity = Identity(anonymous, visitor=dict(context or {}))
    if user_id:
        identity.user_id = text("scope", "user_id", user_id)
    return identity
