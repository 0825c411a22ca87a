"""Run one event of a replay again in the same way: its outcome, its stages, and its lineage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from svctoolkit.causes import CodeError, text_template
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Fate, Passage, Route, Stages
from svctoolkit.pipeline.decisions import decision
from svctoolkit.pipeline.fates import NO_SOURCE
from svctoolkit.pipeline.leaves import shrink
from svctoolkit.pipeline.lineage import measure
from svctoolkit.replay.engine.clock import context_of
from svctoolkit.replay.engine.sides import Side, offline_transport
from svctoolkit.replay.options import Options, complete
from svctoolkit.replay.records.record import Record
from svctoolkit.results import DestinationResult
from svctoolkit.results.lineage import Lineage
from svctoolkit.workspace import Workspace


class Trial(NamedTuple):
    """One event in one workspace, stage by stage; `error` says why it could not run.

    `fate` is its outcome, `decides` the place in the user's code or the settings that decided it, `event` the masked
    event. `result` is missing if it never reached the stages. `lineage` covers the stages that it reached.
    """

    title: str
    result: DestinationResult | None = None
    lineage: Lineage | None = None
    fate: Fate | None = None
    decides: str = ""
    event: Mapping[str, Json] = {}
    error: str = ""


class Trials:
    """Runs single events like a replay with these options. Nothing is sent."""

    def __init__(self, title: str, workspace: Workspace, options: Options) -> None:
        chosen = complete(options)
        self.title, self._source = title, chosen["source"] or ""
        self._stages = chosen["stages"] or Stages()
        transport = offline_transport(workspace, chosen["transport"], self._stages)
        self._side = Side(workspace, transport, personal=chosen["mask_personal"], whole=True)

    def run(self, record: Record, destination: str) -> Trial:
        """Run an event at a destination (by key)."""
        try:
            return self._run(record, destination)
        except ToolkitError as error:
            return Trial(self.title, error=self._side.workspace.masker.text(str(error)))

    def smallest(self, record: Record, event: Mapping[str, Json], destination: str) -> Mapping[str, Json]:
        """Return the smallest part of an event that has the same fate for the same reason; all of one that arrives."""
        (fault,) = self._faults(record, [event], destination)
        if fault is None:
            return event
        return shrink(event, lambda events: [one == fault for one in self._faults(record, events, destination)])

    def _faults(
        self, record: Record, events: Sequence[Mapping[str, Json]], destination: str
    ) -> list[tuple[str, ...] | None]:
        """Return the fate, stage, message and place of each event that does not arrive."""
        contexts = [
            context_of(replace(record, head=event, text=b"", whole=None), datetime.now(UTC), self._side.lookup)
            for event in events
        ]
        source = self._source or record.source
        passages = self._side.run(destination, events, self._stages, contexts, source, [])
        return [_fault(passage.fate) for passage in passages or ()] or [None] * len(events)

    def _run(self, record: Record, destination: str) -> Trial:
        route, source = self._side.route(destination), self._source or record.source
        context = context_of(record, datetime.now(UTC), self._side.lookup)
        repeats = [0] if record.repeats else []
        passages = self._side.run(destination, [record.event], self._stages, [context], source, repeats)
        if route is None or passages is None:
            return Trial(self.title, error=f"this source is not connected to {destination}")
        (passage,) = passages
        origin = self._side.source(source)
        measured = partial(measure, route=route, context=context_of(record, datetime.now(UTC)), source=origin)
        head = route.destination.id, route.destination.name, route.destination.type
        result = DestinationResult(
            *head, list(passage.results), masker=route.masker, unmapped=route.unmapped, measure=measured
        )
        reaches = passage.results and self._stages.user_transform and self._stages.dest_transform
        return Trial(
            self.title,
            result if passage.results else None,
            result.lineage() if reaches else None,
            passage.fate._replace(reason=route.masker.text(passage.fate.reason)),
            self._decides(record, passage, route, source),
            route.masker.mask(dict(record.event)),
        )

    def _decides(self, record: Record, passage: Passage, route: Route, source: str) -> str:
        context, origin = context_of(record, datetime.now(UTC)), self._side.source(source) or NO_SOURCE
        return route.masker.text(", ".join(decision(passage, record.event, route, context, origin)))


def _fault(fate: Fate) -> tuple[str, ...] | None:
    if fate.status == "delivered":
        return None
    cause = fate.cause
    text = cause.template if cause is not None else text_template(fate.reason)
    return fate.status, fate.by, text, cause.where if isinstance(cause, CodeError) else ""
