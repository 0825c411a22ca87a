"""Small parts: tables, messages, code, pills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice

from svctoolkit.display._html import SIGNS, Html, Kind, html

_MAX_ROWS = 200
_WIDE = 8  # tables with more columns do not wrap cells, and scroll
_WORDS: dict[Kind, str] = {"ok": "OK", "info": "Note", "warning": "Warning", "error": "Error"}
_CLASS = {True: ' class="figure"', False: ""}


def pill(text: object, kind: Kind = "plain") -> Html:
    """A word in a coloured frame, with a sign if its kind is good or bad."""
    sign = f'<span aria-hidden="true">{SIGNS[kind]}</span> ' if kind in ("ok", "warning", "error") else ""
    return Html(f'<span class="pill {kind}">{sign}{html(text)}</span>')


def message(text: object, kind: Kind = "info") -> Html:
    """One or more lines for the user, with sign, word and colour. Screen readers announce it, errors immediately."""
    role = "alert" if kind == "error" else "status"
    lines = Html("<br>".join(html(text).split("\n")))
    word = "" if kind == "plain" else f'<b><span aria-hidden="true">{SIGNS[kind]}</span> {_WORDS[kind]}:</b> '
    return Html(f'<p class="message {kind}" role="{role}">{word}{lines}</p>')


def code(text: str, language: str = "") -> Html:
    """Text to copy: one click selects all of it, and the keyboard can reach it."""
    label = escape(f"{language} code: a click selects all of it".strip())
    return Html(f'<pre class="code" tabindex="0" role="region" aria-label="{label}"><code>{escape(text)}</code></pre>')


def table(
    head: Sequence[object], rows: Iterable[Sequence[object]], *, caption: object = "", inside: Sequence[object] = ()
) -> Html:
    """A table with numbers aligned right. Shows the first 200 rows, and how many are left out.

    With `inside` (a block for each row), every row opens to its block.
    """
    remaining = iter(rows)
    visible = list(islice(remaining, _MAX_ROWS))
    left_out = sum(1 for _ in remaining)
    figures = [_is_figure(cells) for cells in zip(*visible, strict=True)] or [False] * len(head)
    cells = "".join(
        f'<th scope="col"{_CLASS[figure]}>{html(name)}</th>' for name, figure in zip(head, figures, strict=True)
    )
    lines = [
        f"<tr>{''.join(f'<td{_CLASS[f]}>{_cell(cell)}</td>' for cell, f in zip(row, figures, strict=True))}</tr>"
        for row in visible
    ]
    if inside:
        # One tbody per row: <details> covers the whole row, and without the style is a line below it.
        blocks = zip(lines, visible, inside[: len(visible)], strict=True)
        lines = [f"{line}{_inside(block, row[0], len(head))}" for line, row, block in blocks]
    body = ("</tbody><tbody>" if inside else "").join(lines)
    if left_out:
        body += f'<tr><td class="dim" colspan="{len(head)}">… {left_out:,} more rows are not shown</td></tr>'
    wide = " opens" if inside else " wide" if len(head) > _WIDE else ""
    title = f"<caption>{html(caption)}</caption>" if caption else ""
    return Html(
        f'<div class="scroll" tabindex="0"><table class="rows{wide}">{title}<thead><tr>{cells}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _inside(block: object, name: object, width: int) -> str:
    summary = f'<summary><span class="sr">More of {html(name)}</span></summary>'
    return f'<tr class="inside"><td colspan="{width}"><details>{summary}<div>{html(block)}</div></details></td></tr>'


def _is_figure(cells: Sequence[object]) -> bool:
    values = [cell for cell in cells if cell is not None]
    return bool(values) and all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in values)


def _cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.1f}"
    return html(cell)


def facts(pairs: Mapping[str, object]) -> Html:
    """Names and values as a table of two columns."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{html(value)}</td></tr>' for name, value in pairs.items()
    )
    return Html(f'<table class="facts"><tbody>{rows}</tbody></table>')
