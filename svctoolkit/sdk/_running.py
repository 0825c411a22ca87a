"""An initialized client: its parts, and how an event comes about."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from copy import copy
from datetime import UTC, datetime
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, NamedTuple

from svctoolkit.errors import DeliveryError
from svctoolkit.sdk import _lifecycle, _process
from svctoolkit.sdk._context import Context
from svctoolkit.sdk._database import Database
from svctoolkit.sdk._device import DeviceMode
from svctoolkit.sdk._identity import Identity, Session, loaded
from svctoolkit.sdk._options import Options
from svctoolkit.sdk._queue import Queue
from svctoolkit.sdk._ready import Ready
from svctoolkit.sdk._report import Reporter
from svctoolkit.sdk._sender import Pause, Sender, Step
from svctoolkit.sdk._settings import MEMORY, LogLevel, Settings
from svctoolkit.sdk._source import SourceConfig, SourceConfigs
from svctoolkit.sdk._transport import HttpTransport
from svctoolkit.sdk._worker import Worker

if TYPE_CHECKING:
    from svctoolkit.sdk.client import ServiceClient

EVENT_BYTES = 32 * 1024
_CONFIG_RETRY_SECONDS = 60.0


class Call(NamedTuple):
    """One event as it was called. `body` is the JSON of its properties or traits; `identity` that of a request."""

    kind: str
    at: float
    name: str
    body: str
    options: Options
    identity: Identity | None


class Running:
    """Everything behind `ServiceClient` from `initialize` on. Methods may be called from any thread."""

    def __init__(
        self, client: ServiceClient, settings: Settings, write_key: str, options: Options, reporter: Reporter
    ) -> None:
        self.settings, self.ready = settings, Ready()
        self._options, self._reporter = options, reporter
        self._lock = threading.RLock()
        self._embedded = bool(getattr(settings.transport, "embedded", False))
        self._transport = settings.transport or HttpTransport()
        source = _fingerprint(write_key)
        limit, clock = settings.db_threshold_count, settings.clock
        self._database = Database(_path(settings, embedded=self._embedded), reporter)
        self.queue = Queue(self._database, reporter, source=source, limit=limit, clock=clock)
        self.sender = Sender(self.queue, self._transport, reporter, settings, write_key)
        self.device = DeviceMode(settings.factories, client, reporter)
        self._configs = SourceConfigs(self.queue, self._transport, settings, write_key)
        self._config_due = 0.0
        self._second = (-1, "")
        self._integrations = _integrations(options.integrations)
        self._load()
        self.worker = Worker(self, reporter, embedded=self._embedded)
        _process.at_fork(
            self, before=Running._before_fork, parent=Running._after_fork_in_parent, child=Running._after_fork
        )

    def _load(self) -> None:
        self.queue.adopt(self.settings.application_name)
        self.queue.refresh()
        device_id = self.queue.state_once("device_id", self.settings.new_id())
        self.identity = loaded(self.queue.state("identity"), device_id)
        self.opted_out = self.queue.state("opt_out") == "true"
        self._session = Session(self.queue.state("session"), self.settings.clock)
        self._session_saved = self._session.last
        self._unsaved = False
        self._context = Context(self.settings, device_id)
        if self.settings.track_lifecycle_events:
            self._session.resume()
        cached = self._configs.cached()
        if cached is not None:
            self._use(cached)

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
        self._save_session()
        if self.worker.stop(timeout):
            self.queue.close()
            if isinstance(self._transport, HttpTransport):
                self._transport.close()

    def _before_fork(self) -> None:
        self._database.hold()

    def _after_fork_in_parent(self) -> None:
        self._database.let_go()

    def _after_fork(self) -> None:
        self._lock = threading.RLock()
        self._database.after_fork()
        self.queue.after_fork()
        self.sender.after_fork()
        if isinstance(self._transport, HttpTransport):
            self._transport.after_fork()
        self.worker.after_fork()
        self.ready.set()

    # Calls

    def record(self, call: Call) -> None:
        """Make the event and store it; afterwards it is safe."""
        with self._lock:
            identity = call.identity or self.identity
            if self.opted_out or identity.opted_out:
                self._reporter.drop("opted out", [], 1)
                return
            changed, previous = self._changed(call, identity)
            body = self._event(call, changed, previous)
            if len(body) > EVENT_BYTES:
                self._reporter.drop("too large", [body])
                return
            if call.identity is None and self._session.id:
                self._session.used(call.at)
            if changed is not identity:
                self._context.forget(changed)
                identity.take(changed)
                self._identity_changed(identity, own=call.identity is None)
            self.queue.add(body, call.at, for_devices=bool(self.device))
        self._reporter.counts["recorded"] += 1
        self._reporter.log(LogLevel.VERBOSE, "%s stored, %d bytes", call.kind, len(body))
        self._stored()

    def lifecycle(self, name: str, properties: Mapping[str, object] | None = None) -> None:
        body = "" if properties is None else json.dumps(properties, ensure_ascii=True, separators=(",", ":"))
        self.record(Call("track", self.settings.clock(), name, body, Options(), None))

    def launched(self) -> None:
        """The events of the application's start. Its version is remembered even if nobody wants them."""
        kept = self.queue.replace_state("release", _lifecycle.release(self.settings))
        if self.settings.track_lifecycle_events:
            for name, properties in _lifecycle.launched(self.settings, kept):
                self.lifecycle(name, properties)

    def resume_session(self) -> None:
        with self._lock:
            self._session.resume()

    def reset(self, scoped: Identity | None) -> None:
        with self._lock:
            identity = scoped or self.identity
            identity.reset()
            if scoped is None:
                if self._session.id:
                    self._session.renew()
                self.device.reset()
            self._identity_changed(identity, own=scoped is None)

    def put(self, member: str, value: str, scoped: Identity | None) -> None:
        """Set `anonymous_id`, `advertising_id` or `device_token`. Does nothing while tracking is off."""
        with self._lock:
            identity = scoped or self.identity
            if self.opted_out or identity.opted_out:
                return
            setattr(identity, member, value)
            self._identity_changed(identity, own=scoped is None)

    def opt_out(self, flag: bool, scoped: Identity | None) -> None:
        with self._lock:
            if scoped is not None:
                scoped.opted_out = flag
                return
            self.opted_out = flag
            self.queue.set_state("opt_out", "true" if flag else "false")

    # What the worker does

    def tick(self) -> None:
        if self.queue.refresh():
            with self._lock:
                self.opted_out = self.queue.state("opt_out") == "true" if not self._unsaved else self.opted_out
        if self._unsaved:
            self._identity_changed(self.identity, own=True)
        self._save_session()
        self.sender.anonymous_id = self.identity.anonymous_id
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

    # Parts

    def _stored(self) -> None:
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

    def _identity_changed(self, identity: Identity, *, own: bool) -> None:
        self._context.forget(identity)
        if own:
            self._unsaved = not self.queue.set_state("identity", identity.dumped())

    def _save_session(self) -> None:
        if self._session.id and self._session.last != self._session_saved:
            self._session_saved = self._session.last
            self.queue.set_state("session", self._session.dumped())

    def _changed(self, call: Call, identity: Identity) -> tuple[Identity, str]:
        """The identity after the call, and for an alias the ID before it. Nothing is changed yet."""
        if call.kind == "identify":
            changed = copy(identity)
            changed.identify(call.name, json.loads(call.body or "{}"), call.options.external_ids)
            return changed, ""
        if call.kind == "alias":
            changed = copy(identity)
            return changed, changed.alias(call.name)
        return identity, ""

    def _event(self, call: Call, identity: Identity, previous: str) -> bytes:
        ids = identity.external_ids
        if self._options.external_ids or call.options.external_ids:
            ids = {**self._options.external_ids, **ids, **call.options.external_ids}
        session = "" if call.identity else self._session.context()
        context = self._context.text(identity, session, ids)
        integrations = self._integrations
        if call.options.integrations:
            integrations = _integrations(call.options.integrations)
        second = int(call.at)
        if second != self._second[0]:  # most events share their second with the one before
            self._second = (second, datetime.fromtimestamp(second, UTC).isoformat()[:-6])
        when = f"{self._second[1]}.{int((call.at - second) * 1000):03d}"
        user = f'"userId":{quoted(identity.user_id)},' if identity.user_id else ""
        return (
            f'{{"messageId":{quoted(self.settings.new_id())},"channel":"mobile","context":{context},'
            f'"type":"{call.kind}","originalTimestamp":"{when}Z","anonymousId":{quoted(identity.anonymous_id)},'
            f"{user}{_named(call)}{integrations}{_tail(call, identity, previous)}}}"
        ).encode()

    def _fetch_config(self, *, hopeful: bool = False) -> None:
        """Ask the control plane. `hopeful` lets a paused source try again unless it is said to be disabled."""
        self._config_due = self.settings.clock() + self.settings.config_refresh_interval * 3600.0
        try:
            self._use(self._configs.fetched())
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


