"""A ratchet for CI: reports, accepted changes, changed lines only, and runs that cost only what changed."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from svctoolkit.cli import main

SUITE = """\
transformations:
  clean:
    language: python
    code: |
      def transformEvent(event, metadata):
          event["large"] = event["total"] > 100
          event["kind"] = event["kind"].lower()
          return event
scenarios:
  - name: a large order
    transformation: clean
    event: {type: track, total: 200, kind: A}
    expect: {user_transform: {large: true}}
  - name: a small order
    transformation: clean
    event: {type: track, total: 20, kind: A}
    expect: {user_transform: {large: false}}
"""
BOUNDARY = 'orders.suite.yaml:6  boundary: event["total"] > 100 -> event["total"] >= 100'


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite that does not check the boundary, nor one of its two fields."""
    (tmp_path / "orders.suite.yaml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def mutate(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command; return exit code, output and messages."""

    def run(*options: str) -> tuple[int, str, str]:
        code = main(["mutate", "--jobs", "1", *options])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_in_github_actions_the_job_has_a_summary(
    shop: Path, mutate: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is added to what earlier commands of the step wrote."""
    summary = shop / "summary.md"
    summary.write_text("earlier\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    mutate()

    assert summary.read_text().startswith("earlier\n")
    assert "boundary" in summary.read_text()


def test_reports(shop: Path, mutate: Callable[..., tuple[int, str, str]]) -> None:
    """The same verdicts as JSON, JUnit, HTML, Markdown and annotations. A line that is only run is unchecked."""
    extra = '          event["extra"] = 1\n          return event\n'
    (shop / "orders.suite.yaml").write_text(SUITE.replace("          return event\n", extra))
    names = ["json=m.json", "junit=m.xml", "html=m.html", "markdown=m.md", "github"]
    code, out, _ = mutate(*(option for name in names for option in ("--report", name)))
    data = json.loads((shop / "m.json").read_text())
    cases = ET.parse(shop / "m.xml").getroot().findall(".//testcase")

    assert code == 0
    assert "::warning file=orders.suite.yaml,line=6,title=not noticed::boundary: " in out
    assert len(data["verdicts"]) == len(cases) == data["changes"] == data["noticed"] + data["unnoticed"]
    (boundary,) = [v for v in data["verdicts"] if v["kind"] == "boundary"]
    assert (boundary["line"], boundary["status"]) == (6, "unnoticed")
    (negated,) = [v for v in data["verdicts"] if v["change"].endswith('event["total"] <= 100')]
    assert (negated["status"], negated["scenario"]) == ("noticed", "orders.suite.yaml::a-large-order")
    assert negated["names_place"] is True
    assert any("large" in line for line in negated["lines"])
    assert len([case for case in cases if case.find("failure") is not None]) == data["unnoticed"]
    assert data["lines"] == {
        "checked": ["orders.suite.yaml:6", "orders.suite.yaml:7"],
        "unchecked": ["orders.suite.yaml:8"],
        "uncovered": [],
    }
    assert "lines of code: 2 checked, 1 unchecked\n  unchecked: orders.suite.yaml:8\n" in out
    for page in ("m.html", "m.md"):
        assert "2 scenarios run this line, none fails" in (shop / page).read_text()


def test_accepted_changes_do_not_count_until_they_expire(
    shop: Path, mutate: Callable[..., tuple[int, str, str]]
) -> None:
    """They are listed with their reason; an expired one counts again, and one that is noticed is reported."""
    first = mutate("--fail-under", "100", "--write-accepted", "accepted.yaml", "--reason", "known")
    second = mutate("--fail-under", "100", "--accept", "accepted.yaml")
    text = (shop / "accepted.yaml").read_text()
    old = text.replace(text.partition("expires: '")[2][:10], "2026-01-01", 1)
    (shop / "accepted.yaml").write_text(f"{old}- {{change: other, reason: gone, expires: '2999-01-01'}}\n")
    third = mutate("--fail-under", "100", "--accept", "accepted.yaml")

    assert (first[0], second[0], third[0]) == (1, 0, 1)
    assert f"accepted:\n  {BOUNDARY}\n      known" in second[1]
    assert "no longer accepted since 2026-01-01: orders.suite.yaml boundary" in third[2]
    assert "accepted, but this change no longer exists: other; delete the entry" in third[2]


def test_a_second_run_costs_only_what_changed(shop: Path, mutate: Callable[..., tuple[int, str, str]]) -> None:
    """An unchanged project is not run again; with a scenario for the boundary, the verdict on it differs."""
    (first, second) = (mutate("--all")[1].partition("\n")[2] for _ in range(2))
    stored = json.loads((shop / ".svctoolkit" / "mutate.json").read_text())
    edge = SUITE.partition("  - name: a small")[2].replace("total: 20,", "total: 100,")
    (shop / "orders.suite.yaml").write_text(f"{SUITE}  - name: the edge, not a small{edge}")
    third = mutate("--all")[1]

    assert first == second
    assert stored
    assert f"not noticed:\n  {BOUNDARY}" in first
    assert f"noticed:\n  {BOUNDARY}" not in third.partition("\nnoticed:")[0]
    assert "orders.suite.yaml::the-edge-not-a-small-order" in third


def test_a_sample_is_the_same_for_the_same_seed(shop: Path, mutate: Callable[..., tuple[int, str, str]]) -> None:
    """Other seeds choose others."""
    samples = [mutate("--all", "--sample", "3", "--seed", seed)[1].partition("\n")[2] for seed in ("1", "1", "2", "3")]

    assert samples[0] == samples[1]
    assert len(set(samples)) > 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--report", "jsn=x"], "--report: unknown report 'jsn'. Did you mean 'json'?"),
        (["--report", "json"], "--report json: name the file: json=FILE"),
        (["--write-accepted", "a.yaml"], "--write-accepted needs --reason"),
        (["--reason", "x"], "--reason and --expires need --write-accepted"),
        (["--write-accepted", "a.yaml", "--reason", "x", "--expires", "2020-01-01"], "the date is in the past"),
        (["--sample", "0"], "--sample 0: must be at least 1"),
    ],
)
def test_wrong_options(shop: Path, mutate: Callable[..., tuple[int, str, str]], options: list[str], error: str) -> None:
    """They are refused before anything runs."""
    code, out, err = mutate(*options)

    assert (code, out) == (4, "")
    assert error in err
    assert sorted(path.name for path in shop.iterdir()) == ["orders.suite.yaml"]


@pytest.mark.slow
def test_only_changed_lines(shop: Path, mutate: Callable[..., tuple[int, str, str]]) -> None:
    """`--since` compares with git: the working tree has one other line."""

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments], check=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    same = mutate("--since", "HEAD")
    (shop / "orders.suite.yaml").write_text(SUITE.replace("> 100", "> 99"))
    changed = mutate("--since", "HEAD", "--all")
    unknown = mutate("--since", "nowhere")

    assert (same[0], same[1]) == (0, "")
    assert "nothing that can be changed differs from HEAD" in same[2]
    assert "orders.suite.yaml:6  boundary" in changed[1]
    assert "orders.suite.yaml:7 " not in changed[1]
    assert (unknown[0], "unknown revision 'nowhere'" in unknown[2]) == (4, True)


@pytest.mark.slow
def test_ctrl_c_reports_what_was_done(shop: Path) -> None:
    """The exit code is 2, and the verdicts so far are printed."""
    loop = '          while event["total"] > 1000:\n              event["total"] -= 1\n          return event\n'
    (shop / "orders.suite.yaml").write_text(SUITE.replace("          return event\n", loop).replace("200", "2000"))
    command = [sys.executable, "-m", "svctoolkit", "mutate", "--jobs", "1"]
    terminal, other = pty.openpty()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=other,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job ignores it
    )
    os.close(other)
    shown = ""
    while not re.search(r"\] [1-9]\d*/\d+ changes, about [\d.]+ \w+ left", shown):
        shown += os.read(terminal, 1000).decode()
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    os.close(terminal)

    assert process.returncode == 2
    assert "; interrupted after " in out


def test_coverage_shows_lines_that_are_run_but_not_checked(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As text, JSON and HTML, from the verdicts of the last `svctoolkit mutate`; apart from lines that are checked.

    A new scenario may check a line: it is not called unchecked any more, until its changes are judged again.
    """
    (shop / "orders.suite.yaml").write_text(
        SUITE.replace("          return", '          event["seen"] = True\n          return')
    )
    run = ["run", "--coverage", "--report", "console", "--report", "json=run.json", "--report", "html=run.html"]
    main(run)
    without = capsys.readouterr().out
    main(["mutate", "--jobs", "1"])
    capsys.readouterr()
    main(run)
    shown = capsys.readouterr().out
    lines = json.loads(Path("run.json").read_text())["coverage"]["checked_lines"]
    page = Path("run.html").read_text()
    with Path("orders.suite.yaml").open("a") as suite:
        suite.write(
            "  - {name: again, transformation: clean, event: {type: track, total: 1, kind: A},\n"
            "     expect: {user_transform: {seen: true}}}\n"
        )
    main(run)
    fresh = json.loads(Path("run.json").read_text())["coverage"]["checked_lines"]

    assert "lines checked" not in without
    assert re.search(r"lines checked +2 of 3 +only run: orders.suite.yaml clean.py:4\n", shown)
    assert lines["checked"] == ["orders.suite.yaml clean.py:2", "orders.suite.yaml clean.py:3"]
    assert lines["unchecked"] == ["orders.suite.yaml clean.py:4"]
    assert re.search(r"only run</td><td[^>]*>1 line</td><td[^>]*>orders.*?clean.py:4<", page)
    assert fresh["unchecked"] == []
