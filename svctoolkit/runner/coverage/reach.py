"""Which event fields reach a destination, measured once for each shape of event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.pipeline.leaves import leaves
from svctoolkit.results.lineage import Lineage
from svctoolkit.workspace import Workspace


class Reach:
    """Measure and cache lineage. Nothing is sent."""

    def __init__(self) -> None:
        self._pipelines: dict[int, Pipeline] = {}
        self._shapes: set[object] = set()

    def fields(
        self, workspace: Workspace, destinations: Sequence[str], event: Mapping[str, Json]
    ) -> Iterator[tuple[str, bool]]:
        """Yield each field of the event, as `Order Completed properties.total`, and whether it reaches a destination.

        Yields nothing for a shape that was measured before, or an event that no destination converts to a payload.
        """
        name = str(event.get("event") or event.get("type"))
        for key in destinations:
            # Lineage runs an event dozens of times; events with the same fields give the same answer.
            shape = (id(workspace), key, event.get("type"), name, frozenset(leaves(dict(event))))
            lineage = self._measure(workspace, key, event) if shape not in self._shapes else None
            self._shapes.add(shape)
            if lineage is not None and not lineage.stopped_at:
                yield from ((f"{name} {field.path}", not field.lost_at) for field in lineage.event)

    def _measure(self, workspace: Workspace, key: str, event: Mapping[str, Json]) -> Lineage | None:
        pipeline = self._pipelines.setdefault(id(workspace), Pipeline(workspace))
        try:
            return pipeline.lineage(key, [event])
        except ToolkitError:  # the scenario reports this error
            return None
