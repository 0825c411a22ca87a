"""Values that user code returned and JSON cannot represent, of delivered events: counted since the start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.results.changes import general
from svctoolkit.server.store.schema import Fate
from svctoolkit.transformations import CodeLoss

_MOST = 500  # kinds of lost values: names that events choose may be in their paths


class LostField(NamedTuple):
    """What was lost: `path` has `*` for indexes."""

    destination: str
    path: str
    value: str
    becomes: str


class Lost(NamedTuple):
    """How many delivered events lost it. `seq` is the first of them; `path` and `output` say where it was there."""

    events: int
    seq: int
    path: str
    output: int


def losses_of(losses: Iterable[Sequence[object]]) -> list[Mapping[str, Json]] | None:
    """Return the losses of user code among those of each of its outputs, as a fate has them; None without any."""
    found: list[Mapping[str, Json]] = [
        {"path": loss.path, "value": loss.kind, "becomes": loss.becomes, "output": output}
        for output, of_event in enumerate(losses)
        for loss in of_event
        if isinstance(loss, CodeLoss)
    ]
    return found or None


class LostValues:
    """Counts lost values. Thread-safe."""

    def __init__(self) -> None:
        self._lock, self._found = Lock(), dict[LostField, Lost]()

    def counts(self) -> dict[LostField, Lost]:
        """Return what was lost, in the order in which it first was."""
        with self._lock:
            return dict(self._found)

    def start_over(self) -> None:
        with self._lock:
            self._found.clear()

    def count(self, fates: Iterable[Fate]) -> None:
        """Count the lost values of the delivered events among these. An event counts once for each."""
        for fate in fates:
            if fate.losses and fate.status == "delivered":
                with self._lock:
                    self._count(fate, fate.losses)

    def _count(self, fate: Fate, losses: Sequence[Mapping[str, Json]]) -> None:
        places: dict[LostField, Mapping[str, Json]] = {}
        for loss in losses:
            key = LostField(fate.destination, general(loss["path"]), loss["value"], loss["becomes"])
            places.setdefault(key, loss)
        for key, loss in places.items():
            known = self._found.get(key)
            if known is not None:
                self._found[key] = known._replace(events=known.events + 1)
            elif len(self._found) < _MOST:
                self._found[key] = Lost(1, fate.seq, loss["path"], loss["output"])
