"""Render Markdown to a folder of static HTML that a browser can open without a server."""

from __future__ import annotations

import html
import json
import posixpath
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from svctoolkit.cli._command import Command
from svctoolkit.cli._site import reference
from svctoolkit.cli._site.pages import DOCS, NAVIGATION, title
from svctoolkit.registry import Registry

_HERE = files("svctoolkit.cli._site")
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} · svctoolkit</title><link rel="stylesheet" href="{root}style.css"></head>
<body data-root="{root}"><input id="menu" type="checkbox" aria-label="Contents"><nav aria-label="Pages">
<a class="home" href="{root}index.html">svctoolkit</a><input id="search" type="search" placeholder="Search"
aria-label="Search the documentation"><ul id="hits"></ul>{navigation}</nav><main>{body}</main>
<aside aria-label="On this page">{contents}</aside>
<script src="{root}index.js"></script><script src="{root}search.js"></script></body></html>
"""


def write(folder: Path, commands: Registry[Command]) -> Path:
    """Write the site to `folder` and return its first page. Raises `OSError` if it cannot be written."""
    texts = {
        name: (DOCS / f"{name}.md").read_text("utf-8")
        for names in NAVIGATION.values()
        for name in names
        if (DOCS / f"{name}.md").is_file()
    }
    texts |= reference.pages(commands)
    index = []
    for name, text in texts.items():
        body, headings = _render(text)
        index += [[title(text), heading, f"{name}.html#{anchor}"] for _, heading, anchor in headings]
        file = folder / f"{name}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        root = "../" * name.count("/")
        page = {
            "title": html.escape(title(text)),
            "root": root,
            "navigation": _navigation(name, root, texts),
            "body": body,
            "contents": _contents(headings),
        }
        file.write_text(_PAGE.format_map(page), encoding="utf-8")
    (folder / "index.js").write_text(f"const INDEX = {json.dumps(index, ensure_ascii=False)};\n", encoding="utf-8")
    for asset in ("style.css", "search.js"):
        (folder / asset).write_text((_HERE / asset).read_text("utf-8"), encoding="utf-8")
    return folder / "index.html"


def _navigation(current: str, root: str, texts: dict[str, str]) -> str:
    sections = []
    for section, names in NAVIGATION.items():
        links = "".join(
            f'<li><a href="{root}{name}.html"{" aria-current=page" if name == current else ""}>'
            f"{html.escape(title(texts[name]))}</a></li>"
            for name in names
        )
        sections.append(f"<h2>{section}</h2><ul>{links}</ul>")
    return "".join(sections)


def _contents(headings: list[tuple[int, str, str]]) -> str:
    links = [f'<li><a href="#{anchor}">{html.escape(text)}</a></li>' for level, text, anchor in headings if level == 2]
    return f"<ul>{''.join(links)}</ul>" if len(links) > 1 else ""


def _render(text: str) -> tuple[str, list[tuple[int, str, str]]]:
    """The HTML of a page, and its headings: level, text, anchor."""
    import mistune

    headings: list[tuple[int, str, str]] = []

    class Renderer(mistune.HTMLRenderer):
        def heading(self, text: str, level: int, **_: Any) -> str:
            plain = html.unescape(re.sub("<[^>]*>", "", text))
            anchor = _anchor(plain)
            while anchor in {other for _, _, other in headings}:
                anchor += "-1"
            headings.append((level, plain, anchor))
            link = f'<a class="anchor" href="#{anchor}" aria-hidden="true">#</a>'
            return f'<h{level} id="{anchor}">{text}{link}</h{level}>\n'

        def link(self, text: str, url: str, title: str | None = None) -> str:
            if "://" not in url and not url.startswith("#"):
                path, mark, anchor = url.partition("#")
                url = f"{posixpath.normpath(path).removesuffix('.md')}.html{mark}{anchor}"
            return str(super().link(text, url, title))

        def table(self, text: str) -> str:
            return f'<div class="table"><table>{text}</table></div>\n'

    markdown = mistune.create_markdown(renderer=Renderer(escape=False), plugins=["table"])
    return str(markdown(text)), headings


def _anchor(heading: str) -> str:
    """The same anchor as GitHub, so that links work in both."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
