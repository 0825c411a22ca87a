"""Which event fields reach a destination, and which settings matter, measured once for each shape of event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.pipeline.leaves import leaves
from svctoolkit.pipeline.reruns import other_routes
from svctoolkit.results.lineage import Lineage
from svctoolkit.workspace import Workspace


class Reach:
    """Measure and cache lineage. Nothing is sent."""

    def __init__(self) -> None:
        self._pipelines: dict[int, Pipeline] = {}
        self._shapes: set[object] = set()

    def settings(self, workspace: Workspace, key: str) -> set[str]:
        """Return the names of the settings of a destination that could have another value, so that an effect shows."""
        pipeline = self._pipelines.setdefault(id(workspace), Pipeline(workspace))
        try:
            route = pipeline.route(workspace.destination(key))
        except ToolkitError:  # the scenarios report this error
            return set()
        return {str(path[0]) for path, is_set, _ in other_routes(route) if is_set}

    def lineages(
        self, workspace: Workspace, destinations: Sequence[str], event: Mapping[str, Json]
    ) -> Iterator[tuple[str, Lineage]]:
        """Yield the lineage of the event at each destination, except for shapes that were measured before."""
        name = str(event.get("event") or event.get("type"))
        for key in destinations:
            # Lineage runs an event dozens of times; events with the same fields give the same answer.
            shape = (id(workspace), key, str(event.get("type")), name, frozenset(leaves(dict(event))))
            lineage = self._measure(workspace, key, event) if shape not in self._shapes else None
            self._shapes.add(shape)
            if lineage is not None:
                yield key, lineage

    def _measure(self, workspace: Workspace, key: str, event: Mapping[str, Json]) -> Lineage | None:
        pipeline = self._pipelines.setdefault(id(workspace), Pipeline(workspace))
        try:
            return pipeline.lineage(key, [event])
        except ToolkitError:  # the scenario reports this error
            return None


def event_fields(lineage: Lineage, event: Mapping[str, Json]) -> Iterator[tuple[str, bool]]:
    """Yield each field of the event, as `Order Completed properties.total`, and whether it reaches the destination.

    Yields nothing for an event that is not converted to a payload.
    """
    name = str(event.get("event") or event.get("type"))
    if not lineage.stopped_at:
        yield from ((f"{name} {field.path}", not field.lost_at) for field in lineage.event)


def effective_settings(lineage: Lineage) -> set[str]:
    """Return the names of the settings that have an effect on an event: on a value, on its fate, or on a loss."""
    paths = [path for origin in lineage.fields for path in (*origin.settings, *_of_config(origin.conditions))]
    paths += [path for destiny in lineage.event for path in destiny.lost_by]
    return {path.partition(".")[0] for path in (*paths, *lineage.refused_by)}


def _of_config(conditions: Sequence[str]) -> Iterator[str]:
    return (path.partition(".")[2] for path in conditions if path.startswith("config."))
