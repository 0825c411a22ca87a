"""The edits of a text of code: hunks of changed lines, and their single lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_MOST_HUNKS = 60  # of one text
_MOST_LINES = 12  # of one hunk, to look at each
_MOST_PAIRS = 400  # of lines that are compared
_SIMILAR = 0.6


class Hunk(NamedTuple):
    """Lines `start` to `stop` (from 0) of the later text, which were `lines` before. `parts` are its single lines."""

    start: int
    stop: int
    lines: Sequence[str]
    parts: Sequence[Hunk] = ()

    @property
    def where(self) -> str:
        """The numbers of the lines in the later text: `9`, `9-12`, or `9 (removed lines)`."""
        if self.start == self.stop:
            return f"{self.start + 1} (removed line{'s' if len(self.lines) > 1 else ''})"
        return f"{self.start + 1}" if self.stop == self.start + 1 else f"{self.start + 1}-{self.stop}"


def hunks(before: str, after: str) -> list[Hunk]:
    """Return the changed parts of a text; one for all of it if there are too many."""
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    found = [
        hunk
        for how, i, j, start, stop in matcher.get_opcodes()
        if how != "equal"
        for hunk in _split(old[i:j], new[start:stop], start)
    ]
    return found if len(found) <= _MOST_HUNKS else [Hunk(0, len(new), old)]


def _split(old: Sequence[str], new: Sequence[str], start: int) -> Iterator[Hunk]:
    """Yield the hunks of replaced lines: a line that was rewritten is apart from those that were added around it."""
    if old and new and len(old) != len(new) and len(old) * len(new) <= _MOST_PAIRS:
        ratio, i, j = max(
            (SequenceMatcher(None, a, b).ratio(), i, j) for i, a in enumerate(old) for j, b in enumerate(new)
        )
        if ratio >= _SIMILAR:
            yield from _split(old[:i], new[:j], start)
            yield _hunk([old[i]], start + j, start + j + 1)
            yield from _split(old[i + 1 :], new[j + 1 :], start + j + 1)
            return
    if old or new:
        yield _hunk(old, start, start + len(new))


def _hunk(old: Sequence[str], start: int, stop: int) -> Hunk:
    parts = [*_lines(old, start, stop)] if max(len(old), stop - start) <= _MOST_LINES else []
    return Hunk(start, stop, old, parts if len(parts) > 1 else ())


def _lines(old: Sequence[str], start: int, stop: int) -> Iterator[Hunk]:
    """Yield single lines: replaced one by one if both sides have as many, else added or removed one by one."""
    if len(old) == stop - start:
        yield from (Hunk(start + n, start + n + 1, [line]) for n, line in enumerate(old))
    elif not old:
        yield from (Hunk(n, n + 1, []) for n in range(start, stop))


def revert(code: str, hunk: Hunk) -> str:
    """Return the later text with one hunk as it was before."""
    new = code.splitlines()
    new[hunk.start : hunk.stop] = hunk.lines
    return "\n".join(new) + "\n"
