"""Between a client's calls and its engine: calls before `initialize`, isolation of faults, the end of the process."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

from svctoolkit.errors import InvalidCall, StorageError
from svctoolkit.sdk.base import process
from svctoolkit.sdk.base.gate import Gate
from svctoolkit.sdk.base.ready import Ready
from svctoolkit.sdk.base.reporter import DROPPED, Reporter, Stats
from svctoolkit.sdk.base.settings import Settings, new_id
from svctoolkit.sdk.engine import Engine
from svctoolkit.sdk.events.event_text import Call
from svctoolkit.sdk.events.options import Options
from svctoolkit.sdk.queue.contents import Numbers

_EARLY_CALLS = 1000
#: Seconds for each thread to end, when the time for the end of the process is over.
_CLOSING_SECONDS = 0.1
_T = TypeVar("_T")


class _Early(NamedTuple):
    """A call made before `initialize`."""

    is_event: bool
    opt_out: bool | None
    work: Callable[[Engine], None]


class Runtime:
    """The engine of a client, once there is one. Nothing here raises, except `start` if it is called recursively."""

    def __init__(self, reporter: Reporter) -> None:
        self.engine: Engine | None = None
        self._reporter = reporter
        self._starting = Gate()
        self._origin = new_id()
        #: events that this client has not recorded, when it started, and what the queue said of them then
        self._carried = self._arrived = 0
        self._early: deque[_Early] = deque()
        self._launched = False
        self._exit_seconds = 0.0  # spent at exit
        process.at_exit(self, Runtime._at_exit)
        process.at_fork(self, child=Runtime._after_fork)

    def start(self, client: object, settings: Settings, key: str, options: Options) -> Ready:
        """Replace the engine with a new one, replay the early calls, start it."""
        if not self._starting.enter():
            raise InvalidCall("initialize was called again before it returned, in the same thread")
        try:
            engine = self._replace(client, settings, key, options)
        finally:
            self._starting.leave()
        self._catch_up(engine)
        self._safely(engine, Engine.start)
        self._reporter.publish()
        return engine.dispatcher.ready

    def _replace(self, client: object, settings: Settings, key: str, options: Options) -> Engine:
        # Calls during the replacement are postponed, like those before `initialize`.
        before, self.engine = self.engine, None
        if before is not None:
            before.close(1.0)
        engine = Engine(client, settings, key, options, self._reporter, self._origin, before)
        numbers, counts = engine.queue.numbers()
        # Events that an earlier run left in the file, so that the counts of `stats` balance.
        self._carried = numbers.waiting + numbers.parked - _remaining(counts)
        self._arrived = numbers.arrived
        early = [self._early.popleft() for _ in range(len(self._early))]
        # Identity and opt-out that were set before the first event also apply to the launch events.
        first_event = next((place for place, call in enumerate(early) if call.is_event), len(early))
        opted_out = [call.opt_out for call in early if call.opt_out is not None]
        for call in early[:first_event]:
            self._safely(engine, call.work)
        # Record the application's start now, unless an early call opted out.
        if not self._launched and not (opted_out and opted_out[-1]):
            self._safely(engine, lambda engine: engine.recorder.record_launch())
        self._launched = True
        for call in early[first_event:]:
            self._safely(engine, call.work)
        self.engine = engine
        return engine

    def do(self, work: Callable[[Engine], None], *, is_event: bool = False, opt_out: bool | None = None) -> None:
        """Run `work` with the engine, now or as soon as there is one. `opt_out`: the flag that `work` sets, if any."""
        engine = self.engine
        if engine is None:
            self._postpone(_Early(is_event, opt_out, work))
        else:
            self._run(engine, work)
        self._reporter.publish()

    def record(self, call: Call) -> None:
        """Record an event, without a lock if it neither changes nor needs a state that others may be changing."""
        engine = self.engine
        if engine is not None and engine.is_free_for(call):
            try:
                engine.record(call)
            except Exception as error:  # noqa: BLE001 - as in `ask`
                self.report_fault(error)
            self._reporter.publish()
        else:
            self.do(lambda engine: engine.record(call), is_event=True)

    def ask(self, otherwise: _T, question: Callable[[Engine], _T]) -> _T:
        """Return the engine's answer, or `otherwise` without an engine or after a failure."""
        engine = self.engine
        if engine is None:
            return otherwise
        try:
            return question(engine)
        except Exception as error:  # noqa: BLE001 - a fault of the client must not break the application
            self.report_fault(error)
            return otherwise
        finally:
            self._reporter.publish()

    def forget(self, user: str) -> int:
        """Remove the user's events; return how many. Raises `StorageError`.

        Before `initialize`, it is done then, in the order of the calls; the result is 0.
        """

        def forget(engine: Engine) -> None:
            engine.forget(user)

        engine = self.engine
        if engine is None:
            self._postpone(_Early(False, None, forget))
            return 0
        try:
            return engine.forget(user)
        finally:
            self._reporter.publish()

    def stats(self) -> Stats:
        """Return the numbers since the client was created, including events that wait for `initialize`."""
        engine, early = self.engine, sum(call.is_event for call in list(self._early))
        nothing = (Numbers(0, 0, 0, self._arrived), self._reporter.counts())
        numbers, counts = nothing if engine is None else engine.queue.numbers()
        return Stats(
            recorded=counts.get("recorded", 0) + early,
            carried=self._carried + numbers.arrived - self._arrived,
            delivered=counts.get("delivered", 0),
            retried=counts.get("retried", 0),
            refused_fields=counts.get("refused_fields", 0),
            missed=counts.get("missed", 0),
            dropped={name.removeprefix(DROPPED): n for name, n in counts.items() if name.startswith(DROPPED)},
            waiting=numbers.waiting + early,
            parked=numbers.parked,
            in_memory=numbers.in_memory,
            paused="" if engine is None else engine.dispatcher.pause.cause.value,
            last_error=self._reporter.last_error,
        )

    def shutdown(self, timeout: float) -> bool:
        """Flush, stop, close; return whether everything was delivered."""
        delivered = self.ask(self.engine is None, lambda engine: engine.settle(timeout))
        self.ask(None, lambda engine: engine.close(1.0))
        return delivered

    def report_fault(self, error: Exception) -> None:
        self._reporter.fault(error)

    def _run(self, engine: Engine, work: Callable[[Engine], None]) -> None:
        engine.turnstile.run(lambda: self._safely(engine, work))
        if engine.embedded:
            self._safely(engine, Engine.deliver_embedded)

    def _postpone(self, call: _Early) -> None:
        if len(self._early) < _EARLY_CALLS:
            self._early.append(call)
        # Only events count as dropped; other calls just have no effect.
        elif call.is_event:
            self._reporter.drop("too many before initialize", [], 1, unstored=True)
        engine = self.engine
        if engine is not None:  # `initialize` was faster
            self._catch_up(engine)

    def _catch_up(self, engine: Engine) -> None:
        """Replay the calls that were made during `initialize`."""
        with suppress(IndexError):
            while self._early:
                self._run(engine, self._early.popleft().work)

    def _safely(self, engine: Engine, work: Callable[[Engine], None]) -> None:
        try:
            work(engine)
        except Exception as error:  # noqa: BLE001 - as in `ask`
            self.report_fault(error)

    def _at_exit(self) -> None:
        engine = self.engine
        # Without a running worker nothing was recorded since the last flush, so exit immediately, unless processes that
        # have ended since left something. A child leaves that to the process that started it.
        if engine is None or not (engine.worker.alive or (not engine.is_forked and self._has_left(engine))):
            return
        begin = time.monotonic()
        timeout = max(0.0, engine.settings.exit_timeout - self._exit_seconds)
        self.ask(False, lambda engine: engine.flush(timeout, patient=False))
        left = begin + timeout - time.monotonic()
        # Daemon threads that are still busy end with the process; what they were sending stays in the queue.
        self.ask(None, lambda engine: engine.close(min(1.0, max(_CLOSING_SECONDS, left))))
        self._exit_seconds += time.monotonic() - begin
        self._report_lost(engine)

    def _report_lost(self, engine: Engine) -> None:
        lost = engine.queue.numbers()[0].in_memory
        if lost:
            text = f"{lost} event(s) are lost: they could not be stored in {engine.database.path}, and the process ends"
            self._reporter.error(StorageError(text), topic="lost at exit")
            self._reporter.publish()

    def _has_left(self, engine: Engine) -> bool:
        """Whether children that ended after the last flush left events: in a journal, or in the queue.

        They leave them in the queue if another process was sending at that time. Events that the data plane has just
        not accepted are not tried again.
        """
        may_have = self._exit_seconds > 0 and not engine.dispatcher.is_held_up
        return engine.queue.has_orphans or (may_have and engine.queue.numbers()[0].waiting > 0)

    def _after_fork(self) -> None:
        self._exit_seconds = 0.0
        self._starting = Gate()
        self._reporter.after_fork()
        # The queue of the child counts everything in its file as arrived.
        self._carried = self._arrived = 0


def _remaining(counts: Mapping[str, int]) -> int:
    """Return how many of the events that this client recorded must be in the queue, according to its counts."""
    gone = sum(number for name, number in counts.items() if name.startswith(DROPPED) or name == "delivered")
    return counts.get("recorded", 0) - gone
