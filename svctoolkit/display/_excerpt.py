"""The lines of a file around an error, as an editor would show them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from svctoolkit.display._html import Html

_AROUND = 2
_WIDTH = 160


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of `text` around `line` (from 1), which is marked; `column` (from 1) gets a caret; 0 is without caret.

    `offset` is added to the line numbers shown: a notebook cell has lines before the text.
    """

    text: str
    line: int
    column: int = 0
    offset: int = 0

    def __str__(self) -> str:
        return "\n".join(line for line, _ in self._lines())

    def html(self, label: str) -> Html:
        """The lines as HTML. Screen readers announce `label` first."""
        marked_lines = [f"<mark>{escape(line)}</mark>" if marked else escape(line) for line, marked in self._lines()]
        style = "padding:6px 12px;overflow:auto;white-space:pre;tab-size:4"
        lines = "\n".join(marked_lines)
        return Html(f'<pre role="region" tabindex="0" aria-label="{escape(label)}" style="{style}">{lines}</pre>')

    def _lines(self) -> list[tuple[str, bool]]:
        """The lines to show, each with whether it is the marked one."""
        lines = self.text.splitlines() or [""]
        at = min(max(self.line, 1), len(lines))
        visible: list[tuple[str, bool]] = []
        for number in range(max(1, at - _AROUND), min(len(lines), at + _AROUND) + 1):
            sign = "▶" if number == at else " "
            line = _printable(lines[number - 1])
            visible.append((f"{sign}{number + self.offset:>4} │ {_cut(line)}", number == at))
            if number == at and 0 < self.column <= min(len(line) + 1, _WIDTH):
                visible.append((f"      │ {_blanks(line[: self.column - 1])}^", False))
        return visible


def _printable(line: str) -> str:
    return "".join(c if c.isprintable() or c == "\t" else "�" for c in line)


def _blanks(before: str) -> str:
    """Blanks as wide as `before`, so that the caret is below its character."""
    return "".join("\t" if c == "\t" else " " for c in before)


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
