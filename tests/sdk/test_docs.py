"""The client's documentation is true: its code runs, and its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from svctoolkit.sdk import Stats
from svctoolkit.sdk.events.details import CallDetails

PAGES = sorted((Path(__file__).parents[2] / "svctoolkit/docs/sdk").glob("*.md"))
BLOCKS = [
    pytest.param(block, id=f"{page.stem} {number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE))
]


@pytest.mark.parametrize("code", BLOCKS)
def test_the_code_of_the_pages_runs(code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Each block is run separately, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    exec(compile(code, "page", "exec", dont_inherit=True), {"__name__": "page"})


def test_every_page_has_code():
    """A page whose code is not tested would become outdated."""
    assert [page.stem for page in PAGES if "```python" not in page.read_text()] == []
    assert len(PAGES) >= 5


def test_all_keywords_and_statistics_are_documented():
    """Every keyword of a call, and every statistic that the balance needs."""
    servers = next(page for page in PAGES if page.stem == "servers").read_text()
    help_page = next(page for page in PAGES if page.stem == "nothing-is-sent").read_text()

    assert [name for name in CallDetails.__annotations__ if f"`{name}`" not in servers] == []
    assert set(re.findall(r"[a-z]+", re.search(r"`(recorded \+ .*?)`", help_page)[1])) <= {*Stats._fields}  # type: ignore[index]


def test_links_between_the_pages_work():
    """Every link leads to an existing page."""
    links = {(page.name, link) for page in PAGES for link in re.findall(r"\]\(([^)#]+)", page.read_text())}

    assert [link for page, link in links if not (PAGES[0].parent / link).exists()] == []
