"""Which events a call of the user's code gets: those of one request, whatever the timing of the lane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter

from svctoolkit.delivery import calling
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Route
from svctoolkit.pipeline.stages import user_transform
from svctoolkit.server.worker.task import Task
from svctoolkit.transformations import Output
from svctoolkit.workspace import Source


def code_outputs(
    tasks: Sequence[Task],
    events_of: Mapping[Task, Mapping[str, Json]],
    size: int,
    events: Sequence[Mapping[str, Json]],
    route: Route,
    source: Source | None,
) -> list[Output] | None:
    """Return the outcomes of the `events` of the tasks in the user's code; None without a transformation.

    A call has all events of a request, up to `size`, including those whose own turn comes later: their output is kept
    with their task. So a call is the same in every run, as long as the process lives. Tasks that come from the store
    have no siblings: a batch function then gets those of a request that the lane has taken together.
    """
    if route.code is None or route.runs_function:
        return user_transform.run(events, route, source)
    for task in tasks:
        siblings = task.siblings
        if siblings is not None and task.output is None:
            with siblings.lock:
                members = [other for other in siblings.part(task, size) if other.siblings and other in events_of]
                _run(members, events_of, route, source)
    for group in _groups([task for task in tasks if task.output is None], route):
        _run(group, events_of, route, source)
    return [task.output for task in tasks if task.output is not None]


def _groups(tasks: Sequence[Task], route: Route) -> Iterator[Sequence[Task]]:
    """Yield the tasks of each call. A function of single events may get several requests at once, which is faster."""
    if route.transformation is None or not route.transformation.may_see_batches:
        yield tasks
        return
    for request in dict.fromkeys(task.request for task in tasks):
        yield [task for task in tasks if task.request == request]


def _run(tasks: Sequence[Task], events: Mapping[Task, Mapping[str, Json]], route: Route, source: Source | None) -> None:
    if not tasks:
        return
    started = perf_counter()
    with calling(tasks[0].run, route.destination.key):
        outputs = user_transform.run([events[task] for task in tasks], route, source) or ()
    times = {"user_transform": (perf_counter() - started) * 1000 / len(tasks)}
    for task, output in zip(tasks, outputs, strict=True):
        task.stage_times = times
        # Without siblings from now on: a retry must not run the code for the other events again.
        task.output, task.siblings = output, None
