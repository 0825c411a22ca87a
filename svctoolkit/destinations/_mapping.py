"""A mapping with its settings: read, checked and resolved once, called for every event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from svctoolkit.destinations._batches import Job, MappedJob
from svctoolkit.destinations._context import Context, Lookup, make_context
from svctoolkit.destinations._payload import Payload
from svctoolkit.destinations._settings import DynamicSettings, Settings
from svctoolkit.errors import MappingError, ToolkitError, UnsupportedEvent
from svctoolkit.events import Event

Sends: TypeAlias = Payload | Iterable[Payload]


class Handler(NamedTuple):
    """What a type does with an event type: `function(event, settings)`, or with the context as a third argument."""

    function: Callable[..., Sends]
    takes_context: bool


class DestinationMapping:
    """How one configured destination's events become payloads; `DestinationType.prepare` gives it.

    All that depends on the configuration alone is done. `settings` are the typed settings; of a configuration with
    values such as `{{ event.properties.key || "default" }}` those of an event that has none of the values.
    """

    def __init__(self, title: str, handlers: Mapping[str, Handler], settings: Settings | DynamicSettings) -> None:
        self.title = title
        self.settings = settings.settings if isinstance(settings, DynamicSettings) else settings
        self._dynamic = settings if isinstance(settings, DynamicSettings) else None
        self._handlers = handlers

    def __repr__(self) -> str:
        return f"<DestinationMapping of {self.title}: {self.settings!r}>"

    def secrets(self) -> list[str]:
        """The text of every secret in the settings, for masking; of those that do not depend on the event."""
        return self.settings.secrets()

    def transform(self, event: Event, context: Context) -> list[Payload]:
        """The payloads of one event.

        Raises `UnsupportedEvent` or `MappingError`. Whatever else a mapping raises is a `MappingError` too, one that
        names the line: a fault in a mapping costs one event, not the run.
        """
        handler = self._handlers.get(event.type)
        if handler is None:
            takes = ", ".join(self._handlers)
            what = f"{event.type} events" if event.type else "events without a type"
            raise UnsupportedEvent(f"{self.title} takes no {what}, only {takes}", field="type")
        settings = self.settings
        if self._dynamic is not None:
            settings, event = self._dynamic.for_event(event)
        function, takes_context = handler
        try:
            sends = function(event, settings, context) if takes_context else function(event, settings)
            return [sends] if isinstance(sends, Payload) else list(sends)
        except ToolkitError:
            raise
        except Exception as error:  # the event or the mapping is not what the other expects
            raise MappingError(f"the {self.title} mapping failed on this event: {_location(error)}") from error

    def map_job(self, job: Job, context: Context) -> MappedJob:
        """The job with its payloads, or with the text of its refusal."""
        id, raw, _ = job
        event = Event(raw)
        try:
            return MappedJob(id, event, tuple(self.transform(event, context)), metadata=job.metadata)
        except ToolkitError as error:
            return MappedJob(id, event, error=str(error), metadata=job.metadata)

    def payloads(
        self,
        event: Mapping[str, Any],
        clock: str | datetime | None = None,
        lookup: Lookup | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """The payloads of one event as plain objects.

        `clock` is the time that the mapping sees (ISO 8601 text or datetime), now by default. `lookup` answers what
        the mapping asks its destination. `metadata` is what the service knows of the destination's account, such as
        `{"secret": {"access_token": ...}}`. Raises `UnsupportedEvent` or `MappingError`.
        """
        context = make_context(clock, lookup, metadata)
        return [payload.to_dict() for payload in self.transform(Event(event), context)]


def _location(error: Exception) -> str:
    import traceback  # only a fault in a mapping needs it

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
