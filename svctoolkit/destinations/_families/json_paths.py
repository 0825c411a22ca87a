"""JSONPath expressions in the two columns of user-defined mappings: source and target of a value.

This subset of JSONPath is supported: `$.a.b`, `$['a b']`, `$.'a-b'`, `$.a[0]`, and `[*]` for every element. If both
columns contain `[*]`, elements keep their positions: `$.properties.products[*].sku` -> `$.items[*].id`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, TypeAlias

import msgspec

from svctoolkit.destinations._settings import Parsed
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misconfigured

_QUOTED = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_STEP = re.compile(
    rf"""\.(?P<quoted>{_QUOTED})|\.(?P<name>[^.\[\]'"*\s][^.\[\]'"*]*)|(?P<each>\[\*\]|\.\*)"""
    rf"""|\[(?P<key>{_QUOTED})\]|\[(?P<index>\d{{1,3}})\]"""
)
_CONSTANT = re.compile(_QUOTED)
_KNOWN = "$.a.b, $['a b'], $.a[0], $.a[*].b"


class Each:
    """`[*]`: every element."""


EACH: Final = Each()
Step: TypeAlias = "str | int | Each"


class _Nothing:
    """The path does not exist (in contrast to null)."""


NOTHING: Final = _Nothing()


class Many(list[Any]):
    """The values found by `[*]`, one per element; `NOTHING` for elements without the value."""


class Value(Parsed):
    """A path into the event, or a constant: quoted text, a number, true, false, null, or any other text."""

    def __init__(self, written: str) -> None:
        super().__init__(written := written.strip())
        self.steps: tuple[Step, ...] | None = None
        self.constant: Any = None
        if re.match(r"\$($|[.\[A-Za-z_])", written):
            self.steps = _steps(written)
        elif written.startswith("$"):
            raise ValueError(f"{written!r} starts with $ but is not a valid path; write it as '{written}'")
        else:
            self.constant = _constant(written)

    def of(self, event: Json) -> Json:
        """Return the value in `event`: `NOTHING` if it is missing, a `Many` for a path with `[*]`."""
        return self.constant if self.steps is None else _select(event, self.steps)


class Name(Parsed):
    """The target of a header, a query parameter or a value in the body: a path, or simply its name."""

    def __init__(self, written: str) -> None:
        super().__init__(written := written.strip())
        self.is_name = not written.startswith("$")
        self.steps: tuple[Step, ...] = (written,) if self.is_name else _steps(written)

    def put(self, body: dict[str, Json], value: Json, setting: str) -> None:
        """Set `value` at this path; without a value, create only the enclosing objects.

        Of several rows with the same name, the first wins; of several with the same path, the last one. Raises
        `Misconfigured` for `setting`, which contains the path, if another row has already set a conflicting value.
        """
        if self.is_name and self.written in body:
            return
        if not _has_value(value):
            node: Any = body
            for step, inner in pairwise(self.steps):
                if not isinstance(node, dict) or not isinstance(step, str):
                    return
                node = node.setdefault(step, {} if isinstance(inner, str) else [])
            return
        if not self.steps:
            if not isinstance(value, dict):
                raise Misconfigured(setting, "only an object can be the whole body ($)", case="body")
            body.update(_copy(value))
            return
        try:
            _put(body, self.steps, value)
        except _InTheWayError:
            raise Misconfigured(
                setting, "another row has already set a conflicting value", at=self.written, case="occupied"
            ) from None


class _InTheWayError(Exception):
    pass


def _steps(written: str) -> tuple[Step, ...]:
    rest = written[1:] if written[1:2] in ("", ".", "[") else f".{written[1:]}"
    steps: list[Step] = []
    at = 0
    while at < len(rest):
        match = _STEP.match(rest, at)
        if match is None:
            raise ValueError(f"{written!r} is invalid from {rest[at:]!r} on; supported paths are {_KNOWN}")
        steps.append(_step(str(match.lastgroup), match[str(match.lastgroup)]))
        at = match.end()
    return tuple(steps)


def _step(kind: str, written: str) -> Step:
    if kind == "each":
        return EACH
    if kind == "index":
        return int(written)
    return written if kind == "name" else _unquote(written)


def _unquote(written: str) -> str:
    return re.sub(r"\\(.)", r"\1", written[1:-1])


def _constant(written: str) -> Any:
    if _CONSTANT.fullmatch(written):
        return _unquote(written)
    try:
        value = json.loads(written)
    except ValueError:
        return written
    return value if isinstance(value, (int, float, type(None))) else written


def _select(node: Any, steps: tuple[Step, ...]) -> Any:
    for at, step in enumerate(steps):
        if type(step) is str:  # most steps
            node = node.get(step, NOTHING) if type(node) is dict else NOTHING
        elif isinstance(step, Each):
            if isinstance(node, dict):
                node = list(node.values())
            if not isinstance(node, list):
                return NOTHING
            rest = steps[at + 1 :]
            if len(rest) == 1 and type(rest[0]) is str:  # most lists are those of products, and their members simple
                return Many([item.get(rest[0], NOTHING) if type(item) is dict else NOTHING for item in node])
            return Many([_select(item, rest) for item in node])
        elif isinstance(step, int):
            node = node[step] if isinstance(node, list) and step < len(node) else NOTHING
    return node


def _has_value(value: Any) -> bool:
    return value is not NOTHING if type(value) is not Many else any(map(_has_value, value))


def _put(node: Any, steps: tuple[Step, ...], value: Any) -> None:
    for at, name in enumerate(steps[:-1]):  # down through objects, as most paths do without lists
        child = node.get(name) if type(name) is str and type(node) is dict else None
        if type(child) is not dict:
            steps = steps[at:]
            break
        node = child
    else:
        steps = steps[-1:]
    step, rest = steps[0], steps[1:]
    if not isinstance(step, Each):
        _put_at(node, step, rest, value)
    elif not isinstance(node, list):
        raise _InTheWayError
    elif isinstance(value, Many):
        member = rest[0] if len(rest) == 1 and type(rest[0]) is str else None
        for index, item in enumerate(value):
            if not _has_value(item):
                continue
            if member is not None and index < len(node) and type(node[index]) is dict:  # most rows
                node[index][member] = _copy(item)
            else:
                _put_at(node, index, rest, item)
    else:
        for index in range(len(node) or 1):
            _put_at(node, index, rest, value)


def _put_at(node: Any, key: str | int, rest: tuple[Step, ...], value: Any) -> None:
    if isinstance(key, int):
        if not isinstance(node, list):
            raise _InTheWayError
        node.extend([None] * (key + 1 - len(node)))
        child = node[key]
    elif isinstance(node, dict):
        child = node.get(key)
    else:
        raise _InTheWayError
    if not rest:
        node[key] = _copy(value)
        return
    if child is None:
        child = node[key] = {} if isinstance(rest[0], str) else []
    _put(child, rest, value)


def _copy(value: Any) -> Any:
    """Copy the value, so that a later row cannot change the event."""
    if type(value) is str:  # most values
        return value
    if isinstance(value, Many):
        return [_copy(item) for item in _flat(value)]
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _flat(values: Many) -> Iterator[Any]:
    for value in values:
        if isinstance(value, Many):
            yield from _flat(value)
        elif value is not NOTHING:
            yield value


class BodyRow(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """A value of the body."""

    from_: Value = Value("")
    to: Name = Name("")
