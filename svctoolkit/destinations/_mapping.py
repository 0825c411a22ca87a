"""The mapping of a configured destination: its settings are checked and resolved once, then it maps every event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypedDict

import msgspec
from msgspec import structs

from svctoolkit.causes import Refusal, json_value
from svctoolkit.destinations._batches import Batch, Batching, MappedJob, MayRefuse, alone
from svctoolkit.destinations._context import Context, Lookup, make_context
from svctoolkit.destinations._payload import Payload
from svctoolkit.destinations._settings import DynamicSettings, Settings, Unquoted
from svctoolkit.errors import MappingError, ToolkitError, UnsupportedEvent, is_survivable
from svctoolkit.events import EVENT_TYPES, Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import HalfCharacter, HugeNumber

Sends: TypeAlias = Payload | Iterable[Payload]


#: Some mappings send one request for each element of a list, and each request may contain the whole list.
MAX_PAYLOADS = 1000


class Handler(NamedTuple):
    """The handler of an event type: `function(event, settings)`, or with the context as a third argument."""

    function: Callable[..., Sends]
    takes_context: bool


class DestinationMapping:
    """Maps events to payloads for one configured destination; created by `DestinationType.prepare`.

    `settings` are the typed settings. If the configuration contains values such as
    `{{ event.properties.key || "default" }}`, they are the settings for an event without these values.
    """

    def __init__(
        self,
        title: str,
        handlers: Mapping[str, Handler],
        settings: Settings | DynamicSettings,
        batching: Batching,
        batching_may_refuse: MayRefuse | bool,
        takes: str,
        decided_by: Collection[str],
    ) -> None:
        self.title, self._batching, self._takes, self._decided_by = title, batching, takes, decided_by
        self.settings = settings.settings if isinstance(settings, DynamicSettings) else settings
        self._dynamic = settings if isinstance(settings, DynamicSettings) else None
        self._handlers = handlers
        refuses = batching_may_refuse if isinstance(batching_may_refuse, bool) else batching_may_refuse(self.settings)
        self._batching_decides = self._dynamic is not None or refuses
        self._unsupported: dict[str, Refusal] = {}

    def __repr__(self) -> str:
        return f"<DestinationMapping of {self.title}: {self.settings!r}>"

    def secrets(self) -> list[str]:
        """The text of every secret in the settings that does not depend on the event, for masking."""
        return self.settings.secrets()

    def transform(self, event: Event, context: Context) -> list[Payload]:
        """Return the payloads of one event.

        Raises `UnsupportedEvent` or `MappingError`. Any other exception in a mapping becomes a `MappingError` that
        names the line, so that a bug in a mapping costs one event, not the run. More than `MAX_PAYLOADS` payloads are a
        `MappingError`, too.
        """
        kind = event.raw.get("type")
        handler = self._handlers.get(kind) if type(kind) is str else None
        if handler is None and (handler := self._handlers.get(event.type)) is None:
            raise UnsupportedEvent(self._unsupported.get(event.type) or self._refuse_type(event.type))
        settings = self.settings
        if self._dynamic is not None:
            settings, event = self._dynamic.for_event(event)
        function, takes_context = handler
        try:
            sends = function(event, settings, context) if takes_context else function(event, settings)
            payloads = [sends] if isinstance(sends, Payload) else list(islice(sends, MAX_PAYLOADS + 1))
        except ToolkitError:
            raise
        except UnicodeEncodeError as error:
            raise HalfCharacter(event.raw) from error
        except OverflowError as error:
            raise HugeNumber(event.raw) from error
        except BaseException as error:  # a bug in the mapping, or an event that it does not expect
            if not is_survivable(error):
                raise
            why = f"the {self.title} mapping failed on this event: {type(error).__name__}: {error}"
            raise MappingError(Refusal("fault", why=why, where=_location(error))) from error
        if "unquoted" in settings.__dict__:  # `has_unquoted` without a call, for every event
            payloads = [_without_quotes(payload) for payload in payloads]
        if len(payloads) > MAX_PAYLOADS:
            why = f"the event leads to more than {MAX_PAYLOADS} requests; shorten its lists"
            raise MappingError(Refusal("fault", why=why, case="payloads"))
        return payloads

    @property
    def judges_text(self) -> bool:
        """Whether `sends` may return true."""
        return bool(self._decided_by) and self._dynamic is None

    def sends(self, text: bytes) -> bool:
        """Whether the event with this JSON is certainly sent; most of it is not decoded. Only if `judges_text`."""
        try:
            members = self._members(text)
            kind = members.get("type")
            if not _has_options(members.get("integrations")):
                members.pop("integrations", None)
            if len(members) == 1 and type(kind) is str and kind in self._handlers:
                return True
            return bool(self.transform(Event(members), make_context(None, None, None)))
        except (ToolkitError, msgspec.DecodeError, UnicodeDecodeError):
            return False

    @cached_property
    def _members(self) -> Callable[[bytes], dict[str, Any]]:
        """Decodes the members of an event that decide whether it is sent."""
        members = dict.fromkeys(("type", *self._decided_by), Any)
        return msgspec.json.Decoder(TypedDict("Members", members, total=False)).decode  # type: ignore[operator]

    def _refuse_type(self, event_type: str) -> Refusal:
        what = f"{event_type} events" if event_type else "events without a type"
        refusal = Refusal(
            "unsupported",
            field="type",
            expected=", ".join(self._handlers) or self._takes,
            value=json_value(event_type),
            subject=f"{self.title} does not accept {what}",
        )
        if event_type in EVENT_TYPES:  # an event may have any other text as its type
            self._unsupported[event_type] = refusal
        return refusal

    def _settings_of(self, event: Event) -> tuple[Settings, Event]:
        """Return the settings for an event, and the event without the values that were used in them."""
        return (self.settings, event) if self._dynamic is None else self._dynamic.for_event(event)

    def batches(self, jobs: Iterable[tuple[Json, Mapping[str, Json]]], contexts: Iterable[Context]) -> Iterator[Batch]:
        """Return the requests of jobs `(id, event)` in order of arrival; each job is in exactly one batch.

        Each job has its own context with the job's `metadata`. Jobs whose events lead to different settings never share
        a request. A refused event gets its own batch with `refusal`.
        """
        groups: list[tuple[Settings, list[MappedJob]]] = []
        for (id, event), context in zip(jobs, contexts, strict=True):
            mapped = self._map_job(id, Event(event), structs.replace(context, in_batch=True))
            if mapped.refusal is not None:
                yield alone(mapped)
                continue
            settings, _ = self._settings_of(mapped.event)
            members = next((members for own, members in groups if own is settings or own == settings), None)
            if members is None:
                groups.append((settings, [mapped]))
            else:
                members.append(mapped)
        for settings, members in groups:
            for batch in self._batching(members, settings):
                yield structs.replace(batch, payloads=_unquoted(batch.payloads)) if settings.has_unquoted else batch

    def sends_alone(self, event: Mapping[str, Json], context: Context) -> bool:
        """Return whether this event is sent if it is alone, faster than `batches` does. Raises `MappingError`."""
        if self._batching_decides:
            batches = [*self.batches([(0, event)], [context])]
            refusal = next((batch.refusal for batch in batches if batch.refusal is not None), None)
            sends = any(batch.payloads for batch in batches)
        else:
            job = self._map_job(0, Event(event), structs.replace(context, in_batch=True))
            refusal, sends = job.refusal, bool(job.payloads)
        if refusal is not None:
            raise MappingError(refusal)
        return sends

    def _map_job(self, id: Any, event: Event, context: Context) -> MappedJob:
        """Return the job with its payloads, or with its refusal."""
        try:
            return MappedJob(id, event, tuple(self.transform(event, context)), metadata=context.metadata)
        except MappingError as error:
            return MappedJob(id, event, refusal=error.refusal, metadata=context.metadata)
        except ToolkitError as error:  # for example from the transport of a lookup
            return MappedJob(id, event, refusal=Refusal("fault", why=str(error)), metadata=context.metadata)

    def payloads(
        self,
        event: Mapping[str, Json],
        clock: str | datetime | None = None,
        lookup: Lookup | None = None,
        metadata: Mapping[str, Json] | None = None,
    ) -> list[dict[str, Json]]:
        """Return the payloads of one event as plain objects.

        `clock` is the current time for the mapping (ISO 8601 string or datetime, default: now). `lookup` answers the
        mapping's requests to its destination. `metadata` holds the secrets of the destination's account, such as
        `{"secret": {"access_token": ...}}`. Raises `UnsupportedEvent` or `MappingError`.
        """
        payloads = self.transform(Event(event), make_context(clock, lookup, metadata))
        return [payloads[0].to_dict()] if len(payloads) == 1 else [payload.to_dict() for payload in payloads]


def _without_quotes(payload: Payload) -> Payload:
    """Return a payload with the numbers and booleans of settings that are strings elsewhere."""
    changed = {name: _unquoted(getattr(payload, name)) for name in ("headers", "params", "json", "json_array", "form")}
    return structs.replace(payload, **changed)


def _unquoted(value: Any) -> Any:
    if isinstance(value, Unquoted):
        return value.value
    if isinstance(value, dict):
        return {key: _unquoted(item) for key, item in value.items()}
    return type(value)(map(_unquoted, value)) if isinstance(value, (list, tuple)) else value


def _has_options(integrations: Json) -> bool:
    """Return whether the `integrations` of an event may have options for a destination type."""
    return type(integrations) is dict and dict in map(type, integrations.values())


def _location(error: BaseException) -> str:
    import traceback  # imported late: needed only for a bug in a mapping

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"
