"""The interface for every language: events in, one `Output` per event out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, overload
from uuid import uuid4

import msgspec

from svctoolkit.causes import CodeError
from svctoolkit.displayed import Displayed
from svctoolkit.errors import TransformationError
from svctoolkit.events import MAX_DEPTH, may_be_deeper, too_deep
from svctoolkit.json_types import Json

#: The result of `metadata(event)`: sourceId, destinationId, messageId and the like.
Metadata: TypeAlias = Mapping[str, Any]


class Log(msgspec.Struct, frozen=True):
    """One line that the user's code logged for an event."""

    text: str
    level: str = "info"


class CodeLoss(msgspec.Struct, frozen=True):
    """A value in the output of user code that JSON cannot represent, so that destinations receive another one.

    `path` is where it is in the event, `kind` the value (`NaN`, `Infinity`, `undefined`, `a Set`), `becomes` what is
    sent instead (`null` or `{}`).
    """

    path: str
    kind: str
    becomes: str

    @property
    def text(self) -> str:
        """What happens to the value."""
        return f"the user code returns {self.kind}, which becomes {self.becomes}"

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"

    def masked(self, mask: Callable[[str], str]) -> CodeLoss:
        """Return the loss without secrets."""
        return CodeLoss(mask(self.path), mask(self.kind), self.becomes)


class Output(Displayed, msgspec.Struct, frozen=True):
    """The outcome of one event: no event (dropped), one, several, or an error.

    `order` is set if the code returned the events of a whole batch: the index of each of `events` in that list.
    `by_metadata`: the call has read metadata, or may have, so other metadata may lead to another outcome.
    `losses` has, for each of `events`, the values that JSON could not represent; it is empty if there are none at all.
    `text` is the JSON of the only event, which is then not in `events`: only for events that are given as `JsonEvents`.
    `whole` is what `decoded` has returned.
    """

    events: tuple[dict[str, Any], ...] = ()
    error: TransformationError | None = None
    logs: tuple[Log, ...] = ()
    order: tuple[int, ...] = ()
    by_metadata: bool = False
    losses: tuple[tuple[CodeLoss, ...], ...] = ()
    text: bytes = b""
    whole: Output | None = None

    def decoded(self) -> Output:
        """Return the same outcome with its event in `events`; destinations that share the output share this one."""
        if not self.text:
            return self
        if self.whole is None:
            msgspec.structs.force_setattr(self, "whole", self._decode())
        return self.whole or self

    def _decode(self) -> Output:
        try:
            return msgspec.structs.replace(self, events=(_DECODE(self.text),), text=b"")
        except (msgspec.DecodeError, UnicodeDecodeError):  # not from V8
            error = TransformationError("the sandbox returned an unreadable event", kind="output")
            return Output(error=error, logs=self.logs)


# Any: an event
class JsonEvents(Sequence[Mapping[str, Any]]):
    """Events as JSON text on one line each, which goes to a sandbox unchanged. Its output may then be text, too.

    `decode(index)` returns an event. `odd` has the indexes of events that may have integers beyond 2^53.
    """

    # Any: an event
    def __init__(self, texts: Sequence[bytes], decode: Callable[[int], Mapping[str, Any]], odd: Sequence[int]) -> None:
        self.texts, self.odd, self._decode = texts, odd, decode

    def select(self, indexes: Sequence[int]) -> JsonEvents:
        """Return the events at these indexes."""
        odd, texts = set(self.odd), [self.texts[index] for index in indexes]
        return JsonEvents(
            texts, lambda at: self._decode(indexes[at]), [at for at, index in enumerate(indexes) if index in odd]
        )

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[Mapping[str, Any]]: ...
    def __getitem__(self, at: int | slice) -> Mapping[str, Any] | list[Mapping[str, Any]]:
        indexes = range(len(self.texts))[at]
        return self._decode(indexes) if isinstance(indexes, int) else [self._decode(index) for index in indexes]

    def __len__(self) -> int:
        return len(self.texts)


