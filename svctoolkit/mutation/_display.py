"""How the changes of a transformation look in a notebook: its code, with the lines marked that nothing checks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.mutation.notebook import Mark, MarkedCode

_STYLE = "padding:6px 12px;overflow:auto;white-space:pre;tab-size:4"


@shows(MarkedCode)
def _code(marked: MarkedCode) -> str:
    missed = [mark for mark in marked.marks if not mark.is_noticed]
    noticed = [mark for mark in marked.marks if mark.is_noticed]
    blocks = [display.message(marked.summary, "warning" if missed else "ok"), _listing(marked)]
    if missed:
        blocks.append(display.section("Not noticed", _table(missed, "outcome")))
    if noticed:
        blocks.append(display.more(display.quantity(len(noticed), "noticed change"), _table(noticed, "noticed by")))
    return display.page(*blocks)


def _table(marks: Sequence[Mark], outcome: str) -> Html:
    rows = [(mark.line, mark.kind, mark.text, mark.outcome) for mark in marks]
    return display.table(["line", "kind", "change", outcome], rows)


def _listing(marked: MarkedCode) -> Html:
    label = f"{marked.language} code; marked lines may change without being noticed"
    lines = "\n".join(_line(marked, number, line) for number, line in marked.lines())
    return Html(f'<pre role="region" tabindex="0" aria-label="{escape(label)}" style="{_STYLE}">{lines}</pre>')


def _line(marked: MarkedCode, number: int, line: str) -> str:
    changes = marked.unnoticed(number)
    if not changes:
        return escape(line)
    title = escape("\n".join(f"{mark.kind}: {mark.text}" for mark in changes), quote=True)
    return f'<mark title="{title}">{escape(line)}</mark>'
