"""PostHog's SDK for Python, with this client's queue: `from svctoolkit.sdk.compat import posthog`.

Set `posthog.api_key` and `posthog.host` before the first call, or use `Posthog(...)`. The API key is the write key, the
host the data plane. Feature flags are not part of it.
"""

from __future__ import annotations

import datetime as dt
import functools
import uuid as uuids
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, ParamSpec, TypedDict, TypeVar, Unpack

from svctoolkit.json_types import Json
from svctoolkit.sdk.base.settings import Configuration, LogLevel, new_id
from svctoolkit.sdk.compat.service import LONGEST_FLUSH, Values, details, started

_Id = str | int | float | uuids.UUID
_Time = dt.datetime | str | None
_OnError = Callable[[Exception, list[Json]], object]
_P = ParamSpec("_P")
_R = TypeVar("_R")

api_key: str | None = None
project_api_key: str | None = None
host: str | None = None
debug = False
send = True
disabled = False
sync_mode = False
on_error: _OnError | None = None
super_properties: dict[str, object] | None = None
#: The client behind the functions of this module, created by the first call.
default_client: Posthog | None = None


class CaptureDetails(TypedDict, total=False):
    """Keywords of `capture`. Those of feature flags and GeoIP have no effect."""

    distinct_id: _Id | None
    properties: Values | None
    timestamp: _Time
    uuid: _Id | None
    groups: Mapping[str, str] | None
    send_feature_flags: bool | None
    disable_geoip: bool | None


class SetDetails(TypedDict, total=False):
    """Keywords of `set` and `set_once`."""

    distinct_id: _Id | None
    properties: Values | None
    timestamp: _Time
    uuid: _Id | None
    disable_geoip: bool | None


@dataclass
class _Context:
    distinct_id: str = ""
    tags: dict[str, object] = field(default_factory=dict)


_CONTEXT: ContextVar[_Context | None] = ContextVar("posthog", default=None)


class Posthog:
    """A client. Calls return the event's ID; wrong arguments are logged, not raised."""

    def __init__(
        self,
        project_api_key: str,
        host: str | None = None,
        debug: bool = False,
        max_queue_size: int = 10_000,
        send: bool = True,
        on_error: _OnError | None = None,
        flush_at: int = 100,
        flush_interval: float = 5.0,
        gzip: bool = False,
        *,
        sync_mode: bool = False,
        disabled: bool = False,
        super_properties: Values | None = None,
    ) -> None:
        settings: Configuration = {
            "db_threshold_count": max(1, max_queue_size),
            "flush_queue_size": min(max(1, flush_at), 100),
            "sleep_timeout": max(1, round(flush_interval)),
            "gzip": gzip,
            "enabled": send and not disabled,
            "log_level": LogLevel.DEBUG if debug else LogLevel.NONE,
        }
        if on_error is not None:
            settings["on_error"] = lambda error: on_error(error, [])
        self.service = started(project_api_key, host, **settings)
        self._sync_mode, self._super_properties = sync_mode, dict(super_properties or {})

    def capture(self, event: str, **given: Unpack[CaptureDetails]) -> str | None:
        """Record an event; `$pageview` is a page, `$screen` a screen. Without a user it gets a random anonymous ID."""
        context = _CONTEXT.get() or _Context()
        properties = {**self._super_properties, **context.tags, **(given.get("properties") or {})}
        if groups := given.get("groups"):
            properties["$groups"] = dict(groups)
        if event == "$pageview":
            properties = {"url": properties.pop("$current_url", None), **properties}
            return self._record("page", str(properties.get("$title") or ""), properties, **given)
        if event == "$screen":
            return self._record("screen", str(properties.get("$screen_name") or ""), properties, **given)
        return self._record("track", event, properties, **given)

    def capture_exception(self, exception: BaseException | None = None, **given: Unpack[CaptureDetails]) -> str | None:
        """Record an `$exception` with its type and text: the given one, or the one that is being handled."""
        import sys

        error = exception if exception is not None else sys.exc_info()[1]
        if error is None:
            return None
        text = {"$exception_type": type(error).__name__, "$exception_message": str(error)}
        given["properties"] = {**text, **(given.get("properties") or {})}
        return self.capture("$exception", **given)

    def set(self, **given: Unpack[SetDetails]) -> str | None:
        """Set a user's traits."""
        return self._identify(given.get("properties") or {}, **given)

    def set_once(self, **given: Unpack[SetDetails]) -> str | None:
        """Set those traits that have no value yet: an identify with them in the trait `$set_once`."""
        return self._identify({"$set_once": dict(given.get("properties") or {})}, **given)

    def identify(
        self, distinct_id: _Id | None = None, properties: Values | None = None, timestamp: _Time = None
    ) -> str | None:
        """Set a user's traits, as before version 6."""
        return self.set(distinct_id=distinct_id, properties=properties, timestamp=timestamp)

    def group_identify(
        self,
        group_type: str,
        group_key: str,
        properties: Values | None = None,
        timestamp: _Time = None,
        uuid: _Id | None = None,
        disable_geoip: bool | None = None,
        distinct_id: _Id | None = None,
    ) -> str | None:
        """Set a group's traits. Without a user, the anonymous ID is made of the group's type and key."""
        del disable_geoip
        traits = {"groupType": group_type, **(properties or {})}
        anonymous = None if distinct_id else f"${group_type}_{group_key}"
        given = details(user=distinct_id, anonymous=anonymous, at=timestamp, id=uuid)
        return self._done(self.service.record("group", str(group_key), traits, **given))

    def alias(
        self,
        previous_id: _Id,
        distinct_id: _Id,
        timestamp: _Time = None,
        uuid: _Id | None = None,
        disable_geoip: bool | None = None,
    ) -> str | None:
        """Record that `previous_id` is the user `distinct_id`."""
        del disable_geoip
        given = details(user=previous_id, at=timestamp, id=uuid)
        return self._done(self.service.record("alias", str(distinct_id), None, **given))

    def flush(self, timeout_seconds: float | None = 10) -> None:
        """Send waiting events within `timeout_seconds` (None: ten minutes)."""
        self.service.flush(LONGEST_FLUSH if timeout_seconds is None else timeout_seconds)

    def join(self) -> None:
        """End the client's threads. A later call starts them again."""
        self.service.shutdown(0)

    def shutdown(self) -> None:
        """`flush`, then `join`."""
        self.service.shutdown(LONGEST_FLUSH)

    def _identify(self, traits: Values, **given: Unpack[SetDetails]) -> str | None:
        user = given.get("distinct_id") or (_CONTEXT.get() or _Context()).distinct_id
        if not user:
            return None  # as in the original
        more = details(at=given.get("timestamp"), id=given.get("uuid"))
        return self._done(self.service.record("identify", str(user), traits, **more))

    def _record(
        self, kind: Literal["track", "page", "screen"], name: str, members: Values, **given: Unpack[CaptureDetails]
    ) -> str | None:
        user = given.get("distinct_id") or (_CONTEXT.get() or _Context()).distinct_id
        anonymous = None if user else new_id()
        more = details(user=user, anonymous=anonymous, at=given.get("timestamp"), id=given.get("uuid"))
        return self._done(self.service.record(kind, name, members, **more))

    def _done(self, id: str) -> str | None:
        if self._sync_mode:
            self.service.flush()
        return id or None


