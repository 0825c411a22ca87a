"""An initialized client: its parts, and how they are connected."""

from __future__ import annotations

import time

from svctoolkit.errors import ConfigError, StorageError
from svctoolkit.sdk.base import process
from svctoolkit.sdk.base.gate import Turnstile
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import MEMORY, LogLevel, Settings
from svctoolkit.sdk.device.integrations import Integrations
from svctoolkit.sdk.device.mode import DeviceMode
from svctoolkit.sdk.events.event_text import Call
from svctoolkit.sdk.events.options import Options
from svctoolkit.sdk.events.recorder import Recorder
from svctoolkit.sdk.queue.access import PATIENCE
from svctoolkit.sdk.queue.database import Database
from svctoolkit.sdk.queue.location import fingerprint, is_trial, queue_place
from svctoolkit.sdk.queue.queue import Queue
from svctoolkit.sdk.sending.dispatcher import Dispatcher
from svctoolkit.sdk.sending.http import HttpTransport
from svctoolkit.sdk.sending.source import SourceConfig
from svctoolkit.sdk.sending.worker import Worker

#: Seconds that a call waits for another call of the same client before it is postponed.
_PATIENCE = 0.01
#: Seconds between two looks at the journals of other processes.
_LOOK_SECONDS = 0.02
_DIRECTORY = "Set data_directory or application_name."


