"""JSON to and from a worker. What comes back is hostile until it is shown to be within the limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from svctoolkit.errors import TransformationError
from svctoolkit.transformations._contract import Limits


class Result(msgspec.Struct):
    """What a worker says about one event."""

    events: list[msgspec.Raw] | None = None
    error: Any = None
    logs: list[tuple[str, str]] = []
    dropped: int = 0


class Results(msgspec.Struct):
    """What a worker says about a call.

    `batch` is what a batch function returned, `hits` the line counters; with `last` the worker ends itself.
    """

    results: list[Result]
    batch: list[msgspec.Raw] | None = None
    hits: list[list[int]] | None = None
    last: bool = False


def encode(value: Any) -> bytes:
    """JSON text. NaN and infinities become null, as JavaScript has it."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):  # lone surrogates, whole numbers over 64 bits
        return json.dumps(value).encode()


def results(frame: bytes, limits: Limits) -> Results:
    """The results in a frame; each event in it is still text, for `event`. Raises `TransformationError`."""
    _check_size(frame, limits)
    try:
        return _RESULTS.decode(frame)
    except RecursionError:
        raise _too_deep(limits) from None
    except msgspec.DecodeError:
        pass
    try:
        return _RESULTS.decode(json.dumps(_repair(frame, limits)))
    except msgspec.DecodeError:
        raise _unreadable() from None


def event(text: msgspec.Raw, limits: Limits) -> Any:
    """One event (or the text that says why it is none) out of `results`. Raises `TransformationError`."""
    raw = bytes(text)
    value = _value(raw, limits)
    if raw.count(b"[") + raw.count(b"{") > limits.output_depth:  # only then it can be that deep
        _check_depth(value, limits)
    return value


def message(frame: bytes, limits: Limits) -> dict[str, Any]:
    """Any other message in a frame. Raises `TransformationError` for one that is no JSON object."""
    _check_size(frame, limits)
    value = _value(frame, limits)
    if not isinstance(value, dict):
        raise _unreadable()
    _check_depth(value, limits)
    return value


def _check_size(frame: bytes, limits: Limits) -> None:
    if len(frame) <= limits.output_values:  # a value takes a character at least, and counting takes its time
        return
    if frame.count(b",") + frame.count(b"[") + frame.count(b"{") > limits.output_values:
        text = f"the output has more than {limits.output_values} values"
        raise TransformationError(text, name="RangeError", kind="output")


def _value(text: bytes, limits: Limits) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise _too_deep(limits) from None
    except msgspec.DecodeError:
        return _repair(text, limits)


def _repair(frame: bytes, limits: Limits) -> Any:
    """Lone surrogates, which JavaScript allows and UTF-8 does not, become U+FFFD."""
    try:
        value = json.loads(frame)
        text = json.dumps(value, ensure_ascii=False)
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except RecursionError:
        raise _too_deep(limits) from None
    except ValueError:
        raise _unreadable() from None


def _check_depth(message: Any, limits: Limits) -> None:
    level: Sequence[Any] = [message]
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


def _unreadable() -> TransformationError:
    return TransformationError("the sandbox gave an answer that cannot be read", kind="output")


_RESULTS = msgspec.json.Decoder(Results)
