"""One difference between the expected and the actual value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

Path: TypeAlias = tuple[str | int, ...]
_LONGEST = 160


class Difference(msgspec.Struct, frozen=True):
    """A difference at `path` in the value, found by `expectation`. `str()` is one line.

    `text` replaces the wording "expected this, got that"; `place` is its position in the file, if that is not below the
    step's `expect`.
    """

    expectation: Path
    path: Path
    expected: str
    got: str
    text: str = ""
    place: Path = ()

    def shorten(self, hide: Callable[[str], str]) -> Difference:
        """Hide secrets, then truncate (a cut secret would not be recognized). Long texts show where they differ."""
        expected, got = hide(self.expected), hide(self.got)
        if max(len(expected), len(got)) > _LONGEST:
            same = next((n for n, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), 0)
            if same > _LONGEST // 2:
                expected, got = f"…{expected[same - 30 :]}", f"…{got[same - 30 :]}"
        return replace(self, expected=_cut(expected), got=_cut(got), text=hide(self.text))

    def __str__(self) -> str:
        return self.text or f"{'.'.join(map(str, self.path)) or '(value)'}: expected {self.expected}, got {self.got}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
