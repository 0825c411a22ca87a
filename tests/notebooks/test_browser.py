"""Each explorer works in JupyterLab and as a Voila dashboard, used as a person would.

Every test fails on errors in the browser's console, widgets that were not rendered, controls without a name, controls
that the Tab key does not reach, texts with little contrast, and parts that do not fit a narrow window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.notebooks import gallery
from tests.notebooks.browser import Jupyter, Sheet, jupyter
from tests.notebooks.visits import VISITS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebooks."""
    return gallery.written(tmp_path_factory.mktemp("notebooks"))


@pytest.fixture(scope="module")
def servers(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """One JupyterLab, one Voila and one browser for all tests."""
    with jupyter(folder, tmp_path_factory.mktemp("jupyter")) as running:
        yield running


def well_made(sheet: Sheet) -> None:
    """Checks that every explorer passes at any time."""
    sheet.settle()
    assert sheet.unrendered() == []
    assert sheet.nameless() == []
    assert sheet.skipped() == []
    assert sheet.faint() == []
    assert sheet.accessible() == []
    sheet.page.set_viewport_size({"width": 700, "height": 900})
    assert sheet.overflowing() == []
    sheet.page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize("name", gallery.NOTEBOOKS)
def test_explorers_work_in_jupyterlab(servers: Jupyter, tmp_path: Path, name: str) -> None:
    """In the light theme and in the dark one."""
    with servers.lab(name, tmp_path) as sheet:
        VISITS[name](sheet.explorer)
        well_made(sheet)
        sheet.dark()
        assert sheet.faint() == []
        assert sheet.accessible("color-contrast") == []


@pytest.mark.parametrize("name", gallery.NOTEBOOKS)
def test_explorers_work_as_dashboards(servers: Jupyter, tmp_path: Path, name: str) -> None:
    """In Voila, in the dark theme."""
    with servers.voila(name, tmp_path, theme="dark", color_scheme="dark") as sheet:
        VISITS[name](sheet.explorer)
        well_made(sheet)


#: Lets a result wait until the page has copied the state of all widgets.
LATE = """
import threading
from ipywidgets import Widget
from svctoolkit.widgets.transformation_editor.state import EditorState

copied, run = threading.Event(), EditorState.run
answer = Widget.__dict__["_handle_control_comm_msg"].__func__

def answer_and_tell(of, message):
    answer(of, message)
    copied.set()

def run_late(state):
    copied.wait(60)
    return run(state)

Widget._handle_control_comm_msg, EditorState.run = classmethod(answer_and_tell), run_late
"""


def test_a_page_that_joins_misses_no_result(servers: Jupyter, folder: Path, tmp_path: Path) -> None:
    """It copies the state of all widgets, and listens a moment later: what a thread shows in between arrives, too."""
    gallery.write(folder / "late.ipynb", LATE + gallery.NOTEBOOKS["transformation_editor"])
    with servers.voila("late", tmp_path, slower=20) as sheet:
        expect(sheet.page.get_by_text("saw").first).to_be_visible()
        expect(sheet.explorer.get_by_text("running", exact=True)).to_have_count(0)


def test_displays_and_grids_work_in_marimo(servers: Jupyter, tmp_path: Path) -> None:
    """Objects show their display, explorers their static view with a sentence; a grid is a widget of the page."""
    app = tmp_path / "shop.py"
    app.write_text(gallery.MARIMO, encoding="utf-8")
    with servers.marimo(app, tmp_path) as sheet:
        grid = sheet.page.get_by_role("grid", name="Rows")
        expect(grid.get_by_role("row").nth(1)).to_be_visible(timeout=60_000)
        expect(sheet.page.get_by_text("marimo shows the static view of a DestinationExplorer")).to_be_visible()
        expect(sheet.page.get_by_role("list", name="stages").first).to_contain_text("dest_transform")
        grid.press("End")
        expect(grid.get_by_role("row", selected=True)).to_contain_text("u-2")
        sheet.page.get_by_label("Search rows").fill("user: u-3")
        expect(sheet.page.get_by_text("71 of 500 rows")).to_be_visible()
        expect(sheet.page.get_by_text("Something went wrong")).to_have_count(0)


GOOD = '<button>Run</button><label>Name <input></label><div style="width: 300px; overflow: auto">text</div>'


@pytest.mark.parametrize(
    ("part", "check", "found"),
    [
        (GOOD, Sheet.nameless, []),
        ("<input>", Sheet.nameless, ["textbox"]),
        ("<button aria-label=' '></button>", Sheet.nameless, ["button"]),
        ("<svg role=img></svg>", Sheet.nameless, ["img"]),
        (GOOD, Sheet.skipped, []),
        ("<button>1</button><button tabindex=2>2</button>", Sheet.skipped, ["BUTTON 2"]),
        ('<button>1</button><button onfocus="this.blur()">2</button>', Sheet.skipped, ["BUTTON 2"]),
        (GOOD, Sheet.faint, []),
        ('<p style="color: #888">grey on white</p>', Sheet.faint, ["3.5: grey on white"]),
        ('<p style="background: #000">black on black</p>', Sheet.faint, ["1.0: black on black"]),
        ('<p style="color: #888; font-size: 24px">large</p>', Sheet.faint, []),
        (GOOD, Sheet.overflowing, []),
        ('<div style="width: 101%">wide</div>', Sheet.overflowing, ["DIV.: wide"]),
        (GOOD, Sheet.unrendered, []),
        ("<p class=jp-OutputArea-output>Error displaying widget</p>", Sheet.unrendered, ["Error displaying widget"]),
        ("<p class=jp-OutputArea-output>VBox(children=(...))</p>", Sheet.unrendered, ["VBox(children=(...))"]),
    ],
)
def test_the_checks_find_faults(
    servers: Jupyter, part: str, check: Callable[[Sheet], list[str]], found: list[str]
) -> None:
    """Each check finds its fault, and only that."""
    with servers.blank(f'<div class="svc-explorer">{part}</div>') as sheet:
        assert check(sheet) == found


def test_console_errors_are_noticed(servers: Jupyter) -> None:
    """Errors of scripts and of the console are; an image blocked from another host is not an error."""
    with servers.blank("<script>console.error('said')</script><script>undefined.x</script>") as sheet:
        assert sheet.errors == ["said", "Cannot read properties of undefined (reading 'x')"]
    with servers.blank("<img src='http://cdn.example/x.png'>") as sheet:
        assert sheet.errors == []
