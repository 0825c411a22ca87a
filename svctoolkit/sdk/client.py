"""`ServiceClient`: the calls that an application makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Self

from svctoolkit.displayed import Displayed, render
from svctoolkit.errors import ToolkitError
from svctoolkit.sdk.base.ready import Ready
from svctoolkit.sdk.base.reporter import Stats
from svctoolkit.sdk.base.settings import Configuration, LogLevel, SpecifiedConfiguration, settings
from svctoolkit.sdk.base.values import text
from svctoolkit.sdk.calls import Calls
from svctoolkit.sdk.engine import Engine
from svctoolkit.sdk.events import lifecycle
from svctoolkit.sdk.events.identity import Identity
from svctoolkit.sdk.events.options import CallOptions, checked_options
from svctoolkit.sdk.events.spellings import also_spelled
from svctoolkit.sdk.screen_view import ScreenView

if TYPE_CHECKING:
    import pandas as pd


class ServiceClient(Displayed, Calls):
    """Records what users do and brings it to a data plane, without ever getting in the application's way.

    An event is on disk when its call returns; a daemon thread sends it. Calls raise `InvalidCall` for an argument of
    the wrong type or an empty ID, at the call, and nothing else ever: network, disk and data plane are the client's
    own affair, told to `on_error` and `on_drop`, counted in `stats()`, explained by `diagnose()`.

    Event calls give the event's messageId, and take keywords for this one event: `timestamp`, `message_id`, `context`,
    `integrations`, and the user it is about, `user_id` and `anonymous_id`. The specification's names of arguments are
    keywords, too (`groupTraits=`). Calls are safe anywhere: in signal handlers, `__del__`, callbacks, forked children.

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
    | enabled | True | False: calls do nothing, nothing is opened; so does SVCTOOLKIT_DISABLED=1 in the environment |
    | strict | True | False: a call with wrong arguments is logged and told to `on_error` instead of raising |
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
    | adopt | () | old write keys, whose waiting events and identity this client takes over |
    | before_send(event) | None | changes an event before it is stored, or drops it by giving None |
    | on_error(error) | None | what went wrong, as a `ToolkitError`; called without locks, mostly in the worker |
    | on_drop(event, reason) | None | every event that is given up |
    """

    LogLevel = LogLevel

    SPEC_VERSION = "1.3.0"

    def display_text(self) -> str:
        """How many events it has recorded."""
        return render(self, "text")

    @also_spelled(writeKey="write_key")
    def initialize(
        self,
        write_key: str,
        configuration: Configuration | SpecifiedConfiguration | None = None,
        options: CallOptions | None = None,
    ) -> Ready:
        """Start: open the queue, record the application's start, let the worker run.

        `options` hold for every event unless its call says otherwise. Gives back a `Ready` to `await` or `wait` for;
        there is no need to. Initializing again replaces key, settings and options; what this client recorded and is
        not sent yet goes with it. Raises `InvalidCall` and `ConfigError`.
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
        """Send everything that waits, now. True when all of it is delivered (or parked) within `timeout` seconds.

        Failures are tried again within the timeout. False at once while the client is paused, and before `initialize`.
        """
        return self._runtime.ask(not self._settings.enabled, lambda engine: engine.flush(timeout))

    async def flush_async(self, timeout: float = 10.0) -> bool:
        """`flush` without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.flush, timeout)

    def shutdown(self, timeout: float = 10.0) -> bool:
        """Flush, end the worker, close the files; whether everything was delivered. A later call starts it all again.

        Happens at the end of the process by itself, with one attempt and at most 5 seconds: what is not delivered
        then is sent at the next start. In a signal handler, too, it sends what it can in its time.
        """
        return self._runtime.shutdown(timeout)

    def retry_parked(self) -> int:
        """Put events that the data plane refused back into the queue; how many."""
        return self._runtime.ask(0, lambda engine: engine.queue.retry_parked())

    def stats(self) -> Stats:
        """Counts since the client was made, and the queue's state now."""
        return self._runtime.stats()

    def diagnose(self) -> str:
        """A page for people: where the data is, what waits, what the last answers were, and what to do about it."""
        from svctoolkit.sdk.diagnosis import diagnosis

        return diagnosis(self._settings, self._runtime)

    def frame(self) -> pd.DataFrame:
        """The queue, one row per event, oldest first.

        Columns: id, stored_at (UTC), state (waiting, device, parked, memory), status and reason (of parked events),
        message_id, type, event, user_id, anonymous_id, bytes, and the `payload` as a dict.
        """
        from svctoolkit.sdk._frame import frame

        return frame(self._runtime.ask([], lambda engine: engine.queue.listing()))

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
        return ScreenView(self._record_screen_view, text("screen_view", "name", name))

    def scope(
        self, *, anonymous_id: str, user_id: str = "", context: Mapping[str, object] | None = None
    ) -> AbstractContextManager[None]:
        """Inside the `with`, calls concern this user and not the installation's: for servers with many users.

        Threads and tasks do not see each other's. Nothing of it is kept afterwards; `identify`, `reset` and
        `opt_out` inside concern this scope only. There is no session, and nothing is said of this machine; `context`
        describes the user's (`ip`, `userAgent`, `locale`, `page`...).
        """
        return self._identity_scope(_visitor(anonymous_id, user_id, context))

    def enter_scope(self, *, anonymous_id: str, user_id: str = "", context: Mapping[str, object] | None = None) -> None:
        """`scope` until the current `contextvars` context ends: for servers that give each request its own."""
        self._scope.set(_visitor(anonymous_id, user_id, context))

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

    def tell(self, error: ToolkitError) -> None:
        """Have `on_error` hear of a fault around this client; the first of its kind is logged, too."""
        self._reporter.error(error, topic=str(error))
        self._reporter.publish()

    @property
    def _engine(self) -> Engine | None:
        return self._runtime.engine

    def _record_screen_view(self, name: str) -> None:
        """An automatic screen event, if `recordScreenViews` is on."""
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
    identity = Identity(text("scope", "anonymous_id", anonymous_id), visitor=dict(context or {}))
    if user_id:
        identity.user_id = text("scope", "user_id", user_id)
    return identity
