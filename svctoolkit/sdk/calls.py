"""The event calls: argument checks, and the events that they create."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Literal, Unpack, overload

from svctoolkit.errors import InvalidCall, ToolkitError
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import Configuration, LogLevel, new_id, settings
from svctoolkit.sdk.base.values import event_json, text
from svctoolkit.sdk.events import consent
from svctoolkit.sdk.events.details import CallDetails, Details, UserDetails, checked_details
from svctoolkit.sdk.events.event_text import Call
from svctoolkit.sdk.events.identity import Identity
from svctoolkit.sdk.events.options import NONE, CallOptions, Options, checked_options
from svctoolkit.sdk.events.spellings import also_spelled
from svctoolkit.sdk.runtime import Runtime

Kind = Literal["identify", "track", "group", "screen", "page", "alias"]
_Values = Mapping[str, object] | None
#: Kinds of events that have properties, and so also get those of `register`.
_WITH_PROPERTIES = ("track", "screen", "page")


class Calls:
    """The event calls of `ServiceClient`."""

    def __init__(self, **configuration: Unpack[Configuration]) -> None:
        """Create a client; it opens no file before `initialize`. Raises `ConfigError` with every problem."""
        self._configuration = configuration
        self._settings = settings(configuration)
        self._reporter = Reporter()
        self._reporter.use(self._settings)
        self._runtime = Runtime(self._reporter)
        self._properties: dict[str, object] = {}
        self._in_background = False
        self._scope: ContextVar[Identity | None] = ContextVar("svctoolkit_identity", default=None)

    @overload
    def identify(
        self,
        user_id: str,
        traits: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[UserDetails],
    ) -> str: ...

    @overload
    def identify(
        self,
        *,
        userId: str,  # noqa: N803 - the specified name
        traits: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[UserDetails],
    ) -> str: ...

    @also_spelled(userId="user_id")
    def identify(
        self,
        user_id: str,
        traits: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[UserDetails],
    ) -> str:
        """Set the user's ID for this and later events. Traits are merged into those of the same user, and stored."""
        return self._event("identify", ("userId", user_id), ("traits", traits), options, details)

    def track(
        self,
        name: str,
        properties: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str:
        """Record an action of the user."""
        return self._event("track", ("name", name), ("properties", properties), options, details)

    @overload
    def group(
        self,
        group_id: str,
        group_traits: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str: ...

    @overload
    def group(
        self,
        group_id: str,
        *,
        groupTraits: _Values,  # noqa: N803
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str: ...

    @overload
    def group(
        self,
        *,
        groupId: str,  # noqa: N803
        groupTraits: _Values = None,  # noqa: N803
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str: ...

    @also_spelled(groupId="group_id", groupTraits="group_traits")
    def group(
        self,
        group_id: str,
        group_traits: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str:
        """Record that the user belongs to an organisation. Later events do not contain it."""
        return self._event("group", ("groupId", group_id), ("groupTraits", group_traits), options, details)

    @overload
    def screen(
        self,
        screen_name: str,
        properties: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str: ...

    @overload
    def screen(
        self,
        screen_name: str,
        *,
        property: _Values,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str: ...

    @overload
    def screen(
        self,
        *,
        screenName: str,  # noqa: N803
        property: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str: ...

    @also_spelled(screenName="screen_name", property="properties")
    def screen(
        self,
        screen_name: str,
        properties: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str:
        """Record that the user saw a screen. Its name is also in `properties.name`."""
        return self._event("screen", ("screenName", screen_name), ("property", properties), options, details)

    @overload
    def alias(self, new_id: str, options: CallOptions | None = None, **details: Unpack[CallDetails]) -> str: ...

    @overload
    def alias(
        self,
        *,
        newId: str,  # noqa: N803
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str: ...

    @also_spelled(newId="new_id")
    def alias(self, new_id: str, options: CallOptions | None = None, **details: Unpack[CallDetails]) -> str:
        """Change the user's ID to `new_id`; the event contains the old one, too."""
        return self._event("alias", ("newId", new_id), ("", None), options, details)

    def page(
        self,
        name: str,
        properties: _Values = None,
        options: CallOptions | None = None,
        **details: Unpack[CallDetails],
    ) -> str:
        """Record that the user saw a page of a website. For servers: the mobile SDKs do not have this call."""
        return self._event("page", ("name", name), ("properties", properties or {}), options, details)

    def reset(self) -> None:
        """Forget user ID, traits and external IDs, as on logout. Anonymous ID, opt-out and stored events are kept."""
        scoped = self._scope.get()
        self._runtime.do(lambda engine: engine.recorder.reset(scoped))

    def opt_out(self, flag: bool) -> None:
        """True: stop recording, also after a restart; stored events are still sent. False: record again."""
        if not isinstance(flag, bool):
            self._refuse_call(InvalidCall(f"optOut: flag must be true or false, got {type(flag).__name__}"))
            return
        scoped = self._scope.get()
        self._runtime.do(lambda engine: engine.recorder.opt_out(flag, scoped), opt_out=flag)

    def put_anonymous_id(self, id: str) -> None:
        """Use this anonymous ID instead of the device's. While opted out: after `opt_out(False)`."""
        self._put("putAnonymousId", "anonymous_id", "id", id)

    def put_advertising_id(self, id: str) -> None:
        """Set the advertising ID (`context.device.advertisingId`). May be called before `initialize`.

        While opted out: after `opt_out(False)`.
        """
        self._put("putAdvertisingId", "advertising_id", "id", id)

    def put_device_token(self, token: str) -> None:
        """Set the push token (`context.device.token`). While opted out: after `opt_out(False)`."""
        self._put("putDeviceToken", "device_token", "token", token)

    optOut = opt_out  # noqa: N815 - the specified names
    putAnonymousId = put_anonymous_id  # noqa: N815
    putAdvertisingId = put_advertising_id  # noqa: N815
    putDeviceToken = put_device_token  # noqa: N815

    def record(
        self,
        kind: Kind,
        name: str = "",
        content: _Values = None,
        *,
        category: str = "",
        **details: Unpack[CallDetails],
    ) -> str:
        """Record one event the way server SDKs do: for the user in `details`, without any stored state.

        `name` is the call's first argument (for identify and alias: the user's ID); it may be empty where those SDKs
        allow it. Nothing is remembered: each event has to specify its user.
        """
        given = {"name": name, "category": category}
        try:
            texts = {key: text(kind, key, value) for key, value in given.items() if value}
            checked, options = checked_details(kind, details, NONE, self._refuse_field)
        except InvalidCall as error:
            self._refuse_call(error)
            return ""
        call = self._call(kind, texts.get("name", ""), "properties", content, options, checked)
        # An empty identity rather than none: the event must not inherit the user of this machine.
        identity = call.identity or Identity(checked.anonymous_id, checked.user_id, visitor={})
        if self._settings.enabled:
            full = call._replace(identity=identity, category=texts.get("category", ""))
            if not self._is_allowed(full):
                return ""
            self._runtime.do(lambda engine: engine.record(full), is_event=True)
        return call.message_id

    def may_record(
        self, kind: Literal["identify", "track", "group", "screen", "page", "alias"], name: str = ""
    ) -> bool:
        """Return whether such an event would be recorded now: the client is on, and the user allows it.

        For decisions of the application, such as whether to set a cookie. `consent` is asked; nothing is counted.
        """
        identity = self._identity()
        opted_out = identity is not None and (identity.opted_out or identity.denied)
        if not self._settings.enabled or opted_out or self._runtime.ask(False, lambda e: e.recorder.opted_out):
            return False
        return self._has_consent(Call(kind, 0.0, name, "", NONE, identity, ""))

    # Properties of every event

    def register(self, properties: Mapping[str, object]) -> None:
        """Add these properties to every later track, screen and page; a call's own override them. Kept in memory."""
        if not isinstance(properties, Mapping):
            self._refuse_call(InvalidCall(f"register: properties must be a mapping, got {type(properties).__name__}"))
            return
        self._properties = {**self._properties, **properties}

    def unregister(self, *names: str) -> None:
        """Stop adding these properties; without names, all properties of `register`."""
        self._properties = {k: v for k, v in self._properties.items() if names and k not in names}

    # Internal

    def _event(
        self,
        kind: str,
        named: tuple[str, str],
        bodied: tuple[str, _Values],
        options: CallOptions | None,
        given: Mapping[str, object],
    ) -> str:
        """Check and record the call. Return the event's messageId, or "" if it was not recorded."""
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
            # Even a disabled client returns an ID, so that code that stores it keeps working.
            return details.message_id or new_id()
        try:
            # Values are converted here, in the caller's thread: the application may change its objects right after the
            # call.
            call = self._call(kind, name, member, content, checked, details)
        except Exception as error:  # noqa: BLE001 - failing objects of the application (__iter__...) must not break it
            self._runtime.report_fault(error)
            self._reporter.drop("unreadable", [], 1, unstored=True)
            self._reporter.publish()
            return ""
        if not self._is_allowed(call):
            return ""
        self._runtime.record(call)
        return call.message_id

    def _call(self, kind: str, name: str, member: str, content: _Values, options: Options, details: Details) -> Call:
        if self._properties and kind in _WITH_PROPERTIES:
            content = {**self._properties, **(content or {})}
        # As in RudderStack's mobile SDKs, which repeat the name of a screen in its properties.
        if kind == "screen" and name:
            content = {**(content or {}), "name": name}
        if kind == "page":
            content = content or {}
        body = "" if content is None else event_json(content, member, self._refuse_field)
        identity = self._identity()
        if details.names_user:
            identity = (identity or Identity("", visitor={})).named(details.anonymous_id, details.user_id)
        at = self._settings.clock() if details.at is None else details.at
        message_id = details.message_id or self._settings.new_id()
        return Call(kind, at, name, body, options, identity, message_id, details.context, details.at is not None)

    def _is_allowed(self, call: Call) -> bool:
        """Return whether there is consent; if not, count the event as dropped."""
        if self._has_consent(call):
            return True
        self._reporter.drop("no consent", [], 1, unstored=True)
        self._reporter.publish()
        return False

    def _has_consent(self, call: Call) -> bool:
        # In the caller's thread: the answer may depend on the request that is handled there.
        if self._settings.consent is None:
            return True
        engine = self._runtime.engine
        identity = (call.identity or Identity("")) if engine is None else engine.recorder.identity_of(call)
        given = consent.is_given(call, identity, self._settings, self._reporter)
        self._reporter.publish()
        return given

    def _identity(self) -> Identity | None:
        """Return the identity of the scope, with the user who is logged in now."""
        identity = self._scope.get()
        if identity is not None:
            identity.update()
        return identity

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
