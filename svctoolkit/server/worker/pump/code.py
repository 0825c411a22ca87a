"""Run the user's code for the events of a chunk, without letting slow code hold up other destinations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from time import monotonic
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.pipeline import Route
from svctoolkit.server.worker.calls.user_code import code_outputs
from svctoolkit.server.worker.task import Siblings, Task
from svctoolkit.server.worker.threads import Threads

_PATIENCE = 0.1  # seconds that the pump waits for the code of one destination
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds in which slow code is left to its lane
_LOG = logging.getLogger("svctoolkit.delivery")


class QuickCode:
    """Runs sandboxed code in another thread, and waits for it briefly.

    The code of a destination that took longer is left to its lane for a while. It continues, and the lane uses its
    outputs: they are kept with the tasks.
    """

    def __init__(self, now: Callable[[], float] = monotonic, patience: float = _PATIENCE) -> None:
        self._now, self._patience, self._threads = now, patience, Threads()
        self._running: dict[str, Event] = {}  # by destination: set when its code has ended
        self._pauses: dict[str, tuple[float, float]] = {}  # by destination: the end of its pause, and its length

    def may_run(self, destination: str) -> bool:
        """Whether the code of a destination has ended and is expected to be quick."""
        running = self._running.get(destination)
        until, _ = self._pauses.get(destination, (0.0, 0.0))
        return (running is None or running.is_set()) and self._now() >= until

    def run(self, tasks: Sequence[Task], events: Mapping[Task, Mapping[str, Json]], size: int, route: Route) -> bool:
        """Set the `output` of the tasks. Return False if that takes longer: a lane may take the tasks nevertheless.

        The tasks are of one run. `events` has those of their siblings, too.
        """
        _give_siblings(tasks, route)
        key, ended, failed = route.destination.key, Event(), list[BaseException]()

        def work() -> None:
            try:
                _run(tasks, events, size, route)
            except BaseException as error:  # noqa: BLE001 - the lane runs the code again and reports it
                _LOG.debug("the code of %s failed: %r", key, error)
                failed.append(error)
            finally:
                ended.set()

        self._running[key] = ended
        self._threads.start(work, f"svctoolkit code of {key}")
        if ended.wait(self._patience):
            self._pauses.pop(key, None)
            return not failed
        _, before = self._pauses.get(key, (0.0, _FIRST_PAUSE / 2))
        pause = min(2 * before, _LONGEST_PAUSE)
        self._pauses[key] = self._now() + pause, pause
        return False

    def stop(self, timeout: float) -> None:
        """Wait up to this many seconds for the code that is running."""
        self._threads.stop(timeout)


def _give_siblings(tasks: Sequence[Task], route: Route) -> None:
    """Give tasks without siblings some, whose lock makes sure that the code never runs twice for them.

    A function of single events gets them together, which is faster; any other gets those of a request alone.
    """
    together = route.transformation is not None and not route.transformation.may_see_batches
    single = [task for task in tasks if task.siblings is None and task.output is None]
    shared = Siblings(single)
    for task in single:
        task.siblings = shared if together else Siblings([task])


def _run(tasks: Sequence[Task], events: Mapping[Task, Mapping[str, Any]], size: int, route: Route) -> None:
    sources = route.workspace.sources
    for source in dict.fromkeys(task.source for task in tasks):
        members = [task for task in tasks if task.source == source]
        code_outputs(members, events, size, [events[task] for task in members], route, sources.get(source))
