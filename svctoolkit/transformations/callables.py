"""Plain Python functions from your own code: trusted, so they run in this process, without a sandbox."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from svctoolkit.errors import TransformationError, is_survivable
from svctoolkit.json_types import Json
from svctoolkit.transformations._contract import Metadata, NotPlain, Output, encode, json_copy, outputs


class CallableTransformation:
    """Runs `function(event)` or `function(event, metadata)`, where `metadata(event)` returns the event's metadata.

    The function gets a copy and may change it. It returns the event, a list of events, or None to drop it.
    """

    # Any: the user's function, with one argument or two
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.wants_metadata = len(inspect.signature(function).parameters) > 1

    def run(self, events: Sequence[Mapping[str, Json]], metadata: Sequence[Metadata]) -> list[Output]:
        outputs = [self._transform(event, about) for event, about in zip(events, metadata, strict=True)]
        if not self.wants_metadata:
            return outputs
        return [msgspec.structs.replace(output, by_metadata=True) for output in outputs]

    def _transform(self, event: Mapping[str, Any], about: Metadata) -> Output:
        text, copy = _copy(event)
        try:
            returned = self.function(copy, lambda _event: about) if self.wants_metadata else self.function(copy)
            if returned is copy and type(event) is dict and _is_json(copy, text):
                return Output((event,))
            return Output(outputs(returned))
        except TransformationError as error:
            return Output(error=error)
        except BaseException as error:
            if not isinstance(error, SystemExit) and not is_survivable(error):
                raise
            return Output(error=_error_with_place(error))


def _copy(event: Mapping[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Return the JSON of an event (empty if the event is not plain JSON), and a copy."""
    plain = event if type(event) is dict else dict(event)
    try:
        return json_copy(plain)
    except NotPlain:  # a caller in this process may have put anything into it
        return b"", deepcopy(plain)


def _is_json(event: dict[str, Any], text: bytes) -> bool:
    """Whether an event still has this JSON."""
    try:
        return encode(event) == text
    except (TypeError, ValueError, RecursionError):
        return False


def _error_with_place(error: BaseException) -> TransformationError:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    at = (last.filename, last.lineno or 0, 0 if last.colno is None else last.colno + 1)
    name, line = type(error).__name__, last.line or ""
    return TransformationError(str(error), name=name, at=at, function=last.name, source_line=line)
