"""The README works where readers find it: on GitHub, on PyPI, and in a search."""

from __future__ import annotations

import re
from pathlib import Path

from readme_renderer import markdown

from svctoolkit.destinations import definitions

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
#: where GitHub serves files of the repository: pages and images
OWN = re.compile(
    r"https://(?:github\.com/svctoolkit/svctoolkit/blob/main|raw\.githubusercontent\.com/svctoolkit/svctoolkit/main)/(.+)"
)


def links() -> list[str]:
    """Every link and image of the README, except those in code."""
    text = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    return [*re.findall(r"\]\(([^)\s]+)\)", text), *re.findall(r'src(?:set)?="([^"]+)"', text)]


def test_the_first_lines_say_what_it_is() -> None:
    """Readers search for RudderStack, Segment, transformations, tracking plans."""
    first = README[:400]

    assert [
        word for word in ("RudderStack", "Segment", "transformations", "tracking", "Test") if word not in first
    ] == []


def test_every_link_is_absolute() -> None:
    """PyPI shows the same text and resolves no relative links."""
    assert [link for link in links() if not link.startswith("https://")] == []


def test_every_link_to_this_repository_names_a_file() -> None:
    paths = [match[1].partition("#")[0] for link in links() if (match := OWN.fullmatch(link))]

    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_it_renders_on_pypi() -> None:
    """With the renderer of PyPI: pictures, tables and code are there, and nothing needs Mermaid."""
    html = markdown.render(README)

    assert html is not None
    assert html.count("<img ") == README.count("<img ")
    assert html.count("<table") == len(re.findall(r"^\|---", README, re.MULTILINE)) >= 2
    assert "mermaid" not in README


def test_the_changelog_has_the_form_of_keep_a_changelog() -> None:
    """Versions with a date; Added, Changed or Fixed; one line for each entry."""
    text = (ROOT / ".github" / "CHANGELOG.md").read_text(encoding="utf-8")
    lines = text.split("\n## ", 1)[1].splitlines()
    versions = [line for line in text.splitlines() if line.startswith("## ")]

    assert [line for line in versions if not re.fullmatch(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", line)] == []
    assert {line for line in lines if line.startswith("### ")} <= {
        "### Added",
        "### Changed",
        "### Fixed",
        "### Removed",
    }
    assert [line for line in lines[1:] if line and not line.startswith(("- ", "## ", "### "))] == []


def test_the_number_of_destination_types_is_the_same_everywhere() -> None:
    """It is that of `svctoolkit definitions`. A type that somebody adds changes it."""
    pages = [ROOT / "README.md", *sorted((ROOT / "svctoolkit" / "docs").glob("*.md"))]
    numbers = [n for page in pages for n in re.findall(r"(\d+) destination types", page.read_text(encoding="utf-8"))]

    assert {*numbers} == {str(len(definitions.names()))}
