"""One difference between what was expected and what came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Difference:
    """`path` leads to the value that differs, `expectation` to what expected it. `str()` is one line.

    `text` says it in other words than "expected this, got that"; `place` is where that is written in the file, if it
    is not below the step's `expect`.
    """

    expectation: Path
    path: Path
    expected: str
    got: str
    text: str = ""
    place: Path = ()

    def shorten(self, hide: Callable[[str], str]) -> Difference:
        """With secrets hidden, and then cut: half a secret would not be found. Long texts show where they part."""
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
