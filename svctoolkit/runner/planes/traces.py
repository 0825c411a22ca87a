"""Which event each value of a stage belongs to, for failures: a difference may ask where its value came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from svctoolkit.json_types import Json


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of a run at one destination, by message id, and for each value of a stage the ids of its events."""

    events: Mapping[str, Mapping[str, Json]]
    stages: Mapping[str, Sequence[Sequence[str]]]
