"""JSON values as leaves by path: what is read, changed and taken away one at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from svctoolkit.json_types import Json

Path: TypeAlias = tuple[str | int, ...]

GONE = object()


def leaves(value: Json) -> dict[Path, Json]:
    """Every scalar by its path; an empty object or list is a leaf, too."""
    into: dict[Path, Any] = {}
    _collect(value, (), into)
    return into


def _collect(value: Any, path: Path, into: dict[Path, Any]) -> None:
    members: Iterable[tuple[str | int, Any]]
    if type(value) is dict and value:
        members = value.items()
    elif type(value) is list and value:
        members = enumerate(value)
    else:
        into[path] = value
        return
    for step, inner in members:
        if type(inner) is dict or type(inner) is list:
            _collect(inner, (*path, step), into)
        else:
            into[*path, step] = inner


def payload_leaves(payload: Mapping[str, Json]) -> dict[Path, Json]:
    """The leaves of a payload without the bodies and parameters that it does not have.

    A batch that stands as JSON text in it is opened.
    """
    into: dict[Path, Any] = {}
    for member, value in payload.items():
        if member == "body":
            for form, body in value.items():
                batch = body.get("batch") if form == "JSON_ARRAY" and body else None
                opened = {**body, "batch": json.loads(batch)} if isinstance(batch, str) else body
                if opened:
                    _collect(opened, ("body", form), into)
        elif value != {} and value != []:
            _collect(value, (member,), into)
    return into


def dotted_path(path: Path) -> str:
    """`properties.products.0.price`; a dot in a key is written `\\.`."""
    return ".".join(str(step).replace(".", "\\.") for step in path)


def replace_at(value: Json, path: Path, new: Json) -> Json:
    """A copy of `value` with `new` at `path`, or without what is there (`GONE`). Shares what does not change."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    if not rest and new is GONE:
        del copy[step]
    else:
        copy[step] = replace_at(copy[step], rest, new)
    return copy


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:)(\d\d)(.*)", re.DOTALL)
_DATE = re.compile(r"(\d{4}-\d\d-)(\d\d)")
_ADDRESS = re.compile(r"((?:\d{1,3}\.){3})(\d{1,3})")
_HEX = re.compile(r"[0-9a-f]{16,}")


def other(value: Json) -> Json:
    """Another value of the same kind for a leaf: a time stays a time, an address an address; what was empty is not.

    It is another one also as a double, which is what JavaScript makes of a number.
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return _other_number(value)
    if isinstance(value, str):
        return _other_text(value)
    if isinstance(value, dict | list):
        member = {"x": "x"}
        return member if isinstance(value, dict) else [member]
    return "x"


def _other_number(number: float) -> float:
    """One more; or the half, where doubles (which JSON is read as) are too far apart for one more."""
    return number + 1 if abs(number) < 2**53 else number // 2


def _other_text(text: str) -> str:
    for pattern, change in _TEXTS:
        match = pattern.fullmatch(text)
        if match:
            return change(match)
    if "@" in text:
        return f"x{text}"
    if "://" in text:
        return f"{text}{'&' if '?' in text else '?'}x=1"
    return f"{text}x"


def _next(digits: str, limit: int, least: int = 0) -> str:
    return str(least + (int(digits) - least + 1) % (limit - least)).zfill(len(digits))


_TEXTS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_UUID, lambda m: m[0][:-1] + ("1" if m[0][-1] == "0" else "0")),
    (_HEX, lambda m: m[0][:-1] + ("1" if m[0][-1] == "0" else "0")),
    (_TIME, lambda m: f"{m[1]}{_next(m[2], 60)}{m[3]}"),
    (_DATE, lambda m: f"{m[1]}{_next(m[2], 28, 1)}"),
    (_ADDRESS, lambda m: f"{m[1]}{_next(m[2], 254, 1)}"),
    (re.compile(r"[+-]?\d[\d .()-]*"), lambda m: re.sub(r"\d(?=\D*$)", lambda d: _next(d[0], 10), m[0])),
)
