"""Reads the vendor's error code and message from an unsuccessful response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from svctoolkit.causes import Rejection
from svctoolkit.json_types import Json

#: Members in which vendors put their error codes and messages, the most specific first.
_CODES = ("code", "error_code", "errorCode", "error_subcode", "reason", "type", "status", "error")
_MESSAGES = ("message", "error_description", "error_message", "errorMessage", "detail", "description", "title", "error")
_NESTED = ("error", "errors", "fault", "response")
_MAX_CODE, _MAX_MESSAGE = 80, 300  # characters


def rejection_of(status: int, answer: Json, mask: Callable[[str], str]) -> Rejection:
    """Return a rejection with the code and message of a response (JSON or text), as far as it has them.

    `mask` hides secrets before a long message is cut: it would not find a part of one.
    """
    objects = [*_objects(answer)]
    codes = (_code(node.get(name)) for node in objects for name in _CODES)
    messages = (_message(node.get(name)) for node in objects for name in _MESSAGES)
    message = answer.strip() if isinstance(answer, str) else next(filter(None, messages), "")
    return Rejection(status, next(filter(None, codes), ""), mask(message)[:_MAX_MESSAGE])


def _objects(answer: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the error objects inside a response, innermost first: they are more specific than those around them."""
    if isinstance(answer, list):
        answer = answer[0] if answer else None
    if isinstance(answer, Mapping):
        for name in _NESTED:
            inner = answer.get(name)
            inner = inner[0] if isinstance(inner, list) and inner else inner
            if isinstance(inner, Mapping):
                yield inner
        yield answer


def _code(value: Json) -> str:
    """Return the value if it is a number or a single word. A sentence is a message, not a code."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    text = str(value)
    return text if text and len(text) <= _MAX_CODE and not any(map(str.isspace, text)) else ""


def _message(value: Json) -> str:
    return value.strip() if isinstance(value, str) else ""
