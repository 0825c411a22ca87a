"""Workflows that `import` and `init` write: valid YAML, and their commands run in the project without secrets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from svctoolkit.cli import main
from svctoolkit.project import import_workspace
from tests.imports import acme

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("git") is None, reason="needs git")]


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t.example", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, message: str) -> str:
    """Commit everything, and return the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def scripts(text: str) -> list[str]:
    """Return the scripts of the two jobs of a workflow for GitLab."""
    data = yaml.safe_load(text)
    return ["\n".join(data[job]["script"]) for job in ("suites", "replay")]


def run(script: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner does: with bash, stopping at the first error, without the values of `.env`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "TMPDIR", "PYTHONPATH")}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**kept, "PATH": path, "CI": "true", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small project of `init` with both workflows."""
    assert main(["init", str(tmp_path / "shop"), "--ci", "github"]) == 0
    (tmp_path / "other").mkdir()
    assert main(["init", str(tmp_path / "other"), "--ci", "gitlab"]) == 0
    shutil.copy(tmp_path / "other" / ".gitlab-ci.yml", tmp_path / "shop")
    (tmp_path / "shop" / "suites" / "events").mkdir()
    (tmp_path / "shop" / "suites" / "events" / "order.json").write_text(
        '{"type": "track", "event": "Order Completed", "userId": "u1", "messageId": "m1"}'
    )
    return tmp_path / "shop"


def test_the_workflow_for_github_uses_the_action(shop: Path) -> None:
    """With inputs that the action has, and defaults that are those of `init`. Other tests run the action's steps."""
    workflow = yaml.safe_load((shop / ".github/workflows/svctoolkit.yml").read_text())
    checkout, action, _artifact = workflow["jobs"]["suites"]["steps"]
    folder = ROOT / action["uses"].partition("@")[0].removeprefix("svctoolkit/svctoolkit/")
    inputs = yaml.safe_load((folder / "action.yml").read_text())["inputs"]

    assert checkout["with"]["fetch-depth"] == 0
    assert {name: inputs[name]["default"] for name in action["with"]} == action["with"]
    assert (shop / action["with"]["events"]).is_dir()
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}


def test_the_workflow_for_gitlab_runs(shop: Path) -> None:
    """Both jobs pass for a change that breaks nothing, and leave JUnit and the comparison."""
    base = commit(shop, "one")
    suites, replay = scripts((shop / ".gitlab-ci.yml").read_text())
    (shop / "clean.py").write_text((shop / "clean.py").read_text() + "\n\n# no change\n")

    ran = run(suites, shop, CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    replayed = run(replay, shop, CI_MERGE_REQUEST_DIFF_BASE_SHA=base)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "testsuite" in (shop / "build" / "junit.xml").read_text()
    assert "### Replay" in (shop / "build" / "replay.md").read_text()


def test_a_change_that_affects_no_scenario_passes(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 0, so that a change of the README does not fail a check; the terminal says why nothing ran."""
    base = commit(shop, "one")
    (shop / "README.md").write_text("changed")

    ran = run(f"svctoolkit run --changed {base}", shop)

    assert (ran.returncode, ran.stdout) == (0, "")
    assert f"nothing changed since {base}" in ran.stderr


def test_results_of_runs_are_ignored_by_git(shop: Path, tmp_path: Path) -> None:
    """`.svctoolkit/`, reports in `build/` and secrets in `.env` are never committed, in both kinds of projects."""
    import_workspace(acme.write(tmp_path / "export"), tmp_path / "acme", environ={}, with_suites=False, ci="github")

    for project in (shop, tmp_path / "acme"):
        commit(project, "one")
        for name in (".svctoolkit/failed.json", "build/junit.xml", ".env"):
            (project / name).parent.mkdir(exist_ok=True)
            (project / name).write_text("x")
        assert git(project, "status", "--porcelain") == ""
    assert (tmp_path / "acme" / ".github" / "workflows" / "svctoolkit.yml").is_file()


def test_the_hooks_of_pre_commit_run(shop: Path) -> None:
    """Each hook's command is valid; the scenarios of an uncommitted change run."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    commit(shop, "one")
    (shop / "clean.py").write_text("def transformEvent(event, metadata):\n    return None\n")

    files = {hook["id"]: " suites" if hook.get("pass_filenames", True) else "" for hook in hooks}
    results = {hook["id"]: run(hook["entry"] + files[hook["id"]], shop).returncode for hook in hooks}

    assert results == {"svctoolkit-check": 0, "svctoolkit-validate": 0, "svctoolkit-run": 1, "svctoolkit-secrets": 0}