class Engine:
    """The implementation of `ServiceClient` after `initialize`. `before` is the client's previous engine, closed."""

    def __init__(
        self,
        client: object,
        settings: Settings,
        write_key: str,
        options: Options,
        reporter: Reporter,
        origin: str,
        before: Engine | None,
    ) -> None:
        self.settings, self.options, self._reporter = settings, options, reporter
        self.embedded = bool(getattr(settings.transport, "embedded", False))
        reporter.prepare()
        self._transport = settings.transport or HttpTransport()
        self.turnstile = Turnstile(_PATIENCE)
        self.is_forked = self._is_unsafe_child = False
        path, why = queue_place(settings, embedded=self.embedded)
        source = fingerprint(write_key)
        same_file = before is not None and before.database.path == path
        # One object per file: two connections of one process would block each other's writes.
        self.database: Database = before.database if before is not None and same_file else Database(path, reporter)
        limit, clock = settings.db_threshold_count, settings.clock
        self.queue = Queue(self.database, reporter, source=source, origin=origin, limit=limit, clock=clock)
        self._take_over(before if same_file else None, origin)
        self._check_durability(why)
        integrations = Integrations(settings.factories, client, reporter)
        self.device = DeviceMode(integrations, self.queue, reporter, inline=self.embedded)
        self.recorder = Recorder(self.queue, settings, options, reporter, self._reset_devices)
        self.dispatcher = Dispatcher(
            self.queue,
            self._transport,
            reporter,
            settings,
            write_key,
            synchronize=self._synchronize,
            on_config=self._use_config,
        )
        # Device mode can start at once, with the configuration of the last run.
        self.dispatcher.use_cache()
        self.worker = Worker(self.dispatcher, reporter, lambda: self.database.gate.lent(), embedded=self.embedded)
        process.at_fork(self, before=Engine._before_fork, parent=Engine._after_fork_in_parent, child=Engine._after_fork)

    def start(self) -> None:
        """Start the worker, or do its first tick here if the data plane is embedded."""
        if self.embedded:
            self.dispatcher.tick()
            return
        self.worker.start()
        # No thread can be started (interpreter shutdown): do not let `initialize().wait()` hang.
        if not self.worker.alive:
            self.dispatcher.ready.set()
        if self.settings.factories:
            self.device.wake()

    def close(self, timeout: float) -> None:
        """Stop the threads, store what is left, close the file. Later calls reopen and restart everything."""
        self.turnstile.try_run(self.recorder.save_session)
        self.device.stop(timeout)
        # Only if the thread has ended: it may be using the file.
        if self.worker.stop(timeout):
            self.queue.close()
            if isinstance(self._transport, HttpTransport):
                self._transport.close()
        else:
            # No other client adopts the journal as long as this one has it open.
            self.queue.store(timeout)

    def is_free_for(self, call: Call) -> bool:
        """Return whether the event may be recorded while other calls run: nothing is locked or has to come first."""
        return not self.turnstile and not self.embedded and self.recorder.is_independent(call)

    def record(self, call: Call) -> None:
        """Store the event, and wake the worker if a batch is due."""
        self.recorder.record(call)
        if self.settings.factories:
            self.device.wake()
        if not self.embedded:
            self.worker.start()
            if self._is_unsafe_child:
                self._is_unsafe_child = False
                self._warn_about_memory("a forked child has its own queue, and os._exit does not wait for it")
            if not self.worker.is_woken and self.dispatcher.is_batch_due():
                self.worker.wake()

    def deliver_embedded(self) -> None:
        """Deliver the event before the call returns: the data plane is in this process."""
        self.worker.flush(0.5)

    def flush(self, timeout: float, *, patient: bool = True) -> bool:
        """Send waiting events to the data plane, then to device mode. Return whether the data plane got all of them."""
        deadline = time.monotonic() + timeout
        # Calls that a signal handler has postponed are part of what must be flushed.
        self.turnstile.catch_up_interrupting()
        delivered = self.worker.flush(timeout, patient=patient)
        if self.settings.factories:
            self.device.flush(max(0.0, deadline - time.monotonic()))
        return delivered

    def settle(self, timeout: float) -> bool:
        """`flush`, also what is in the journals of other processes now.

        Live processes move it into the queue within a second. Wait for that at most `exit_timeout` seconds.
        """
        begin = time.monotonic()
        end = begin + min(timeout, self.settings.exit_timeout)
        delivered = self.flush(timeout)
        known = self._unmoved()
        while delivered and known:
            if time.monotonic() >= end:
                return False
            time.sleep(_LOOK_SECONDS)
            delivered = self.flush(max(0.0, begin + timeout - time.monotonic()))
            now = self._unmoved()
            known = {name: known[name] for name in known.keys() & now.keys() if now[name][0] < known[name][1]}
        return delivered

    def _unmoved(self) -> dict[str, tuple[int, int]]:
        with self.database.gate.lent():
            return self.queue.unmoved()

    def forget(self, user: str) -> int:
        """Remove the user's events; return how many. Raises `StorageError` if the queue's file cannot be written."""
        # Calls that a signal handler has postponed may be about this user.
        self.turnstile.catch_up_interrupting()
        removed: list[int] = []
        failures: list[StorageError] = []

        def forget() -> None:
            try:
                removed.append(self.queue.forget(user))
            except StorageError as error:
                failures.append(error)

        self.worker.between_requests(forget, PATIENCE)
        self.turnstile.run(lambda: self.recorder.forget(user))
        if not removed:
            raise failures[0] if failures else StorageError("forget: the queue is in use; call it again")
        return removed[0]

    def _take_over(self, before: Engine | None, origin: str) -> None:
        """Take over the events that this client recorded under another key; only report those of other clients."""
        if before is not None:
            self.queue.sources.adopt([before.queue.source], origin=origin)
            self.queue.take_memory(before.queue)
        if self.settings.adopt:
            self.queue.sources.adopt([fingerprint(key) for key in self.settings.adopt])
        self.queue.refresh(open_file=True)
        if self.queue.elsewhere:
            text = (
                f"{self.queue.elsewhere} event(s) wait in {self.database.path} under another write key. To send them, "
                'run a client with that key, or take them over with initialize(key, {"adopt": [that key]})'
            )
            self._reporter.error(StorageError(text), LogLevel.WARN, topic="other keys")

    def _check_durability(self, why: str) -> None:
        """Warn if the queue is in memory although nothing asks for that. Raises `ConfigError` if it must not be."""
        if self.settings.durable == "required" and not self.database.is_durable:
            if not why and self.database.path != MEMORY:
                raise ConfigError(
                    f'durable is "required", but {self._reporter.last_error}. Choose another data_directory.'
                )
            reason = why or "data_directory is :memory:"
            raise ConfigError(f'durable is "required", but events would be kept in memory: {reason}. {_DIRECTORY}')
        if not why and self.database.path == MEMORY and not self.embedded and process.is_spawned():
            why = "data_directory is :memory: in a child process"
        if why and not is_trial():
            self._warn_about_memory(why)

    def _warn_about_memory(self, why: str) -> None:
        text = f"events are kept in memory, and are lost if the process is killed: {why}. {_DIRECTORY}"
        self._reporter.error(StorageError(text), LogLevel.WARN, topic="in memory")

    def _synchronize(self, changed: bool) -> str:
        # `try_run`: if a call is inside the recorder right now, the next tick synchronizes.
        self.turnstile.try_run(lambda: self.recorder.synchronize(changed))
        return self.recorder.identity.anonymous_id

    def _use_config(self, config: SourceConfig) -> None:
        if self.settings.factories:
            self.device.use(config)

    def _reset_devices(self) -> None:
        if self.settings.factories:
            self.device.reset()

    def _before_fork(self) -> None:
        self.database.hold()

    def _after_fork_in_parent(self) -> None:
        self.database.let_go()

    def _after_fork(self) -> None:
        self.turnstile = Turnstile(_PATIENCE)
        self.is_forked = True
        self._is_unsafe_child = self.database.path == MEMORY and not self.embedded
        self.database.after_fork()
        self.queue.after_fork()
        if isinstance(self._transport, HttpTransport):
            self._transport.after_fork()
        self.dispatcher.after_fork()
        self.worker.after_fork()
        self.device.after_fork()
