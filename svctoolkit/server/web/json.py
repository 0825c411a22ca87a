"""JSON of requests, with a clear answer to any input.

Accepted: UTF-8, with or without a byte order mark; duplicate members, where the last one counts (as in RudderStack);
a lone surrogate in an escape. Refused: NaN and Infinity, numbers outside the range of a double, and more than
`MAX_DEPTH` levels.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn, TypeVar

import msgspec

from svctoolkit.errors import ConfigError, RequestError, ToolkitError, rejection_kind
from svctoolkit.events import MAX_DEPTH, may_be_deeper, too_deep
from svctoolkit.json_types import Json
from svctoolkit.results.cause_header import ERROR_HEADER

T = TypeVar("T")
_MAX_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"
_DECODER = msgspec.json.Decoder()
_LONG_NUMBER = re.compile(rb"[0-9]{309}")  # the digits of the largest double; the fast decoder accepts more


def decode(body: bytes) -> Json:
    """Return the value of a request body. Raises `RequestError` (400), with line and column if the JSON is invalid."""
    body = body.removeprefix(_BOM)
    if not body.strip():
        refuse("the body is empty; a JSON object is expected")
    try:
        value = _carefully(body) if _LONG_NUMBER.search(body) else _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _carefully(body)
    if may_be_deeper(body) and too_deep(value):
        _refuse_depth()
    return value


def decode_object(body: bytes) -> dict[str, Json]:
    """Return the JSON object in a request body. Raises `RequestError` (400)."""
    value = decode(body)
    if not isinstance(value, dict):
        kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
        refuse(f"the body must be a JSON object, not {kinds.get(type(value), 'a number')}")
    return value


def convert(value: Json, kind: type[T]) -> T:
    """Return a JSON value as an object of this kind, where 5.0 is an integer, as in JSON Schema.

    Raises `msgspec.ValidationError`.
    """
    try:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError:
            return msgspec.convert(_with_integers(value), kind)
    except UnicodeEncodeError as error:  # msgspec reads the names of members as UTF-8
        raise msgspec.ValidationError("a name contains half of a surrogate pair") from error


def _with_integers(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _with_integers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_integers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def refusal(error: ToolkitError) -> tuple[dict[str, Json], int, dict[str, str]]:
    """Return body, status and headers for an error. Errors other than `RequestError` count as bad requests (400)."""
    kind = rejection_kind(error) if isinstance(error, RequestError) else ""
    headers = {ERROR_HEADER: kind} if kind else {}
    status = error.status if isinstance(error, RequestError) else 400
    if isinstance(error, ConfigError):
        more = len(error.problems) - _MAX_PROBLEMS
        lines = [*map(str, error.problems[:_MAX_PROBLEMS]), *([f"and {more} more"] if more > 0 else [])]
        return {"message": "\n".join(lines)}, status, headers
    if not isinstance(error, RequestError):
        return {"message": str(error)}, 400, {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="svctoolkit", charset="UTF-8"'
    return dict(error.body), status, headers


def refuse(message: str, *, status: int = 400) -> NoReturn:
    raise RequestError(status, {"message": message})


def _carefully(body: bytes) -> Any:
    """Decode with the standard library: slower, but reports the position of mistakes and accepts lone surrogates."""
    try:
        text = body.decode()
        return json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_constant)
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        column = error.start - body.rfind(b"\n", 0, error.start)
        refuse(f"the body is not UTF-8: byte 0x{body[error.start]:02x} at line {line} column {column}")
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        refuse(f"the body is not JSON: {what[:1].lower()}{what[1:]} at line {error.lineno} column {error.colno}")
    except RecursionError:
        _refuse_depth()


def _integer(text: str) -> int:
    if len(text) > 308:
        _float(text)
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        excerpt = text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"
        refuse(f"the number {excerpt} is out of range; the largest is about 1.8e308")
    return number


def _constant(text: str) -> NoReturn:
    refuse(f"the body is not JSON: {text} is not a JSON value")


def _refuse_depth() -> NoReturn:
    refuse(f"the body is nested too deeply; the maximum is {MAX_DEPTH} levels")
