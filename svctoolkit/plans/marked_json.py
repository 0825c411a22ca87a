"""An event as JSON text, line by line, with its violations at the lines they refer to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.plans.schema.javascript import pointer_token
from svctoolkit.plans.violation import Violation


class Line(NamedTuple):
    """A line of JSON, and its violations."""

    text: str
    violations: Sequence[Violation]


def marked_lines(event: Mapping[str, Json], violations: Sequence[Violation]) -> list[Line]:
    """Return the lines of an event. Superfluous properties are marked at their line, missing ones at their owner's."""
    by_path: dict[str, list[Violation]] = {}
    for violation in violations:
        own = f"{violation.path}/{pointer_token(violation.property)}"
        is_there = violation.property and violation.type == "Additional-Properties"
        by_path.setdefault(own if is_there else violation.path, []).append(violation)
    return [Line(text, by_path.pop(path, ())) for path, text in _lines(event, "", "", "", "")]


def _lines(value: Any, path: str, indent: str, label: str, end: str) -> Iterator[tuple[str, str]]:
    """Yield pointer and text of each line. A closing bracket has no pointer."""
    if not isinstance(value, (Mapping, list)) or not value:
        yield path, f"{indent}{label}{json.dumps(value, ensure_ascii=False, default=str)}{end}"
        return
    is_object = isinstance(value, Mapping)
    members = list(value.items()) if isinstance(value, Mapping) else list(enumerate(value))
    yield path, f"{indent}{label}{'{' if is_object else '['}"
    for place, (name, inner) in enumerate(members):
        key = f"{json.dumps(str(name), ensure_ascii=False)}: " if is_object else ""
        comma = "," if place < len(members) - 1 else ""
        yield from _lines(inner, f"{path}/{pointer_token(str(name))}", f"{indent}  ", key, comma)
    yield "\n", f"{indent}{'}' if is_object else ']'}{end}"
