"""What destinations do with the events: why they refuse them, and which fields they lose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from svctoolkit.destinations import CATALOGUE
from svctoolkit.errors import ToolkitError
from svctoolkit.history.values import event_time
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.replay import Replayed
from svctoolkit.replay.results.text import decision_text
from svctoolkit.results.lineage import Lineage, merge
from svctoolkit.workspace import Workspace

What = Literal["refuses", "filters", "drops", "loses"]
_WORDS: dict[str, What] = {"failed": "refuses", "filtered": "filters", "dropped": "drops"}


@dataclass(frozen=True, slots=True)
class Need:
    """What a destination does with the events of a name, and why.

    `what` is `refuses` (the events fail), `filters` (they are excluded), `drops` (by user code or a tracking plan) or
    `loses`: the events arrive, but the value of `field` does not. `events` is the number of events; for `loses`, of
    those with the field. `stage` is where this happens. `decides` is the place in the user code that causes
    it, or the settings of the destination that do: with another value of one of them, the result would differ.
    """

    destination: str
    type: str
    event: str
    what: What
    field: str
    reason: str
    rule: str
    events: int
    stage: str = ""
    decides: str = ""

    def __str__(self) -> str:
        if self.what == "loses":
            return f"{self.destination} ({self.type}) loses {self.field} of {self.event}"
        by = f"; {self.decision}" if self.decides else ""
        return f"{self.events:,} {self.event}: {self.destination} ({self.type}) {self.what} them: {self.reason}{by}"

    @property
    def decision(self) -> str:
        """The text for `decides`."""
        return decision_text(self.stage, self.decides) if self.decides else ""


def refusals(result: Replayed, workspace: Workspace) -> Iterator[Need]:
    """Yield the needs that a replay of the events shows."""
    for group in result.groups:
        destination = workspace.destination(group.destination)
        if group.kind in _WORDS:
            for event, count in group.events.items():
                yield Need(
                    group.destination, destination.type, event, _WORDS[group.kind], group.path, group.after,
                    group.before, count, group.stage, group.decides,
                )  # fmt: skip


def losses(
    workspace: Workspace, samples: Mapping[str, Sequence[Mapping[str, Json]]], present: Mapping[tuple[str, str], int]
) -> Iterator[Need]:
    """Yield the fields that reach no payload, measured on sample events per name; `present` counts (name, field)."""
    pipeline = Pipeline(workspace)
    for key, destination in workspace.destinations.items():
        for name, events in samples.items() if destination.enabled and destination.type in CATALOGUE else ():
            lineage = merge(key, [lineage for event in events if (lineage := _lineage(pipeline, key, event))])
            for field in lineage.lost:
                count = present.get((name, field.path), 0)
                path, decides = (workspace.masker.text(text) for text in (field.path, ", ".join(field.lost_by)))
                reason, stage = f"lost at {field.lost_at}", field.lost_at
                yield Need(key, destination.type, name, "loses", path, reason, "", count, stage, decides)


def _lineage(pipeline: Pipeline, destination: str, event: Mapping[str, Json]) -> Lineage | None:
    """Return the lineage of an event, with its own time as the clock, like in a replay; None for refused events."""
    at = event_time(event)
    if at is not None:
        pipeline.context = replace(pipeline.context, clock=lambda: at)
    try:
        lineage = pipeline.lineage(destination, [event])
    except ToolkitError:  # the replay has reported it
        return None
    return None if lineage.stopped_at else lineage
