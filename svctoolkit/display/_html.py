"""The building blocks: text that is already HTML, and the page around the parts."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Literal

from svctoolkit.display._style import PICTURE_STYLE, STYLE
from svctoolkit.display._tools import with_tools
from svctoolkit.lexical import storable

#: The meaning of a message or pill; each has a sign and a colour.
Kind = Literal["ok", "info", "warning", "error", "plain"]
SIGNS: dict[Kind, str] = {"ok": "✓", "info": "ℹ", "warning": "⚠", "error": "✗", "plain": ""}


class Html(str):
    """Text that is already HTML. Everything else is escaped on insertion, so nothing is escaped twice."""

    __slots__ = ()


def html(value: object) -> str:
    """`value` as HTML: `Html` unchanged, everything else as escaped text."""
    return value if isinstance(value, Html) else escape(str(value))


def join(blocks: Iterable[object]) -> Html:
    return Html("".join(map(html, blocks)))


def page(*blocks: object) -> Html:
    """The parts stacked, with the style: the HTML for a notebook output or a `widgets.HTML`."""
    body = fragment(*blocks)
    style = STYLE + PICTURE_STYLE if '<svg class="picture' in body else STYLE
    return Html(f"<style>{style}</style>{body}")


def fragment(*blocks: object) -> Html:
    """The parts stacked, for a web page that loads `STYLE` from a separate file."""
    return Html(storable(f'<div class="svc">{join(blocks)}</div>'))  # also half of an emoji, which UTF-8 cannot hold


def heading(title: object) -> Html:
    """A small heading. It looks like one of level 4, also where styles are removed, as on GitHub.

    In the outline it has level 2: notebooks and reports have a title before it, and perhaps nothing in between.
    """
    return Html(f'<h4 class="title" aria-level="2">{html(title)}</h4>')


def section(title: object, *blocks: object) -> Html:
    """The parts under a small heading."""
    return Html(f"<section>{heading(title)}{join(blocks)}</section>")


def columns(*blocks: object) -> Html:
    """The parts side by side, or stacked if there is not enough width."""
    return Html(f'<div class="columns">{"".join(f"<div>{html(block)}</div>" for block in blocks)}</div>')


def more(title: object, *blocks: object, is_open: bool = False) -> Html:
    """Parts that a click on the title line shows or hides."""
    state = " open" if is_open else ""
    return Html(f'<details class="more"{state}><summary>{html(title)}</summary>{join(blocks)}</details>')


def box(head: object, body: object, *, label: str, note: object = "") -> Html:
    """A framed part with a head line, and `note` at its right end. A group, not a landmark: pages have many."""
    head = f'<header role="presentation"><b>{html(head)}</b> <span class="note">{html(note)}</span></header>'
    return Html(f'<section class="box" role="group" aria-label="{escape(label)}">{head}{html(body)}</section>')


def bundle(html: str, text: str) -> dict[str, str]:
    """The mime bundle for an object's display, with tools for its trees in pages that run scripts.

    It has no JSON, which JupyterLab would show instead of the HTML. The HTML is a plain `str`: marimo refuses others.
    """
    return {"text/plain": storable(text), "text/html": str(with_tools(html))}


def quantity(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
