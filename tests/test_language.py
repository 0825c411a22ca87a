"""The project's texts read like plain English: certain unusual phrases may only become rarer.

This is a smoke detector: a text without any of them can still be unclear, and one of them can be right in its place.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples import some_by_default

ROOT = Path(__file__).parent.parent
#: phrases that stop readers, and replacements
PHRASES = {
    r"\bwhat (?:came|became|comes|becomes) of\b": "outcome, result",
    r"\bof (?:its|their|your|one's|his) own\b": "its own X",
    r"\b(?:is|are|was|were) no (?!longer|more|need)\w+": "is not a X",
    r"\b(?:is|are|has) none\b": "does not exist, has no X",
    r"\b(?:told|tells?)\b(?! apart)": "reported, says, prints",
    r"\bst(?:ands?|ood)\b(?! for\b| alone\b| out\b|-?in for)": "is in, is next to",
    r"\bbeside\b": "next to, in addition to",
    r"\b(?:nobody|somebody)\b": "no user, a client that",
    r"\bin vain\b|\bat hand\b|\bmend(?:ed|s|ing)?\b": "without effect, available, fix",
    r"\bof (?:which|whom)\b": "two sentences",
    r"\bso many\b|\bas many as\b": "N",
}
FOUND = [re.compile(phrase, re.IGNORECASE) for phrase in PHRASES]
ANY = re.compile("|".join(PHRASES), re.IGNORECASE)  # most texts have none
#: A comment: a line of its own, or behind code without a quote after it, because that may be in a text.
COMMENT = re.compile(r"""^[ \t]*#.*$|#[^"'\n]*$""", re.MULTILINE)
#: hits per 10,000 words allowed in a part of the project: lower them, never raise them
MOST = {"svctoolkit": 5.0, "markdown": 7.0, "tests": 10.0}


def texts_of_python(file: Path) -> Iterator[str]:
    """Docstrings, comments, and string literals that are sentences."""
    source = file.read_text(encoding="utf-8")
    yield from COMMENT.findall(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.value


def texts_of_markdown(file: Path) -> Iterator[str]:
    """The prose, without code."""
    text = re.sub(r"```.*?```", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    yield re.sub(r"`[^`\n]*`", "", text)


def texts(part: str) -> Iterator[tuple[Path, str]]:
    """Every text of a part of the project, with its file."""
    if part == "markdown":
        pages = [ROOT / "README.md", *(ROOT / ".github").rglob("*.md"), *(ROOT / "svctoolkit").rglob("*.md")]
        yield from ((page, text) for page in pages for text in texts_of_markdown(page))
    else:
        files = sorted((ROOT / part).rglob("*.py"))
        # This file lists the phrases; the attacks are hostile scripts in their authors' words.
        files = [file for file in files if file != Path(__file__) and "attacks" not in file.parts]
        yield from ((file, text) for file in files for text in texts_of_python(file))


@pytest.mark.parametrize("part", some_by_default(["markdown", "svctoolkit", "tests"], 1))
def test_unusual_phrases_only_become_rarer(part: str) -> None:
    """The failure names the files with the most of them. To parse the code takes seconds."""
    words, hits = 0, Counter[str]()
    for file, text in texts(part):
        words += len(text.split())
        if ANY.search(text) and (number := sum(len(found.findall(text)) for found in FOUND)):
            hits[str(file.relative_to(ROOT))] += number
    rate = 10_000 * hits.total() / words

    assert rate <= MOST[part], f"{rate:.1f} per 10,000 words; most of them in {hits.most_common(5)}"


def test_the_detector_finds_the_phrases() -> None:
    """Each pattern matches its phrase, and not the plain form."""
    riddle = "What became of it is told beside it: nobody mends what is no event, of which there are none of its own."
    plain = "The report shows the outcome next to it. No user fixes a line that is not an event."

    assert sum(bool(found.search(riddle)) for found in FOUND) >= 8
    assert not [found.pattern for found in FOUND if found.search(plain)]
