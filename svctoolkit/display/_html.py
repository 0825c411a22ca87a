"""What every part is made of: text that is HTML already, and the page around it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Literal

from svctoolkit.display._style import STYLE
from svctoolkit.display._tools import with_tools

#: What something means to its reader; each has a sign and a colour.
Kind = Literal["ok", "info", "warning", "error", "plain"]
SIGNS: dict[Kind, str] = {"ok": "✓", "info": "ℹ", "warning": "⚠", "error": "✗", "plain": ""}


class Html(str):
    """Text that is HTML already. What is not `Html` is escaped wherever it is put, so nothing is escaped twice."""

    __slots__ = ()


def html(value: object) -> str:
    """`value` as HTML: `Html` as it is, everything else as escaped text."""
    return value if isinstance(value, Html) else escape(str(value))


def join(blocks: Iterable[object]) -> Html:
    return Html("".join(map(html, blocks)))


def page(*blocks: object) -> Html:
    """The parts below each other, with the style: what a notebook output or a `widgets.HTML` shows."""
    return Html(f"<style>{STYLE}</style>{fragment(*blocks)}")


def fragment(*blocks: object) -> Html:
    """The parts below each other for a web page that has the style already: `STYLE`, in a file of its own."""
    return Html(f'<div class="svc">{join(blocks)}</div>')


def section(title: object, *blocks: object, level: int = 4) -> Html:
    """Parts below a small heading of this level."""
    return Html(f'<section><h{level} class="title">{html(title)}</h{level}>{join(blocks)}</section>')


def columns(*blocks: object) -> Html:
    """The parts beside each other, or below each other where that is too narrow."""
    return Html(f'<div class="columns">{"".join(f"<div>{html(block)}</div>" for block in blocks)}</div>')


def more(title: object, *blocks: object, is_open: bool = False) -> Html:
    """Parts behind a line that opens and closes them."""
    state = " open" if is_open else ""
    return Html(f'<details class="more"{state}><summary>{html(title)}</summary>{join(blocks)}</details>')


def box(head: object, body: object, *, label: str, note: object = "") -> Html:
    """A framed part with a head line; `note` stands at its right end. A group: a dozen of one name are no landmarks."""
    head = f'<header role="presentation"><b>{html(head)}</b> <span class="note">{html(note)}</span></header>'
    return Html(f'<section class="box" role="group" aria-label="{escape(label)}">{head}{html(body)}</section>')


def bundle(html: str, text: str) -> dict[str, str]:
    """The mime bundle of an object that shows itself, with tools for its trees where a page runs scripts.

    Never JSON: JupyterLab would show that instead of the HTML.
    """
    return {"text/plain": text, "text/html": with_tools(html)}


def quantity(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
