"""Markdown to the HTML of a page: anchors, links between pages, highlighted code, tables for any width."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from svctoolkit.cli._site.sections import Section

_HEAD = re.compile(r"<th(?: [^>]*)?>(.*?)</th>", re.DOTALL)
_TERMINAL = re.compile(r"-(?:moving|still)\.svg$")
_LABELLED = 3  # columns; on a phone, the cells of such a table name their column
#: what the name of a picture with variants contains, what the other variant contains, and when it is shown
_VARIANTS = (
    ("-light.", "-dark.", "prefers-color-scheme: dark"),
    ("-wide.", "-tall.", "max-width: 760px"),
    ("-moving.", "-still.", "prefers-reduced-motion: reduce"),
)


def render(text: str, parts: list[Section]) -> str:
    """The HTML of a page. Its headings get the anchors of its sections, in order."""
    import mistune

    anchors = (part.anchor for part in parts)

    class Renderer(mistune.HTMLRenderer):
        def heading(self, text: str, level: int, **_: Any) -> str:
            anchor = next(anchors)
            link = f'<a class="anchor" href="#{anchor}" aria-label="Link to this section">#</a>'
            return f'<h{level} id="{anchor}">{text}{link}</h{level}>\n'

        def link(self, text: str, url: str, title: str | None = None) -> str:
            if "://" not in url and not url.startswith("#"):
                path, mark, anchor = url.partition("#")
                url = f"{posixpath.normpath(path).removesuffix('.md')}.html{mark}{anchor}"
            return str(super().link(text, url, title))

        def image(self, text: str, url: str, _title: str | None = None) -> str:
            shown = f'<img alt="{html.escape(text)}" src="{url}" loading="lazy">'
            other = [
                f'<source media="({media})" srcset="{url.replace(part, instead)}">'
                for part, instead, media in _VARIANTS
                if part in url
            ]
            shown = f"<picture>{''.join(other)}{shown}</picture>" if other else shown
            # Phones scroll through a terminal instead of shrinking its text.
            return f'<span class="terminal" tabindex="0">{shown}</span>' if _TERMINAL.search(url) else shown

        def block_code(self, code: str, info: str | None = None) -> str:
            language, _, file = (info or "").partition(" file=")
            caption = f'<div class="file">{html.escape(file)}</div>' if file else ""
            return f'{caption}<pre tabindex="0"><code>{highlight(code, language.partition(" ")[0])}</code></pre>\n'

        def table(self, text: str) -> str:
            return _table(text)

    markdown = mistune.create_markdown(renderer=Renderer(escape=False), plugins=["table"])
    return str(markdown(text))


def highlight(code: str, language: str) -> str:
    """Code as HTML with the token classes of Pygments; escaped and without them if the language is unknown."""
    from pygments import highlight as tokens
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if language == "python" and code.lstrip().startswith(">>>"):
        language = "pycon"
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        return html.escape(code)
    return str(tokens(code, lexer, HtmlFormatter(nowrap=True)))


def cards(page: str) -> str:
    """A page whose sections of level 3 are cards side by side."""
    grouped = re.sub(r"(<h3 .*?)(?=<h[123] |\Z)", r'<section class="card">\1</section>', page, flags=re.DOTALL)
    return re.sub(
        r'((?:<section class="card">.*?</section>)+)', r'<div class="cards">\1</div>', grouped, flags=re.DOTALL
    )


def _table(text: str) -> str:
    """A table that can scroll. On a phone, rows become lists of their cells; roles survive `display: block`."""
    heads = [html.escape(re.sub(r"<[^<>]*>", "", head)) for head in _HEAD.findall(text)]
    if not any(heads):
        text = re.sub(r"<thead>.*?</thead>", "", text, flags=re.DOTALL)
    labels = heads if len(heads) >= _LABELLED else [""] * len(heads)
    rows = re.sub(r"<tr>.*?</tr>", lambda row: _labelled(row[0], iter(labels)), text, flags=re.DOTALL)
    rows = re.sub(r"<th[^>]*></th>", '<td role="cell"></td>', rows)
    rows = rows.replace("<th>", '<th role="columnheader">').replace("<th ", '<th role="columnheader" ')
    return f'<div class="table" tabindex="0"><table role="table">{rows}</table></div>\n'


def _labelled(row: str, labels: Iterator[str]) -> str:
    cells = re.sub(r"<td([^>]*)>", lambda cell: f'<td role="cell" data-label="{next(labels)}"{cell[1]}>', row)
    return cells.replace("<tr>", '<tr role="row">')
