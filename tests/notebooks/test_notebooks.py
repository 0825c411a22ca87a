"""The notebooks: stored so that changes can be read, run as their readers run them, and true to what they say."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from svctoolkit import Workspace
from svctoolkit.cli import main
from tests.notebooks.normal import FOLDER, NOTEBOOKS, normal

ROOT = FOLDER.parent
WIDGET = "application/vnd.jupyter.widget-view+json"
WIDGETS = "application/vnd.jupyter.widget-state+json"
EXPLORER = re.compile(r"^(\w+Explorer|\w+Editor|LiveEvents|SdkPlayground)\(", re.MULTILINE)
#: what a notebook's text says, and its outputs have to show
STORIES = {
    "1_quick_start": ['" mira.okafor@mail.example" -> "mira.okafor@mail.example"', "failed 503"],
    "2_a_destination_explored": [
        "'currency': 'USD'",
        "needs a value at properties.currency",
        "Did you mean 'debugMode'",
    ],
    "3_a_transformation": ["properties of undefined", "26 changed", "  79 -> 78", "521 same"],
    "4_a_whole_pipeline": ["dead after 3 attempts", "['o-90010', 'o-90011', 'o-90012']", "'opted out': 1"],
    "5_suites_and_coverage": ['expected "EUR", got "USD"', "expected 79, got 7900", "clean_v2.js:8", "clean_v2.js:9"],
    "6_results_as_dataframes": ["70 no longer failing", "USD"],
    "7_your_own_destination": ["It is one of eu, us", "orders and refunds, not 'Product Viewed'", "u-1003"],
}


def named(notebook: Path) -> str:
    return notebook.stem


def sources(notebook: Path) -> list[tuple[str, str]]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebooks as a reader has them: copied out, nowhere near the repository."""
    folder = tmp_path_factory.mktemp("notebooks") / "mine"
    assert main(["notebooks", str(folder), "--no-open"]) == 0
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Jupyter with folders of its own, so that nobody's settings have a say."""
    own = tmp_path_factory.mktemp("jupyter")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("JUPYTER", "LOOM_", "PYTEST_"))}
    private = {name: str(own / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    return {**kept, **private, "PYTHONPATH": str(ROOT), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


# --- stored


def test_there_are_seven() -> None:
    """They are numbered in the order of reading."""
    assert [notebook.name[:2] for notebook in NOTEBOOKS] == [f"{n}_" for n in range(1, 8)]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=named)
def test_it_is_stored_plain(notebook: Path) -> None:
    """No outputs, no numbers, no metadata, one line of source a line: a change to it can be read."""
    text = notebook.read_text(encoding="utf-8")
    ids = [cell["id"] for cell in json.loads(text)["cells"]]

    assert text == normal(text), "run python -m tests.notebooks.normal"
    assert len(ids) == len(set(ids))
    nbformat.validate(json.loads(text))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=named)
def test_it_is_a_story(notebook: Path) -> None:
    """It begins with its title, has words between short cells, and ends with something to try."""
    cells = sources(notebook)
    code = [text for kind, text in cells if kind == "code"]

    assert cells[0][1].startswith(f"# {notebook.name[0]} ")
    assert "## Something to try" in cells[-1][1]
    assert len(cells) - len(code) >= len(code) / 2
    assert max(len(text.splitlines()) for text in code) <= 25


def test_the_events_are_those_of_their_script() -> None:
    """`events.ndjson` is what `make_events.py` makes, to the letter."""
    script = FOLDER / "shop" / "make_events.py"
    made = subprocess.run(
        [sys.executable, "-c", "import make_events; print(make_events.text(), end='')"],
        cwd=script.parent,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=True,
    )

    assert made.stdout == (FOLDER / "shop" / "events.ndjson").read_bytes()


# --- run


def commands() -> list[str]:
    told = "\n".join(text for notebook in NOTEBOOKS for kind, text in sources(notebook) if kind == "markdown")
    return sorted(set(re.findall(r"`svctoolkit ([^`]+)`", told)))


@pytest.mark.parametrize("line", commands())
def test_commands_work(line: str, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command that a notebook tells its reader to try works where the notebook is."""
    monkeypatch.chdir(copied)

    assert main(shlex.split(line.replace(" --watch", ""))) == 0


def test_nbval(copied: Path, environment: dict[str, str]) -> None:
    """Every cell of every notebook runs, each notebook in a new kernel."""
    options = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=60", "-p", "no:cacheprovider", "-q"]
    command = [sys.executable, "-m", "pytest", *options, *(notebook.name for notebook in NOTEBOOKS)]
    done = subprocess.run(command, cwd=copied, env=environment, capture_output=True, text=True, timeout=300)
    cells = sum(kind == "code" for notebook in NOTEBOOKS for kind, _ in sources(notebook))

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^{cells} passed", done.stdout, re.M), done.stdout


class Executed:
    """A notebook after two runs in one kernel, widgets included, as nbconvert would save it."""

    def __init__(self, notebook: Path, folder: Path, environment: dict[str, str]) -> None:
        self.name = notebook.stem
        self.nodes = nbformat.read(folder / notebook.name, as_version=4)
        client = NotebookClient(
            self.nodes, timeout=60, allow_errors=True, resources={"metadata": {"path": str(folder)}}
        )
        with client.setup_kernel(env=environment):
            self._run(client)
            self.first = self.outputs()
            self._run(client)
            self.second = self.outputs()
            client.set_widgets_metadata()

    def _run(self, client: NotebookClient) -> None:
        client.reset_execution_trackers()
        for place, cell in enumerate(self.nodes.cells):
            if cell.cell_type == "code":
                client.execute_cell(cell, place)

    def outputs(self) -> list[Any]:
        return json.loads(json.dumps([cell.get("outputs", []) for cell in self.nodes.cells]))

    @property
    def told(self) -> str:
        """What a reader sees as text."""
        found = [one for outputs in self.second for one in outputs]
        return "\n".join(one.get("text") or one.get("data", {}).get("text/plain", "") for one in found)


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=named)
def executed(request: pytest.FixtureRequest, copied: Path, environment: dict[str, str]) -> Executed:
    return Executed(request.param, copied, environment)


def test_it_runs_again_and_again(executed: Executed) -> None:
    """No cell raises or writes to standard error, at the first run or at the second in the same kernel."""
    for outputs in (executed.first, executed.second):
        found = [one for cell in outputs for one in cell]

        assert [one for one in found if one["output_type"] == "error" or one.get("name") == "stderr"] == []


def test_it_shows_what_it_says(executed: Executed) -> None:
    """What the words between the cells claim stands in the outputs."""
    assert [text for text in STORIES[executed.name] if text not in executed.told] == []


def test_explorers_are_shown(executed: Executed) -> None:
    """A cell that ends with an explorer gives its widget, and HTML and text for where there are none."""
    for cell, outputs in zip(executed.nodes.cells, executed.second, strict=True):
        if cell.cell_type == "code" and EXPLORER.search(cell.source):
            shown = outputs[-1]["data"]

            assert {WIDGET, "text/html", "text/plain"} <= shown.keys()
            assert shown[WIDGET]["model_id"] in executed.nodes.metadata.widgets[WIDGETS]["state"]


def test_no_secret_is_shown_or_saved(executed: Executed) -> None:
    """Neither outputs nor the saved state of widgets have a secret of the workspace."""
    secrets = {*Workspace.load(FOLDER / "shop" / "workspace.yaml").secrets(), "st-stand-in-41c9"}
    saved = json.dumps([executed.first, executed.second, executed.nodes.metadata])

    assert len(secrets) > 3
    assert [secret for secret in secrets if secret in saved] == []
