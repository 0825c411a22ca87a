"""The client's pages are true: their code runs, their tables name what there is."""

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
    """Each block by itself, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    exec(compile(code, "page", "exec", dont_inherit=True), {"__name__": "page"})


def test_every_page_has_code():
    """A page whose code no test runs would grow old."""
    assert [page.stem for page in PAGES if "```python" not in page.read_text()] == []
    assert len(PAGES) >= 5


def test_what_a_call_may_say_is_on_the_page():
    """Every keyword of a call, and every field of the statistics that the balance needs."""
    servers = next(page for page in PAGES if page.stem == "servers").read_text()
    help_page = next(page for page in PAGES if page.stem == "nothing-is-sent").read_text()

    assert [name for name in CallDetails.__annotations__ if f"`{name}`" not in servers] == []
    assert set(re.findall(r"[a-z]+", re.search(r"`(recorded \+ .*?)`", help_page)[1])) <= {*Stats._fields}  # type: ignore[index]


def test_pages_point_to_pages_that_exist():
    """Links between the pages."""
    links = {(page.name, link) for page in PAGES for link in re.findall(r"\]\(([^)#]+)", page.read_text())}

    assert [link for page, link in links if not (PAGES[0].parent / link).exists()] == []
