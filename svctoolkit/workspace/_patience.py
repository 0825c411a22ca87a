"""Give up on code whose events exceed the time limit again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

import msgspec

from svctoolkit.errors import TransformationError
from svctoolkit.json_types import Json
from svctoolkit.transformations import Metadata, Output, Runnable


class Late(msgspec.Struct, frozen=True):
    """The number of events for which code exceeded its time limit, and the first of them in words."""

    events: int
    first: str


class Patience:
    """Runs the code of a transformation until `events` have exceeded the time limit; later events fail at once.

    Code that never ends takes the whole limit for each event. Thread-safe.
    """

    def __init__(self, events: int) -> None:
        self._most = events
        self._late: dict[str, Late] = {}
        self._lock = Lock()

    def has_given_up(self, key: str) -> bool:
        """Return whether the transformation with this key runs no more."""
        return key in self.given_up

    @property
    def given_up(self) -> dict[str, Late]:
        """What runs no more, by the key of the transformation."""
        with self._lock:
            return {key: late for key, late in self._late.items() if late.events >= self._most}

    def count(self, key: str, late: Sequence[Mapping[str, Json]]) -> None:
        """Count events that have exceeded the time limit."""
        if late:
            with self._lock:
                before = self._late.get(key) or Late(0, _in_words(late[0]))
                self._late[key] = Late(before.events + len(late), before.first)


class ImpatientCode:
    """Code that runs as long as there is patience with it."""

    def __init__(self, code: Runnable, key: str, patience: Patience) -> None:
        self._code, self._key, self._patience = code, key, patience
        self.wants_metadata = code.wants_metadata

    def run(self, events: Sequence[Mapping[str, Json]], metadata: Sequence[Metadata]) -> list[Output]:
        if self._patience.has_given_up(self._key):
            text = "not run: too many events have already exceeded the time limit"
            return [Output(error=TransformationError(text, kind="time")) for _ in events]
        outputs = self._code.run(events, metadata)
        late = [output.error is not None and output.error.kind == "time" for output in outputs]
        self._patience.count(self._key, [event for event, is_late in zip(events, late, strict=True) if is_late])
        return outputs


def _in_words(event: Mapping[str, Json]) -> str:
    name = event.get("event") or event.get("name")
    return f"{event.get('type')} event" + (f" {name!r}" if isinstance(name, str) else "")
