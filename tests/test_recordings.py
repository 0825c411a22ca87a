"""The recordings of the terminal show what the commands print today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.recordings.diagram import DIAGRAMS
from tests.recordings.sessions import FOLDER, SESSIONS, pictures
from tests.recordings.terminal import Step, plain, svg


def test_the_failure_is_still_printed_so(tmp_path: Path) -> None:
    """`python -m tests.recordings` writes the pictures again."""
    for name, text in pictures("failure", tmp_path).items():
        assert text == (FOLDER / name).read_text("utf-8")


@pytest.mark.slow
def test_the_replay_is_still_printed_so(tmp_path: Path) -> None:
    """With git: one changed line, and what it changes at Mixpanel."""
    found = pictures("one-line", tmp_path)

    assert set(found) == {"one-line-moving.svg", "one-line-still.svg"}
    assert {name: (FOLDER / name).read_text("utf-8") for name in found} == found
    assert "plain e-mail addresses now reach mixpanel in 2,704 events" in found["one-line-still.svg"]


@pytest.mark.parametrize("name", DIAGRAMS)
def test_the_diagram_is_current(name: str) -> None:
    """Both forms come from one list of steps."""
    assert DIAGRAMS[name]() == (FOLDER / name).read_text("utf-8")


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*-moving.svg")), ids=lambda file: file.name)
def test_a_recording_needs_no_script(file: Path) -> None:
    """Styles alone move it, in both themes, and it stands still on request."""
    text = file.read_text("utf-8")

    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "prefers-color-scheme: dark" in text.replace("scheme:dark", "scheme: dark")
    assert "prefers-reduced-motion" in text
    assert file.name.removesuffix("-moving.svg") in SESSIONS


def test_a_session_keeps_colors_and_wraps_long_lines() -> None:
    """Markup in output is text, and no line is wider than the window."""
    text = svg([Step("echo <b>", f"\x1b[1;31mbad\x1b[0m & {'word ' * 40}")], "A test", moving=False)

    assert '<tspan class="b r">bad</tspan> &amp; word' in text
    assert "echo &lt;b&gt;" in text
    assert max(float(length) for length in re.findall(r'textLength="([\d.]+)"', text)) <= 92 * 8.4
    assert plain("\x1b[31mx\x1b[0m") == "x"
