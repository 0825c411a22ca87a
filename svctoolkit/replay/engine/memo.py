"""The user's code, run once for all who give it the same events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.transformations import Metadata, Output, Runnable


class Memo:
    """Remembers what came of the last call, for other destinations behind the same transformation.

    A call is the same with the same events in the same order: code may keep something from one event to the next. Code
    that has asked for metadata is told another destination each time, so that has to be the same, too.

    `serves_two`: both sides of a comparison have this code, and it is to give the same to both.
    """

    def __init__(self, code: Runnable, *, serves_two: bool = False) -> None:
        self.code, self.wants_metadata, self._serves_two = code, code.wants_metadata, serves_two
        self._events: list[Any] = []
        self._metadata: Sequence[Metadata] = ()
        self._outputs: list[Output] = []
        self._asks = False

    def run(self, events: Sequence[Mapping[str, Json]], metadata: Sequence[Metadata]) -> list[Output]:
        """See `Runnable`."""
        if not self._knows(events) or (self._asks and metadata != self._metadata):
            self._outputs = self.code.run(events, metadata)
            self._events, self._metadata = list(events), metadata
            self._asks = any(output.by_metadata for output in self._outputs)
        return self._outputs

    def _knows(self, events: Sequence[Mapping[str, Json]]) -> bool:
        """Whether these are the same objects: equal ones may hold 1 where the others hold true."""
        return len(events) == len(self._events) and all(map(is_, events, self._events))

    def forget(self) -> None:
        """Let the next call run, to see whether the code gives something else; not what two sides have to share."""
        if not self._serves_two:
            self._events, self._outputs = [], []

    def release(self) -> None:
        """Let go of the events of the last call, and of what came of them."""
        self._events, self._metadata, self._outputs = [], (), []
