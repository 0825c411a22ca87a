"""An initialized client: its parts, and what its worker does with them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from svctoolkit.errors import DeliveryError
from svctoolkit.sdk.base import process
from svctoolkit.sdk.base.ready import Ready
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import LogLevel, Settings
from svctoolkit.sdk.device.mode import DeviceMode
from svctoolkit.sdk.events.event_text import Call
from svctoolkit.sdk.events.options import Options
from svctoolkit.sdk.events.recorder import Recorder
from svctoolkit.sdk.queue.database import Database
from svctoolkit.sdk.queue.location import fingerprint, queue_path
from svctoolkit.sdk.queue.queue import Queue
from svctoolkit.sdk.sending.http import HttpTransport
from svctoolkit.sdk.sending.sender import Pause, Sender, Step
from svctoolkit.sdk.sending.source import SourceConfig, SourceConfigs
from svctoolkit.sdk.sending.worker import Worker

if TYPE_CHECKING:
    from svctoolkit.sdk.client import ServiceClient

_CONFIG_RETRY_SECONDS = 60.0


class Engine:
    """Everything behind `ServiceClient` from `initialize` on. Methods may be called from any thread."""

    def __init__(
        self, client: ServiceClient, settings: Settings, write_key: str, options: Options, reporter: Reporter
    ) -> None:
        self.settings, self.ready = settings, Ready()
        self._reporter = reporter
        self._embedded = bool(getattr(settings.transport, "embedded", False))
        self._transport = settings.transport or HttpTransport()
        source = fingerprint(write_key)
        limit, clock = settings.db_threshold_count, settings.clock
        self._database = Database(queue_path(settings, embedded=self._embedded), reporter)
        self.queue = Queue(self._database, reporter, source=source, limit=limit, clock=clock)
        self.sender = Sender(self.queue, self._transport, reporter, settings, write_key)
        self.device = DeviceMode(settings.factories, client, reporter)
        self._configs = SourceConfigs(self.queue, self._transport, settings, write_key)
        self._config_due = 0.0
        self.queue.adopt(settings.application_name)
        self.queue.refresh()
        self.recorder = Recorder(self.queue, settings, options, reporter, self.device.reset)
        cached = self._configs.cache()
        if cached is not None:
            self._use(cached)
        self.worker = Worker(self, reporter, embedded=self._embedded)
        process.at_fork(self, before=Engine._before_fork, parent=Engine._after_fork_in_parent, child=Engine._after_fork)

    def start(self) -> None:
        """Let the worker run, or without one do its first turn."""
        if self._embedded:
            self.tick()
            return
        self.worker.start()
        if not self.worker.alive:
            self.ready.set()

    def close(self, timeout: float) -> None:
        self.queue.leave()
        self.recorder.save_session()
        if self.worker.stop(timeout):
            self.queue.close()
            if isinstance(self._transport, HttpTransport):
                self._transport.close()

    def _before_fork(self) -> None:
        self._database.hold()

    def _after_fork_in_parent(self) -> None:
        self._database.let_go()

    def _after_fork(self) -> None:
        self.recorder.after_fork()
        self._database.after_fork()
        self.queue.after_fork()
        self.sender.after_fork()
        if isinstance(self._transport, HttpTransport):
            self._transport.after_fork()
        self.worker.after_fork()
        self.ready.set()

    # What the worker does

    def tick(self) -> None:
        if self.queue.refresh():
            self.recorder.reload_opt_out()
        self.recorder.save()
        self.sender.anonymous_id = self.recorder.identity.anonymous_id
        if self.settings.clock() >= self._config_due:
            self._fetch_config()
        self.device.deliver(self.queue)
        self.queue.checkpoint()

    def due(self, since_success: float) -> bool:
        waiting = self.queue.waiting
        if not waiting or self.sender.pause is not Pause.NO or time.monotonic() < self.sender.not_before:
            return False
        return waiting >= self.settings.flush_queue_size or since_success >= self.settings.sleep_timeout

    def send(self, timeout: float, *, asked: bool) -> Step:
        if asked:
            if self.sender.pause is Pause.SOURCE:
                self._fetch_config(hopeful=True)
            if self.sender.asked_to_wait and self.wait() > 0:
                return Step.LATER
        return self.sender.step(timeout)

    def release(self) -> None:
        self.sender.release()

    def wait(self) -> float:
        return self.sender.not_before - time.monotonic()

    def mark(self) -> int:
        return self.queue.last_id()

    def pending(self, upto: int) -> bool:
        return self.sender.will_send(upto) or self.queue.pending(upto)

    def flush_devices(self) -> None:
        self.device.flush()

    def record(self, call: Call) -> None:
        """Store the event, and let the worker know when there is something to do."""
        self.recorder.record(call)
        if self._embedded:
            self.worker.flush(0.5)
            return
        self.worker.start()
        if self.device or (
            self.queue.waiting >= self.settings.flush_queue_size
            and self.sender.pause is Pause.NO
            and time.monotonic() >= self.sender.not_before
        ):
            self.worker.wake()

    def _fetch_config(self, *, hopeful: bool = False) -> None:
        """Ask the control plane. `hopeful` lets a paused source try again unless it is said to be disabled."""
        self._config_due = self.settings.clock() + self.settings.config_refresh_interval * 3600.0
        try:
            self._use(self._configs.fetch())
        except DeliveryError as error:
            self._config_due = self.settings.clock() + _CONFIG_RETRY_SECONDS
            self._reporter.log(LogLevel.WARN, "%s", error)
            if error.code == "EKEY":
                self.sender.pause_for(Pause.KEY, str(error), error.status)
            elif hopeful:
                self.sender.pause = Pause.NO
        finally:
            self.ready.set()

    def _use(self, config: SourceConfig) -> None:
        self.sender.url = config.url(self.settings.data_residency, self.settings.data_plane_url)
        self.device.use(config)
        if not config.enabled:
            self.sender.pause_for(Pause.SOURCE, "its configuration says so", 200)
        elif self.sender.pause is Pause.SOURCE:
            self.sender.pause = Pause.NO
