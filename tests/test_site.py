"""The documentation site is complete, has working links, and loads nothing from outside."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from svctoolkit.cli import COMMANDS, main
from svctoolkit.cli._site import open_search, pages, texts, write
from svctoolkit.cli._site.search import Search
from svctoolkit.destinations import definitions
from svctoolkit.expect.matchers import MATCHERS


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
def markdown() -> dict[str, str]:
    return texts(COMMANDS)


@pytest.fixture(scope="module")
def site(markdown: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    folder = tmp_path_factory.mktemp("site")
    write(folder, markdown)
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
    names = pages.names()

    assert list(pages.NAVIGATION) == ["Tutorials", "How to", "Reference", "Explanation"]
    assert len(names) == len(set(names)) == len(site)
    assert set(pages.titles()) == {name for name in names if not name.startswith("reference/")}


def test_pages_link_to_their_neighbours_and_name_files(site: dict[Path, Page]) -> None:
    """In the order of the navigation; a block of code that is a file has its name."""
    texts = {file.stem: file.read_text("utf-8") for file in site if file.parent.name not in ("sdk", "reference")}

    assert '<a rel="next" href="first-minute.html">' in texts["index"]
    assert 'rel="prev"' not in texts["index"]
    assert '<a rel="prev" href="recipes.html"><small>Previous</small>Recipes</a>' in texts["ci"]
    assert '<div class="file">.circleci/config.yml</div>' in texts["ci"]


def test_code_is_highlighted(site: dict[Path, Page]) -> None:
    """Python, YAML, shell, JavaScript and JSON have token classes; a table names the columns of its cells."""
    texts = {file.stem: file.read_text("utf-8") for file in site}

    assert '<span class="kn">import</span>' in texts["index"]
    assert '<span class="nt">scenarios</span>' in texts["suites"]
    assert '<span class="w"> </span>' in texts["ci"]
    assert '<span class="kd">' in texts["recipes"]
    assert 'data-label="what it is for"' in texts["comparison"]
    assert 'data-label=""' in texts["commands"]


def test_signatures_have_plain_types(markdown: dict[str, str]) -> None:
    """No quotes around types, no addresses of objects, one parameter per line in long ones."""
    python = markdown["reference/python"]

    assert "'str" not in python
    assert " at 0x" not in python
    assert "(self" not in python
    assert "    *,\n" in python


def test_pictures_have_variants(site: dict[Path, Page]) -> None:
    """For the dark theme, for phones, and for readers who prefer reduced motion; each exists."""
    front = next(page for file, page in site.items() if file.name == "index.html" and file.parent.name != "sdk")

    assert {"pictures/explorer-dark.png", "pictures/path-tall.svg", "pictures/one-line-still.svg"} <= set(
        front.addresses
    )


def test_references_are_complete(site: dict[Path, Page]) -> None:
    """Each command with its options, each matcher, each name of the front door, each key of a suite."""
    text = {file.stem: file.read_text("utf-8") for file in site if file.parent.name == "reference"}

    assert [n for n in COMMANDS if f"svctoolkit {n}" not in text["commands"]] == []
    assert "--fail-under PERCENT" in text["commands"]
    assert "svctoolkit plan check" in text["commands"]
    assert [n for n in MATCHERS if f'id="{n}"' not in text["matchers"]] == []
    assert 'id="svctoolkitworkspace"' in text["python"]
    assert "test_destination" in text["python"]
    inherited = ("dataplanedrain", "dataplanebreaches", "serviceclienttrack")
    assert [name for name in inherited if f'id="{name}"' not in text["python"]] == []
    assert "<code>recorder</code>" in text["yaml"]
    assert "webhookUrl" not in text["yaml"]


def test_the_site_can_be_written_to_any_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unwritable folder is one clear error."""
    assert main(["docs", "--build", str(tmp_path / "public")]) == 0
    assert f"wrote {tmp_path / 'public' / 'index.html'}" in capsys.readouterr().out
    (tmp_path / "file").write_text("")
    assert main(["docs", "--build", str(tmp_path / "file" / "x")]) == 1
    assert "cannot write the site" in capsys.readouterr().err


@pytest.fixture(scope="module")
def search(markdown: dict[str, str]) -> Iterator[Search]:
    with open_search(markdown) as search:
        yield search