@contextmanager
def new_context(fresh: bool = False, capture_exceptions: bool = False, client: Posthog | None = None) -> Iterator[None]:
    """Within it, `identify_context` and `tag` apply to every event. Inherits those of the outer one, unless `fresh`."""
    outer = _CONTEXT.get()
    context = _Context() if outer is None or fresh else _Context(outer.distinct_id, dict(outer.tags))
    token = _CONTEXT.set(context)
    try:
        yield
    except Exception as error:
        if capture_exceptions:
            (client or _client()).capture_exception(error)
        raise
    finally:
        _CONTEXT.reset(token)


def scoped(fresh: bool = False, capture_exceptions: bool = False) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator: the function runs in a `new_context`."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def call(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
            with new_context(fresh, capture_exceptions):
                return function(*arguments, **keywords)

        return call

    return decorate


def identify_context(distinct_id: _Id) -> None:
    """Set the user of later events of the context that name none."""
    if (context := _CONTEXT.get()) is not None:
        context.distinct_id = str(distinct_id)


def tag(name: str, value: object) -> None:
    """Add a property to later events of the context."""
    if (context := _CONTEXT.get()) is not None:
        context.tags[name] = value


def capture(event: str, **given: Unpack[CaptureDetails]) -> str | None:
    """Record an event: see `Posthog.capture`."""
    return _client().capture(event, **given)


def capture_exception(exception: BaseException | None = None, **given: Unpack[CaptureDetails]) -> str | None:
    """Record an `$exception`: see `Posthog.capture_exception`."""
    return _client().capture_exception(exception, **given)


def set(**given: Unpack[SetDetails]) -> str | None:
    """Set a user's traits."""
    return _client().set(**given)


def set_once(**given: Unpack[SetDetails]) -> str | None:
    """Set those traits that have no value yet: see `Posthog.set_once`."""
    return _client().set_once(**given)


def identify(distinct_id: _Id | None = None, properties: Values | None = None, timestamp: _Time = None) -> str | None:
    """Set a user's traits, as before version 6."""
    return _client().identify(distinct_id, properties, timestamp)


def group_identify(
    group_type: str,
    group_key: str,
    properties: Values | None = None,
    timestamp: _Time = None,
    uuid: _Id | None = None,
    disable_geoip: bool | None = None,
    distinct_id: _Id | None = None,
) -> str | None:
    """Set a group's traits."""
    return _client().group_identify(group_type, group_key, properties, timestamp, uuid, disable_geoip, distinct_id)


def alias(
    previous_id: _Id,
    distinct_id: _Id,
    timestamp: _Time = None,
    uuid: _Id | None = None,
    disable_geoip: bool | None = None,
) -> str | None:
    """Record that `previous_id` is the user `distinct_id`."""
    return _client().alias(previous_id, distinct_id, timestamp, uuid, disable_geoip)


def flush(timeout_seconds: float | None = 10) -> None:
    """Send waiting events within `timeout_seconds`."""
    _client().flush(timeout_seconds)


def join() -> None:
    """End the client's threads."""
    _client().join()


def shutdown() -> None:
    """Send waiting events, and end the client's threads."""
    _client().shutdown()


def _client() -> Posthog:
    global default_client
    if default_client is None:
        default_client = Posthog(
            api_key or project_api_key or "",
            host,
            debug,
            send=send,
            on_error=on_error,
            sync_mode=sync_mode,
            disabled=disabled,
            super_properties=super_properties,
        )
    return default_client
