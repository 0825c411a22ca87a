"""What user code loses without an error: values that JSON cannot represent, with the lines that write them."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock

from msgspec import Struct

from svctoolkit.errors import ToolkitError
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.worker import Engine, Lost, LostField

_MOST_LINES = 1_000


class LostState(Struct, frozen=True):
    """A value that a transformation returned and JSON cannot represent, in `events` delivered to a destination.

    `path` has `*` for indexes; `value` became `becomes`. `at` is the `file:line` that writes it, or empty. `seq` is
    the first of the events.
    """

    destination: str
    path: str
    value: str
    becomes: str
    events: int
    seq: int
    at: str
    text: str


class Losses:
    """The lost values of a data plane. Thread-safe."""

    def __init__(self, engine: Engine, pipeline: Pipeline) -> None:
        self._engine, self._pipeline = engine, pipeline
        self._lines: dict[tuple[LostField, str], str] = {}
        self._lock = Lock()

    def of(self, destinations: list[str]) -> list[LostState]:
        """Return what was lost at these destinations since the start, the most frequent first."""
        return sorted(self._states(set(destinations)), key=lambda state: -state.events)

    def _states(self, destinations: set[str]) -> Iterator[LostState]:
        for key, lost in self._engine.journal.lost_values.counts().items():
            if key.destination in destinations:
                at = self._line(key, lost)
                why = f"{at}: {key.value}" if at else key.value
                text = f"delivered, but {lost.events:,} lost {key.path} ({why} becomes {key.becomes})"
                yield LostState(*key, lost.events, lost.seq, at, text)

    def _line(self, key: LostField, lost: Lost) -> str:
        """Return the line of code that writes a value: found once, because changed copies of the code run for it."""
        known = key, self._code(key.destination)
        with self._lock:
            if known not in self._lines:
                if len(self._lines) >= _MOST_LINES:
                    self._lines.clear()
                self._lines[known] = self._find_line(key.destination, lost)
            return self._lines[known]

    def _code(self, destination: str) -> str:
        workspace = self._engine.workspace
        transformation = workspace.transformations.get(workspace.destinations[destination].transformation or "")
        return transformation.code if transformation is not None and transformation.code else ""

    def _find_line(self, destination: str, lost: Lost) -> str:
        from svctoolkit.pipeline.writers import locate_value  # few planes have lost values

        workspace = self._engine.workspace
        try:
            event = self._engine.events[lost.seq]
            route = self._pipeline.route(workspace.destinations[destination])
        except (KeyError, ToolkitError):  # the event was deleted, or the destination cannot be used any more
            return ""
        return route.masker.text(locate_value(lost.path, lost.output, event, route, None))
