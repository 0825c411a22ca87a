"""The suites that svctoolkit writes, and its own, notice most changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from svctoolkit.cli import main
from svctoolkit.project import import_workspace
from tests.imports import acme

ROOT = Path(__file__).parents[2]


def percent(folder: Path, *options: str) -> float:
    """The share of changes that the suites of a project notice."""
    main(["mutate", "--report", f"json={folder / 'mutate.json'}", *options])
    data = json.loads((folder / "mutate.json").read_text())
    assert data["changes"] > 20
    assert not data["interrupted"]
    return float(data["percent"])


@pytest.mark.slow
def test_the_starter_suites_of_init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least 80 % (96 % when this was written)."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "shop"]) == 0
    monkeypatch.chdir(tmp_path / "shop")

    assert percent(tmp_path) >= 80


@pytest.mark.slow
def test_the_starter_suites_of_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least 80 % of a sample (all but one change of 207 when this was written)."""
    import_workspace(acme.write(tmp_path), tmp_path / "shop", environ={})
    monkeypatch.chdir(tmp_path / "shop")

    assert percent(tmp_path, "--sample", "30") >= 80


@pytest.mark.slow
def test_our_own_suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least 90 % (98 % when this was written: the rest are changes of texts without an effect)."""
    shutil.copytree(ROOT / "suites", tmp_path / "suites")
    monkeypatch.chdir(tmp_path)

    assert percent(tmp_path) >= 90
