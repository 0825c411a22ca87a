"""The state of the live view of a data plane, without widgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.server import DataPlane
from svctoolkit.server.inspect.arrivals import Arrival, Totals

SECONDS = 60
_PAGE = 500


class Rates:
    """Counts per second of the last minute. Thread-safe; `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._lock = clock, Lock()
        self._counts: dict[int, int] = {}

    def add(self, count: int) -> None:
        second = int(self._clock())
        with self._lock:
            if second not in self._counts:
                self._counts = {at: amount for at, amount in self._counts.items() if at >= second - SECONDS}
            self._counts[second] = self._counts.get(second, 0) + count

    def last(self) -> list[int]:
        """The counts of the 60 seconds before the current one, oldest first."""
        now = int(self._clock())
        with self._lock:
            return [self._counts.get(second, 0) for second in range(now - SECONDS, now)]

    @property
    def moving(self) -> bool:
        """Whether `last` will change within a second."""
        oldest = int(self._clock()) - SECONDS
        with self._lock:
            return any(second >= oldest for second in self._counts)


@dataclass(frozen=True, slots=True)
class Sight:
    """A snapshot of a data plane. `missed` counts the events received since the list was paused."""

    arrivals: Sequence[Arrival]
    totals: Totals
    rates: Sequence[int]
    sources: Sequence[str]
    destinations: Sequence[str]
    missed: int = 0
    about: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
    stopped: bool = False


class Live:
    """The selection, and `look`, which reads only what it needs. `changed` is called after changes.

    Of events, only the lines of the list are stored: at most 500, and the selected one.
    """

    def __init__(self, plane: DataPlane, changed: Callable[[], None], *, clock: Callable[[], float]) -> None:
        self.plane, self.rates = plane, Rates(clock)
        self.filters: dict[str, str] = {}
        self.paused = False
        self.picked: Arrival | None = None
        self._change = changed
        self._held_at = 0
        self._looking = Lock()  # a pause during a look would freeze a list that its count does not know
        self._outdated = True  # the filters changed, so the list must be read again
        self.sight = Sight((), Totals(0, 0, {}), self.rates.last(), (), ())
        self._unwatch: Callable[[], None] = lambda: None

    def watch(self) -> None:
        """Start listening to changes."""
        self._unwatch = self.plane.watch(self._summarize)
        self._change()

    def choose(self, name: str, value: str) -> None:
        """Filter by `source`, `type`, `destination`, `status` or `text`; an empty value removes the filter."""
        self.filters[name] = value
        self._outdated = True
        self._change()

    def pause(self, on: bool) -> None:
        """Freeze the list, or resume. Counts continue."""
        with self._looking:
            self.paused, self._held_at = on, self.sight.totals.received
        self._change()

    def pick(self, seq: int | None) -> None:
        """Show the details of this arrival; it stays in the list until another one is selected."""
        self.picked = next((arrival for arrival in self._show() if arrival.seq == seq), None)
        self._change()

    def events(self) -> list[dict[str, Json]]:
        """The selected event, or all of the list."""
        chosen = [self.picked] if self.picked else self.look().arrivals
        return [found["event"] for arrival in chosen for found in self.plane.about(arrival.seq)["events"]]

    def look(self) -> Sight:
        """The current snapshot."""
        with self._looking:
            return self._look()

    def _look(self) -> Sight:
        arrivals = self.sight.arrivals
        if self._outdated or not self.paused:
            self._outdated = False
            arrivals = self.plane.newest(_PAGE, **self.filters)
        picked, totals, workspace = self.picked, self.plane.totals(), self.plane.workspace
        self.sight = Sight(
            arrivals,
            totals,
            self.rates.last(),
            sorted(workspace.sources),
            sorted(workspace.destinations),
            missed=totals.received - self._held_at if self.paused else 0,
            about=self.plane.about(picked.seq) if picked else None,
            stopped=self.plane.stopped,
        )
        return self.sight

    def close(self) -> None:
        """Stop listening to the data plane."""
        self._unwatch()

    def _summarize(self, kind: str, changes: Sequence[Mapping[str, Any]]) -> None:
        if kind == "received":
            self.rates.add(len(changes))
        self._change()

    def _show(self) -> list[Arrival]:
        return [*self.sight.arrivals, *([self.picked] if self.picked else [])]
