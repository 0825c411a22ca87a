"""How a report ends: causes, flaky scenarios, what has changed, and the job's summary in GitHub Actions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from svctoolkit.cli import main

SUITE = """
transformations: {clean: {file: clean.py}}
destinations: {hook: {type: WEBHOOK, transformation: clean, config: {webhookUrl: https://hook.example/in}}}
sources: {web: {destinations: [hook]}}
scenarios:
  - {name: one, send: {type: track, event: A, userId: u, properties: {}}, expect: {delivered: [{body: {event: A}}]}}
  - {name: two, send: {type: track, event: B, userId: u, properties: {}}, expect: {delivered: [{body: {event: B}}]}}
  - {name: three, send: {type: track, event: C, userId: u, properties: {}}, expect: {delivered: [{body: {event: C}}]}}
"""
GOOD = "def transformEvent(event, metadata):\n    return event\n"
BAD = "def transformEvent(event, metadata):\n    event['properties']['quantity'] += 1\n    return event\n"
FLAKY = """\
import random
def transformEvent(event, metadata):
    if event["event"] == "A" and event["properties"].setdefault("n", random.random()) < 0.5:
        raise ValueError("unlucky")
    return event
"""

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("s.suite.yaml").write_text(SUITE, encoding="utf-8")

    def command(code: str, *arguments: str) -> tuple[int, str]:
        Path("clean.py").write_text(code, encoding="utf-8")
        status = main(["run", "s.suite.yaml", *arguments])
        return int(status), capsys.readouterr().out

    return command


def test_a_run_ends_with_causes_and_what_changed(run: Run) -> None:
    """One line per cause, and the files that differ from when the failed scenarios last passed."""
    assert run(BAD)[1].count("changed since") == 0  # never green here
    assert run(GOOD)[0] == 0
    code, out = run(BAD)
    last = out.split("\n\n")[-2].splitlines()

    assert code == 1
    assert last[0].startswith("3 of 3 failures: KeyError: 'quantity' (clean.py:2")
    assert last[1] == "changed since the last green run: clean.py"
    assert run(GOOD)[0] == 0
    assert "changed since" not in run(GOOD)[1]


@pytest.mark.parametrize(
    ("name", "member"), [("html", "changed since the last green run: clean.py"), ("json", "clean.py")]
)
def test_reports_name_what_changed(name: str, member: str, run: Run) -> None:
    """The page says it above the failures; JSON has the names in its summary."""
    run(GOOD)
    run(BAD, "--report", f"{name}=out")

    assert member in Path("out").read_text(encoding="utf-8")
    run(GOOD, "--report", f"{name}=out")
    assert "changed since" not in Path("out").read_text(encoding="utf-8")


def test_pytest_names_what_changed(tmp_path: Path) -> None:
    """After its failures; what passed is in the cache of pytest."""
    (tmp_path / "s.suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    outs = []
    for code in (GOOD, BAD):
        (tmp_path / "clean.py").write_text(code, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "--trust-code", "s.suite.yaml"]
        outs.append(
            subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300).stdout
        )

    assert ["changed since the last green run: clean.py" in out for out in outs] == [False, True]


def test_repeated_runs_name_flaky_scenarios(run: Run) -> None:
    """Passed and failed runs of one scenario; one that always fails is not flaky."""
    code, out = run(FLAKY, "--repeat", "40", "-k", "one or two")
    flaky = [line for line in out.splitlines() if line.startswith("flaky: ")]

    assert code == 1
    assert len(flaky) == 1
    assert flaky[0].endswith(" of 40 runs failed: s.suite.yaml::one")
    assert "flaky: " not in run(BAD, "--repeat", "2")[1]


def test_github_gets_a_summary_and_one_annotation_per_cause(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary is added to what the step has written already; a report in Markdown replaces it."""
    summary = Path("summary.md")
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    _, out = run(BAD)
    text = summary.read_text(encoding="utf-8")

    assert out.count("::error ") == 1
    assert text.startswith("before\n### ❌ Suites: 3 failed")
    assert "3 of 3 failures: KeyError" in text.replace("\\", "")
    run(BAD, "--report", "markdown=own.md")
    assert summary.read_text(encoding="utf-8") == text
