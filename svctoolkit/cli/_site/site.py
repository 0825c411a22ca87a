"""Write the pages to a folder of static HTML that a browser can open without a server."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from svctoolkit import __version__
from svctoolkit.cli._command import Command
from svctoolkit.cli._site import reference
from svctoolkit.cli._site.pages import DOCS, NAVIGATION, names, place, title
from svctoolkit.cli._site.render import cards, render
from svctoolkit.cli._site.search import SCRIPTS
from svctoolkit.cli._site.sections import Section, entries, sections
from svctoolkit.registry import Registry

_HERE = files("svctoolkit.cli._site")
_FRONT = "index"
_MOST_CONTENTS = 40  # sections listed next to a page; of longer pages, only those of level 2


def texts(commands: Registry[Command]) -> dict[str, str]:
    """The Markdown of every page by its name, in the order of the navigation; references are generated."""
    generated = reference.pages(commands)
    return {
        name: generated[name] if name in generated else (DOCS / f"{name}.md").read_text("utf-8") for name in names()
    }


def write(folder: Path, pages: Mapping[str, str]) -> Path:
    """Write the site of these `texts` to `folder` and return its first page.

    Raises `OSError` if it cannot be written.
    """
    template = _HERE.joinpath("template.html").read_text("utf-8")
    for name in pages:
        file = folder / f"{name}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(template.format_map(_page(name, pages)), encoding="utf-8")
    index = json.dumps(list(entries(pages)), ensure_ascii=False)
    (folder / "index.js").write_text(f"const INDEX = {index};\n", encoding="utf-8")
    for asset in ("style.css", "theme.js", "search.js", *SCRIPTS, "minisearch/LICENSE.txt"):
        name = asset.rpartition("/")[2].replace("LICENSE", "minisearch-license")
        (folder / name).write_text(_HERE.joinpath(asset).read_text("utf-8"), encoding="utf-8")
    (folder / "pictures").mkdir(exist_ok=True)
    for picture in (DOCS / "pictures").iterdir():
        (folder / "pictures" / picture.name).write_bytes(picture.read_bytes())
    return folder / f"{_FRONT}.html"


def _page(name: str, pages: Mapping[str, str]) -> dict[str, str]:
    """What the template shows of a page."""
    text, root, front = pages[name], "../" * name.count("/"), name == _FRONT
    parts = sections(text)
    body = render(text, parts)
    heading = html.escape(title(text))
    return {
        "name": name,
        "version": __version__,
        "title": f"{heading}: test event pipelines offline" if front else f"{heading} · svctoolkit",
        "description": html.escape(_first_paragraph(text)),
        "style": "front" if front else "page",
        "root": root,
        "navigation": _navigation(name, root, pages),
        "kind": "" if front else f'<p class="kind">{" · ".join(filter(None, place(name)))}</p>',
        "body": cards(body) if front else body,
        "contents": "" if front else _contents(parts),
        "neighbours": _neighbours(name, root, pages),
    }


def _first_paragraph(text: str) -> str:
    """The first words of a page without markup, for search engines."""
    paragraph = next((part for part in text.split("\n\n")[1:] if part.strip() and part[0] not in "`#|!"), "")
    return re.sub(r"\s+", " ", re.sub(r"\[([^\[\]]*)\]\([^()]*\)|[`*]", r"\1", paragraph)).strip()[:160]


def _navigation(current: str, root: str, texts: Mapping[str, str]) -> str:
    """All pages by kind. The kind of the current page is unfolded; on the front page, all are."""
    kinds = []
    for kind, groups in NAVIGATION.items():
        lists = ""
        for group, pages in groups.items():
            links = "".join(
                f'<li><a href="{root}{name}.html"{" aria-current=page" if name == current else ""}>'
                f"{html.escape(title(texts[name]))}</a></li>"
                for name in pages
            )
            lists += (f"<p>{group}</p>" if group else "") + f"<ul>{links}</ul>"
        is_open = " open" if current == _FRONT or kind == place(current)[0] else ""
        kinds.append(f"<details{is_open}><summary>{kind}</summary>{lists}</details>")
    return "".join(kinds)


def _neighbours(current: str, root: str, texts: Mapping[str, str]) -> str:
    """Links to the previous and the next page of the navigation."""
    pages = list(texts)
    number = pages.index(current)
    links = ""
    for way, label, other in (("prev", "Previous", number - 1), ("next", "Next", number + 1)):
        if 0 <= other < len(pages):
            name = html.escape(title(texts[pages[other]]))
            links += f'<a rel="{way}" href="{root}{pages[other]}.html"><small>{label}</small>{name}</a>'
    return f'<div class="neighbours">{links}</div>'


def _contents(parts: list[Section]) -> str:
    links = [
        f'<li class="level{part.level}"><a href="#{part.anchor}">{html.escape(part.heading)}</a></li>'
        for part in parts
        if part.level in (2, 3)
    ]
    if len(links) > _MOST_CONTENTS:
        links = [link for link in links if 'class="level2"' in link]
    return f"<p>On this page</p><ul>{''.join(links)}</ul>" if len(links) > 1 else ""
