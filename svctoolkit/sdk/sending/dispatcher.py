"""The worker's decisions: when to send, when to fetch the source configuration, and how to apply it."""

from __future__ import annotations

from collections.abc import Callable

from svctoolkit.errors import DeliveryError
from svctoolkit.sdk.base.ready import Ready
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import LogLevel, Settings
from svctoolkit.sdk.base.timing import Alarm
from svctoolkit.sdk.base.transport import Transport
from svctoolkit.sdk.queue.access import PATIENCE
from svctoolkit.sdk.queue.direct import Mark
from svctoolkit.sdk.queue.queue import Queue
from svctoolkit.sdk.sending.pause import Cause, Pause
from svctoolkit.sdk.sending.sender import Sender, Step
from svctoolkit.sdk.sending.source import SourceConfig, SourceConfigs

_CONFIG_RETRY_SECONDS = 60.0


class Dispatcher:
    """The worker's work. `synchronize` synchronizes the recorder with the file and returns the anonymous ID;
    `on_config` is called with each source configuration."""

    def __init__(
        self,
        queue: Queue,
        transport: Transport,
        reporter: Reporter,
        settings: Settings,
        write_key: str,
        *,
        synchronize: Callable[[bool], str],
        on_config: Callable[[SourceConfig], None],
    ) -> None:
        self.ready = Ready()
        self.config: SourceConfig | None = None  # the current source configuration
        self.config_answer = ""  # outcome of the last request for the source configuration
        self.pause = Pause(settings.probe_after, settings.clock)
        self.configs = SourceConfigs(queue, transport, settings, write_key)
        self._queue, self._settings, self._reporter = queue, settings, reporter
        self._synchronize, self._on_config = synchronize, on_config
        self._sender = Sender(queue, transport, reporter, settings, write_key, self.pause)
        self._refresh, self._quiet = Alarm(settings.clock), Alarm(settings.clock)
        self._quiet.set(settings.sleep_timeout)
        self._is_behind = False  # a request has failed, and events from then may still be waiting

    @property
    def url(self) -> str:
        """URL of the data plane."""
        return self._sender.where

    @property
    def last_answer(self) -> str:
        """The data plane's last response, or why there was none."""
        return self._sender.last_answer

    def use_cache(self) -> None:
        """Use the cached source configuration until the control plane returns a new one."""
        config = self.configs.cache()
        if config is not None:
            self._use(config)

    def tick(self) -> None:
        """Do what is due even without events: synchronize with other processes, fetch the configuration, expire."""
        # Another process may have reset the identity or replaced the file since the last tick.
        # What can be sent now needs no copy in the queue's file.
        self._sender.anonymous_id = self._synchronize(self._queue.refresh(keep=self.due))
        if self.pause.probe_due:
            self._fetch_config(trial=True)
        elif not self._refresh.remaining:
            self._fetch_config()
        if self._settings.max_age is not None:  # just before events are sent: the control plane may answer late
            self._queue.expire(self._settings.max_age)
        self._queue.checkpoint()

    def due(self) -> bool:
        """Return whether events should be sent now: a full batch, or some that have waited long enough."""
        waiting = self._queue.waiting
        self._is_behind = self._is_behind and waiting > 0
        if not waiting or self.is_held_up:
            return False
        # A trial sends one batch regardless of its size, to find out whether the pause can end. After a failure, the
        # last events have waited long enough.
        urgent = self.pause.trial or self._is_behind or not self._quiet.remaining
        return urgent or waiting >= self._settings.flush_queue_size

    def is_batch_due(self) -> bool:
        """Return whether enough events are waiting to wake the worker."""
        enough = self._queue.waiting >= self._settings.flush_queue_size
        return enough and not self.is_held_up

    def send(self, timeout: float, *, asked: bool) -> Step:
        """Send one batch. `asked`: by a flush, which may end a pause early."""
        if asked:
            # The user may just have enabled the source; a wrong key needs another `initialize`.
            if self.pause.blocks and self.pause.cause is Cause.SOURCE:
                self._fetch_config(trial=True)
            if self._sender.asked_to_wait and self.wait():
                return Step.LATER
        step = self._sender.step(timeout)
        self._is_behind = self._is_behind or step is Step.LATER
        if step is Step.SENT:
            self._quiet.set(self._settings.sleep_timeout)
        return step

    @property
    def is_held_up(self) -> bool:
        """Whether the data plane has not accepted the last events, and it is too early for the next attempt."""
        return self.pause.blocks or self._sender.retry.remaining > 0

    def release(self) -> None:
        self._sender.release()

    def wait(self) -> float:
        return self._sender.retry.remaining

    def mark(self, patience: float) -> Mark:
        return self._queue.mark(min(patience, PATIENCE))

    def pending(self, upto: Mark) -> bool:
        return self._sender.will_send(upto) or self._queue.pending(upto)

    def after_fork(self) -> None:
        """Start without requests of the parent process."""
        self._sender.after_fork()
        self.ready.set()

    def _fetch_config(self, *, trial: bool = False) -> None:
        """Fetch the source configuration. `trial`: if that fails, send one batch to see whether the pause can end."""
        self._refresh.set(self._settings.config_refresh_interval * 3600.0)
        try:
            self._use(self.configs.fetch())
            self.config_answer = "fetched"
        except DeliveryError as error:
            self.config_answer = str(error)
            self._refresh.set(_CONFIG_RETRY_SECONDS)
            self._reporter.log(LogLevel.WARN, "%s", error)
            if error.code == "EKEY":
                self._sender.pause_for(Cause.KEY, str(error), error.status)
            else:
                self.pause.trial = trial
        finally:
            # Also after a failure: `initialize().wait()` must end, and events are sent without a configuration.
            self.ready.set(self.pause.text if self.pause.blocks else "")

    def _use(self, config: SourceConfig) -> None:
        self.config = config
        self._sender.url = config.url(self._settings.data_residency, self._settings.data_plane_url)
        self._on_config(config)
        if not config.enabled:
            self._sender.pause_for(Cause.SOURCE, "source configuration", 200)
        else:
            self.pause.lift()
