"""The notebooks are stored in a form that can be reviewed, run for their readers, and are true."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Workspace
from svctoolkit.cli import main
from tests.notebooks.normal import FOLDER, NOTEBOOKS, normal

ROOT = FOLDER.parent
WIDGET = "application/vnd.jupyter.widget-view+json"
EXPLORER = re.compile(r"^(\w+Explorer|\w+Editor|LiveEvents|SdkPlayground)\(", re.MULTILINE)
SECRETS = {*Workspace.load(FOLDER / "shop" / "workspace.yaml").secrets(), "st-stand-in-41c9"}
SANITIZE = Path(__file__).with_name("sanitize.cfg")
#: A notebook with outputs that its cells do not have, as text and as HTML.
WRONG = "wrong.ipynb"
WRONG_CELLS = [
    {
        "cell_type": "code",
        "id": f"wrong-{kind}",
        "source": f"get_ipython().display_pub.publish({{'text/{kind}': '5 events <b>in May</b>'}})",
        "outputs": [{"output_type": "display_data", "data": {f"text/{kind}": "6 events <b>in May</b>"}}],
    }
    for kind in ("html", "plain")
]
HOW = "run python -m tests.notebooks.record, and look at what it changes"
#: statements in a notebook's text that its outputs have to show
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
    "7_your_own_destination": ["It is one of eu, us", "expected an order or a refund", "u-1003"],
    "8_a_tracking_plan": [
        "must have required property 'currency'",
        "no currency {'2.8.1'}",
        "236 with violations",
        "('warehouse', 'dropped'): 1",
        "breaking: track 'Order Completed', 'revenue': has maximum 200 now, not 2000",
        "more violations",
        "must match pattern",
    ],
    "9_a_warehouse": [
        "it becomes 63",
        "revenue_cents",
        "m-000001",
        "6 tables: 4 columns and the rows of 0 tables differ",
    ],
    "10_a_month": [
        "new: text",
        "86 failed",
        "86 no longer failing",
        "goes nowhere: properties.order_id",
        "2 of them added",
    ],
    "11_what_vendors_hold": [
        "bz.identify.same_label",
        "18.6% of 521 events lost",
        "mp.import.insert_id",
        "nothing of 521 events lost",
    ],
    "12_a_shopify_order": [
        "params.value <- body.total_price",
        "400 Invalid topic in query_parameters",
        "no_personal: ga4: body.JSON.events.*.params.email has an e-mail address (Order Created)",
    ],
    "13_rules_that_hold": [
        "privacy: 437 events at analytics, from context.traits.email",
        "after:  []",
        "437 analytics changed body.JSON.user_properties",
        "params.query has an e-mail address (Search)",
    ],
}


def named(notebook: Path) -> str:
    return notebook.stem


def sources(notebook: Path) -> list[tuple[str, str]]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebooks as a reader has them: copied to a folder outside the repository."""
    folder = tmp_path_factory.mktemp("notebooks") / "mine"
    assert main(["notebooks", str(folder), "--no-open"]) == 0
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Jupyter with separate folders, so that the user's settings have no effect."""
    own = tmp_path_factory.mktemp("jupyter")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("JUPYTER", "LOOM_", "PYTEST_"))}
    private = {name: str(own / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    return {
        **kept,
        **private,
        "PYTHONPATH": str(ROOT),
        "SVCTOOLKIT_PROGRESS": "off",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


# --- stored form


def test_notebooks_are_numbered() -> None:
    """In the order of reading."""
    numbers = [int(notebook.name.partition("_")[0]) for notebook in NOTEBOOKS]

    assert numbers == sorted(set(numbers))
    assert len(numbers) >= 8


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=named)
def test_notebooks_are_stored_in_normal_form(notebook: Path) -> None:
    """Outputs without widgets and scripts, no metadata, one line of source per line: changes can be reviewed."""
    text = notebook.read_text(encoding="utf-8")
    ids = [cell["id"] for cell in json.loads(text)["cells"]]

    assert text == normal(text), "run python -m tests.notebooks.normal"
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=named)
def test_stored_outputs_tell_the_story(notebook: Path) -> None:
    """They are readable where nothing runs, such as on GitHub, and are small enough to be shown there."""
    cells = [
        cell["outputs"] for cell in json.loads(notebook.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    stored = Run(notebook, cells)

    assert [text for text in STORIES[notebook.stem] if text not in stored.text()] == [], HOW
    assert [output for cell in cells for output in cell if output["output_type"] == "error"] == []
    assert [secret for secret in SECRETS if secret in json.dumps(cells)] == []
    assert len(notebook.read_bytes()) < 500_000


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_headings_skip_no_level(notebook: Path) -> None:
    """Those of the text and of displays together: screen readers go from one to the next (axe's `heading-order`)."""
    levels, of_displays = [0], 0
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            levels += [len(found) for found in re.findall(r"^(#+) ", "".join(cell["source"]), re.MULTILINE)]
        for output in cell.get("outputs", ()):
            shown = "".join(output.get("data", {}).get("text/html", ""))
            found = re.findall(r"<h([1-6])(?:[^<>]*aria-level=.(\d))?", shown)
            levels += [int(stated or tag) for tag, stated in found]
            of_displays += len(found)

    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []
    assert of_displays or notebook.stem.startswith("13_")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=named)
def test_a_notebook_has_title_text_and_exercise(notebook: Path) -> None:
    """It begins with its title, has text between short cells, and ends with something to try."""
    cells = sources(notebook)
    code = [text for kind, text in cells if kind == "code"]

    assert cells[0][1].startswith(f"# {notebook.name.partition('_')[0]} ")
    assert "## Try it yourself" in cells[-1][1]
    assert len(cells) - len(code) >= len(code) / 2
    assert max(len(text.splitlines()) for text in code) <= 25


def test_the_events_are_generated_by_their_script() -> None:
    """`events.ndjson` is byte for byte the output of `make_events.py`."""
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
def test_commands_in_notebooks_work(line: str, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command that a notebook suggests works in its folder."""
    monkeypatch.chdir(copied)

    assert main(shlex.split(line.replace(" --watch", ""))) == 0


class Run:
    """The outputs of one notebook's cells, of the first run and of a second one in the same kernel."""

    def __init__(self, notebook: Path, cells: list[list[dict[str, Any]]]) -> None:
        self.name = notebook.stem
        self.sources = [source for kind, source in sources(notebook) if kind == "code"]
        self.cells = cells

    def text(self) -> str:
        """The text that a reader sees."""
        outputs = [output for cell in self.cells for output in cell]
        texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
        return "\n".join(map("".join, texts))


@pytest.fixture(scope="module")
def nbval(copied: Path, environment: dict[str, str]) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """One strict run of nbval over all notebooks, each in its own kernel.

    All cells run twice; the outputs of the first run are compared with the stored ones, HTML too. A last notebook has
    stored outputs that are wrong.
    """
    import nbformat

    for path in NOTEBOOKS:
        node = nbformat.read(path, as_version=4)
        nbformat.validate(node)
        ignored = {"metadata": {"tags": ["nbval-ignore-output"]}}
        node.cells += [nbformat.from_dict({**cell, **ignored, "id": f"again-{n}"}) for n, cell in enumerate(node.cells)]
        nbformat.write(node, copied / path.name)
    (copied / WRONG).write_text(normal(json.dumps({"cells": WRONG_CELLS})), encoding="utf-8")
    outputs = copied / "outputs.json"
    strict = ["--nbval", "--nbval-sanitize-with", str(SANITIZE), "--rootdir", str(copied), "-vv", "--tb=short"]
    options = [*strict, "--nbval-current-env", "--nbval-cell-timeout=60", "-p", "no:cacheprovider", "-q"]
    ours = ["-p", "tests.notebooks.outputs", "--outputs", str(outputs)]
    names = [*(notebook.name for notebook in NOTEBOOKS), WRONG]
    command = [sys.executable, "-m", "pytest", *options, *ours, *names]
    process = subprocess.run(command, cwd=copied, env=environment, capture_output=True, text=True, timeout=600)
    return process, json.loads(outputs.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_every_cell_runs_twice_and_shows_what_is_stored(nbval: tuple[subprocess.CompletedProcess[str], Any]) -> None:
    """Every cell of every notebook runs, and runs again in the same kernel. Its outputs are the stored ones."""
    process, _ = nbval
    cells = 2 * sum(kind == "code" for notebook in NOTEBOOKS for kind, _ in sources(notebook))
    report = re.sub(r"\x1b\[\d*m", "", process.stdout)

    failed = re.findall(r"^FAILED (.+?) - ", report, re.M)
    assert failed == [f"{WRONG}::Cell {n}" for n in range(len(WRONG_CELLS))], f"{HOW}\n{report}{process.stderr}"
    assert f"{len(failed)} failed, {cells} passed" in report


@pytest.fixture(params=NOTEBOOKS, ids=named)
def run(request: pytest.FixtureRequest, nbval: tuple[Any, dict[str, Any]]) -> Run:
    return Run(request.param, nbval[1][request.param.stem])


@pytest.mark.slow
def test_cells_write_no_errors(run: Run) -> None:
    """No cell raises or writes to standard error, in either run."""
    outputs = [output for cell in run.cells for output in cell]

    assert outputs
    assert [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"] == []


@pytest.mark.slow
def test_outputs_show_what_the_text_says(run: Run) -> None:
    """Statements between the cells are in the outputs."""
    assert [text for text in STORIES[run.name] if text not in run.text()] == []


@pytest.mark.slow
def test_explorers_are_shown(run: Run) -> None:
    """A cell that ends with an explorer shows its widget, and HTML and text as alternatives."""
    for source, outputs in zip(run.sources * 2, run.cells, strict=True):
        if EXPLORER.search(source):
            assert {WIDGET, "text/html", "text/plain"} <= outputs[-1]["data"].keys()


@pytest.mark.slow
def test_no_secret_is_shown(run: Run) -> None:
    """No output has a secret of the workspace. (What widgets save is tested with each explorer.)"""
    outputs = json.dumps(run.cells)

    assert len(SECRETS) > 3
    assert [secret for secret in SECRETS if secret in outputs] == []
