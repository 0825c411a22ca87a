"""`svctoolkit mutate --runner pytest`: changes that tests in Python notice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

WORKSPACE = """\
sources:
  web: {destinations: [hook]}
  app: {destinations: [audit]}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: clean}
  audit: {type: WEBHOOK, config: {webhookUrl: https://audit.example/in}}
  extra: {type: WEBHOOK, config: {webhookUrl: https://extra.example/in}}
transformations:
  clean:
    language: python
    code: |
      def transformEvent(event, metadata):
          event["seen"] = True
          event["cents"] = event["total"] * 100
          return event
"""
TESTS = """\
import os
from pathlib import Path
from svctoolkit import Workspace
from svctoolkit.pytest_plugin import assert_delivered

def test_cents(data_plane):
    data_plane.send({"type": "track", "event": "E", "userId": "u1", "total": 2}, source="web")
    assert_delivered(data_plane, {"body": {"cents": 200}})

def test_nothing():
    with Path("runs").open("a") as file:
        file.write("run ")
"""
MODULE = """\
from svctoolkit import Workspace
WORKSPACE = Workspace.load("workspace.yaml")

def test_the_url():
    assert WORKSPACE.destination("extra").config["webhookUrl"] == "https://extra.example/in"
"""
SUITE = """\
workspace: workspace.yaml
scenarios:
  - name: audit
    source: app
    send: {type: track, event: E, userId: u1}
    expect: {delivered: [{method: POST}]}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project whose tests are a file with the fixtures, one with its own workspace, and a suite."""
    for name, text in {
        "workspace.yaml": WORKSPACE,
        "test_cents.py": TESTS,
        "test_module.py": MODULE,
        "audit.suite.yaml": SUITE,
        "pytest.ini": "[pytest]\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def mutate(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a new process, as a user does."""
    command = [sys.executable, "-m", "svctoolkit", "mutate", "--runner", "pytest", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_tests_notice_changes(shop: Path) -> None:
    """By a fixture, by a workspace that a module loads, by a suite next to them; each names the test that fails.

    A test that uses no workspace runs once, without a change. No file differs afterwards.
    """
    before = {file: file.read_bytes() for file in shop.iterdir()}

    done = mutate(shop, "--report", "json=verdicts.json")
    verdicts: list[dict[str, Any]] = json.loads((shop / "verdicts.json").read_text())["verdicts"]
    by_change = {verdict["change"]: verdict for verdict in verdicts}

    assert done.returncode == 0, done.stderr
    assert by_change["100 -> 10"]["scenario"] == "test_cents.py::test_cents"
    assert by_change['event["seen"] = True -> removed']["status"] == "unnoticed"
    assert by_change['extra.config.webhookUrl: https://extra.example/in -> ""']["scenario"].startswith("test_module.py")
    assert by_change["audit.config.webhookMethod: POST -> PUT"]["scenario"] == "audit.suite.yaml::audit"
    assert by_change["hook.config.webhookMethod: POST -> PUT"]["reason"] == "2 tests use it, none fails"
    assert (shop / "runs").read_text() == "run "
    assert {file: file.read_bytes() for file in before} == before


def test_failing_tests_are_reported_and_nothing_is_changed(shop: Path) -> None:
    """With the test and its first line; the same for tests that cannot be collected."""
    (shop / "test_cents.py").write_text(TESTS.replace('"cents": 200', '"cents": 201'))
    red = mutate(shop)
    (shop / "test_cents.py").write_text("import no_such_module")
    broken = mutate(shop)

    assert (red.returncode, red.stdout) == (1, "")
    assert "nothing was changed: 1 test fails already. Fix the tests first" in red.stderr
    assert "test_cents.py::test_cents: " in red.stderr
    assert (broken.returncode, broken.stdout) == (1, "")
    assert "no_such_module" in broken.stderr
    assert "Traceback (most recent call last)" not in red.stderr + broken.stderr


def test_tests_without_a_workspace_from_a_file_are_named_as_such(shop: Path) -> None:
    """Such as unit tests of a client: there is user code next to them, but they do not use it."""
    folder = shop / "unit"
    folder.mkdir()
    (folder / "test_sum.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")

    done = mutate(shop, "unit")

    assert done.returncode == 5
    assert "the tests load no workspace from a file, and no suite is next to them" in done.stderr


HANGS = """\
import itertools
from svctoolkit import Workspace

def test_it_is_enabled(workspace):
    while not workspace.destination("audit").enabled:
        pass
"""
DRIVER = """\
import sys
from svctoolkit.pytest_plugin.mutation import with_tests

def work(tests):
    for _ in tests.measure():
        pass
    project = tests.project()
    changes = [change for change in project.changes if change.text == "destination audit disabled"]
    for verdict in tests.judge_all(project, changes, jobs=2):
        print(verdict.status, verdict.scenario, *verdict.lines, file=sys.stderr)

with_tests(["test_hangs.py"], work, seconds=1)
"""


def test_a_test_that_hangs_notices_the_change(shop: Path) -> None:
    """Its process is ended, and the verdict says so."""
    (shop / "test_hangs.py").write_text(HANGS)

    done = subprocess.run(
        [sys.executable, "-c", DRIVER], cwd=shop, capture_output=True, text=True, timeout=300, check=False
    )

    assert done.stderr.startswith("noticed test_hangs.py::test_it_is_enabled test_hangs.py::test_it_is_enabled: still")
