"""Watch events arrive at a data plane."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.events import EVENT_TYPES
from svctoolkit.json_types import Json
from svctoolkit.server import DataPlane
from svctoolkit.server.inspect.arrivals import Arrival, Totals
from svctoolkit.server.store.arrivals import REJECTED
from svctoolkit.widgets._base import controls
from svctoolkit.widgets._base.grid.grid import Grid
from svctoolkit.widgets.live_events import _display
from svctoolkit.widgets.live_events.state import SECONDS, Live, Sight

_STATUSES = ("delivered", "pending", "filtered", "dropped", "failed", "dead", "unmapped")
_HEIGHT = 20  # of the plot, in SVG units


class LiveEvents(controls.Explorer):
    """The events that arrive at `plane`, newest first, with filters, outcomes, and details of a selected event.

    >>> LiveEvents(plane)  # doctest: +SKIP

    It repaints at most 5 times per second and shows the newest 500 events that match the filters (among the newest
    5,000), without storing them. `state` is the current selection. `clock` returns the seconds for the plot.
    """

    def __init__(self, plane: DataPlane, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._painter = controls.Painter(self._paint, fail=self._fail)
        self._tick: threading.Timer | None = None
        self.state = Live(plane, self._painter.poke, clock=clock)
        self._make_controls()
        traffic = controls.card("Traffic", controls.grid(self._counts, self._destinations, least="300px"))
        chosen = controls.bar(*self._filters.values())
        events = controls.card("Events", chosen, self._pause, self._note, self._list.box)
        super().__init__(
            [traffic, events, controls.card("Event", self._details)],
            closing=[self.state.close, self._painter.close, self._stop_ticking],
        )
        self.state.watch()

    def wait(self, timeout: float = 10.0) -> bool:
        """Wait until all changes are painted; False after `timeout` seconds."""
        return self._painter.wait(timeout)

    @property
    def events(self) -> list[dict[str, Json]]:
        """The events of the list, newest first, or only the selected one. Secrets are masked."""
        return self.state.events()

    def static(self) -> Html:
        """The counts, and the newest events as a table."""
        sight = self.state.look()
        return display.page(_counts(sight), _destinations(sight.totals), _display.table_of(sight.arrivals))

    def __repr__(self) -> str:
        totals = self.state.sight.totals
        return f"<LiveEvents: {totals.received:,} received, {totals.rejected:,} refused>"

    def _make_controls(self) -> None:
        self._filters = {
            "source": controls.choice("Source", [("all", "")]),
            "type": controls.choice("Type", [("all", ""), *((name, name) for name in EVENT_TYPES)]),
            "destination": controls.choice("Destination", [("all", "")]),
            "status": controls.choice("Fate", [("all", ""), *((name, name) for name in (*_STATUSES, REJECTED))]),
            "text": controls.text("Search", placeholder="name, user, message id"),
        }
        for name, control in self._filters.items():
            control.observe(partial(self._choose, name), "value")
        self._pause = controls.checkbox("Pause the list")
        self._pause.observe(lambda change: self.state.pause(change["new"]), "value")
        # Plain: the filters above search the newest 5,000 events, a search of the grid only those that it lists.
        self._list = Grid("Newest events (UTC); select one for details", self._pick, plain=True)
        self._listed: Sequence[Arrival] = ()
        self._counts, self._destinations, self._note = controls.html(), controls.html(), controls.html()
        self._details = controls.html(display.page(display.message("No event selected.", "info")))
        self._about: Any = None
        self._offering = 0  # the thread that is currently changing options

    def _choose(self, name: str, change: dict[str, Any]) -> None:
        if self._offering != threading.get_ident():
            self.state.choose(name, change["new"])

    def _pick(self, seq: int) -> None:
        self.state.pick(seq)
        picked = self.state.picked
        self._select(**({"seq": picked.seq, "name": picked.name, "user": picked.user} if picked else {}))

    def _paint(self) -> None:
        sight = self.state.look()
        self._counts.value = display.page(_counts(sight))
        self._destinations.value = display.page(_destinations(sight.totals))
        self._note.value = display.page(_note(sight, self.state)) if _note(sight, self.state) else ""
        self._offer("source", sight.sources)
        self._offer("destination", sight.destinations)
        self._paint_list(sight)
        if sight.about is not None and sight.about != self._about:
            self._details.value = _display.details(sight.about)
        self._about = sight.about
        self._keep_ticking()

    def _paint_list(self, sight: Sight) -> None:
        picked, arrivals = self.state.picked, list(sight.arrivals)
        if picked and all(arrival.seq != picked.seq for arrival in arrivals):
            arrivals.append(picked)
        if arrivals != self._listed:
            self._listed = arrivals
            rows, seqs = [_display.cells(arrival) for arrival in arrivals], [arrival.seq for arrival in arrivals]
            self._list.update(rows, _display.COLUMNS, seqs, picked.seq if picked else -1)

    def _offer(self, name: str, keys: Sequence[str]) -> None:
        """Update the options of a filter from the workspace."""
        control = self._filters[name]
        options = (("all", ""), *((key, key) for key in keys))
        if options == control.options:
            return
        chosen = self.state.filters.get(name, "")
        self._offering = threading.get_ident()
        try:
            with control.hold_sync():  # setting only the options would briefly select the first one
                control.options = options
                control.value = chosen if chosen in keys else ""
        finally:
            self._offering = 0
        self.state.filters[name] = control.value

    def _keep_ticking(self) -> None:
        """Move the plot on with time, even without events."""
        self._stop_ticking()
        if self.state.rates.moving and not self.state.sight.stopped:
            self._tick = threading.Timer(1.0, self._painter.poke)
            self._tick.daemon = True
            self._tick.start()

    def _stop_ticking(self) -> None:
        if self._tick is not None:
            self._tick.cancel()

    def _fail(self, message: Html) -> None:
        self._note.value = display.page(message)


def _counts(sight: Sight) -> Html:
    totals, rates = sight.totals, sight.rates
    pills = [
        display.pill(f"{totals.received:,} received", "info"),
        display.pill(f"{totals.rejected:,} refused", "error" if totals.rejected else "plain"),
        display.pill(f"now {rates[-1]:,} per second"),
    ]
    if sight.missed:
        pills.append(display.pill(f"{sight.missed:,} since the pause", "info"))
    return Html(f"<p>{' '.join(pills)}</p>{plot(rates)}")


def plot(rates: Sequence[int]) -> Html:
    """Counts per second as a small plot with a text description."""
    most = max(rates)
    message = (
        f"Events per second over the last {SECONDS} seconds: now {rates[-1]:,}, maximum {most:,}, total {sum(rates):,}"
    )
    top = [_HEIGHT - _HEIGHT * rate / (most or 1) for rate in rates]
    path = "".join(f"V{y:.1f}H{x}" for x, y in enumerate(top, start=1))
    return Html(
        f'<svg role="img" aria-label="{message}" viewBox="0 -1 {SECONDS} {_HEIGHT + 1}" preserveAspectRatio="none" '
        'style="display:block;width:100%;height:56px;margin-top:8px;border-bottom:1px solid var(--dim)">'
        f'<path d="M0 {_HEIGHT}{path}V{_HEIGHT}Z" fill="var(--info)"></path></svg>'
        f'<div class="dim" style="display:flex;justify-content:space-between"><span>{SECONDS} s ago</span>'
        f"<span>maximum {most:,} per second</span><span>now</span></div>"
    )


def _destinations(totals: Totals) -> Html:
    if not totals.fates:
        return display.message("The workspace has no destinations.", "info")
    used = [status for status in _STATUSES if any(status in counts for counts in totals.fates.values())] or [
        "delivered"
    ]
    rows = [(key, *(counts.get(status, 0) for status in used)) for key, counts in sorted(totals.fates.items())]
    head = ("destination", *(display.pill(status, _display.kind(status)) for status in used))
    return display.table(head, rows)


def _note(sight: Sight, state: Live) -> Html | None:
    """An additional note about the list."""
    if sight.stopped:
        return display.message("The data plane has stopped.", "warning")
    if state.paused:
        return display.message("The list is paused; counts continue.", "info")
    if not sight.arrivals and any(state.filters.values()):
        return display.message("No events match the filters.", "info")
    if not sight.arrivals:
        where = f" The data plane is listening at {state.plane.url}" if state.plane.url else ""
        return display.message(f"No events yet.{where}", "info")
    return None
