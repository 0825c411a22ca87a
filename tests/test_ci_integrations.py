"""What the repository offers to other repositories: hooks for pre-commit. Their commands run here, in this process."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from svctoolkit.cli import main
from svctoolkit.project.workflows import PRE_COMMIT

ROOT = Path(__file__).parent.parent
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A project of `init`, which is the current folder."""
    assert main(["init", str(tmp_path / "shop")]) == 0
    monkeypatch.chdir(tmp_path / "shop")
    capsys.readouterr()
    return tmp_path / "shop"


def commit(folder: Path) -> None:
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"]):
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t.example", *arguments]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


def hook(name: str, *files: str) -> int:
    """Run a hook as pre-commit does: its entry, and the changed files if it accepts them."""
    program, *arguments = shlex.split(HOOKS[name]["entry"])
    assert program == "svctoolkit"
    return main([*arguments, *(files if HOOKS[name].get("pass_filenames", True) else ())])


def test_the_hook_that_checks_fails_for_a_mistake_in_the_workspace(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the place of the mistake; the files of a new project pass."""
    workspace = shop / "workspace.yaml"
    fine = hook("svctoolkit-check", "workspace.yaml")
    workspace.write_text(workspace.read_text().replace("\ndestinations:", "\ndestinatons:"))

    assert (fine, hook("svctoolkit-check", "workspace.yaml")) == (0, 4)
    assert "workspace.yaml:7:1: unknown key 'destinatons'. Did you mean 'destinations'?" in capsys.readouterr().err


@needs_git
def test_the_hook_that_runs_suites_runs_what_a_change_affects(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without changes it passes; a transformation that drops every event fails it."""
    commit(shop)
    unchanged = hook("svctoolkit-run", "clean.py")
    (shop / "clean.py").write_text("def transformEvent(event, metadata):\n    return None\n")

    assert (unchanged, hook("svctoolkit-run", "clean.py")) == (0, 1), capsys.readouterr()


def test_the_hook_for_secrets_gets_the_files(shop: Path) -> None:
    """It passes for a suite without secrets."""
    assert hook("svctoolkit-secrets", *map(str, Path("suites").glob("*.yaml"))) == 0


def test_documented_hooks_exist_and_start_for_the_files_of_a_project(shop: Path) -> None:
    """The configuration that `init` prints names existing hooks, which start for every file that matters."""
    (repository,) = yaml.safe_load(PRE_COMMIT)["repos"]
    named = [HOOKS[item["id"]] for item in repository["hooks"]]
    files = [os.path.relpath(path) for path in shop.rglob("*.*") if path.suffix in (".yaml", ".py")]

    assert len(named) == 3
    assert files
    assert all(re.search(item["files"], file) for item in named if "files" in item for file in files)
