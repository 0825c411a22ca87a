"""Run the user's code, which turns events into events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from svctoolkit.json_types import Json
from svctoolkit.pipeline.route import Route
from svctoolkit.transformations import Metadata, Output
from svctoolkit.workspace import Source

if TYPE_CHECKING:
    from svctoolkit.plans import Link


def run(
    events: Sequence[Mapping[str, Json]],
    route: Route,
    source: Source | None,
    heads: Sequence[Mapping[str, Json]] | None = None,
) -> list[Output] | None:
    """Return the outcome of each event, or None if the destination has no user transformation. Calls the code once.

    `heads` are the members of the events that `metadata` describes, if the events themselves are text.
    """
    if route.code is None:
        return None
    if not route.code.wants_metadata:
        return route.code.run(events, [{}] * len(events))
    return route.code.run(events, _LazyMetadata(len(events), lambda: _metadata(heads or events, route, source)))


class _LazyMetadata(Sequence[Metadata]):
    """The metadata of each event, made when it is read: most code never does, or its output is cached."""

    def __init__(self, length: int, make: Callable[[], list[Metadata]]) -> None:
        self._length, self._make = length, make

    @cached_property
    def _items(self) -> list[Metadata]:
        return self._make()

    @overload
    def __getitem__(self, at: int) -> Metadata: ...
    @overload
    def __getitem__(self, at: slice) -> list[Metadata]: ...
    def __getitem__(self, at: int | slice) -> Metadata | list[Metadata]:
        return self._items[at]

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LazyMetadata) and self._items == other._items

    __hash__ = None  # type: ignore[assignment]  # as of a list


def _metadata(events: Sequence[Mapping[str, Json]], route: Route, source: Source | None) -> list[Metadata]:
    shared = _common(route, source)
    link = route.workspace.plan_link(source) if source is not None else None
    if link is None:
        return [{**shared, **_own(event)} for event in events]
    shared |= _of_plan(link)
    settings = link.settings
    merged = [{"mergedTpConfig": dict(settings.of(event.get("type")).values)} for event in events]
    return [{**shared, **_own(e), **m} for e, m in zip(events, merged, strict=True)]


def _of_plan(link: Link) -> dict[str, Any]:
    """Return the metadata about the source's tracking plan, with its settings as RudderStack stores them."""
    if link.plan is None:
        return {}
    config = {kind: dict(words) for kind, words in link.settings.by_type.items()}
    return {
        "trackingPlanId": link.plan.id,
        "trackingPlanVersion": link.plan.version,
        "sourceTpConfig": config,
    }


#: Member of the metadata -> member of the event.
_OF_EVENT = {
    "messageId": "messageId",
    "rudderId": "rudderId",
    "receivedAt": "receivedAt",
    "eventName": "event",
    "eventType": "type",
}


def _own(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of `metadata(event)` that describes the event."""
    return {name: value for name, member in _OF_EVENT.items() if (value := event.get(member)) is not None}


def _common(route: Route, source: Source | None) -> dict[str, Any]:
    """Return the metadata about source and destination that all these events share, as far as known."""
    destination, transformation = route.destination, route.transformation
    metadata = {
        "workspaceId": route.workspace.name,
        "destinationId": destination.id,
        "destinationName": destination.name,
        "destinationType": destination.type,
    }
    if source is not None:
        metadata |= {"sourceId": source.id, "sourceName": source.name, "sourceType": source.type}
    if transformation is not None:
        metadata |= {
            "transformationId": transformation.id,
            "transformationVersionId": transformation.version_id or transformation.id,
        }
    return {name: value for name, value in metadata.items() if value is not None}
