"""What every language keeps to: events in, one `Output` per event out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias
from uuid import uuid4

import msgspec

from svctoolkit.causes import CodeError
from svctoolkit.displayed import Displayed
from svctoolkit.errors import TransformationError
from svctoolkit.events import MAX_DEPTH, may_be_deeper, too_deep
from svctoolkit.json_types import Json

#: What `metadata(event)` gives: sourceId, destinationId, messageId and the like.
Metadata: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Log:
    """One line that the user's code wrote while it had an event."""

    text: str
    level: str = "info"


class Output(Displayed, msgspec.Struct, frozen=True):
    """What became of one event: no event (dropped), one, several, or an error.

    `order` is set where the code returned the events of a whole batch: the place of each of `events` in that list.
    `by_metadata`: the call has asked for metadata, or may have: with other metadata, other things may come out of it.
    """

    events: tuple[dict[str, Any], ...] = ()
    error: TransformationError | None = None
    logs: tuple[Log, ...] = ()
    order: tuple[int, ...] = ()
    by_metadata: bool = False


def cause_of(error: TransformationError) -> CodeError:
    """The error as data, for results and stores."""
    file, line, column = error.at or ("", 0, 0)
    return CodeError(error.name, error.message, error.kind, file, line, column, error.function)


class Runnable(Protocol):
    """The user's code, ready to run. It may be given empty metadata unless it `wants_metadata`."""

    @property
    def wants_metadata(self) -> bool: ...
    def run(self, events: Sequence[Mapping[str, Json]], metadata: Sequence[Metadata]) -> list[Output]:
        """One output per event, in order. Never raises for what the user's code does, and never changes an event."""
        ...


@dataclass(frozen=True, slots=True)
class Library:
    """Code that transformations import; `name` is the file that errors show."""

    code: str
    language: str = "javascript"
    name: str = ""


class LibraryLike(Protocol):
    """What a library must have."""

    @property
    def code(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def name(self) -> str: ...


class Scope(str):
    """Whose code it is, as a text that is never used twice: a copy of one is another."""

    __slots__ = ()

    def __new__(cls) -> Scope:
        return super().__new__(cls, uuid4().hex)

    def __reduce__(self) -> tuple[type[Scope], tuple[()]]:
        return Scope, ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call of a transformation may take.

    `time` is in seconds, of CPU or of the clock, whatever comes first; it includes the answers to requests.
    `memory` is in MB, beside what the engine itself needs. `output_bytes` bounds the JSON text of all events that a
    call returns, `output_values` the values in it, `output_depth` its nesting. `log_bytes` is per event, `log_line`
    the length of one line. `calls` is the number of requests (fetch, geolocation).

    `trust` lets code run where the sandbox lacks an essential layer (see `layers()`): say it of code that you would
    run without a sandbox. It changes nothing where they hold.
    """

    time: float = 4.0
    memory: int = 128
    output_bytes: int = 8 << 20
    output_values: int = 500_000
    output_depth: int = 100
    log_bytes: int = 1 << 16
    log_line: int = 4096
    calls: int = 1000
    trust: bool = False


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What the user's code asks of the network. `timeout` is in seconds: what is left of the call's time."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    timeout: float = 4.0


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """What came back, with lower-case header names."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Fetch(Protocol):
    """Answers the requests of user code. Raises `ToolkitError` where there is no answer; several threads call it."""

    def __call__(self, request: FetchRequest) -> FetchResponse: ...


class Geolocation(Protocol):
    """Tells where an IP address is, as a JSON value. Raises `ToolkitError`."""

    def __call__(self, ip: str) -> Json: ...


encode = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


# Any: events as the code gives them
def outputs(returned: Json) -> tuple[dict[str, Any], ...]:
    """The events in what a transformation returned for one event: nothing, an event, or a list of events, as JSON.

    Raises `TransformationError` for anything else, also for what JSON cannot hold.
    """
    if returned is None:
        return ()
    items = returned if isinstance(returned, list) else [returned]
    for item in items:
        if not isinstance(item, dict):
            raise TransformationError(
                f"a transformation returns an event (an object), a list of events, or nothing to drop the event; "
                f"this one returned {type(item).__name__}",
                name="TypeError",
            )
    return tuple(map(_json_copy, items))


def _json_copy(event: dict[str, Any]) -> dict[str, Any]:
    """A copy that is JSON through and through: what is shared, or changed later, stays with the user's code."""
    try:
        text, copy = json_copy(event)
    except NotPlain:
        return _careful_copy(event)
    if may_be_deeper(text):  # so many that it may be too deep
        return _careful_copy(event)
    return copy


class NotPlain(Exception):
    """A value that is not the same after a journey as JSON."""


def json_copy(value: dict[str, Json]) -> tuple[bytes, dict[str, Json]]:
    """The JSON of an object, and what comes back of it if that equals the object. Raises `NotPlain` if not."""
    try:
        text = encode(value)
        copy: dict[str, Any] = _DECODE(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotPlain from error
    if copy != value:  # a tuple, a key that is no text, NaN, an object that has a form in JSON
        raise NotPlain
    return text, copy


def _careful_copy(event: dict[str, Any]) -> dict[str, Any]:
    if too_deep(event):
        raise TransformationError(f"an event is nested at most {MAX_DEPTH} levels deep", name="ValueError")
    try:
        copy: dict[str, Any] = json.loads(json.dumps(event))
    except (TypeError, ValueError, RecursionError) as error:
        raise TransformationError(f"an event must be JSON: {error}", name=type(error).__name__) from None
    return copy
