"""JSON values as leaves by path, to be read, changed and removed one at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.results.lineage import Path, open_batches

GONE = object()
_ROUNDS = 200  # of shrinking; each removes a member


def leaves(value: Json) -> dict[Path, Json]:
    """Return every scalar by its path. An empty object or list is also a leaf."""
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


def open_payload(payload: Mapping[str, Json]) -> dict[str, Json]:
    """Return a payload without empty bodies and parameters. Batches and fields of forms with JSON text are opened."""
    opened = {member: value for member, value in open_batches(payload).items() if value != {} and value != []}
    bodies = {form: body for form, body in opened.pop("body", {}).items() if body}
    return {**opened, "body": bodies} if bodies else opened


def close_payload(payload: Mapping[str, Json]) -> dict[str, Json]:
    """Return the payload that `open_payload` opened, to be sent."""
    body = dict(payload.get("body") or {})
    array = body.get("JSON_ARRAY") or {}
    if isinstance(array.get("batch"), list):
        body["JSON_ARRAY"] = {**array, "batch": json.dumps(array["batch"])}
    if form := body.get("FORM"):
        body["FORM"] = {name: _closed(value) for name, value in form.items()}
    return {"headers": {}, "params": {}, **payload, "body": body}


def _closed(value: Json) -> Json:
    """Return a field of a form that is sent: objects as JSON text, also those in a list."""
    if isinstance(value, list):
        return [json.dumps(each) if isinstance(each, (dict, list)) else each for each in value]
    return json.dumps(value) if isinstance(value, dict) else value


def differing_leaves(before: Json, after: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield the leaves of `before` that differ in `after`, with the new value; `GONE` if `after` has no such leaf.

    Identical or equal parts are skipped: nearly everything in two payloads is the same.
    """
    if type(before) is dict and before:
        members: Iterable[tuple[str | int, Any]] = before.items()
        find = after.get if type(after) is dict else _find_nothing
    elif type(before) is list and before:
        members = enumerate(before)
        find = dict(enumerate(after)).get if type(after) is list else _find_nothing
    else:
        is_leaf = before in ({}, []) or after in ({}, []) or type(after) not in (dict, list)  # {} may be filled
        yield path, after if is_leaf else GONE
        return
    for step, value in members:
        new = find(step, GONE)
        if new is not value and new != value:
            yield from differing_leaves(value, new, (*path, step))


def _find_nothing(_step: object, missing: object) -> object:
    return missing


def replace_at(value: Json, path: Path, new: Json) -> Json:
    """Return a copy of `value` with `new` at `path`, or without that path (`GONE`). Unchanged parts are shared."""
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
    """Return another value of the same kind for a leaf: a time stays a time, an address an address. None is empty.

    It also differs after conversion to a double, JavaScript's only number type.
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return _other_number(value)
    if isinstance(value, str):
        return _other_text(value)
    if isinstance(value, (dict, list)):
        member = {"x": "x"}
        return member if isinstance(value, dict) else [member]
    return "x"


def of_other_kind(value: Json) -> Json:
    """Return a value of another kind for a leaf: a string for a number, a number for anything else."""
    return 1 if isinstance(value, bool) or not isinstance(value, int | float) else "x"


def _other_number(number: float) -> float:
    """Return the number plus one; or half of it, if it is so large that adding one does not change a double."""
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


def smaller(event: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """Return the event without one of its members each, the outer ones first. Type, name and one id stay."""
    paths: dict[tuple[str | int, ...], None] = {}
    for leaf in leaves(dict(event)):
        for end in range(1, len(leaf) + 1):
            paths[leaf[:end]] = None
    kept = {("type",), ("event",), ("userId",) if "userId" in event else ("anonymousId",)}
    return [
        replace_at(dict(event), path, GONE)
        for path in sorted(paths, key=lambda path: (len(path), str(path)))
        if path not in kept
    ]


def shrink(
    event: Mapping[str, Json], shows: Callable[[Sequence[Mapping[str, Json]]], Sequence[bool]]
) -> Mapping[str, Json]:
    """Return the smallest event that was found by removing members and still shows something.

    `shows` says of each of several events whether it does.
    """
    for _ in range(_ROUNDS):
        events = smaller(event)
        found = next((one for one, does in zip(events, shows(events), strict=True) if does), None)
        if found is None:
            break
        event = found
    return event