def _named(call: Call) -> str:
    if call.kind == "identify":
        return '"event":"identify",'
    if call.kind in ("track", "screen"):
        properties = f'"properties":{call.body},' if call.body else ""
        return f'"event":{quoted(call.name)},{properties}'
    if call.kind == "page":
        return f'"name":{quoted(call.name)},"properties":{call.body},'
    return ""


def _tail(call: Call, identity: Identity, previous: str) -> str:
    if call.kind == "alias":
        return f',"previousId":{quoted(previous)}'
    if call.kind == "group":
        traits = {"anonymousId": identity.anonymous_id, **json.loads(call.body or "{}")}
        text = json.dumps(traits, ensure_ascii=False, separators=(",", ":"))
        return f',"traits":{text},"groupId":{quoted(call.name)}'
    return ""


def _integrations(wanted: Mapping[str, bool]) -> str:
    named = dict(wanted) | ({} if "All" in wanted else {"All": True})
    return f'"integrations":{json.dumps(named, separators=(",", ":"))}'


def _fingerprint(write_key: str) -> str:
    """Tells the events of one source from another's in a shared file, without keeping the key there."""
    import hashlib

    return hashlib.sha256(write_key.encode()).hexdigest()[:16]


def _path(settings: Settings, *, embedded: bool) -> str:
    directory = settings.data_directory
    if directory == MEMORY or (directory is None and embedded):
        return MEMORY
    if directory is None:
        import platformdirs

        program = os.path.basename(sys.argv[0] if sys.argv else "")
        name = settings.application_name or os.path.splitext(program)[0]
        slug = "".join(c if c.isalnum() or c in "-_" else "-" for c in name) or "python"
        directory = os.path.join(platformdirs.user_data_dir("svctoolkit", appauthor=False), "sdk", slug)
    return os.path.join(directory, "queue-1.db")
