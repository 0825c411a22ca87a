"""The documentation site is complete, has working links, and loads nothing from outside."""

from __future__ import annotations

import re
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path

import pytest

from svctoolkit.cli import COMMANDS, main
from svctoolkit.cli._site import pages, write
from svctoolkit.runner.expect.matchers import MATCHERS


class Page(HTMLParser):
    """The references of a page, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.addresses += [str(values[name]) for name in ("href", "src", "srcset") if values.get(name)]
        self.anchors += [str(values["id"])] if "id" in values else []
        if tag in ("table", "ul", "main", "nav", "pre", "div"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("table", "ul", "main", "nav", "pre", "div"):
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    folder = tmp_path_factory.mktemp("site")
    write(folder, COMMANDS)
    return {file: Page(file.read_text("utf-8")) for file in folder.rglob("*.html")}


def test_links_of_the_site_work_and_it_is_self_contained(site: dict[Path, Page]) -> None:
    """Files and headings exist; scripts and styles are the site's own, and anchors are unique."""
    broken = defaultdict(list)
    for file, page in site.items():
        assert len(set(page.anchors)) == len(page.anchors), file
        for address in page.addresses:
            path, _, anchor = address.partition("#")
            if path.startswith(("https://", "http://")):
                continue
            target = (file.parent / path).resolve() if path else file
            if not target.is_file() or (anchor and anchor not in site[target].anchors):
                broken[file.name].append(address)
    assert dict(broken) == {}
    loaded = [re.findall(r'(?:src|<link[^>]*href)="(https?:[^"]*)"', file.read_text("utf-8")) for file in site]
    assert not any(loaded)


def test_every_page_is_in_the_navigation(site: dict[Path, Page]) -> None:
    """Once, in one of the four parts; and every entry has a page."""
    names = [name for part in pages.NAVIGATION.values() for name in part]

    assert list(pages.NAVIGATION) == ["Tutorials", "How to", "Reference", "Explanation"]
    assert len(names) == len(set(names)) == len(site)
    assert set(pages.titles()) == {name for name in names if not name.startswith("reference/")}


def test_references_are_complete(site: dict[Path, Page]) -> None:
    """Each command with its options, each matcher, each name of the front door, each key of a suite."""
    text = {file.stem: file.read_text("utf-8") for file in site if file.parent.name == "reference"}

    assert [n for n in COMMANDS if f"svctoolkit {n}" not in text["commands"]] == []
    assert "--fail-under PERCENT" in text["commands"]
    assert "svctoolkit plan check" in text["commands"]
    assert [n for n in MATCHERS if f'id="{n}"' not in text["matchers"]] == []
    assert 'id="svctoolkitworkspace"' in text["python"]
    assert "test_destination" in text["python"]
    assert "<code>recorder</code>" in text["yaml"]
    assert "webhookUrl" not in text["yaml"]


def test_the_site_can_be_written_to_any_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unwritable folder is one clear error."""
    assert main(["docs", "--site", str(tmp_path / "public")]) == 0
    assert f"wrote {tmp_path / 'public' / 'index.html'}" in capsys.readouterr().out
    (tmp_path / "file").write_text("")
    assert main(["docs", "--site", str(tmp_path / "file" / "x")]) == 1
    assert "cannot write the site" in capsys.readouterr().err
