"""Cache of user code output, shared by all destinations that pass the same events to the same transformation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.transformations import JsonEvents, Metadata, Output, Runnable


class Memo:
    """Caches the output of the last call, for other destinations behind the same transformation.

    A call is the same if it has the same events in the same order: code may keep state from one event to the next. Code
    that reads the metadata sees another destination in each call, so for such code the metadata must be the same, too.
    `serves_two`: both sides of a comparison have this code, and both must get the same output.
    """

    def __init__(self, code: Runnable, *, serves_two: bool = False) -> None:
        self.code, self.wants_metadata, self._serves_two = code, code.wants_metadata, serves_two
        self._events: list[Any] = []
        self._metadata: Sequence[Metadata] = ()
        self._outputs: list[Output] = []
        self._asks = False

    def run(self, events: Sequence[Mapping[str, Json]], metadata: Sequence[Metadata]) -> list[Output]:
        """Run the code, unless this is the same call as the last one; see `Runnable`."""
        # Metadata only matters if the code has read it.
        own = events.texts if isinstance(events, JsonEvents) else events
        if not self._knows(own) or (self._asks and metadata != self._metadata):
            self._outputs = self.code.run(events, metadata)
            self._events, self._metadata = list(own), metadata
            self._asks = any(output.by_metadata for output in self._outputs)
        return self._outputs

    def _knows(self, events: Sequence[bytes | Mapping[str, Json]]) -> bool:
        """Return whether these are the same objects or texts. Equality is not enough: `1 == True`."""
        return len(events) == len(self._events) and all(map(is_, events, self._events))

    def forget(self) -> None:
        """Force the next call to run, to detect unstable output; does nothing if two sides share the output."""
        if not self._serves_two:
            self._events, self._outputs = [], []

    def release(self) -> None:
        """Release the events of the last call and their output."""
        self._events, self._metadata, self._outputs = [], (), []