#: what readers type, and the pages that answer it
QUERIES = {
    "github actions": "ci import",
    "pip": "installation first-minute faq",
    "docker": "containers data-plane ci faq",
    "authentication": "test-api troubleshooting faq",
    "troubleshooting": "troubleshooting",
    "faq": "faq",
    "gitlab": "ci",
    "mcp server": "agents reference/commands",
    "ai coding assistant": "agents",
    "jenkins": "ci",
    "circleci": "ci",
    "snowplow micro": "comparison",
    "exit code": "reference/commands troubleshooting",
    "ECONNREFUSED": "troubleshooting",
    "Required-Missing": "troubleshooting",
    "glossary": "glossary",
    "versioning": "guarantees",
    "limits": "guarantees",
    "PII": "recipes policies",
    "cypress": "recipes",
    "jest": "recipes",
    "android": "recipes",
    "ios": "recipes",
    "migrate python to javascript": "recipes",
    "currency": "recipes",
    "custom destination": "own-destinations",
    "retry": "suites data-plane simulations faq",
    "retries": "suites data-plane simulations faq",
    "CI": "ci import",
    "secret": "suites security",
    "install": "installation first-minute faq",
    "mock": "simulations suites faq",
    "macos": "security faq",
    "mask": "security",
    "export workspace": "rudderstack-export import",
    "dedupe": "data-plane reference/yaml",
    "how to assert": "suites",
    "RudderStack": "rudderstack-export comparison",
    "Segment": "comparison sdk/switching",
    "compare": "replay comparison",
    "timeout": "reference/yaml troubleshooting",
    "rudder-cli": "comparison import rudderstack-export",
    "klavyio": "catalogue",
    "FACEBOOK_PIXEL": "catalogue",
    "mixpanel": "catalogue sdk/switching",
    "transfromation": "transformations",
    "javascript library": "transformations",
    "python transformation": "transformations recipes",
    "tracking plan": "tracking-plans",
    "violations": "tracking-plans reference/yaml",
    "consent": "recipes sdk/privacy",
    "gdpr delete user": "deletion recipes",
    "warehouse snowflake": "warehouse",
    "dbt": "warehouse",
    "snapshot": "suites reference/commands",
    "matcher regex": "suites reference/matchers",
    "$each": "suites reference/matchers",
    "pytest fixture": "suites",
    "playwright": "recipes data-plane",
    "webhook source shopify": "sources source_catalogue",
    "environment variables": "environments workspace",
    "staging production": "environments",
    "batch size": "batches",
    "rate limit 429": "simulations batches suites data-plane",
    "sandbox": "security",
    "trust": "security",
    "fail-on": "replay reference/commands",
    "dead letter": "data-plane troubleshooting glossary",
    "write key": "data-plane sdk/answers faq",
    "virtual clock": "suites glossary",
    "revenue ga4 mixpanel": "recipes policies",
    "lineage": "lineage",
    "mutation testing": "mutate",
    "jupyter": "notebooks",
    "parquet": "replay",
    "openapi": "data-plane test-api",
}


def test_the_search_works_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A result can be printed with the command shown; nothing found is exit code 5, two requests are refused."""
    assert main(["docs", "--search", "transfromation library"]) == 0
    assert "  svctoolkit docs transformations#libraries\n" in capsys.readouterr().out
    assert main(["docs", "transformations#libraries"]) == 0
    assert capsys.readouterr().out.startswith("## Libraries\n")
    assert main(["docs", "transformations#librarys"]) == 4
    assert "unknown section of transformations 'librarys'. Did you mean 'libraries'?" in capsys.readouterr().err
    assert main(["docs", "--search", "qqqqq"]) == 5
    assert main(["docs", "--search", "retry", "--build", "public"]) == 4


def test_the_search_finds_every_destination_type(search: Search) -> None:
    """Its row of the catalogue is in the first three, also without a mapping; four have pages that say more."""
    wanted = [words for definition in definitions.all() for words in (definition.name, definition.display_name)]
    missed = [w for w in wanted if not any(entry["url"].startswith("catalogue.html") for entry in search(w, 3))]

    assert set(missed) <= {"Mixpanel", "USER", "WEBHOOK", "Webhook"}
    assert len(wanted) > 470


@pytest.mark.parametrize("query", QUERIES)
def test_the_search_finds_the_page(query: str, search: Search) -> None:
    """Among the first three results, also with typos and with the words of readers."""
    found = [entry["url"].partition(".html")[0] for entry in search(query, 3)]

    assert set(found) & set(QUERIES[query].split()), found
