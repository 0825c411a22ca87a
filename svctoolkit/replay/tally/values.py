"""The values of a change: the first distinct ones with their counts, and what all further ones have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os.path import commonprefix
from typing import Final

import msgspec

from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.results import ABSENT

MOST_VALUES: Final = 50  # of a change, per group


class Span(msgspec.Struct, frozen=True):
    """What some texts have in common: the least and the greatest length, how often a character occurs in one of them
    at most, how they begin and end.
    """

    shortest: int
    longest: int
    letters: dict[str, int]
    begin: str
    end: str


def count_value(values: dict[str, int], value: Json) -> Span | None:
    """Count a value. Returns the span of one that is not among the first `MOST_VALUES`."""
    if value is ABSENT:
        return None
    text = encode(value).decode()
    if text in values or len(values) < MOST_VALUES:
        values[text] = values.get(text, 0) + 1
        return None
    return _span_of(text_of(value))


def merge_values(mine: Mapping[str, int], more: Mapping[str, int]) -> tuple[dict[str, int], Span | None]:
    """Return the first values of two parts, and the span of the others."""
    merged = list((Counter(mine) + Counter(more)).items())
    span: Span | None = None
    for text, _ in merged[MOST_VALUES:]:
        span = widest(span, _span_of(text_of(msgspec.json.decode(text))))
    return dict(merged[:MOST_VALUES]), span


def widest(mine: Span | None, more: Span | None) -> Span | None:
    """Return the span of the texts of both."""
    if mine is None or more is None:
        return mine or more
    return Span(
        min(mine.shortest, more.shortest),
        max(mine.longest, more.longest),
        dict(Counter(mine.letters) | Counter(more.letters)),
        common_begin([mine.begin, more.begin]),
        common_end([mine.end, more.end]),
    )


def text_of(value: Json) -> str:
    """Return a text unchanged, and the JSON of any other value."""
    return value if isinstance(value, str) else encode(value).decode()


def common_begin(texts: Sequence[str]) -> str:
    return commonprefix(texts)  # noqa: RUF071 - characters, not parts of a path


def common_end(texts: Sequence[str]) -> str:
    return common_begin([text[::-1] for text in texts])[::-1]


def _span_of(text: str) -> Span:
    return Span(len(text), len(text), dict(Counter(text)), text, text)
