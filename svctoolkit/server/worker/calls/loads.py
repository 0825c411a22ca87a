"""Deliver events to a warehouse: stage their rows, which are loaded when the tables are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Route, Stages, run_many
from svctoolkit.pipeline.fates import fate_of_results
from svctoolkit.results import EventResult
from svctoolkit.server.worker.calls.preparation import transformed_events
from svctoolkit.server.worker.calls.user_code import code_outputs
from svctoolkit.server.worker.lost_values import losses_of
from svctoolkit.server.worker.task import Exchange, Outcome, Step, Task

_ALL_STAGES = Stages(send_to_destination=True)


def load(
    tasks: Sequence[Task],
    events: Mapping[Task, Mapping[str, Json]],
    route: Route,
    pipeline: Pipeline,
    clock: Callable[[], datetime],
    size: int,
    *,
    masked: bool,
) -> Iterator[Step]:
    """Yield one step for each source's events. An event that could not be staged completely is retried as a whole."""
    for source in dict.fromkeys(task.source for task in tasks):
        members = [task for task in tasks if task.source == source]
        results = run_many(
            [events[task] for task in members],
            route,
            _ALL_STAGES,
            pipeline.sender(),
            [pipeline.context] * len(members),
            pipeline.workspace.sources.get(source),
            pipeline.warehouses,
            code=partial(code_outputs, members, events, size),
        )
        exchanges: list[Exchange] = []
        outcomes = []
        for task, of_task in zip(members, results, strict=True):
            task.output = None
            task.transformed = transformed_events(of_task, route, masked=masked)
            task.losses = losses_of([result.losses for result in of_task])
            exchanges += _exchanges(task, of_task, route, clock().timestamp(), masked=masked)
            outcomes.append((task, _outcome(of_task, route, exchanges[-1] if exchanges else None)))
        yield Step(exchanges, outcomes)


def _outcome(results: Sequence[EventResult], route: Route, exchange: Exchange | None) -> Outcome:
    failures = [answer for result in results if 503 in result.statuses for answer in result.answers]
    if failures:
        reason = str(failures[0].get("error"))
        return Outcome("pending", "send_to_destination", reason, again=True, kind="retry")
    if any(result.payloads for result in results):
        return Outcome("delivered", kind="delivered", exchange=exchange)
    return Outcome(*fate_of_results(results, route, sends=False))


def _exchanges(
    task: Task, results: Sequence[EventResult], route: Route, at: float, *, masked: bool
) -> Iterator[Exchange]:
    """Describe the rows of an event as exchanges. There is no request: the tables are in this process."""
    written = [result for result in results if 503 not in result.statuses]
    pairs = [pair for result in written for pair in zip(result.payloads, result.answers, strict=False)]
    for part, (row, answer) in enumerate(pairs):
        url = f"{route.destination.key}/{row['table']}"  # type: ignore[typeddict-item]  # a row, not a request
        request = {"method": "LOAD", "url": url, "headers": {}, "body": ""}
        data = {"payload": row, "request": request, "response": answer, "headers": {}, "error": "", "milliseconds": 0.0}
        record = route.masker.mask(data) if masked else data
        yield Exchange([task], task.attempts + 1, part, 200, 1, at, record)