def shorten(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters; an ellipsis marks a cut, where the masker looks for secrets."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def cause_of(error: TransformationError) -> CodeError:
    """Return the error as data, for results and stores."""
    file, line, column = error.at or ("", 0, 0)
    return CodeError(error.name, error.message, error.kind, file, line, column, error.function)


class Runnable(Protocol):
    """User code, ready to run. It may get empty metadata unless `wants_metadata` is true."""

    @property
    def wants_metadata(self) -> bool: ...
    def run(self, events: Sequence[Mapping[str, Json]], metadata: Sequence[Metadata]) -> list[Output]:
        """Return one output per event, in order. Errors of the code are returned, not raised; events stay unchanged."""
        ...


class Library(msgspec.Struct, frozen=True):
    """Code that transformations import; `name` is the file name in errors."""

    code: str
    language: str = "javascript"
    name: str = ""


class LibraryLike(Protocol):
    """The attributes that a library must have."""

    @property
    def code(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def name(self) -> str: ...


class Scope(str):
    """The owner of code, as a unique string that is never reused: even a copy is another owner."""

    __slots__ = ()

    def __new__(cls) -> Scope:
        return super().__new__(cls, uuid4().hex)

    def __reduce__(self) -> tuple[type[Scope], tuple[()]]:
        return Scope, ()


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call of a transformation.

    `time` is in seconds, of CPU or elapsed time, whichever is reached first; it includes waiting for requests.
    `memory` is in MB, in addition to the engine's own. `output_bytes` limits the JSON text of all events that a
    call returns, `output_values` the number of values in it, `output_depth` its nesting. `log_bytes` is per event,
    `log_line` the length of one line. `calls` is the number of requests (fetch, geolocation).

    `trust` lets code run even if the sandbox lacks an essential layer (see `layers()`): set it only for code that you
    would run without a sandbox. It has no effect if all layers hold.
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


class FetchRequest(msgspec.Struct, frozen=True):
    """A network request of user code. `timeout` is in seconds: the rest of the call's time."""

    method: str
    url: str
    headers: Mapping[str, str] = {}
    body: bytes = b""
    timeout: float = 4.0


class FetchResponse(msgspec.Struct, frozen=True):
    """A response, with lower-case header names. `seconds` is its delay, if it did not take any real time."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    seconds: float = 0.0


class Fetch(Protocol):
    """Responds to requests of user code. Raises `ToolkitError` without a response, `TimeoutError` if it takes longer
    than the rest of the call. Must be thread-safe.
    """

    def __call__(self, request: FetchRequest) -> FetchResponse: ...


class Geolocation(Protocol):
    """Returns the location of an IP address as a JSON value. Raises `ToolkitError`."""

    def __call__(self, ip: str) -> Json: ...


encode = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


# Any: events as the code returns them
def outputs(returned: Json) -> tuple[dict[str, Any], ...]:
    """Return the events that a transformation returned for one event (nothing, an event, or a list of events) as JSON.

    Raises `TransformationError` for anything else, including values that JSON cannot represent.
    """
    if returned is None:
        return ()
    items = returned if isinstance(returned, list) else [returned]
    for item in items:
        if not isinstance(item, dict):
            raise TransformationError(
                f"a transformation must return an event (an object), a list of events, or nothing to drop the event;  "
                f"this one returned {type(item).__name__}",
                name="TypeError",
            )
    return tuple(map(_json_copy, items))


def _json_copy(event: dict[str, Any]) -> dict[str, Any]:
    """Return a copy as plain JSON: later changes by the user's code do not affect it."""
    try:
        text, copy = json_copy(event)
    except NotPlain:
        return _careful_copy(event)
    if may_be_deeper(text):  # enough brackets that it may be too deep
        return _careful_copy(event)
    return copy


class NotPlain(Exception):
    """A value that changes when it is written as JSON and read back."""


def json_copy(value: dict[str, Json]) -> tuple[bytes, dict[str, Json]]:
    """Return the JSON of an object, and the parsed copy if it equals the object. Otherwise raises `NotPlain`."""
    try:
        text = encode(value)
        copy: dict[str, Any] = _DECODE(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotPlain from error
    if copy != value:  # a tuple, a key that is not a string, NaN, an object with a JSON encoding
        raise NotPlain
    return text, copy


def _careful_copy(event: dict[str, Any]) -> dict[str, Any]:
    if too_deep(event):
        raise TransformationError(f"an event must not be nested more than {MAX_DEPTH} levels deep", name="ValueError")
    try:
        copy: dict[str, Any] = json.loads(json.dumps(event, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise TransformationError(f"an event must be JSON: {error}", name=type(error).__name__) from None
    return copy
