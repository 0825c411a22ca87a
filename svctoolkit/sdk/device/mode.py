"""Device mode: events go directly to code in this process, in addition to the data plane and at their own pace."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from svctoolkit.sdk.base import process
from svctoolkit.sdk.base.gate import Gate, Latch, Wakeup
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.device.integrations import Integrations
from svctoolkit.sdk.queue.claims import Row
from svctoolkit.sdk.queue.queue import Queue
from svctoolkit.sdk.sending.source import SourceConfig

_REPLAYED = 100
_TICK = 1.0
_RENEWAL_SECONDS = 20.0


class DeviceMode:
    """Passes every stored event to each integration that should get it, once, including events from before its start.

    It has its own thread, table and limit: a slow integration delays neither calls nor the data plane, but misses the
    oldest events above `dbThresholdCount`. `inline`: without a thread; `wake` does the work.
    """

    def __init__(self, integrations: Integrations, queue: Queue, reporter: Reporter, *, inline: bool) -> None:
        self._integrations, self._queue, self._reporter, self._inline = integrations, queue, reporter, inline
        self._is_ready = integrations.all_own
        #: actions to run after the event with this ID
        self._orders: deque[tuple[int, Callable[[], None]]] = deque([(0, integrations.start_own)])
        self.after_fork()

    def after_fork(self) -> None:
        """Start without a thread: threads do not survive a fork."""
        self._thread: threading.Thread | None = None
        self._wakeup, self._stop = Wakeup(), Latch()
        self._turn, self._starting = Gate(), Gate()

    def wake(self) -> None:
        """Signal that there is work to do."""
        if self._inline:
            self.work()
            return
        if self._thread is None:
            self._start()
        self._wakeup.set()

    def use(self, config: SourceConfig) -> None:
        """Apply the source's configuration: which integrations run, and with which settings."""

        def use() -> None:
            self._integrations.use(config)
            self._is_ready = True

        self._order(use, 0)

    def reset(self) -> None:
        """Reset the integrations for a new user, after the events so far."""
        self._order(self._integrations.reset, self._queue.last_id("device", patience=0.0))

    def flush(self, timeout: float) -> None:
        """Pass on the stored events and flush the integrations; wait at most `timeout` seconds."""
        if threading.current_thread() is self._thread:
            return  # called by an integration in this thread, which cannot wait for itself
        done = Latch()

        def flush() -> None:
            self._integrations.flush()
            done.set()

        self._order(flush, self._queue.last_id("device", patience=0.0))
        done.wait(timeout)

    def stop(self, timeout: float) -> None:
        """Stop the thread after its current work."""
        self._stop.set()
        self._wakeup.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        self._stop = Latch()

    def work(self) -> None:
        """Run the ordered actions, then pass on the stored events."""
        if not self._turn.enter(0):
            return
        try:
            while self._orders:
                mark, action = self._orders[0]
                self._hand_over(mark)
                self._orders.popleft()
                action()
            self._hand_over(None)
        finally:
            self._turn.leave()
        self._reporter.publish()

    def _order(self, action: Callable[[], None], mark: int) -> None:
        self._orders.append((mark, action))
        self.wake()

    def _hand_over(self, mark: int | None) -> None:
        """Pass on the events up to the mark; without a mark, all events until an action is ordered."""
        if not self._is_ready:
            return
        while batch := self._queue.claim("device", _REPLAYED):
            handed: list[Row] = []
            claimed_at = time.monotonic()
            for row in batch.rows:
                if self._stop.wait(0) or (row[0] > mark if mark is not None else self._orders):
                    break
                self._integrations.dump([row])
                handed.append(row)
                if time.monotonic() - claimed_at > _RENEWAL_SECONDS:
                    self._queue.renew(batch)
                    claimed_at = time.monotonic()
            self._queue.finish(batch, handed)
            if len(handed) < len(batch.rows):
                return

    def _start(self) -> None:
        if not self._starting.enter(0):
            return
        try:
            if self._thread is None:
                # New ones, as in `Worker.start`.
                self._stop, self._wakeup = Latch(), Wakeup()
                arguments = (self._stop, self._wakeup)
                thread = threading.Thread(target=self._run, args=arguments, name="svctoolkit-sdk-device", daemon=True)
                process.start_thread(thread)
                self._thread = thread
        except RuntimeError:  # interpreter shutdown: the stored events are passed on at the next start
            return
        finally:
            self._starting.leave()

    def _run(self, stop: Latch, wakeup: Wakeup) -> None:
        while not stop.wait(0):
            self.work()
            wakeup.wait(_TICK)
