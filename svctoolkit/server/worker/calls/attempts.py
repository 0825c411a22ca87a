"""Attempts to deliver events to one destination, through the stages of the pipeline."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from svctoolkit.delivery import HttpResponse
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Route
from svctoolkit.server.store.block import Block
from svctoolkit.server.worker.calls.call import Call
from svctoolkit.server.worker.calls.forwarding import Forwarding
from svctoolkit.server.worker.calls.loads import load
from svctoolkit.server.worker.calls.preparation import prepare
from svctoolkit.server.worker.calls.wire import Wire
from svctoolkit.server.worker.relayed import RelayedRequests, Reply
from svctoolkit.server.worker.task import Outcome, Step, Task
from svctoolkit.server.worker.watchdog import Watchdog
from svctoolkit.workspace import forward_of

_LOG, _FORWARD_LOG = logging.getLogger("svctoolkit.delivery"), logging.getLogger("svctoolkit.forward")


class Attempts:
    """Run attempts with the stages, routes and transport of a pipeline.

    `masked` hides secrets in the stored exchanges, for stores that outlive the process. `relayed` has the events that
    another data plane gets in the requests of their clients.
    """

    def __init__(
        self, pipeline: Pipeline, clock: Callable[[], datetime], relayed: RelayedRequests, *, masked: bool
    ) -> None:
        self._pipeline, self._clock, self.relayed, self._masked = pipeline, clock, relayed, masked
        self._problems: dict[str, str] = {}  # by key of a `forward`: why the last request failed
        self._watchdog = Watchdog(lambda: pipeline.workspace.data_plane.limits.mapping, "mapping")

    def __call__(
        self,
        tasks: Sequence[Task],
        events: Mapping[Task, Mapping[str, Json]],
        key: str,
        blocks: Mapping[Task, Block] | None = None,
    ) -> Iterator[Step]:
        """Yield the steps until every task has its outcome. Errors become outcomes: nothing is raised.

        `events` has the events of the tasks that have no jobs yet, and of those that share calls of user code with
        them. If the caller stops iterating, the remaining tasks are left unchanged. For a `forward`, `blocks` has the
        requests that the events came in; its tasks may remain without an outcome.
        """
        without = dict.fromkeys(tasks)
        try:
            for step in self._steps(tasks, events, key) if blocks is None else self._forward(blocks, key):
                for task, _ in step.outcomes:
                    del without[task]
                yield step
        except ToolkitError as error:
            reason = self._pipeline.workspace.masker.text(str(error))
            yield Step((), [(task, Outcome("failed", "routing", reason)) for task in without])
        # The lane stopped iterating, to give the remaining tasks to other workers. That is not a failure.
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - neither a bug here nor pytest's `fail` in a mapping may stop the lane
            yield _bug(error, [*without], key)

    def replied(self, key: str, reply: Reply, response: HttpResponse, tasks: Sequence[Task]) -> Step:
        """Return the outcomes of events of a `forward` whose client got this response, without an attempt."""
        try:
            return Forwarding(self._pipeline, key, self._clock).replied(reply, response, tasks)
        except Exception as error:  # noqa: BLE001 - a bug must not leave the events without an outcome
            return _bug(error, tasks, key)

    def _steps(self, tasks: Sequence[Task], events: Mapping[Task, Mapping[str, Any]], key: str) -> Iterator[Step]:
        workspace = self._pipeline.workspace
        route = self._pipeline.route(workspace.destination(key))
        size = workspace.delivery.batch.jobs if workspace.delivery.batch else 1
        if route.tables is not None:
            yield from load(tasks, events, route, self._pipeline, self._clock, size, masked=self._masked)
            return
        wire = Wire(self._pipeline, route, self._clock, masked=self._masked)
        # Tasks of a retry have their jobs already: the user's code does not run again.
        fresh = [task for task in tasks if task.jobs is None]
        if fresh:
            sources, watchdog = workspace.sources, self._watchdog
            prepared = [*prepare(fresh, events, route, sources, wire, watchdog, size, masked=self._masked)]
            held = wire.take_held()
            if prepared or held:
                yield Step((), prepared, held=held)
        yield from Call(route, wire, size, partial(self._update_account, route), self._watchdog).steps(tasks)

    def _forward(self, blocks: Mapping[Task, Block], key: str) -> Iterator[Step]:
        to = forward_of(key, self._pipeline.workspace.sources)
        if to is None:
            outcome = Outcome("failed", "routing", "the source is not forwarded any more")
            yield Step((), [(task, outcome) for task in blocks])
            return
        forwarding = Forwarding(self._pipeline, key, self._clock, blocks)
        for step in forwarding.steps(to, self.relayed):
            if forwarding.problem not in ("", self._problems.get(key)):
                _FORWARD_LOG.warning("events at %s are not forwarded: %s", key, forwarding.problem)
            self._problems[key] = forwarding.problem
            yield step

    def _update_account(self, route: Route, mark: str) -> None:
        """Update the OAuth account of a destination according to its response."""
        account = self._pipeline.workspace.account_of(route.destination) if mark else None
        if account is not None and mark == "REFRESH_TOKEN":
            account.renew()
        elif account is not None and mark == "AUTH_STATUS_INACTIVE":
            account.active = False


def _bug(error: BaseException, tasks: Sequence[Task], key: str) -> Step:
    _LOG.error("delivery of events %s to %s", ", ".join(str(task.seq) for task in tasks), key, exc_info=error)
    outcome = Outcome("failed", "svctoolkit", f"this is a bug in svctoolkit: {type(error).__name__}")
    return Step((), [(task, outcome) for task in tasks])
