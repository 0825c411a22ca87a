"""Python values as JSON text.

| value | in the event |
|---|---|
| datetime, pandas Timestamp | ISO 8601 in UTC with milliseconds; without a zone it is local time, as in all of Python |
| date, time | ISO 8601 |
| timedelta | seconds |
| Decimal | a number (as a float); UUID, Path: its text; Enum: its value |
| dataclass, attrs, pydantic, msgspec | an object of its fields |
| numpy and pandas scalars | the Python value; NaT and NA: null; Period: its text |
| numpy arrays, pandas Series and Index | an array |
| NaN, Infinity | the texts "NaN", "Infinity", "-Infinity", as the mobile SDKs send them |
| tuple, set, deque, range, views, generators | an array; at most 10,000 elements |
| any Mapping | an object |
| keys: numbers, booleans, None | as JSON spells them; UUID, Enum, dates: as above |
| lone surrogates | U+FFFD |
| anything else, cycles, more than 100 levels | left out; `on_error` gets the field's name, the event is sent |
| objects whose own code fails | left out, too |
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from svctoolkit.errors import EventError, InvalidCall
from svctoolkit.json_types import Json
from svctoolkit.sdk.base.objects import elements_of, fields_of

_DEEPEST = 100
_LONGEST = 10_000
_MOST_BITS = 14_000  # 4215 digits; Python writes at most 4300
_LEFT_OUT = object()


def _encoder() -> Callable[[object], str]:
    """Return a function that encodes plain JSON values, and raises for everything else."""
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        # `encode` builds this object for each value, which takes as long as encoding a small event. Without markers
        # (the first argument), a value that contains itself raises RecursionError.
        chunks = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
            None, encoder.default, json.encoder.encode_basestring, None, ":", ",", False, False, False
        )
    except (AttributeError, TypeError):  # another interpreter, or another version of CPython
        return encoder.encode
    return lambda value: "".join(chunks(value, 0))


_encode = _encoder()


def event_json(value: Json, where: str, refuse: Callable[[EventError], None]) -> str:
    """Return `value` as JSON text that encodes to UTF-8. `refuse` is called for each field that had to be left out."""
    try:
        # The fast path: plain JSON values need no conversion. Anything else fails here.
        text = _encode(value)
        text.encode()
    except Exception:  # noqa: BLE001 - odd values, and objects of the host that fail at anything
        plain = _Converter(refuse).convert(value, where)
        return _encode({} if plain is None and isinstance(value, Mapping) else plain)
    return text


def iso(when: Json) -> str:
    """Format a datetime in UTC, with milliseconds and `Z`."""
    from datetime import UTC

    if when.tzinfo is None:
        when = when.astimezone()
    return str(when.astimezone(UTC).isoformat(timespec="milliseconds")).replace("+00:00", "Z")


class _Converter:
    def __init__(self, refuse: Callable[[EventError], None]) -> None:
        self._refuse = refuse
        self._open: set[int] = set()

    def convert(self, value: Any, where: str) -> Any:
        """Return the JSON value; `null` if the value has no JSON form."""
        plain = self._value(value, where)
        return None if plain is _LEFT_OUT else plain

    def _value(self, value: Any, where: str) -> Any:
        try:
            return self._plain(value, where)
        except Exception as error:  # noqa: BLE001 - objects of the host, whose own code may fail at anything
            return self._leave_out(where, f"reading a value of type {_kind(value)} failed with {type(error).__name__}")

    def _plain(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (dict, list, tuple, set, frozenset, Mapping)):
            return self._container(value, where)
        plain = _scalar(value)
        if plain is not _LEFT_OUT:
            return plain
        members: Mapping[str, object] | Sequence[object] | None = fields_of(value)
        if members is None:
            members = elements_of(value, _LONGEST)
        if members is None:
            return self._leave_out(where, f"a value of type {_kind(value)} cannot be sent")
        if len(members) > _LONGEST:
            return self._leave_out(where, f"more than {_LONGEST} elements")
        return self._container(members, where, id(value))

    def _container(self, value: Any, where: str, identity: int | None = None) -> Any:
        identity = id(value) if identity is None else identity
        # Only containers that are open: the same object twice side by side is fine.
        if identity in self._open:
            return self._leave_out(where, "the value contains itself")
        if len(self._open) >= _DEEPEST:
            return self._leave_out(where, f"more than {_DEEPEST} levels deep")
        self._open.add(identity)
        try:
            return self._object(value, where) if isinstance(value, Mapping) else self._array(value, where)
        finally:
            self._open.discard(identity)

    def _object(self, value: Mapping[Any, Any], where: str) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, item in value.items():
            name = _key(key)
            if name is None:
                self._leave_out(where, f"a key of type {_kind(key)} cannot be sent")
                continue
            plain = self._value(item, f"{where}.{name}")
            if plain is not _LEFT_OUT:
                members[name] = plain
        return members

    def _array(self, value: Any, where: str) -> list[Any]:
        # An element that cannot be sent becomes null, so that the others keep their places.
        return [self.convert(item, f"{where}[{place}]") for place, item in enumerate(value)]

    def _leave_out(self, where: str, why: str) -> object:
        self._refuse(EventError(f"{where}: {why}; the event is sent without it", field=where))
        return _LEFT_OUT


def _scalar(value: Any) -> Any:
    import enum

    if isinstance(value, enum.Enum):
        return _scalar(value.value)
    if isinstance(value, str):
        return sound(str(value))
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MOST_BITS else _LEFT_OUT
    if isinstance(value, float):
        return _number(float(value))
    return _from_library(value)


def _from_library(value: Any) -> Any:
    import datetime as dt
    import decimal
    import uuid

    if isinstance(value, decimal.Decimal):
        return _number(float(value)) if not value.is_snan() else "NaN"
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return sound(path) if isinstance(path, str) else _LEFT_OUT
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, dt.datetime):
        return iso(value)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return _from_numpy(value)


def _from_numpy(value: Any) -> Any:
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    if module == "pandas" and kind == "Period":
        return str(value)
    if module != "numpy" or getattr(value, "ndim", 1) != 0:
        return _LEFT_OUT
    if kind in ("datetime64", "timedelta64"):
        value = value.astype(f"{kind}[us]")  # finer ones would come out as plain numbers
    item = value.item()
    if item is None:  # numpy's NaT
        return None
    if kind == "datetime64" and item.tzinfo is None:
        return f"{item.isoformat(timespec='milliseconds')}Z"  # numpy's times are UTC by definition
    return _scalar(item) if type(item).__module__ != "numpy" else _LEFT_OUT


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _key(key: Any) -> str | None:
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    plain = _scalar(key)
    return None if plain is _LEFT_OUT or plain is None else str(plain)


def sound(text: str) -> str:
    """Return `text` with each lone surrogate replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


# Any: JSON
def stored_object(text: bytes | str) -> dict[str, Any]:
    """Return a JSON object from the queue's file; an empty one if damage to the file has made it anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _kind(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def text(call: str, argument: str, value: Json) -> str:
    """Return `value` unchanged but for lone surrogates. Raises `InvalidCall` if it is not a string, or is blank."""
    if not isinstance(value, str):
        raise InvalidCall(f"{call}: {argument} must be a string, got {type(value).__name__}")
    if not value.strip():
        raise InvalidCall(f"{call}: {argument} must not be empty")
    return sound(value)
