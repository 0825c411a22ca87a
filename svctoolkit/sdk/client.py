"""`ServiceClient`: the calls that an application makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal, Self, Unpack

from svctoolkit.errors import InvalidCall, ToolkitError
from svctoolkit.sdk._display import mime_bundle
from svctoolkit.sdk.base.ready import Ready
from svctoolkit.sdk.base.reporter import Reporter, Stats
from svctoolkit.sdk.base.settings import Configuration, LogLevel, SpecifiedConfiguration, new_id, settings
from svctoolkit.sdk.base.values import json_text, text
from svctoolkit.sdk.engine import Engine
from svctoolkit.sdk.events import lifecycle
from svctoolkit.sdk.events.details import CallDetails, Details, UserDetails, checked_details
from svctoolkit.sdk.events.event_text import Call
from svctoolkit.sdk.events.identity import Identity
from svctoolkit.sdk.events.options import NONE, CallOptions, Options, checked_options
from svctoolkit.sdk.events.spellings import also_spelled
from svctoolkit.sdk.runtime import Runtime
from svctoolkit.sdk.screen_view import ScreenView

if TYPE_CHECKING:
    import pandas as pd

_Values = Mapping[str, object] | None
#: kinds of events that carry properties, and so the ones of `register`
_WITH_PROPERTIES = ("track", "screen", "page")


class ServiceClient:
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
    _repr_mimebundle_ = mime_bundle
    SPEC_VERSION = "1.3.0"

    def __init__(self, **configuration: Unpack[Configuration]) -> None:
        """Raises `ConfigError` with every problem of `configuration`. Nothing is opened before `initialize`."""
        self._configuration = configuration
        self._settings = settings(configuration)
        self._reporter = Reporter()
        self._reporter.use(self._settings)
        self._runtime = Runtime(self._reporter)
        self._properties: dict[str, object] = {}
        self._in_background = False
        self._scope: ContextVar[Identity | None] = ContextVar("svctoolkit_identity", default=None)

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

    # The specified calls

    @also_spelled(userId="user_id")
    def identify(
        self,
        user_id: str,
        traits: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[UserDetails],
    ) -> str:
        """This user is `user_id` from now on. Traits are merged into those known of the same user, and kept."""
        return self._event("identify", ("userId", user_id), ("traits", traits), options, details)

    def track(
        self,
        name: str,
        properties: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str:
        """The user did something."""
        return self._event("track", ("name", name), ("properties", properties), options, details)

    @also_spelled(groupId="group_id", groupTraits="group_traits")
    def group(
        self,
        group_id: str,
        group_traits: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str:
        """The user belongs to an organisation. Later events do not carry it."""
        return self._event("group", ("groupId", group_id), ("groupTraits", group_traits), options, details)

    @also_spelled(screenName="screen_name", property="properties")
    def screen(
        self,
        screen_name: str,
        properties: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str:
        """The user saw a screen. Its name stands in `properties.name` too."""
        return self._event("screen", ("screenName", screen_name), ("property", properties), options, details)

    @also_spelled(newId="new_id")
    def alias(self, new_id: str, options: CallOptions | None = None, **details: Unpack[CallDetails]) -> str:
        """The user's ID is `new_id` from now on; the event names the old one."""
        return self._event("alias", ("newId", new_id), ("", None), options, details)

    def page(
        self,
        name: str,
        properties: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str:
        """The user saw a page of a web site. Not one of the mobile SDKs' calls: for servers."""
        return self._event("page", ("name", name), ("properties", properties or {}), options, details)

    def reset(self) -> None:
        """Forget user ID, traits and external IDs, as at a logout. Anonymous ID, opt-out and stored events stay."""
        scoped = self._scope.get()
        self._runtime.do(lambda engine: engine.recorder.reset(scoped))

    def opt_out(self, flag: bool) -> None:
        """True: record nothing from now on, also after a restart; what is stored still goes. False: record again."""
        if not isinstance(flag, bool):
            self._refuse_call(InvalidCall(f"optOut: flag must be true or false, got {type(flag).__name__}"))
            return
        scoped = self._scope.get()
        self._runtime.do(lambda engine: engine.recorder.opt_out(flag, scoped), opt_out=flag)

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

    def record(
        self,
        kind: Literal["identify", "track", "group", "screen", "page", "alias"],
        name: str = "",
        content: _Values = None,
        *,
        category: str = "",
        **details: Unpack[CallDetails],
    ) -> str:
        """One event as other SDKs' calls make them: about the user of `details`, and nobody else's state.

        `name` is what the call's first argument is (of identify and alias the user's ID); it may be empty where those
        SDKs let it be. Nothing of it is kept: a later event of that user is told again whose it is.
        """
        given = {"name": name, "category": category}
        texts = {key: text(kind, key, value) for key, value in given.items() if value}
        try:
            checked, options = checked_details(kind, details, NONE, self._refuse_field)
        except InvalidCall as error:
            self._refuse_call(error)
            return ""
        call = self._call(kind, texts.get("name", ""), "properties", content, options, checked)
        identity = call.identity or Identity(checked.anonymous_id, checked.user_id, visitor={})
        if self._settings.enabled:
            full = call._replace(identity=identity, category=texts.get("category", ""))
            self._runtime.do(lambda engine: engine.record(full), is_event=True)
        return call.message_id

    # What every event carries

    def register(self, properties: Mapping[str, object]) -> None:
        """Add these properties to every track, screen and page from now on; a call's own win. Kept in memory."""
        if not isinstance(properties, Mapping):
            self._refuse_call(InvalidCall(f"register: properties must be a mapping, got {type(properties).__name__}"))
            return
        self._properties = {**self._properties, **properties}

    def unregister(self, *names: str) -> None:
        """Add these properties no more; without a name, none of those of `register`."""
        self._properties = {k: v for k, v in self._properties.items() if names and k not in names}

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

    @property
    def _engine(self) -> Engine | None:
        return self._runtime.engine

    def _record_screen_view(self, name: str) -> None:
        """An automatic screen event, if `recordScreenViews` is on."""
        if self._settings.record_screen_views:
            self.screen(name, {"automatic": True})

    def _event(
        self,
        kind: str,
        named: tuple[str, str],
        bodied: tuple[str, _Values],
        options: CallOptions | None,
        given: Mapping[str, object],
    ) -> str:
        """Check the call and have it recorded; the event's messageId, empty if there is no event."""
        member, content = bodied
        try:
            name = text(kind, *named)
            if content is not None and not isinstance(content, Mapping):
                raise InvalidCall(f"{kind}: {member} must be a mapping or None, got {type(content).__name__}")
            checked, details = (NONE if options is None else checked_options(kind, options)), Details()
            if given:
                details, checked = checked_details(kind, given, checked, self._refuse_field)
        except InvalidCall as error:
            self._refuse_call(error)
            return ""
        if not self._settings.enabled:
            return details.message_id or new_id()
        try:
            call = self._call(kind, name, member, content, checked, details)
        except Exception as error:  # noqa: BLE001 - odd objects of the host (a failing __iter__...) must not reach it
            self._runtime.tell_fault(error)
            self._reporter.drop("unreadable", [], 1, unstored=True)
            self._reporter.publish()
            return ""
        self._runtime.do(lambda engine: engine.record(call), is_event=True)
        return call.message_id

    def _call(self, kind: str, name: str, member: str, content: _Values, options: Options, details: Details) -> Call:
        if self._properties and kind in _WITH_PROPERTIES:
            content = {**self._properties, **(content or {})}
        if kind == "screen" and name:
            content = {**(content or {}), "name": name}
        if kind == "page":
            content = content or {}
        body = "" if content is None else json_text(content, member, self._refuse_field)
        identity = self._scope.get()
        if details.names_user:
            identity = Identity(
                details.anonymous_id, details.user_id, visitor={} if identity is None else identity.visitor
            )
        at = self._settings.clock() if details.at is None else details.at
        message_id = details.message_id or self._settings.new_id()
        return Call(kind, at, name, body, options, identity, message_id, details.context, details.at is not None)

    def _refuse_call(self, error: InvalidCall) -> None:
        if self._settings.strict:
            raise error
        self._reporter.error(error, topic=str(error))
        self._reporter.publish()

    def _refuse_field(self, error: ToolkitError) -> None:
        self._reporter.count("refused_fields")
        self._reporter.error(error, LogLevel.WARN, topic=str(error))

    def _put(self, call: str, member: str, argument: str, value: str) -> None:
        try:
            content, scoped = text(call, argument, value), self._scope.get()
        except InvalidCall as error:
            self._refuse_call(error)
            return
        self._runtime.do(lambda engine: engine.recorder.put(member, content, scoped))

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
