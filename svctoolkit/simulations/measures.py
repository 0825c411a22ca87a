"""What the limits of vendors measure: items, letters, bytes, levels of nesting, ages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.simulations.formats import moment
from svctoolkit.simulations.json_text import text_of


def json_size(value: Json) -> int:
    """Return the bytes of a value as compact JSON."""
    return len(encode(value))


def depth(value: Json, *, lists: bool = True) -> int:
    """Return how many containers are nested: 0 for a scalar, 1 for a flat list or object.

    Without `lists`, only objects count.

    >>> depth("a"), depth([]), depth({"a": {"b": [1]}}), depth({"a": {"b": [1]}}, lists=False)
    (0, 1, 3, 2)
    """
    if not isinstance(value, (list, dict)):
        return 0
    deepest, waiting = 0, [(value, 0)]
    while waiting:
        item, level = waiting.pop()
        level += lists or isinstance(item, dict)
        if level > deepest:
            deepest = level
        members = item.values() if isinstance(item, dict) else item
        waiting += [(one, level) for one in members if isinstance(one, (dict, list))]  # most members are scalars
    return deepest


def containers(value: Json) -> Iterator[Json]:
    """Yield every list and object in a value, including itself."""
    waiting = [value] if isinstance(value, (dict, list)) else []
    while waiting:
        item = waiting.pop()
        yield item
        waiting += [one for one in (item.values() if isinstance(item, dict) else item) if isinstance(one, (dict, list))]


def longest(value: Json) -> int:
    """Return the letters of the longest text or name in a value."""
    if type(value) is str:
        return len(value)
    most = 0
    if isinstance(value, dict):
        for name, item in value.items():
            if len(name) > most:
                most = len(name)
            size = len(item) if type(item) is str else longest(item) if isinstance(item, (dict, list)) else 0
            if size > most:
                most = size
    elif isinstance(value, list):
        for item in value:
            most = max(most, longest(item))
    return most


def cut_texts(value: Json, limit: int) -> Json:
    """Return a value whose texts and names have at most `limit` characters; the value itself if none is longer."""
    if isinstance(value, str):
        return value[:limit] if len(value) > limit else value
    if isinstance(value, list):
        return _unless_equal(value, [cut_texts(item, limit) for item in value])
    if isinstance(value, dict):
        return _unless_equal(value, {name[:limit]: cut_texts(item, limit) for name, item in value.items()})
    return value


def _unless_equal(value: Json, cut: Json) -> Json:
    return value if cut == value else cut


#: `(value, time of the request)` -> its size
Measure: TypeAlias = Callable[[Json, datetime], float]


def _bytes(value: Json) -> int:
    text = text_of(value)
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _longest_text(value: Json) -> int:
    most, waiting = 0, [value]
    for item in waiting:
        if type(item) is str:
            size = len(item) if item.isascii() else _bytes(item)
            if size > most:
                most = size
        elif isinstance(item, (dict, list)):
            waiting += item.values() if isinstance(item, dict) else item
    return most


def _longest(value: Json, kind: type[list[Json]] | type[dict[str, Json]]) -> int:
    if not isinstance(value, (list, dict)):
        return 0
    return max((len(item) for item in containers(value) if isinstance(item, kind)), default=0)


def _days_ahead(value: Json, now: datetime) -> float:
    time = moment(value)
    return 0.0 if time is None else (time - now).total_seconds() / 86_400


def _year(value: Json) -> int:
    time = moment(value)
    return 9999 if time is None else time.year


#: the measures that are 0 for anything but lists and objects
OF_CONTAINERS: Final = frozenset({"items", "levels", "object_levels", "longest_list", "longest_object"})
#: the measures that checks may name
MEASURES: Final[Mapping[str, Measure]] = {
    "items": lambda value, _: len(value) if isinstance(value, (list, dict)) else 0,
    "letters": lambda value, _: len(value) if isinstance(value, str) else 0,
    "bytes": lambda value, _: _bytes(value),
    "json_bytes": lambda value, _: json_size(value),
    "levels": lambda value, _: depth(value),
    "object_levels": lambda value, _: depth(value, lists=False),
    "number": lambda value, _: value if isinstance(value, (int, float)) else 0,
    "longest_text": lambda value, _: _longest_text(value),
    "longest": lambda value, _: longest(value),
    "longest_list": lambda value, _: _longest(value, list),
    "longest_object": lambda value, _: _longest(value, dict),
    "records": lambda value, _: len(value) if isinstance(value, list) else 1,
    "days_ahead": _days_ahead,
    "hours_ahead": lambda value, now: 24 * _days_ahead(value, now),
    "days_ago": lambda value, now: -_days_ahead(value, now),
    "year": lambda value, _: _year(value),
}
