"""Results as HTML for notebooks: readable in light and dark themes, without scripts, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from svctoolkit.results._model import DestinationResult
from svctoolkit.results._rows import Row, rows
from svctoolkit.results._text import dumped, summary

#: Status -> (sign, colour): never the colour alone. The colours are readable on white and on black.
_SIGNS = {
    "ok": ("✓", "#2e9e5b"),
    "none": ("–", "#8a8a8a"),
    "dropped": ("⊘", "#b7791f"),
    "failed": ("✗", "#e05252"),
    "aborted": ("⋯", "#8a8a8a"),
    "disabled": ("○", "#8a8a8a"),
}
_CELL = "padding:.25em .75em;text-align:left;vertical-align:top;border-top:1px solid rgba(128,128,128,.3)"
_PRE = (
    "margin:.4em 0;max-height:24em;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;"
    "background:none;color:inherit"
)


def html(results: Sequence[DestinationResult]) -> str:
    """One table per destination: stage, status, time, and the output behind a disclosure."""
    return f'<div style="overflow-x:auto">{"".join(map(_table, results)) or "no destinations"}</div>'


def _table(result: DestinationResult) -> str:
    kind = escape(result.destination or result.destination_id)
    caption = f'<caption style="text-align:left"><b>{escape(result.destination_name)}</b> {kind}</caption>'
    names = ("stage", "status", "time", "output")
    head = "".join(f'<th scope="col" style="{_CELL};border-top:0">{name}</th>' for name in names)
    body = "".join(map(_tr, rows([result])))
    return f'<table style="border-collapse:collapse;margin-bottom:1em">{caption}<tr>{head}</tr>{body}</table>'


def _tr(row: Row) -> str:
    sign, colour = _SIGNS[row.status]
    http = "" if row.http_status is None else f" {row.http_status}"
    status = f'<span aria-hidden="true" style="color:{colour}">{sign}</span> {row.status}{http}'
    spent = "" if row.milliseconds is None else f"{row.milliseconds:.1f} ms"
    short = (escape(row.stage or ""), status, spent)
    cells = "".join(f'<td style="{_CELL};white-space:nowrap">{cell}</td>' for cell in short)
    return f'<tr>{cells}<td style="{_CELL}">{_output(row)}</td></tr>'


def _output(row: Row) -> str:
    if row.error:
        return escape(row.error)
    whole = f'<pre style="{_PRE}">{escape(dumped(row.output, indent=2))}</pre>'
    return f"<details><summary>{escape(summary(row)[:120])}</summary>{whole}</details>"
