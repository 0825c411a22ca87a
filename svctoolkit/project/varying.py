"""What differs from run to run: paths whose values two runs do not share, and values that show the present time.

A suite that ignores these paths holds in every run. Code that writes the date gives the same result all day: its values
are found by what they show, because suites send events of another day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from svctoolkit.json_types import Json

Steps: TypeAlias = tuple[str, ...]

_DAY = 86_400  # seconds
_TAIL = 2  # named steps of a path that say what varies, such as `context.processed_at`
_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%b %d %Y", "%d %b %Y", "%a %b %d")
_DIGITS = re.compile(r"\d{10}(?:\d{3}){0,3}(?:\.\d+)?")
_SECOND = 10  # digits of a time in seconds; further ones are a fraction


def steps_of(path: Sequence[str | int]) -> Steps:
    """Return a path in the form of `ignore`: any place of a list."""
    return tuple("*" if isinstance(step, int) else step for step in path)


def rules_of(steps: Steps) -> list[str]:
    """Return what `ignore` may have for a path: its last two named steps, or the whole path if that is not enough."""
    named = [at for at, step in enumerate(steps) if step != "*"]
    tail = steps[named[-_TAIL] :] if len(named) >= _TAIL else steps
    return list(dict.fromkeys([".".join(tail), ".".join(steps)]))


# Any: any JSON
def leaf_paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each text, number, boolean and null in a JSON value."""
    yield from (path for path, _ in _leaves(value, path))


# Any: results of a scenario by name
def showing_in(moment: datetime, results: Mapping[str, Any], expect: Mapping[str, Any]) -> Iterator[Steps]:
    """Yield the paths of texts and numbers that show the day of a moment, or a time near it.

    Only those in the results that an expectation is about.
    """
    for name in expect:
        for path, leaf in _leaves(results.get(name), (name,)):
            if isinstance(leaf, (str, int, float)) and not isinstance(leaf, bool) and _shows(moment, str(leaf)):
                yield steps_of(path)


def _leaves(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    inner: Iterable[tuple[str | int, Any]]
    if isinstance(value, Mapping):
        inner = ((str(key), member) for key, member in value.items())
    elif isinstance(value, (list, tuple)):
        inner = enumerate(value)
    else:
        yield path, value
        return
    for step, member in inner:
        yield from _leaves(member, (*path, step))


def _shows(moment: datetime, text: str) -> bool:
    if any(moment.strftime(form) in text for form in _FORMATS):
        return True
    digits = _DIGITS.fullmatch(text)
    return digits is not None and abs(int(text[:_SECOND]) - moment.timestamp()) < _DAY
