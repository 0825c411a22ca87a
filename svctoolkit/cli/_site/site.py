"""Render Markdown to a folder of static HTML that a browser can open without a server."""

from __future__ import annotations

import html
import json
import posixpath
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from svctoolkit.cli._command import Command
from svctoolkit.cli._site import reference
from svctoolkit.cli._site.pages import DOCS, NAVIGATION, title
from svctoolkit.cli._site.search import SCRIPTS
from svctoolkit.cli._site.sections import Section, entries, sections
from svctoolkit.registry import Registry

_HERE = files("svctoolkit.cli._site")
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} · svctoolkit</title><link rel="stylesheet" href="{root}style.css"></head>
<body data-root="{root}"><input id="menu" type="checkbox" aria-label="Contents"><nav aria-label="Pages">
<a class="home" href="{root}index.html">svctoolkit</a><input id="search" type="search" placeholder="Search ( / )"
aria-label="Search the documentation" autocomplete="off"><ul id="hits" aria-live="polite"></ul>{navigation}</nav>
<main>{body}{neighbours}</main>
<aside aria-label="On this page">{contents}</aside>
<script src="{root}search.js"></script></body></html>
"""


def texts(commands: Registry[Command]) -> dict[str, str]:
    """The Markdown of every page by its name, in the order of the navigation; references are generated."""
    generated = reference.pages(commands)
    return {
        name: generated[name] if name in generated else (DOCS / f"{name}.md").read_text("utf-8")
        for names in NAVIGATION.values()
        for name in names
    }


def write(folder: Path, pages: Mapping[str, str]) -> Path:
    """Write the site of these `texts` to `folder` and return its first page.

    Raises `OSError` if it cannot be written.
    """
    for name, text in pages.items():
        file = folder / f"{name}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        root = "../" * name.count("/")
        parts = sections(text)
        page = {
            "title": html.escape(title(text)),
            "root": root,
            "navigation": _navigation(name, root, pages),
            "body": _render(text, parts),
            "contents": _contents(parts),
            "neighbours": _neighbours(name, root, pages),
        }
        file.write_text(_PAGE.format_map(page), encoding="utf-8")
    index = json.dumps(list(entries(pages)), ensure_ascii=False)
    (folder / "index.js").write_text(f"const INDEX = {index};\n", encoding="utf-8")
    for asset in ("style.css", "search.js", *SCRIPTS, "minisearch/LICENSE.txt"):
        name = asset.rpartition("/")[2].replace("LICENSE", "minisearch-license")
        (folder / name).write_text(_HERE.joinpath(asset).read_text("utf-8"), encoding="utf-8")
    (folder / "pictures").mkdir(exist_ok=True)
    for picture in (DOCS / "pictures").glob("*.svg"):
        (folder / "pictures" / picture.name).write_text(picture.read_text("utf-8"), encoding="utf-8")
    return folder / "index.html"


def _navigation(current: str, root: str, texts: Mapping[str, str]) -> str:
    sections = []
    for section, names in NAVIGATION.items():
        links = "".join(
            f'<li><a href="{root}{name}.html"{" aria-current=page" if name == current else ""}>'
            f"{html.escape(title(texts[name]))}</a></li>"
            for name in names
        )
        sections.append(f"<h2>{section}</h2><ul>{links}</ul>")
    return "".join(sections)


def _neighbours(current: str, root: str, texts: Mapping[str, str]) -> str:
    """Links to the previous and the next page of the navigation."""
    names = list(texts)
    place = names.index(current)
    links = ""
    for way, other in (("prev", place - 1), ("next", place + 1)):
        if 0 <= other < len(names):
            name = html.escape(title(texts[names[other]]))
            links += f'<a rel="{way}" href="{root}{names[other]}.html">{name}</a>'
    return f'<div class="neighbours">{links}</div>'


def _contents(parts: list[Section]) -> str:
    links = [f'<li><a href="#{part.anchor}">{html.escape(part.heading)}</a></li>' for part in parts if part.level == 2]
    return f"<ul>{''.join(links)}</ul>" if len(links) > 1 else ""


def _render(text: str, parts: list[Section]) -> str:
    """The HTML of a page. Its headings get the anchors of its sections, in order."""
    import mistune

    anchors = (part.anchor for part in parts)

    class Renderer(mistune.HTMLRenderer):
        def heading(self, text: str, level: int, **_: Any) -> str:
            anchor = next(anchors)
            link = f'<a class="anchor" href="#{anchor}" aria-hidden="true">#</a>'
            return f'<h{level} id="{anchor}">{text}{link}</h{level}>\n'

        def link(self, text: str, url: str, title: str | None = None) -> str:
            if "://" not in url and not url.startswith("#"):
                path, mark, anchor = url.partition("#")
                url = f"{posixpath.normpath(path).removesuffix('.md')}.html{mark}{anchor}"
            return str(super().link(text, url, title))

        def block_code(self, code: str, info: str | None = None) -> str:
            _, _, file = (info or "").partition(" file=")
            caption = f'<div class="file">{html.escape(file)}</div>' if file else ""
            return caption + str(super().block_code(code, info))

        def table(self, text: str) -> str:
            return f'<div class="table"><table>{text}</table></div>\n'

    markdown = mistune.create_markdown(renderer=Renderer(escape=False), plugins=["table"])
    return str(markdown(text))
