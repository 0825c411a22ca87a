"""From a call to a stored event: the current user, the event's content, and whether it may be recorded at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import copy

from svctoolkit.errors import EventError
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import LogLevel, Settings
from svctoolkit.sdk.base.values import event_json
from svctoolkit.sdk.events import consent, lifecycle
from svctoolkit.sdk.events.context import Context
from svctoolkit.sdk.events.event_text import Call, EventText
from svctoolkit.sdk.events.identity import Identity, Session, stored_identity
from svctoolkit.sdk.events.options import Options
from svctoolkit.sdk.queue.queue import Queue

EVENT_BYTES = 32 * 1024


class Recorder:
    """Identity, session and opt-out of one installation, stored with its queue.

    Only one thread at a time may call, except `record` with events that are independent. For their sake an identity of
    the installation is never changed, but replaced.
    """

    def __init__(
        self, queue: Queue, settings: Settings, options: Options, reporter: Reporter, on_reset: Callable[[], None]
    ) -> None:
        self._queue, self._settings, self._reporter, self._on_reset = queue, settings, reporter, on_reset
        self._states, self._installation = queue.states, queue.installation
        self._is_server = settings.profile == "server"
        self._installation.migrate()
        # Several processes may start at once: the first one decides.
        if self._is_server:
            device_id = _application_id(queue.source, settings.application_name)
            self.identity = Identity(device_id, visitor={})
        else:
            device_id = self._installation.write_once("device_id", settings.new_id())
            device = self._installation.read("device")
            self.identity = stored_identity(self._states.read("identity"), device, device_id)
        self._device_saved = self.identity.device_json()
        self.opted_out = self._installation.is_opted_out()
        if self.opted_out:
            self._report_opt_out()
        #: what `put` was called with while tracking was off
        self._held_back: dict[str, str] = {}
        self._session = Session(self._states.read("session"), settings.clock)
        self._session_saved = self._session.last
        self._unsaved = self._opt_out_unsaved = False
        self._context = Context(settings, device_id)
        self._text = EventText(self._context, options)
        if settings.track_lifecycle_events and not self._is_server:
            self._session.resume()

    def is_independent(self, call: Call) -> bool:
        """Return whether recording the event changes nothing that other events of the installation need."""
        if self._settings.before_send is not None:
            return False  # the application's function may rely on being called by one thread at a time
        if call.identity is not None or self._is_server:
            return True
        return not (call.kind in ("identify", "alias") or self._session.is_fresh)

    def record(self, call: Call) -> None:
        """Render the event and store it durably."""
        identity = self.identity_of(call)
        is_own = call.identity is None and not self._is_server
        if self.opted_out or identity.opted_out:
            self._reporter.drop("opted out", [], 1, unstored=True)
            return
        if identity.denied:
            self._reporter.drop("no consent", [], 1, unstored=True)
            return
        # On a copy: the identity is only changed after the event has passed every check.
        changed, previous = self._identity_after(call, identity)
        rendered = self._text.render(call, changed, previous, self._session.context() if is_own else "")
        body = self._inspect(rendered)
        if body is None:
            return
        # The limit of the service; a larger event would make the data plane reject its whole batch.
        if len(body) > EVENT_BYTES:
            self._reporter.drop("too large", [body], unstored=True)
            return
        if is_own and self._session.id and not call.is_past:
            self._session.touch(call.at)
        if changed is not identity:
            if is_own:
                self.identity = changed
            else:
                identity.take(changed)
            self._save_identity(identity, own=is_own)
        # `before_send` may have changed the user, so such events count as possibly anybody's.
        user = "" if is_own or self._settings.before_send else _ids(changed, previous)
        # The time of recording, from which `max_age` counts: the call may be about an event of last year.
        recorded = self._settings.clock() if call.is_past else call.at
        self._queue.add(body, recorded, user, for_devices=bool(self._settings.factories))
        self._reporter.log(LogLevel.VERBOSE, "%s stored, %d bytes", call.kind, len(body))

    def identity_of(self, call: Call) -> Identity:
        """Return whom the call is about."""
        if not self._is_server:
            return call.identity or self.identity
        # Without a user it is the application. Not for identify and alias: they would make one user of all users.
        names_user = call.kind in ("identify", "alias")
        if call.identity is None:
            return Identity("", visitor={}) if names_user else self.identity
        if not (call.identity.anonymous_id or call.identity.user_id or names_user):
            return call.identity.named(self.identity.anonymous_id, "")
        return call.identity

    def _inspect(self, body: bytes) -> bytes | None:
        """Return the event after `before_send`; None if that dropped it, unchanged if that failed."""
        change = self._settings.before_send
        if change is None:
            return body
        try:
            event = change(json.loads(body))
            if event is not None and not isinstance(event, Mapping):
                raise TypeError(f"it must return the event or None, got {type(event).__name__}")
            changed = None if event is None else event_json(event, "event", self._reporter.error).encode()
        except Exception as error:  # noqa: BLE001 - the application's code
            text = f"before_send failed: {type(error).__name__}: {error}; the event is sent unchanged"
            self._reporter.error(EventError(text), topic="before_send")
            return body
        if changed is None:
            self._reporter.drop("before_send", [body], unstored=True)
        return changed

    def record_lifecycle(self, name: str, properties: Mapping[str, object] | None = None) -> None:
        """Record a lifecycle event of the application, if the user has consented."""
        body = "" if properties is None else json.dumps(properties, ensure_ascii=True, separators=(",", ":"))
        call = Call("track", self._settings.clock(), name, body, Options(), None, self._settings.new_id())
        if consent.is_given(call, self.identity_of(call), self._settings, self._reporter):
            self.record(call)
        else:
            self._reporter.drop("no consent", [], 1, unstored=True)

    def record_launch(self) -> None:
        """Record the events of the application's start. Its version is stored even if lifecycle events are disabled."""
        before = self._installation.exchange("release", lifecycle.release(self._settings))
        if self._settings.track_lifecycle_events:
            for name, properties in lifecycle.launch_events(self._settings, before):
                self.record_lifecycle(name, properties)

    def resume_session(self) -> None:
        if not self._is_server:
            self._session.resume()

    def reset(self, scoped: Identity | None) -> None:
        """Forget the user of the scope, or of the installation if there is no scope."""
        identity = scoped or copy(self.identity)
        identity.reset()
        if scoped is None:
            self.identity = identity
            if self._session.id:
                self._session.renew()
            self._on_reset()
        self._save_identity(identity, own=scoped is None)

    def forget(self, user: str) -> None:
        """Reset the installation's user if it is this one."""
        if self.identity.user_id == user:
            self.reset(None)

    def put(self, member: str, value: str, scoped: Identity | None) -> None:
        """Set `anonymous_id`, `advertising_id` or `device_token`; while the installation is opted out, after that."""
        if self.opted_out and scoped is None:
            # A consent banner is answered after the application has registered its push token.
            self._held_back[member] = value
            self._reporter.log(LogLevel.INFO, "%s is kept in memory, and used after opt_out(False)", member)
            return
        identity = scoped or copy(self.identity)
        setattr(identity, member, value)
        if scoped is None:
            self.identity = identity
        self._save_identity(identity, own=scoped is None)

    def opt_out(self, flag: bool, scoped: Identity | None) -> None:
        """Opt the user of the scope out or in, or the installation if there is no scope."""
        if scoped is not None:
            scoped.opted_out = flag
            return
        self._set_opted_out(flag)
        self._opt_out_unsaved = not self._installation.opt_out(flag)

    def synchronize(self, changed: bool) -> None:
        """Store what could not be written before, and the time of the session's last event.

        `changed`: another process has changed the file, so its opt-out flag is read again.
        """
        if self._unsaved:
            self._save_identity(self.identity, own=True)
        if self._opt_out_unsaved:
            self.opt_out(self.opted_out, None)
        elif changed:
            self._set_opted_out(self._installation.is_opted_out())
        self.save_session()

    def save_session(self) -> None:
        if self._session.id and self._session.last != self._session_saved:
            self._session_saved = self._session.last
            self._states.write("session", self._session.to_json())

    def _set_opted_out(self, flag: bool) -> None:
        self.opted_out = flag
        if not flag:
            held_back, self._held_back = self._held_back, {}
            for member, value in held_back.items():
                self.put(member, value, None)

    def _report_opt_out(self) -> None:
        """Log that tracking is off; at every log level if another write key was used when the user opted out."""
        where = self._queue.directory or "memory"
        text = f"tracking is off: this installation has opted out (data in {where}). opt_out(False) switches it on"
        if self._installation.is_opt_out_of_this_source():
            self._reporter.log(LogLevel.INFO, "%s", text)
        else:
            self._reporter.notice(f"{text}. The user opted out while another write key was in use")
            self._installation.opt_out(True)

    def _save_identity(self, identity: Identity, *, own: bool) -> None:
        self._context.forget(identity)
        if not own or self._is_server:
            return
        self._unsaved = not self._states.write("identity", self.identity.to_json())
        # Only what this client has changed: a client with another write key may have stored other IDs.
        device = self.identity.device_json()
        if device != self._device_saved:
            if self._installation.write("device", device):
                self._device_saved = device
            else:
                self._unsaved = True

    def _identity_after(self, call: Call, identity: Identity) -> tuple[Identity, str]:
        """Return the identity after the call, and for an alias the previous ID. Does not change `identity` itself."""
        if call.kind == "identify":
            changed = copy(identity)
            changed.identify(call.name, json.loads(call.body or "{}"), call.options.external_ids)
            return changed, ""
        if call.kind == "alias":
            changed = copy(identity)
            return changed, changed.alias(call.name)
        return identity, ""


def _ids(identity: Identity, previous: str) -> str:
    """Return every ID in an event, one per line."""
    return "\n".join(filter(None, (identity.anonymous_id, identity.user_id, previous)))


def _application_id(source: str, name: str) -> str:
    """Return the anonymous ID of a server application: equal in all its processes and containers."""
    from uuid import NAMESPACE_URL, uuid5

    return str(uuid5(NAMESPACE_URL, f"svctoolkit:{source}:{name}"))
