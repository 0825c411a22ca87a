"""What a destination type is made of. Authors import from `svctoolkit.destinations` and `svctoolkit.mapping`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec

from svctoolkit.destinations._answers import Answer
from svctoolkit.destinations._settings import DynamicSettings, Settings, configured
from svctoolkit.errors import MappingError, ToolkitError, UnknownName, UnsupportedEvent
from svctoolkit.events import EVENT_TYPES, Event, EventType
from svctoolkit.mapping import text

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
#: What a mapping may ask over the network: `{method, url, headers, params, body}` -> `(status, parsed body)`.
Lookup: TypeAlias = Callable[[Mapping[str, Any]], tuple[int, Any]]


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


class Context(msgspec.Struct, frozen=True):
    """What a mapping may use beside the event and the settings. A handler that wants it takes a third parameter."""

    clock: Callable[[], datetime] = _now
    lookup: Lookup = _no_lookup
    new_id: Callable[[], str] = _new_id
    destination_id: str = ""
    metadata: Mapping[str, Any] = {}

    def ask(self, request: Mapping[str, Any], *, may_miss: bool = False) -> Any:
        """The body of the destination's answer to a look-up.

        Raises `MappingError` with the answer for any status but 2xx. With `may_miss` a 404 gives None: the destination
        knows no such thing.
        """
        status, answer = self.lookup(request)
        if status == 404 and may_miss:
            return None
        if not 200 <= status < 300:
            url, _, _ = str(request.get("url")).partition("?")  # keys and addresses may stand in the query
            raise MappingError(
                f"the destination answers {status} to {request.get('method', 'GET')} {url}: {text(answer)[:300]}"
            )
        return answer


Sends: TypeAlias = Payload | Iterable[Payload]
Handler: TypeAlias = Callable[..., Sends]


class DestinationType:
    """One type of the catalogue: its settings, and what it sends for each event type.

    `title` is the name that users know. `docs` is the page of the destination's public API that the mapping follows.
    `answers` are what its server says. `names` are further names under which events carry options for this type in
    their `integrations`. `earlier` are variables of `settings` that stored configurations may still hold although the
    destination's form has them no more.
    """

    def __init__(
        self,
        title: str,
        settings: type[Settings],
        *,
        docs: str = "",
        answers: Sequence[Answer] = (),
        names: Sequence[str] = (),
        earlier: Sequence[str] = (),
    ) -> None:
        self.title, self.settings, self.docs = title, settings, docs
        self.answers, self.earlier = tuple(answers), tuple(earlier)
        self._names = frozenset(name.lower() for name in (title, *names))
        self.handlers: dict[str, Handler] = {}
        self._wants_context: set[Handler] = set()

    def __repr__(self) -> str:
        return f"<DestinationType {self.title}: {', '.join(self.handlers)}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.destinations._display import destination_type

        return display.bundle(destination_type(self), repr(self))

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

    def configure(self, config: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Any:
        """The typed settings of a configuration. A variable that is null or an empty text counts as not set.

        Values such as `{{ event.properties.key || "default" }}` are filled from each event. `env.NAME` takes that
        variable of `environ`; without `environ` it stays as it is, because whoever may write a configuration could
        otherwise read this process's environment.

        Raises `InvalidConfig`, which names the variable. Variables that the mapping does not read (consent, filters of
        device mode) are accepted: `svctoolkit.destinations.definitions` knows them all and checks the names.
        """
        return configured(self.title, self.settings, config, environ or {})

    def options(self, event: Event) -> Mapping[str, Any]:
        """What the event says to this type alone: `integrations["Mixpanel"]`. Empty when that is missing or no object.

        Titles and `names` are compared without case, as clients write them in several ways.
        """
        chosen = event.raw.get("integrations")
        if isinstance(chosen, Mapping):
            for name, value in chosen.items():
                if isinstance(value, Mapping) and name.lower() in self._names:
                    return value
        return {}

    def answer(self, name: str, url: str = "") -> Answer:
        """The answer of that name for a request to `url`. Raises `UnknownName`."""
        for answer in self.answers:
            if answer.name == name and answer.at in url:
                return answer
        raise UnknownName(f"answer of {self.title}", name, {answer.name for answer in self.answers})

    def transform(
        self, event: Event, settings: Settings | DynamicSettings, context: Context | None = None
    ) -> list[Payload]:
        """The payloads of one event.

        Raises `UnsupportedEvent` or `MappingError`. Whatever else a mapping raises is a `MappingError` too, one that
        names the line: a fault in a mapping costs one event, not the run.
        """
        handler = self.handlers.get(event.type)
        if handler is None:
            takes = ", ".join(self.handlers)
            what = f"{event.type} events" if event.type else "events without a type"
            raise UnsupportedEvent(f"{self.title} takes no {what}, only {takes}", field="type")
        if isinstance(settings, DynamicSettings):
            settings, event = settings.for_event(event)
        try:
            if handler in self._wants_context:
                sends = handler(event, settings, context or Context())
            else:
                sends = handler(event, settings)
            return [sends] if isinstance(sends, Payload) else list(sends)
        except ToolkitError:
            raise
        except Exception as error:  # the event or the mapping is not what the other expects
            raise MappingError(f"the {self.title} mapping failed on this event: {_location(error)}") from error

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


def _location(error: Exception) -> str:
    import traceback  # only a fault in a mapping needs it

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
