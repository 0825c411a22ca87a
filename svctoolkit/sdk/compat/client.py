"""The `Client` of the RudderStack and Segment SDKs for Python, based on `ServiceClient`."""

from __future__ import annotations

import datetime as dt
import logging
import numbers
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict, Unpack

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.sdk.base.settings import Configuration, LogLevel
from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.events.details import CallDetails

_Id = str | int | float | None
_Members = Mapping[str, Any] | None
#: Whether the event was accepted, and its members.
Outcome = tuple[bool, dict[str, Any]]
_Kind = Literal["identify", "track", "group", "screen", "page", "alias"]
_LONGEST_FLUSH = 600.0


class SegmentSettings(TypedDict, total=False):
    """Settings of Segment's SDK that have no effect: this client has its own back-off, and uses write keys only."""

    oauth_client_id: str | None
    oauth_client_key: str | None
    oauth_key_id: str | None
    oauth_auth_server: str
    oauth_scope: str
    max_total_backoff_duration: float
    max_rate_limit_duration: float


class WaitingEvents:
    """The waiting events as a queue, for health checks: only their number is known."""

    def __init__(self, service: ServiceClient, maxsize: int) -> None:
        self._service, self.maxsize = service, maxsize

    def qsize(self) -> int:
        """Return the number of waiting events."""
        return self._service.stats().waiting

    def empty(self) -> bool:
        return self.qsize() == 0

    def full(self) -> bool:
        """Return whether the next event would push out the oldest."""
        return self.qsize() >= self.maxsize


class Client:
    """Each call specifies its user; no user state is kept.

    Settings that only a queue in memory needs are accepted and ignored: `max_retries`, `timeout`, `proxies` (set
    HTTPS_PROXY in the environment), `thread`. Raises `AssertionError` where those SDKs do: for a wrong write key, a
    user without an ID, a wrong type.
    """

    def __init__(
        self,
        write_key: str | None = None,
        host: str | None = None,
        debug: bool = False,
        max_queue_size: int = 10_000,
        send: bool = True,
        on_error: Callable[[Exception, list[Json]], object] | None = None,
        gzip: bool = False,
        max_retries: int = 10,
        sync_mode: bool = False,
        timeout: float = 15,
        proxies: Mapping[str, str] | None = None,
        thread: int = 1,
        upload_size: int = 100,
        upload_interval: float = 0.5,
        log_handler: logging.Handler | None = None,
        **segments: Unpack[SegmentSettings],
    ) -> None:
        del max_retries, timeout, proxies, thread
        if unknown := segments.keys() - SegmentSettings.__annotations__.keys():
            raise TypeError(f"Client has no setting {min(unknown)!r}")
        key = _require("write_key", write_key, str)
        if log_handler is not None:
            logging.getLogger("svctoolkit.sdk").addHandler(log_handler)
        settings: Configuration = {
            "db_threshold_count": max(1, max_queue_size),
            "flush_queue_size": min(max(1, upload_size), 100),
            "sleep_timeout": max(1, round(upload_interval)),
            "track_lifecycle_events": False,
            "gzip": gzip,
            "enabled": send,
            "log_level": LogLevel.DEBUG if debug else LogLevel.NONE,
        }
        if host:
            settings["data_plane_url"] = host.rstrip("/")
        if on_error is not None:
            settings["on_error"] = lambda error: on_error(error, [])
        self.service = ServiceClient(**settings)
        #: as in those SDKs, where health checks read its size
        self.queue = WaitingEvents(self.service, settings["db_threshold_count"])
        self._sync_mode = sync_mode
        if segments.get("oauth_client_id"):
            self.service.report(
                ConfigError("OAuth is not supported: requests are authenticated by the write key alone")
            )
        self.service.initialize(key)

    def identify(
        self,
        user_id: _Id = None,
        traits: _Members = None,
        context: _Members = None,
        timestamp: dt.datetime | None = None,
        anonymous_id: _Id = None,
        integrations: _Members = None,
        message_id: _Id = None,
    ) -> Outcome:
        """Record a user's traits."""
        _require("traits", traits or {}, Mapping)
        user = _require_user(user_id, anonymous_id)
        details = _details(context, timestamp, integrations, message_id, **{**user, "user_id": None})
        return self._record("identify", user["user_id"] or "", traits or {}, details)

    def track(
        self,
        user_id: _Id = None,
        event: str | None = None,
        properties: _Members = None,
        context: _Members = None,
        timestamp: dt.datetime | None = None,
        anonymous_id: _Id = None,
        integrations: _Members = None,
        message_id: _Id = None,
    ) -> Outcome:
        """Record an action of a user."""
        name = _require("event", event, str)
        user = _require_user(user_id, anonymous_id)
        return self._record(
            "track", name, properties or {}, _details(context, timestamp, integrations, message_id, **user)
        )

    def alias(
        self,
        previous_id: _Id = None,
        user_id: _Id = None,
        context: _Members = None,
        timestamp: dt.datetime | None = None,
        integrations: _Members = None,
        message_id: _Id = None,
    ) -> Outcome:
        """Change a user's ID from `previous_id` to `user_id`."""
        before, after = _require_id("previous_id", previous_id), _require_id("user_id", user_id)
        details = _details(context, timestamp, integrations, message_id, user_id=before)
        return self._record("alias", after, None, details)

    def group(
        self,
        user_id: _Id = None,
        group_id: _Id = None,
        traits: _Members = None,
        context: _Members = None,
        timestamp: dt.datetime | None = None,
        anonymous_id: _Id = None,
        integrations: _Members = None,
        message_id: _Id = None,
    ) -> Outcome:
        """Record that a user belongs to an organisation."""
        name, user = _require_id("group_id", group_id), _require_user(user_id, anonymous_id)
        details = _details(context, timestamp, integrations, message_id, **user)
        return self._record("group", name, traits or {}, details)

    def page(
        self,
        user_id: _Id = None,
        category: str | None = None,
        name: str | None = None,
        properties: _Members = None,
        context: _Members = None,
        timestamp: dt.datetime | None = None,
        anonymous_id: _Id = None,
        integrations: _Members = None,
        message_id: _Id = None,
    ) -> Outcome:
        """Record that a user saw a page of a website."""
        user = _require_user(user_id, anonymous_id)
        details = _details(context, timestamp, integrations, message_id, **user)
        return self._record("page", name or "", properties or {}, details, category or "")

    def screen(
        self,
        user_id: _Id = None,
        category: str | None = None,
        name: str | None = None,
        properties: _Members = None,
        context: _Members = None,
        timestamp: dt.datetime | None = None,
        anonymous_id: _Id = None,
        integrations: _Members = None,
        message_id: _Id = None,
    ) -> Outcome:
        """Record that a user saw a screen of an application."""
        user = _require_user(user_id, anonymous_id)
        details = _details(context, timestamp, integrations, message_id, **user)
        return self._record("screen", name or "", properties or {}, details, category or "")

    def flush(self) -> None:
        """Send waiting events, and wait until they are delivered, at most ten minutes."""
        self.service.flush(_LONGEST_FLUSH)

    def join(self) -> None:
        """End the client's threads. A later call starts them again."""
        self.service.shutdown(0)

    def shutdown(self) -> None:
        """`flush`, then `join`."""
        self.service.shutdown(_LONGEST_FLUSH)

    def _record(self, kind: _Kind, name: str, content: _Members, details: CallDetails, category: str = "") -> Outcome:
        _require("properties", content or {}, Mapping)
        id = self.service.record(kind, name, content, category=category, **details)
        if self._sync_mode:
            self.service.flush()
        return True, _message(kind, name, content, category, details, id)


