"""Turn an event into router jobs: run the user transformation and, where due, the processor's mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from svctoolkit.json_types import Json
from svctoolkit.pipeline import Route, Stages, run_many
from svctoolkit.pipeline.fates import fate_of_results, refusal_fate
from svctoolkit.pipeline.progress import enter
from svctoolkit.results import ABSENT, NO_TRANSFORMATION, EventResult, error_of
from svctoolkit.server.worker.calls.user_code import code_outputs
from svctoolkit.server.worker.calls.wire import Wire
from svctoolkit.server.worker.lost_values import losses_of
from svctoolkit.server.worker.task import Job, Outcome, Task
from svctoolkit.server.worker.watchdog import OverBudgetError, Watchdog, is_own_code
from svctoolkit.workspace import Source

#: For a type that is transformed at the router, the event itself is the job.
_BEFORE_ROUTER, _BEFORE_SENDING = Stages(dest_transform=False), Stages()
_Prepared = tuple[list[EventResult], list[Mapping[str, Json]] | None]
T = TypeVar("T")


def prepare(
    tasks: Sequence[Task],
    events: Mapping[Task, Mapping[str, Json]],
    route: Route,
    sources: Mapping[str, Source],
    wire: Wire,
    watchdog: Watchdog,
    size: int,
    *,
    masked: bool,
) -> Iterator[tuple[Task, Outcome]]:
    """Set the jobs of the tasks. Yield the outcomes of tasks without any job.

    Events of different sources get separate calls of the user's code, because their metadata may contain the name of
    the source; see `code_outputs`. `events` may have events of other tasks that share these calls, of up to `size`
    events. `masked` hides secrets in the stored transformed events. An event that exceeds the budget of `watchdog` is
    dead.
    """
    stages = _BEFORE_ROUTER if route.at_router else _BEFORE_SENDING

    def run(members: Sequence[Task]) -> list[_Prepared]:
        inputs = [events[task] for task in members]
        contexts = [wire.context(task.run, events[task]) for task in members]
        source = sources.get(members[0].source)
        code = partial(code_outputs, members, events, size)
        results = run_many(inputs, route, stages, wire.sender, contexts, source, code=code)
        enter("masking")
        return [(of_event, transformed_events(of_event, route, masked=masked)) for of_event in results]

    for source in dict.fromkeys(task.source for task in tasks):
        members = [task for task in tasks if task.source == source]
        for task, prepared in run_watched(members, run, route, watchdog):
            outcome = prepared if isinstance(prepared, Outcome) else _prepare(task, *prepared, route)
            if outcome is not None:
                yield task, outcome


def run_watched(
    tasks: Sequence[Task], run: Callable[[Sequence[Task]], Sequence[T]], route: Route, watchdog: Watchdog
) -> Iterator[tuple[Task, T | Outcome]]:
    """Yield what `run` returns for each task, or the outcome `dead` for one that exceeds its budget.

    Small events are run here: built-in mappings take linear time. If several events together exceed the budget of one,
    each is run again alone, to find those that are to blame.
    """
    if not any(task.is_large for task in tasks) and not is_own_code(route):
        yield from zip(tasks, run(tasks), strict=True)
        return
    try:
        yield from zip(tasks, watchdog.run(lambda: run(tasks), "dest_transform"), strict=True)
    except OverBudgetError as error:
        if len(tasks) == 1:
            yield tasks[0], Outcome("dead", error.stage, f"{error.stage} at {route.destination.key} {error}")
            return
        for task in tasks:
            yield from run_watched([task], run, route, watchdog)


def _prepare(
    task: Task, results: Sequence[EventResult], transformed: list[Mapping[str, Json]] | None, route: Route
) -> Outcome | None:
    task.transformed, task.losses = transformed, losses_of([result.losses for result in results])
    task.output = None
    task.stage_times = {**_stage_times(results, route), **(task.stage_times or {})}  # a sandbox's code has run already
    # Kept with the task: a retry sends the same jobs and does not run the user's code again.
    task.jobs = [job for result in results for job in _jobs(task, result, route)]
    fates = (refusal_fate(result) for result in results)
    # Remembered even if other outputs of this event have jobs: the event fails once they are done.
    task.failure = next((fate for fate in fates if fate is not None and fate.status == "failed"), None)
    if task.jobs:
        return None
    return Outcome(*fate_of_results(results, route, sends=False))


def _stage_times(results: Sequence[EventResult], route: Route) -> dict[str, float]:
    """Return the milliseconds of one event by stage."""
    times: dict[str, float] = {}
    for result in results:
        if route.transformation is not None:  # the same for each output of the event
            times["user_transform"] = result.milliseconds.get("user_transform", 0.0)
        if "dest_transform" in result.milliseconds:
            times["dest_transform"] = times.get("dest_transform", 0.0) + result.milliseconds["dest_transform"]
    return times


def transformed_events(
    results: Sequence[EventResult], route: Route, *, masked: bool
) -> list[Mapping[str, Json]] | None:
    """Return the output of the user transformation for one event, to be stored; None without a transformation."""
    if route.transformation is None:
        return None
    events = [result.user_transformed_payload for result in results]
    outputs = [event for event in events if event is not ABSENT and error_of(event) is None]
    return [route.masker.mask(event) for event in outputs] if masked else outputs


def _jobs(task: Task, result: EventResult, route: Route) -> list[Job]:
    if not route.at_router:
        return [Job(task, result.event, payload) for payload in result.payloads]
    if route.mapping is None:
        return []
    error = error_of(result.user_transformed_payload)
    if error is None and result.user_transformed_payload is not ABSENT:
        return [Job(task, result.user_transformed_payload, alone=task.alone)]
    return [Job(task, result.event, alone=task.alone)] if error == NO_TRANSFORMATION else []
