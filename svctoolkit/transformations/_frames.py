"""JSON to and from a worker. Worker output is untrusted until it is checked against the limits."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec

from svctoolkit.errors import TransformationError
from svctoolkit.events import may_be_deeper
from svctoolkit.json_types import Json
from svctoolkit.transformations._channel import unreadable
from svctoolkit.transformations._contract import Limits

Place: TypeAlias = tuple[str, int, int]  # file, line, column


class Failure(msgspec.Struct):
    """An error of user code, as reported by a worker. `plain`: the thrown value is not an error object."""

    name: str = "Error"
    message: str = ""
    stack: str = ""
    plain: bool = False
    at: Place | None = None
    function: str = ""


class Result(msgspec.Struct):
    """A worker's result for one event.

    Each of `losses` is the index of an output event, a path in it, a value that JSON cannot represent, and what became
    of it.
    """

    events: list[msgspec.Raw] | None = None
    error: Failure | None = None
    logs: list[tuple[str, str]] = []
    dropped: Annotated[int, msgspec.Meta(ge=0)] = 0
    losses: list[tuple[int, str, str, str]] = []


class Request(msgspec.Struct):
    """A request of user code to the host."""

    id: int
    kind: Literal["fetch", "fetchV2", "geolocation"]
    args: list[Any]


class Answer(msgspec.Struct):
    """A worker's answer to a call: its results, the requests that it needs answers to, or a failure of the call.

    `batch` is the output of a batch function, with its `losses`, `hits` the line counters, `metadata` whether it has
    read metadata.
    """

    results: list[Result] | None = None
    calls: list[Request] | None = None
    error: Failure | None = None
    batch: list[msgspec.Raw] | None = None
    losses: list[tuple[int, str, str, str]] = []
    hits: list[list[int]] | None = None
    metadata: bool = False


class Unit(msgspec.Struct):
    """A file of a program. `lines` and `branches` (line, column, outcome) are counted, in this order.

    `inserted` and `head` map the executed code back to the source.
    """

    file: str
    lines: list[int]
    branches: list[tuple[int, int, str]] = []
    inserted: list[tuple[int, int, int]] = []
    head: int = 0


class EntryPoint(msgspec.Struct):
    """The function of a program; if `name` is empty, `problem` says what is wrong."""

    name: str = ""
    problem: str = ""


class LoadAnswer(msgspec.Struct):
    """A worker's answer to a program."""

    units: list[Unit] = []
    error: Failure | None = None
    syntax: str = ""  # V8's report
    unknown_import: str = ""
    at: Place | None = None
    entry_point: EntryPoint | None = None
    stateless: bool = False  # whether a child process may run several calls


class Ready(msgspec.Struct):
    """A worker's first message: its layers, and how each is enforced."""

    ready: dict[str, str]


class ControlAnswer(msgspec.Struct):
    """An answer of a worker that forks a child per call: the child's ID, or how it ended."""

    child: int = 0
    status: int = 0


_Shape = TypeVar("_Shape", bound=msgspec.Struct)


def decode(frame: bytes, shape: type[_Shape], limits: Limits) -> _Shape:
    """Decode a frame of the given shape. Raises `TransformationError`.

    Events in an `Answer` stay undecoded, for `event`.
    """
    _check_size(frame, limits)
    try:
        return msgspec.json.decode(frame, type=shape)
    except RecursionError:
        raise _too_deep(limits) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return msgspec.json.decode(json.dumps(_repair(frame, limits)), type=shape)
    except (msgspec.DecodeError, RecursionError):
        raise unreadable() from None


def event(text: msgspec.Raw, limits: Limits) -> dict[str, Json] | str:
    """Decode one event of `results`, or return the text of why it is not an event. Raises `TransformationError`."""
    raw = bytes(text)
    value = _value(raw, limits)
    if not isinstance(value, (dict, str)):
        raise unreadable()
    if may_be_deeper(raw, limits.output_depth):  # a quick check before the exact one
        _check_depth(value, limits)
    return value


def is_object(text: bytes, limits: Limits) -> bool:
    """Whether `event` returns an object for a text of `results`, judged without decoding it."""
    return text.startswith(b"{") and not may_be_deeper(text, limits.output_depth)


def _check_size(frame: bytes, limits: Limits) -> None:
    if len(frame) <= limits.output_values:  # every value has at least one character, and counting is slow
        return
    # An upper bound without parsing: Python objects take many times the space of their JSON.
    if frame.count(b",") + frame.count(b"[") + frame.count(b"{") > limits.output_values:
        text = f"the output has more than {limits.output_values} values"
        raise TransformationError(text, name="RangeError", kind="output")


def _value(text: bytes, limits: Limits) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise _too_deep(limits) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _repair(text, limits)


def _repair(frame: bytes, limits: Limits) -> Any:
    """Replace lone surrogates, which JavaScript allows and UTF-8 does not, with U+FFFD."""
    try:
        value = json.loads(frame, parse_constant=_refuse_constant, parse_float=_finite)
        text = json.dumps(value, ensure_ascii=False)
        # Through UTF-16, where a lone surrogate is a single unit that can be replaced.
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except RecursionError:
        raise _too_deep(limits) from None
    except ValueError:
        raise unreadable() from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):  # 1e400: Python's decoder accepts what no number of JavaScript can be
        raise ValueError(f"{digits[:20]} is too large")
    return number


def _check_depth(value: Any, limits: Limits) -> None:
    # Level by level instead of recursively: the depth is what is in doubt.
    level: Sequence[Any] = [value]
    for _ in range(limits.output_depth):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in (dict, list)
        ]
        if not level:
            return
    raise _too_deep(limits)


def _too_deep(limits: Limits) -> TransformationError:
    text = f"the output is nested more than {limits.output_depth} levels deep"
    return TransformationError(text, name="RangeError", kind="output")
