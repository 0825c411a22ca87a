"""A picture as an SVG file with its style, for documents and slides."""

from __future__ import annotations

import re

from svctoolkit.display import PICTURE_STYLE, STYLE, Html

# Only the colors, fonts and their themes: the rest of the style is for HTML.
_COLORS = STYLE.partition(".svc.svc *{")[0]
_PAPER = "rect.paper.paper.paper.paper{fill:var(--bg)}"


def svg_file(picture: Html) -> str:
    """Return the first drawing of a picture's HTML as the text of an SVG file, which follows the reader's theme.

    The title, the legend and the table are not part of it. Empty for an empty picture.

    >>> from svctoolkit.pictures import Days
    >>> days = Days("Failures", {"no price": {"2026-05-16": 2, "2026-05-17": 90}})
    >>> file = svg_file(days.html())
    """
    found = re.search(r'<svg class="picture[^"]*" role="img" viewBox="0 0 (\S+) (\S+)" (aria-label="[^"]*")>', picture)
    if found is None:
        return ""
    width, height, label = found.groups()
    shapes = picture[found.end() : picture.index("</svg>", found.end())]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" {label}><style>{_COLORS}{PICTURE_STYLE}{_PAPER}</style>'
        f'<g class="svc"><g class="picture"><rect class="paper" width="100%" height="100%"/>{shapes}</g></g></svg>\n'
    )
