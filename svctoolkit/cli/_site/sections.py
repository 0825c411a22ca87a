"""Markdown pages as sections, and the entries of the search: one for each section and each row of a long table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import quote

from svctoolkit.cli._site.pages import title

#: `page`, `heading`, `text`, `url`: what the search indexes and shows
Entry: TypeAlias = dict[str, str]
_FENCE = re.compile(r"^(```|~~~)")
_LONG_TABLE = 12  # rows; each row of a longer table is found separately
_MARKUP = re.compile(r"`|\*\*|!?\[([^\[\]]*)\]\([^()]*\)|\\(?=[\[|])|<[^<>\s][^<>]*>")


@dataclass(slots=True)
class Section:
    """A heading and the lines below it, up to the next heading."""

    heading: str
    level: int
    anchor: str
    lines: list[str] = field(default_factory=list)

    @property
    def markdown(self) -> str:
        """The section with its heading."""
        return "\n".join([f"{'#' * self.level} {self.heading}", *self.lines]).rstrip()


def sections(text: str) -> list[Section]:
    """The sections of a page in order. A page starts with a heading. Anchors are those of GitHub."""
    found: list[Section] = []
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else re.match(r"^(#{1,6}) +(.+)$", line)
        if heading:
            plain = _plain(heading[2])
            anchor = re.sub(r"[^\w -]", "", plain.lower()).replace(" ", "-")
            while anchor in {section.anchor for section in found}:
                anchor += "-1"
            found.append(Section(plain, len(heading[1]), anchor))
        elif found:
            found[-1].lines.append(line)
    return found


def entries(texts: Mapping[str, str]) -> Iterator[Entry]:
    """What the search finds in pages, by their names."""
    for name, text in texts.items():
        for section in sections(text):
            url = f"{name}.html#{section.anchor}"
            rows = [line for line in section.lines if line.startswith("| ")]
            if len(rows) > _LONG_TABLE:
                yield from (_row(title(text), section.heading, row, url) for row in rows[1:])
            body = [line for line in section.lines if len(rows) <= _LONG_TABLE or not line.startswith("|")]
            body = [line for line in body if not _FENCE.match(line)]
            yield {"page": title(text), "heading": section.heading, "text": _plain(" ".join(body)), "url": url}


def _row(page: str, section: str, row: str, url: str) -> Entry:
    cells = [_plain(cell).strip() for cell in re.split(r"(?<!\\)\|", row.strip("| "))]
    # A text fragment: browsers scroll to these words below the anchor.
    place = f"{url}:~:text={quote(cells[0], safe='').replace('-', '%2D')}"
    return {"page": page, "heading": cells[0], "text": " · ".join([*filter(None, cells[1:]), section]), "url": place}


def _plain(markdown: str) -> str:
    return re.sub(r"\s+", " ", _MARKUP.sub(r"\1", markdown)).replace("&lt;", "<")
