"""What the repository offers to other repositories, run here: hooks for pre-commit and a GitHub Action."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
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


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A project of `init`, which is the current folder."""
    assert main(["init", str(tmp_path / "shop")]) == 0
    monkeypatch.chdir(tmp_path / "shop")
    capsys.readouterr()
    return tmp_path / "shop"


def commit(folder: Path) -> str:
    """Commit everything to a new repository, and return the commit."""
    said = ""
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"], ["rev-parse", "HEAD"]):
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t.example", *arguments]
        said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    return said.strip()


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


@pytest.mark.slow  # for git
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


ACTION = yaml.safe_load((ROOT / ".github" / "actions" / "svctoolkit" / "action.yml").read_text(encoding="utf-8"))
_PYTHON = """#!/bin/sh
if [ "$2" = pip ]; then echo "$@" >> "$LOG"; echo /home/runner/.cache/pip; else exec "$REAL" "$@"; fi
"""
_GH = """#!/bin/sh
echo gh "$@" >> "$LOG"
case "$*" in *--edit-last*) exit 1;; esac
"""


_SVCTOOLKIT = """#!/bin/sh
printf '%s\\n' "$@" > "$COMMAND"
mkdir -p build && echo written > build/replay.md
"""


class Runner:
    """Runs the shell steps of the action as GitHub does.

    Commands outside the shell are only logged: `python -m pip`, `gh`, and `svctoolkit`, which the tests run in this
    process, because starting it three times would take most of their time.
    """

    def __init__(self, folder: Path, temporary: Path, base: str, **inputs: str) -> None:
        self.folder, self.log, self.summary = folder, temporary / "log", temporary / "summary.md"
        self.output, self._command = temporary / "output", temporary / "command"
        for name, text in (("python", _PYTHON), ("gh", _GH), ("svctoolkit", _SVCTOOLKIT)):
            (temporary / "bin").mkdir(exist_ok=True)
            (temporary / "bin" / name).write_text(text)
            (temporary / "bin" / name).chmod(0o755)
        path = [str(temporary / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        self._environ = {
            "PATH": os.pathsep.join(path),
            "HOME": str(temporary),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
            "LOG": str(self.log),
            "COMMAND": str(self._command),
            "REAL": sys.executable,
        }
        self._values = {f"inputs.{name}": str(each["default"]) for name, each in ACTION["inputs"].items()}
        self._values |= {f"inputs.{name}": value for name, value in inputs.items()}
        self._values |= {"github.event.pull_request.base.sha": base, "github.event.number": "7"}

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        (step,) = [each for each in ACTION["runs"]["steps"] if each.get("name") == name]
        assert step["shell"] == "bash"
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / self._expand(step.get("working-directory", ".")),
            env=self._environ | {key: self._expand(value) for key, value in step.get("env", {}).items()},
            capture_output=True,
            text=True,
            check=False,
        )

    def command(self) -> list[str]:
        """The arguments of the last `svctoolkit`."""
        return self._command.read_text().splitlines()

    def _expand(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: self._values[match[1]], text)


@pytest.mark.slow  # for git
def test_the_action_reports_what_a_pull_request_breaks(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commands fail with annotations, and write JUnit, the summary and a replay, which becomes a comment."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (shop / "suites" / "events").mkdir()
    (shop / "suites" / "events" / "order.json").write_text(
        '{"type": "track", "event": "Order Completed", "userId": "u1", "messageId": "m1"}'
    )
    base = commit(shop)
    runner = Runner(shop.parent, tmp_path, base, **{"working-directory": "shop"})
    code = shop / "clean.py"
    code.write_text(code.read_text().replace('event.get("context") or {}', 'event["contxt"]'))

    runner.step("Run the suites that the change affects")
    assert runner.command()[:3] == ["run", "--changed", base]
    assert main(runner.command()) == 1
    assert re.search(r"^::error.*KeyError", capsys.readouterr().out, re.MULTILINE)
    assert "KeyError" in (shop / "build" / "junit.xml").read_text()
    assert runner.step("Write the job summary").returncode == 0
    assert "### ❌ Suites: " in runner.summary.read_text()

    assert runner.step("Replay events before and after the change").returncode == 0
    assert runner.summary.read_text().endswith("written\n")
    assert runner.command()[:4] == ["replay", "suites/events", "--before", base]
    assert main(runner.command()) == 0
    assert "### Replay" in (shop / "build" / "replay.md").read_text()
    assert runner.step("Comment on the pull request").returncode == 0
    assert runner.log.read_text().splitlines() == [
        "gh pr comment 7 --edit-last --body-file build/replay.md",
        "gh pr comment 7 --body-file build/replay.md",
    ]


@pytest.mark.slow  # for git
def test_the_action_runs_all_suites_without_the_base(shop: Path, tmp_path: Path) -> None:
    """A checkout without history is a warning, not a run of nothing; `paths` may name several files."""
    commit(shop)
    runner = Runner(shop, tmp_path, "0" * 40, paths="suites/orders.suite.yaml suites/analytics.suite.yaml")

    ran = runner.step("Run the suites that the change affects")
    (shop / "build" / "replay.md").unlink()
    replayed = runner.step("Replay events before and after the change")
    commented = runner.step("Comment on the pull request")

    assert ran.returncode == 0, ran.stderr
    assert "::warning::The base of the pull request is missing" in ran.stdout
    assert runner.command()[:4] == ["run", "suites/orders.suite.yaml", "suites/analytics.suite.yaml", "--trust-code"]
    assert (replayed.returncode, commented.returncode, runner.log.exists()) == (0, 0, False)


def test_the_action_installs_and_caches(tmp_path: Path) -> None:
    """The cache's key has no characters that a key cannot have, and follows the requirement."""
    keys = set()
    for requirement in ("svctoolkit[replay,dask]", "svctoolkit==0.1.0"):
        runner = Runner(tmp_path, tmp_path, "", requirement=requirement)
        assert runner.step("Find pip's cache").returncode == 0
        assert runner.step("Install svctoolkit").returncode == 0
        folder, key = runner.output.read_text().splitlines()[-2:]
        assert folder == "folder=/home/runner/.cache/pip"
        assert re.fullmatch(r"key=[0-9a-f]{16}-\d{4}-\d\d", key)
        assert runner.log.read_text().splitlines()[-1] == f"-m pip install --quiet {requirement}"
        keys.add(key)

    assert len(keys) == 2


def test_no_input_is_part_of_a_script() -> None:
    """Expressions are only in `env`, `with` and `working-directory`: text of a pull request cannot become code."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]

    assert len(scripts) == 6
    assert [script for script in scripts if "${{" in script] == []
