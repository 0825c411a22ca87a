"""The state of the playground without widgets: a client SDK and the data plane that it sends to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from svctoolkit.errors import ConfigError, DeliveryError
from svctoolkit.json_types import Json
from svctoolkit.sdk import Request, Response, ServiceClient, Stats
from svctoolkit.server import DataPlane
from svctoolkit.widgets._base.json_text import json_object
from svctoolkit.workspace import Workspace

_CALLS_KEPT = 100
_EVENTS_SHOWN = 10
_FLUSH_SECONDS = 3.0
QUEUE_COLUMNS = ("stored_at", "state", "type", "event", "user_id", "anonymous_id", "bytes", "reason")
_DEFAULTS: Mapping[str, Any] = {
    "application_name": "playground",
    "application_version": "1.0.0",
    "data_directory": ":memory:",
    "sleep_timeout": 2,  # seconds that an event stays visible in the queue
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the client: its method, label and sample of its text argument, and of any JSON argument."""

    method: str
    label: str
    sample: str
    content: str = ""
    content_sample: str = ""

    def arguments(self, text: str, content: str) -> list[Json]:
        """The arguments as typed. Raises `ConfigError` for a string that is not a JSON object."""
        if not self.content or not content.strip():
            return [text]
        return [text, json_object(content, self.content.lower())]


CALLS = (
    Call("identify", "User ID", "u-1", "Traits", '{"email": "ada@example.com", "plan": "pro"}'),
    Call("track", "Event name", "Order Completed", "Track properties", '{"order_id": "A-1", "revenue": 12.5}'),
    Call("screen", "Screen name", "Basket", "Screen properties", '{"items": 2}'),
    Call("group", "Group ID", "g-1", "Group traits", '{"name": "Acme"}'),
)
IDENTITY = (
    Call("alias", "New ID", "u-2"),
    Call("put_anonymous_id", "Anonymous ID", "visitor-7"),
    Call("put_advertising_id", "Advertising ID", "ad-1"),
    Call("put_device_token", "Device token", "push-1"),
)


class Line:
    """The client's connection to the data plane, which can be cut: the client then queues its events."""

    embedded = False  # so that the client works as over a network, with a queue and a worker

    def __init__(self, plane: DataPlane) -> None:
        self._plane, self.online = plane, True

    def send(self, request: Request) -> Response:
        """The data plane's response. Raises `DeliveryError` while the connection is cut."""
        if not self.online:
            raise DeliveryError("the playground is offline", code="ECONNECTION")
        path = "/" + request.url.split("/", 3)[3]
        answer = self._plane.ingest(request.method, path, headers=request.headers, body=request.body)
        return Response(answer.status, answer.headers, answer.body)


@dataclass(frozen=True, slots=True)
class Queue:
    """The client's counts and its queue: a row of `QUEUE_COLUMNS` per event, the oldest ones in full."""

    stats: Stats
    rows: Sequence[Sequence[Any]]
    events: Sequence[Mapping[str, Any]]


class Playground:
    """A `ServiceClient` that sends to `plane`, or to its own data plane, with the write key of `source`.

    `configuration` are settings of the client. `changed` is called when there may be changes to show. `calls` are the
    calls so far, as Python code.

    Raises `ConfigError` for a plane without sources, and for invalid settings.
    """

    def __init__(
        self, plane: DataPlane | None, source: str, configuration: Mapping[str, Json], changed: Callable[[], None]
    ) -> None:
        if "transport" in configuration:
            raise ConfigError("`transport` cannot be set: the playground's client always sends to its data plane")
        callbacks = {"on_error": lambda _: changed(), "on_drop": lambda *_: changed()}
        self._settings = {**_DEFAULTS, **callbacks, **configuration}
        ServiceClient(**self._settings)  # raises for invalid settings before anything is started
        self.plane, self._owned = (DataPlane(_workspace()), True) if plane is None else (plane, False)
        self.source = source or next(iter(self.plane.workspace.sources), "")
        if not self.source:
            raise ConfigError("the data plane's workspace has no source; add one to send events")
        self._key = self.plane.write_key(self.source)
        self.line = Line(self.plane)
        self.calls: deque[str] = deque(maxlen=_CALLS_KEPT)
        self.client = ServiceClient(**self._settings, transport=self.line)
        self._change = changed
        self._unwatch: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Start the client, and listen to arriving events."""
        self._unwatch = self.plane.watch(lambda *_: self._change())
        self.client.initialize(self._key)
        self._change()

    def call(self, method: str, *arguments: Json, options: Mapping[str, Json] | None = None) -> None:
        """Call the client. Raises `InvalidCall` for invalid arguments."""
        texts = [*map(repr, arguments), *([f"options={options!r}"] if options else [])]
        named = {"options": options} if options else {}
        getattr(self.client, method)(*arguments, **named)
        self.calls.append(self.plane.mask(f"client.{method}({', '.join(texts)})"))
        self._change()

    def go(self, *, online: bool) -> None:
        """Cut or restore the connection. Queued events are sent with the next `flush`, or after a while."""
        self.line.online = online
        self._change()

    def flush(self) -> bool:
        """Send queued events; whether all were sent within 3 seconds."""
        self.calls.append("client.flush()")
        delivered = self.client.flush(_FLUSH_SECONDS)
        self._change()
        return delivered

    def queue(self) -> Queue:
        """The client's current counts and queue."""
        stats = self.client.stats()
        if not stats.waiting + stats.parked + stats.in_memory:  # building a frame is slow
            return Queue(stats, (), ())
        frame = self.client.frame()
        events = list(islice(frame["payload"], _EVENTS_SHOWN))
        frame["stored_at"] = frame["stored_at"].dt.strftime("%H:%M:%S.%f").str[:-3]
        table = frame[[*QUEUE_COLUMNS]].head(200).astype(object)
        rows = table.where(table.notna(), None).to_numpy().tolist()
        return Queue(stats, self.plane.mask(rows), self.plane.mask(events))

    def close(self) -> None:
        """Close the client, and the data plane if it is the playground's own."""
        self._unwatch()
        self.client.shutdown(1.0)
        if self._owned:
            self.plane.stop()


def _workspace() -> Workspace:
    workspace = Workspace("playground")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace.source("app", destinations=["hook"])
    return workspace
