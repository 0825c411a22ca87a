"""Options of `svctoolkit run`: shards, repetition, timings, and scenarios affected by a workspace change."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.cli import main
from svctoolkit.workspace import Person

WORKSPACE = """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  lake: {type: WEBHOOK, config: {webhookUrl: https://lake.example/in}}
sources: {web: {destinations: [hook]}, app: {destinations: [lake]}}
"""
SUITE = """
workspace: workspace.yaml
scenarios:
  - {name: one, source: web, send: {type: track, event: A, userId: u}, expect: {delivered: [{}]}}
  - {name: two, source: app, send: {type: track, event: A, userId: u}, expect: {delivered: [{}]}}
  - {name: three, destination: hook, event: {type: track, event: A, userId: u}, expect: {dest_transform: [{}]}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    Path("s.suite.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command in a folder with a suite of three scenarios."""
    assert folder.is_dir()

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main(["run", "s.suite.yaml", *arguments])
        return int(code), *capsys.readouterr()

    return command


def test_shards_contain_each_scenario_once(run: Callable[..., tuple[int, str, str]]) -> None:
    """Every scenario is in exactly one shard; an impossible shard is wrong usage."""
    parts = [run("--list", "--shard", f"{k}/2")[1].splitlines() for k in (1, 2)]

    assert sorted(line for part in parts for line in part) == sorted(run("--list")[1].splitlines())
    assert all(parts)
    assert (run("--shard", "3/2")[0], run("--shard", "x")[0]) == (4, 4)


def test_repetition_and_the_slowest_scenarios(run: Callable[..., tuple[int, str, str]]) -> None:
    """Each scenario runs N times; the slowest ones are listed with milliseconds, the slowest first."""
    code, out, err = run("--repeat", "3", "--slowest", "2")
    times = [float(line.split()[1]) for line in err.splitlines()]

    assert (code, "9 passed" in out) == (0, True)
    assert times == sorted(times, reverse=True)
    assert len(times) == 2


def test_an_invalid_timeout_is_wrong_usage(run: Callable[..., tuple[int, str, str]]) -> None:
    """It must be a positive duration, and the message uses the words of durations."""
    assert [run("--timeout", text)[0] for text in ("soon", "0", "500ms", "30")] == [4, 4, 0, 0]


@pytest.mark.slow
def test_a_changed_workspace_selects_affected_scenarios(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    """For a changed destination, the scenarios that reach it; for changes that cannot be attributed, all."""

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments], cwd=folder, check=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "start")
    file = folder / "workspace.yaml"
    names = []
    for old, new in (
        ("lake.example", "sea.example"),
        ("hook.example", "other.example"),
        ("sources:", "delivery: {timeout: 3}\nsources:"),
    ):
        file.write_text(WORKSPACE.replace(old, new), encoding="utf-8")
        names.append(
            [line.split()[0].partition("::")[2] for line in run("--list", "--changed", "HEAD")[1].splitlines()]
        )

    assert names == [["two"], ["one", "three"], ["one", "two", "three"]]


def test_a_refused_login_is_reported_once(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything runs: one line instead of one failure per scenario."""
    workspace = Workspace.loads(WORKSPACE)
    workspace.users.append(Person.with_token("a@b.example", "token"))
    monkeypatch.setenv("SVC_TOKEN", "wrong")
    with DataPlane(workspace) as plane:
        code, out, err = run("--base-url", plane.url, "--email", "a@b.example")

    assert (code, out) == (4, "")
    assert "the login was rejected" in err


def test_record_skips_bad_lines_and_keeps_failures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Invalid lines are listed with their position; failed events are expected to fail until they are fixed."""
    text = WORKSPACE.replace("lake: {", "lake: {transformation: boom, ").replace(
        "destinations:\n",
        "transformations:\n"
        "  boom: {language: python, code: \"def transformEvent(e, m):\\n    raise ValueError('no')\"}\n"
        "destinations:\n",
        1,
    )
    (folder / "workspace.yaml").write_text(text, encoding="utf-8")
    lines = ['{"type": "track", "event": "A", "userId": "u"}', "{", "[1]", '{"type": "track", "event": "B"}']
    (folder / "events.ndjson").write_text("\n".join(lines), encoding="utf-8")

    assert main(["record", "events.ndjson", "-o", "r.suite.yaml", "--source", "app"]) == 0
    out, err = capsys.readouterr()
    assert "2 scenarios from 2 events" in out
    assert [line.split(": ")[2] for line in err.splitlines()] == [
        "events.ndjson:2:2", "events.ndjson:3:1",
    ]  # fmt: skip
    recorded = (folder / "r.suite.yaml").read_text(encoding="utf-8")
    assert "failed:" in recorded
    assert "ValueError: no" in recorded
    assert main(["run", "r.suite.yaml"]) == 0

    (folder / "workspace.yaml").unlink()
    assert main(["record", "events.ndjson", "-o", "other.suite.yaml"]) == 4
    assert "no workspace.yaml in the current folder; give --workspace FILE" in capsys.readouterr().err


def test_unused_parts_of_a_suite_are_reported(run: Callable[..., tuple[int, str, str]], folder: Path) -> None:
    """Ignored paths that do not exist and answers that no scenario uses; only after a complete run."""
    head = "recorder: {hook: [{status: 503, times: 2}, {}], lake: {}}\nignore: [body.properties, timestmp, messageId]\n"
    text = SUITE.replace("scenarios:", f"{head}scenarios:").replace("userId: u}", "userId: u, properties: {a: 1}}")
    (folder / "s.suite.yaml").write_text(text, encoding="utf-8")
    code, _, err = run()

    assert code == 0
    assert err.splitlines() == ["svctoolkit: s.suite.yaml:4:27: ignore: 'timestmp' is not in any result"]
    assert "ignore" not in run("-k", "one")[2]


def test_unused_answers_of_a_suite_are_reported(run: Callable[..., tuple[int, str, str]], folder: Path) -> None:
    """Counted for the scenario that uses most of them."""
    text = SUITE.replace("scenarios:", "recorder: {hook: [{}, {}], lake: {}}\nscenarios:")
    (folder / "s.suite.yaml").write_text(text, encoding="utf-8")

    assert run()[2].splitlines() == [
        "svctoolkit: s.suite.yaml:3:18: recorder: no scenario uses more than 1 of the 2 responses for 'hook'"
    ]
