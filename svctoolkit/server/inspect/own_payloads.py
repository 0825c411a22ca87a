"""What an event alone becomes at a destination, also if its requests carried other events.

Bounded: a mapping of the user's that exceeds the limit of one event is not run again here for other events.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Route
from svctoolkit.pipeline.stages import dest_transform
from svctoolkit.plans import change_event
from svctoolkit.results import Payload
from svctoolkit.server.inspect.records import Fate
from svctoolkit.server.inspect.revisions import Revision, Revisions, unsent
from svctoolkit.server.store.checks import stored_change
from svctoolkit.server.store.record import time_of
from svctoolkit.server.worker import Engine
from svctoolkit.server.worker.watchdog import OverBudgetError, Watchdog, is_own_code

_LOG = logging.getLogger("svctoolkit.policies")


class OwnPayloads:
    """Finds the payloads of single events. Those of shared requests are mapped again; nothing is sent."""

    def __init__(self, engine: Engine, revisions: Revisions) -> None:
        self._engine, self._revisions = engine, revisions
        self._pipeline: tuple[int, Pipeline] | None = None  # events come in their order: rarely another revision
        self._watchdog = Watchdog(lambda: engine.workspace.data_plane.limits.mapping)
        self._given_up = set[tuple[int, str]]()  # revisions and destinations

    def of(self, fate: Fate) -> Sequence[Mapping[str, Json]]:
        """Return what was sent of an event in its first attempt; if that was shared, the requests for it alone."""
        sent = fate.first_requests
        if all(request.carries == 1 for request in sent):
            return [request.payload for request in sent]
        at = fate.at if fate.since is None else time_of(fate.since)
        return self._map(fate, at) or [request.payload for request in sent]

    def _map(self, fate: Fate, at: datetime) -> Sequence[Mapping[str, Json]]:
        used = self._revisions.between(at, at)
        revision = used[0] if used else self._revisions.current()
        mapping = revision.number, fate.destination
        if mapping in self._given_up:
            return ()
        pipeline = self._pipeline_of(revision)
        try:
            return self._run(fate, at, pipeline.route(pipeline.workspace.destination(fate.destination)), pipeline)
        except ToolkitError:  # the event was deleted, or the destination is another one now
            return ()
        except OverBudgetError as error:
            _LOG.warning("mapping an event again for %s %s", fate.destination, error)
            self._given_up.add(mapping)
            return ()
        except Exception:  # noqa: BLE001 - a user's mapping may fail when it runs again
            _LOG.exception("the part of an event in a shared request to %s is unknown", fate.destination)
            return ()

    def _run(self, fate: Fate, at: datetime, route: Route, pipeline: Pipeline) -> Sequence[Mapping[str, Json]]:
        context, items = replace(pipeline.context_of(route), clock=lambda: at), self._items(fate)

        def payloads() -> list[Payload]:
            return [payload for item in items for payload in dest_transform.run(item, route, context)]

        return self._watchdog.run(payloads, "dest_transform") if is_own_code(route) else payloads()

    def _items(self, fate: Fate) -> Sequence[Mapping[str, Json]]:
        if fate.transformed is not None:
            return fate.transformed
        return [change_event(fate.event, stored_change(self._engine.store, fate.seq))]

    def _pipeline_of(self, revision: Revision) -> Pipeline:
        if self._pipeline is None or self._pipeline[0] != revision.number:
            self._pipeline = revision.number, unsent(revision.workspace)
        return self._pipeline[1]
