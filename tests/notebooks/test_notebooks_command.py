"""`svctoolkit notebooks` copies the notebooks, keeps existing files, and opens JupyterLab."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from svctoolkit.cli import Exit, main
from tests.notebooks.normal import FOLDER, NOTEBOOKS

ROOT = FOLDER.parent


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def copy(folder: Path, *options: str) -> int:
    return main(["notebooks", str(folder), "--no-open", *options])


def test_it_copies_everything_that_the_notebooks_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Notebooks and the shop's files, byte for byte; the next step is printed."""
    code = copy(tmp_path / "mine")
    found = content(tmp_path / "mine")

    assert code == Exit.OK
    assert {notebook.name for notebook in NOTEBOOKS} <= found.keys()
    assert {"shop/workspace.yaml", "shop/events.ndjson", "shop/transformations/clean.js"} <= found.keys()
    assert all(body == (FOLDER / name).read_bytes() for name, body in found.items())
    assert f"next: jupyter lab {tmp_path / 'mine' / '1_quick_start.ipynb'}" in capsys.readouterr().out


def test_it_says_what_one_notebook_needs_in_addition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra for notebooks has no DuckDB, so that notebook 9 would fail in its second cell."""
    monkeypatch.setitem(sys.modules, "duckdb", None)  # as if it were not installed
    copy(tmp_path / "mine notebooks")
    printed = capsys.readouterr().out

    assert "9_a_warehouse.ipynb also needs duckdb: pip install 'svctoolkit[warehouse]'" in printed
    assert "jupyter lab '" in printed


def test_changed_files_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If one file differs nothing is written, not even missing files; --force writes all."""
    copy(tmp_path)
    (tmp_path / "1_quick_start.ipynb").write_text("mine")
    (tmp_path / "shop" / "workspace.yaml").unlink()
    before = content(tmp_path)
    refused = copy(tmp_path)
    after = content(tmp_path)
    told = capsys.readouterr().err
    forced = copy(tmp_path, "--force")

    assert (refused, forced) == (Exit.USAGE, Exit.OK)
    assert after == before
    assert f"{tmp_path / '1_quick_start.ipynb'}: exists with different content" in told
    assert "nothing was written; overwrite them with --force" in told
    assert content(tmp_path)["1_quick_start.ipynb"] == (FOLDER / "1_quick_start.ipynb").read_bytes()
    assert "shop/workspace.yaml" in content(tmp_path)


def test_identical_files_are_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second call writes nothing, and the reader's own files stay."""
    copy(tmp_path)
    (tmp_path / "my notes.txt").write_text("mine")
    capsys.readouterr()
    again = copy(tmp_path)

    assert again == Exit.OK
    assert capsys.readouterr().out.startswith("wrote 0 of ")
    assert (tmp_path / "my notes.txt").read_text() == "mine"


@pytest.mark.parametrize("there", ["shop", "shop/workspace.yaml/x"])
def test_it_copies_all_or_nothing(there: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in place of a folder, or a folder in place of a file, is an error, and nothing is copied."""
    blocked = tmp_path / there
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("in the way")
    code = copy(tmp_path, "--force")

    assert code == Exit.FAILED
    assert f"cannot write the notebooks to {tmp_path}" in capsys.readouterr().err
    assert content(tmp_path) == {there: b"in the way"}


def test_it_says_how_to_install_jupyterlab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without JupyterLab the notebooks are copied, and the install command is printed."""
    monkeypatch.setitem(sys.modules, "jupyterlab", None)
    code = main(["notebooks", str(tmp_path / "mine")])

    assert code == Exit.OK
    assert (tmp_path / "mine" / "1_quick_start.ipynb").is_file()
    assert "to run them, install jupyterlab: pip install jupyterlab 'svctoolkit[notebooks]'" in capsys.readouterr().out


@pytest.mark.slow
def test_a_fresh_install_has_the_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel contains them: the same files without a checkout."""
    monkeypatch.setenv("SVCTOOLKIT_EDITOR", "textarea")  # npm would take too long
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path / "dist"), versions=["standard"])
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site), wheel]
    subprocess.run(pip, check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "svctoolkit", "notebooks", "out", "--no-open"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    copy(tmp_path / "from checkout")

    assert content(tmp_path / "out") == content(tmp_path / "from checkout")
    assert not (site / "svctoolkit" / "_notebooks" / "images").exists()


@pytest.mark.slow
def test_jupyterlab_opens(tmp_path: Path) -> None:
    """The command starts JupyterLab, and the first notebook opens in the browser."""
    opened = tmp_path / "opened"
    browser = tmp_path / "browser.py"
    browser.write_text(f"import sys, os\nopen({str(opened)!r} + '~', 'w').write(sys.argv[1])\n")
    browser.write_text(browser.read_text() + f"os.replace({str(opened)!r} + '~', {str(opened)!r})\n")
    (tmp_path / "config").mkdir()
    settings = {"ServerApp": {"allow_root": True, "port": 0, "ip": "127.0.0.1"}}
    (tmp_path / "config" / "jupyter_server_config.json").write_text(json.dumps(settings))
    own = {name: str(tmp_path / "config") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    environment = {**os.environ, **own, "PYTHONPATH": str(ROOT), "BROWSER": f"{sys.executable} {browser} %s"}
    command = [sys.executable, "-m", "svctoolkit", "notebooks", "mine"]
    with (tmp_path / "log").open("wb") as log:
        lab = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 60
        while not opened.exists() and lab.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        said = (tmp_path / "log").read_text()

        assert opened.exists(), said
        page = opened.read_text()
        if page.startswith("file:"):
            page = re.search(r'href="(http[^"]+)"', Path(page.removeprefix("file://")).read_text()).group(1)
        assert page.partition("?")[0].endswith("/lab/tree/1_quick_start.ipynb")
        with urllib.request.urlopen(page, timeout=60) as answer:
            assert (answer.status, b"JupyterLab" in answer.read()) == (200, True)
    finally:
        os.killpg(lab.pid, signal.SIGTERM)
        lab.wait(60)
