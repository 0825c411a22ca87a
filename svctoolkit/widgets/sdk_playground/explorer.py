"""Try the client SDK: its calls, its queue, and the events that arrive."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from threading import Timer
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.sdk import Stats
from svctoolkit.server import DataPlane
from svctoolkit.widgets._base import controls
from svctoolkit.widgets._base.json_text import json_object
from svctoolkit.widgets.live_events.explorer import LiveEvents
from svctoolkit.widgets.sdk_playground.state import CALLS, IDENTITY, QUEUE_COLUMNS, Call, Playground, Queue

_LOOK_AGAIN = 0.5  # seconds between updates while the queue is not empty


class SdkPlayground(controls.Explorer):
    """A `ServiceClient` with its calls, its queue, and what the data plane received from it.

    >>> SdkPlayground()  # doctest: +SKIP

    Without `plane`, it creates its own. The client uses the write key of `source` (default: the first source);
    `configuration` are settings of the client. `client` is the client; calls to it in other cells also show here.

    Raises `ConfigError`, `UnknownName`.
    """

    def __init__(
        self,
        plane: DataPlane | None = None,
        *,
        source: str = "",
        configuration: Mapping[str, Json] | None = None,
    ) -> None:
        self._painter = controls.Painter(self._paint, fail=self._fail)
        self._stats, self._queue, self._code = controls.html(), controls.html(), controls.html()
        self._show = Html()
        self._again: Timer | None = None
        self.state = Playground(plane, source, configuration or {}, self._painter.poke)
        self.client, self.plane = self.state.client, self.state.plane
        self._live = LiveEvents(self.plane)
        self._work = controls.Work(self._finish, fail=self._fail, busy=self._set_busy)
        tabs = controls.tabs(Queue=self._queue, Received=self._live.root, Code=self._code)
        super().__init__(
            [self._calls_card(), self._client_card(), tabs],
            closing=[
                self._live.close,
                self._work.wait,
                self._painter.close,
                self._rest,
                self.state.close,
            ],
        )
        self._live.observe(lambda change: self._select(**change["new"]), "selected")
        self.state.start()

    def wait(self, timeout: float = 10.0) -> bool:
        """Wait until all work is done and painted; False after `timeout` seconds."""
        return self._work.wait(timeout) and self._painter.wait(timeout) and self._live.wait(timeout)

    @property
    def events(self) -> list[dict[str, Json]]:
        """The received events, newest first, or only the selected one."""
        return self._live.events

    def static(self) -> Html:
        """The counts, the queue as last shown (reading it needs pandas and time), and the received events."""
        return display.page(_stats(self.client.stats()), self._show, self._live.static())

    def __repr__(self) -> str:
        stats = self.client.stats()
        return f"<SdkPlayground: {stats.recorded} recorded, {stats.waiting} waiting, {stats.delivered} delivered>"

    def _calls_card(self) -> Any:
        self._options = controls.area(
            "Options of the calls (JSON)", rows=1, placeholder='{"integrations": {"All": true}, "externalIds": {}}'
        )
        self._problem = controls.html()
        events, identity = [self._row(call) for call in CALLS], [self._row(call) for call in IDENTITY]
        return controls.card("Calls", *events, controls.grid(*identity, least="400px"), self._options, self._problem)

    def _row(self, call: Call) -> Any:
        text = controls.text(call.label, call.sample)
        fields = [text]
        if call.content:
            fields.append(controls.area(f"{call.content} (JSON)", call.content_sample, rows=1))
        send = controls.button(call.method, partial(self._call, call, fields), primary=bool(call.content))
        send.layout.width = "110px" if call.content else "160px"  # fixed, so that the fields align in columns
        return controls.bar(*fields, send)

    def _client_card(self) -> Any:
        self._offline = controls.checkbox("Offline")
        self._opted_out = controls.checkbox("Opted out")
        self._offline.observe(lambda change: self._go(online=not change["new"]), "value")
        self._opted_out.observe(lambda change: self._do("opt_out", change["new"]), "value")
        self._flush = controls.button("flush", lambda: self._work.start(self.state.flush), icon="paper-plane")
        plain = [controls.button(name, partial(self._do, name)) for name in ("reset", "background", "foreground")]
        return controls.card("Client", controls.bar(self._offline, self._opted_out, self._flush, *plain), self._stats)

    def _call(self, call: Call, fields: list[Any]) -> None:
        content = fields[1].value if call.content else ""
        options = self._options.value.strip()
        try:
            arguments = call.arguments(fields[0].value, content)
            named = json_object(options, "options") if options and call.method in _WITH_OPTIONS else None
        except ToolkitError as error:
            self._fail(controls.failure(error))
            return
        self._do(call.method, *arguments, options=named)

    def _do(self, method: str, *arguments: Any, options: Mapping[str, Any] | None = None) -> None:
        try:
            self.state.call(method, *arguments, options=options)
        except ToolkitError as error:
            self._fail(controls.failure(error))
        else:
            self._problem.value = ""

    def _go(self, *, online: bool) -> None:
        self.state.go(online=online)
        if online:
            self._work.start(self.state.flush)

    def _finish(self, delivered: bool) -> None:
        text = (
            ""
            if delivered
            else display.page(display.message("Some events could not be sent and stay in the queue.", "warning"))
        )
        self._problem.value = text

    def _set_busy(self, busy: bool) -> None:
        self._flush.disabled, self._flush.description = busy, "flushing…" if busy else "flush"

    def _fail(self, message: Html) -> None:
        self._problem.value = display.page(message)

    def _paint(self) -> None:
        queue = self.state.queue()
        self._stats.value = display.page(_stats(queue.stats))
        self._show = _queue(queue)
        self._queue.value = display.page(self._show)
        self._code.value = display.page(_code(list(self.state.calls)))
        self._rest()
        if queue.rows:
            self._again = Timer(_LOOK_AGAIN, self._painter.poke)
            self._again.daemon = True
            self._again.start()

    def _rest(self) -> None:
        if self._again is not None:
            self._again.cancel()


_HEAD = [name.replace("_", " ") for name in QUEUE_COLUMNS]
_WITH_OPTIONS = ("identify", "track", "screen", "group", "alias")


def _stats(stats: Stats) -> Html:
    dropped = [display.pill(f"{count:,} dropped: {reason}", "warning") for reason, count in stats.dropped.items()]
    pills = [
        display.pill(f"{stats.recorded:,} recorded", "info"),
        display.pill(f"{stats.waiting:,} waiting"),
        display.pill(f"{stats.delivered:,} delivered", "ok" if stats.delivered else "plain"),
        *([display.pill(f"{stats.retried:,} retried", "warning")] if stats.retried else []),
        *([display.pill(f"{stats.parked:,} parked", "error")] if stats.parked else []),
        *dropped,
    ]
    status = f"<p>{' '.join(pills)}</p>"
    if stats.paused:
        status += display.message(f"Nothing is sent: {stats.paused}", "warning")
    elif stats.last_error:
        status += f'<p class="dim">last error: {display.html(stats.last_error)}</p>'
    return Html(status)


def _queue(queue: Queue) -> Html:
    if not queue.rows:
        return display.message("The queue is empty.", "info")
    blocks = [display.more(event.get("event") or event["type"], display.tree(event)) for event in queue.events]
    return Html(display.table(_HEAD, queue.rows) + display.section("The oldest events", *blocks))


def _code(calls: list[str]) -> Html:
    if not calls:
        return display.message("Your calls are listed here as Python code.", "info")
    return display.code("\n".join(calls), "Python")
