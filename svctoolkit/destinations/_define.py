"""What a destination type is made of. Authors import from `svctoolkit.destinations` and `svctoolkit.mapping`."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec

from svctoolkit.destinations._problems import config_problem
from svctoolkit.errors import InvalidConfig, MappingError, Problem, ToolkitError, UnsupportedEvent
from svctoolkit.events import EVENT_TYPES, Event, EventType
from svctoolkit.mapping import text
from svctoolkit.secrets import Secret, revealed

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
#: What a mapping may ask over the network: `{method, url, headers, params, body}` -> `(status, parsed body)`.
Lookup: TypeAlias = Callable[[Mapping[str, Any]], tuple[int, Any]]


class Rows(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """One row of a two-column form: `{"from": ..., "to": ...}`, as the service stores it."""

    from_: str = ""
    to: str = ""


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of every type's settings: `webhook_url` here is `webhookUrl` in a configuration. Secrets show masked."""

    def secrets(self) -> list[str]:
        """The text of every secret in these settings, also inside rows, for masking."""
        return list(_secrets(self))


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _secrets(getattr(value, name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item)


class Parsed:
    """Base of settings that are written as a text and read once: a JSON path, a template.

    A field of such a type is made from its text when a configuration is read. A `ValueError` of the constructor, which
    says what was expected, becomes an `InvalidConfig` that names the variable.
    """

    def __init__(self, written: str) -> None:
        self.written = written

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.written!r})"


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request in the service's format. At most one of `json`, `json_array`, `xml` and `form` is given.

    `json` is an object and may hold nulls, which are sent. A body that is a list goes into `json_array`; the service
    has no other place for it.
    """

    endpoint: str
    method: Method = "POST"
    headers: Mapping[str, Any] = {}
    params: Mapping[str, Any] = {}
    json: Mapping[str, Any] | None = None
    json_array: list[Any] | None = None
    xml: str | None = None
    form: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The specified members (Test API specification, element of `dest_transformed_payload`)."""
        batch = {} if self.json_array is None else {"batch": msgspec.json.encode(self.json_array).decode()}
        return {
            "version": "1",
            "type": "REST",
            "method": self.method,
            "endpoint": self.endpoint,
            "headers": dict(self.headers),
            "params": dict(self.params),
            "body": {
                "JSON": dict(self.json or {}),
                "JSON_ARRAY": batch,
                "XML": {} if self.xml is None else {"payload": self.xml},
                "FORM": dict(self.form or {}),
            },
            "files": {},
        }


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    from uuid import uuid4  # 4 ms, and few mappings make ids

    return str(uuid4())


def _no_lookup(request: Mapping[str, Any]) -> tuple[int, Any]:
    raise MappingError(f"needs an answer from {request.get('url')}, and no lookup was given")


@dataclass(frozen=True, slots=True)
class Context:
    """What a mapping may use beside the event and the settings. A handler that wants it takes a third parameter."""

    clock: Callable[[], datetime] = _now
    lookup: Lookup = _no_lookup
    new_id: Callable[[], str] = _new_id
    destination_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


Sends: TypeAlias = Payload | Iterable[Payload]
Handler: TypeAlias = Callable[..., Sends]


class DestinationType:
    """One type of the catalogue: its settings, and what it sends for each event type.

    `title` is the name that users know. `docs` is the page of the destination's public API that the mapping follows.
    """

    def __init__(self, title: str, settings: type[Settings], *, docs: str = "") -> None:
        self.title, self.settings, self.docs = title, settings, docs
        self.handlers: dict[str, Handler] = {}
        self._wants_context: set[Handler] = set()

    def on(self, *types: EventType) -> Callable[[Handler], Handler]:
        """Register `handler(event, settings)` or `handler(event, settings, context)` for event types; without, for all.

        It gives a `Payload` or several, or raises `MappingError`. It never changes the event.
        """

        def register(handler: Handler) -> Handler:
            for event_type in types or EVENT_TYPES:
                if event_type not in EVENT_TYPES or event_type in self.handlers:
                    raise ValueError(f"{self.title}: cannot register {event_type!r}")
                self.handlers[event_type] = handler
            if len(inspect.signature(handler).parameters) > 2:
                self._wants_context.add(handler)
            return handler

        return register

    def configure(self, config: Mapping[str, Any]) -> Any:
        """The typed settings of a configuration. A variable that is null or an empty text counts as not set.

        Raises `InvalidConfig`, which names the variable. Variables that the mapping does not read (consent, filters of
        device mode) are accepted: `svctoolkit.destinations.definitions` knows them all and checks the names.
        """
        given = {key: value for key, value in revealed(config).items() if value is not None and value != ""}
        try:
            return msgspec.convert(given, self.settings, strict=False, dec_hook=_decoded)
        except msgspec.ValidationError as error:
            said = config_problem(str(error), self.settings, given)
            raise InvalidConfig(Problem(said, where=f"{self.title} config")) from error

    def transform(self, event: Event, settings: Settings, context: Context | None = None) -> list[Payload]:
        """The payloads of one event.

        Raises `UnsupportedEvent` or `MappingError`. Whatever else a mapping raises is a `MappingError` too, one that
        names the line: a fault in a mapping costs one event, not the run.
        """
        handler = self.handlers.get(event.type)
        if handler is None:
            takes = ", ".join(self.handlers)
            given = f"{event.type} events" if event.type else "events without a type"
            raise UnsupportedEvent(f"{self.title} takes no {given}, only {takes}", field="type")
        try:
            if handler in self._wants_context:
                sends = handler(event, settings, context or Context())
            else:
                sends = handler(event, settings)
            return [sends] if isinstance(sends, Payload) else list(sends)
        except ToolkitError:
            raise
        except Exception as error:  # the event or the mapping is not what the other expects
            raise MappingError(f"the {self.title} mapping failed on this event: {_located(error)}") from error

    def payloads(
        self,
        event: Mapping[str, Any],
        config: Mapping[str, Any],
        clock: str | datetime | None = None,
        lookup: Lookup | None = None,
    ) -> list[dict[str, Any]]:
        """The payloads of one event as plain objects.

        `clock` is the time that the mapping sees (ISO 8601 text or datetime), now by default. Raises `InvalidConfig`,
        `UnsupportedEvent` or `MappingError`.
        """
        now = datetime.fromisoformat(clock) if isinstance(clock, str) else clock
        context = Context(clock=_now if now is None else lambda: now, lookup=lookup or _no_lookup)
        return [p.to_dict() for p in self.transform(Event(event), self.configure(config), context)]


def _decoded(kind: type, value: Any) -> Any:
    if not isinstance(value, str | int | float | None):
        raise ValueError(f"expected a text, got {'a list' if isinstance(value, list) else 'an object'}")
    written = "" if value is None else text(value)
    return kind(written)


def _located(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