def _message(kind: _Kind, name: str, content: _Members, category: str, details: CallDetails, id: str) -> dict[str, Any]:
    """Return the event's members as they are called on the wire."""
    message: dict[str, Any] = {"type": kind, "messageId": id}
    named = {"identify": "userId", "track": "event", "group": "groupId", "alias": "userId"}.get(kind, "name")
    ids = {"userId": details.get("user_id"), "anonymousId": details.get("anonymous_id")}
    if kind == "alias":
        ids = {"previousId": details.get("user_id")}
    body = {"identify": "traits", "group": "traits"}.get(kind, "properties")
    members = {**ids, named: name, "category": category, "context": details.get("context")}
    message |= {member: value for member, value in members.items() if value}
    if kind != "alias":
        message[body] = dict(content or {})
    if "timestamp" in details:
        message["timestamp"] = details["timestamp"]
    if "integrations" in details:
        message["integrations"] = details["integrations"]
    return message


def _details(
    context: _Members,
    timestamp: dt.datetime | None,
    integrations: _Members,
    message_id: _Id,
    *,
    user_id: str | None = None,
    anonymous_id: str | None = None,
) -> CallDetails:
    _require("context", context or {}, Mapping)
    _require("integrations", integrations or {}, Mapping)
    if timestamp is not None:
        _require("timestamp", timestamp, dt.datetime)
    details: CallDetails = {}
    if context:
        details["context"] = context
    if integrations:
        details["integrations"] = integrations
    if timestamp is not None:
        details["timestamp"] = timestamp
    if message_id is not None:
        details["message_id"] = str(message_id)
    if user_id:
        details["user_id"] = user_id
    if anonymous_id:
        details["anonymous_id"] = anonymous_id
    return details


def _require_user(user_id: _Id, anonymous_id: _Id) -> dict[str, str | None]:
    if not user_id and not anonymous_id:
        raise AssertionError("user_id or anonymous_id must be a string or a number")
    ids = {"user_id": user_id, "anonymous_id": anonymous_id}
    return {name: _require_id(name, id) if id else None for name, id in ids.items()}


def _require_id(name: str, id: object) -> str:
    if isinstance(id, bool) or not isinstance(id, (str, numbers.Number)) or id == "":
        raise AssertionError(f"{name} must be a string or a number, got {type(id).__name__}")
    return str(id)


def _require(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise AssertionError(f"{name} must be of type {kind.__name__}, got {type(value).__name__}")
    return value
