"""Which event each value of a stage belongs to, for failures: a difference may ask where its value came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from svctoolkit.json_types import Json


class Trace(msgspec.Struct, frozen=True):
    """The events of a run at one destination, by message id, and for each value of a stage the ids of its events."""

    events: Mapping[str, Mapping[str, Json]]
    stages: Mapping[str, Sequence[Sequence[str]]]
