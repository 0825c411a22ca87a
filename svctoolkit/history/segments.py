"""Which versions and channels a change concerns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from svctoolkit.history.cells import Cell

_NUMBER = re.compile(r"\d+")


class Segment(NamedTuple):
    """The events of one channel, library and app version."""

    channel: str
    library: str
    app: str

    @property
    def platform(self) -> str:
        """The channel; if it is unknown, the name of the library."""
        return self.channel or self.library.split(" ", 1)[0]


def segment_of(cell: Cell) -> Segment:
    return Segment(cell.channel, cell.library, cell.app)


def where(concerned: Collection[Segment], others: Collection[Segment], before: Collection[Segment]) -> str:
    """Return `since app 2.4.0, web only` for the segments concerned; empty if these are all.

    `others` have the same events at the same time without the change; `before` are the segments of the baseline.
    """
    platforms = {segment.platform for segment in concerned}
    same = [segment for segment in others if segment.platform in platforms]
    texts = [_since(concerned, same, [segment for segment in before if segment.platform in platforms])]
    if {segment.platform for segment in others} - platforms:
        texts.append(f"{' and '.join(sorted(platforms))} only" if "" not in platforms else "")
    return ", ".join(filter(None, texts))


def _since(concerned: Iterable[Segment], others: Collection[Segment], before: Collection[Segment]) -> str:
    """Return the first version with the change, if all versions without it are older."""
    for name, label in (("app", "app "), ("library", "")):
        found = {getattr(segment, name) for segment in concerned}
        rest = {getattr(segment, name) for segment in others}
        earlier = {getattr(segment, name) for segment in before}
        first = min(found, key=_version)
        older = (rest | earlier) - found
        if not older or not all(found) or found & (rest or earlier):
            continue
        if all(_version(text) < _version(first) for text in older):
            return f"since {label}{first}"
    return ""


def _version(text: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(text)]
