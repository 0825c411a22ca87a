"""`svctoolkit replay`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from svctoolkit.cli import main
from tests.replay.shops import ndjson, orders

WORKSPACE = """
workspace: shop
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: clean}
transformations:
  clean: {file: code/clean.py}
"""
CODE = "def transformEvent(event, metadata):\n    return event\n"
TEXT = 'def transformEvent(event, metadata):\n    event["properties"]["revenue"] = "x"\n    return event\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workspace and events."""
    folder = tmp_path / "repo" / "shop"
    (folder / "code").mkdir(parents=True)
    (folder / "workspace.yaml").write_text(WORKSPACE)
    (folder / "code" / "clean.py").write_text(CODE)
    ndjson(folder / "events.ndjson", orders(5))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def committed(project: Path) -> Path:
    """The same folder, in git. Tests that use it are slow ones: they need git."""
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
        subprocess.run(["git", *author, *arguments], cwd=project.parent, check=True)
    return project


def test_a_replay_prints_the_outcomes_of_the_events(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without options it runs the workspace in the current folder."""
    code = main(["replay", "events.ndjson"])

    assert (code, capsys.readouterr().out) == (0, "5 events, 1 destination: 5 delivered\n")


def test_releases_are_marked_on_the_page(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--release` may be repeated. A day that does not exist is an error before anything runs."""
    (project / "code" / "clean.py").write_text(
        "def transformEvent(event, metadata):\n    return event if int(event['timestamp'][8:10]) < 3 else None\n"
    )
    for day, order in enumerate(events := orders(5), 1):
        order["timestamp"] = f"2026-05-{day:02}T10:00:00Z"
    ndjson(project / "days.ndjson", events)
    options = ["--html", "page.html", "--release", "2026-05-04=2.4.0", "--release", "2026-05-05=web 7=b"]

    assert main(["replay", "days.ndjson", *options]) == 0
    assert "releases: 2.4.0 on 2026-05-04, web 7=b on 2026-05-05" in Path("page.html").read_text("utf-8")
    for wrong, says in (("2026-05-32=2.4.0", "release 2.4.0: '2026-05-32' is not a day"), ("2.4.0", "DAY=NAME")):
        assert main(["replay", "days.ndjson", "--release", wrong]) == 4
        assert says in capsys.readouterr().err


TWO_SOURCES = """
workspace: shop
sources: {web: {destinations: [hook]}, api: {destinations: [slack]}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}}
  slack: {type: WEBHOOK, config: {webhookUrl: "https://slack.example/in", webhookMethod: POST}}
policies: [{agree: {values: [hook.a, slack.a], tolerance: 1%}}]
"""
REACHED = "no event shows a difference, although these were edited: "


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("POST", "PUT", "edited, but not reached from web: setting webhookMethod of slack; try --source api"),
        ("tolerance: 1%", "tolerance: 99%", f"{REACHED}policy agree"),
        ("policies: [{agree: {values: [hook.a, slack.a], tolerance: 1%}}]", "", f"{REACHED}removed policy agree"),
        ("workspace: shop", "workspace: shop\nreleases: {two: 2026-05-01}", f"{REACHED}releases of the workspace"),
        ("", "", "both sides are the same: no code, setting, connection, tracking plan or policy was edited"),
    ],
)
def test_what_was_edited_without_an_effect_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    """Also where no event of the source goes, and policies: only the last one is safe."""
    for name, text in (("before", TWO_SOURCES), ("after", TWO_SOURCES.replace(old, new) if old else TWO_SOURCES)):
        (tmp_path / f"{name}.yaml").write_text(text)
    ndjson(tmp_path / "e.ndjson", orders(2))
    sides = ["--before", str(tmp_path / "before.yaml"), "--after", str(tmp_path / "after.yaml"), "--source", "web"]

    assert main(["replay", str(tmp_path / "e.ndjson"), *sides]) == 0
    out = capsys.readouterr().out
    assert said in out
    assert ("both sides are the same" in out) == (not old)


@pytest.mark.slow
def test_a_comparison_with_a_revision_names_other_edited_files(
    committed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Policies of a file are edits, too: a weaker one lets breaches pass."""
    git = partial(subprocess.run, cwd=committed, check=True, capture_output=True)
    policies = committed / "policies.yaml"
    policies.write_text("policies:\n- hosts: [hook.example]\n")
    git(["git", "add", "."])
    git(["git", "-c", "user.name=t", "-c", "user.email=t@t.example", "commit", "-qm", "policies"])
    policies.write_text("policies:\n- hosts: ['*.example']\n")

    assert main(["replay", "events.ndjson", "--before", "HEAD"]) == 0
    assert "policy of the workspace was edited, but these files were: policies.yaml" in capsys.readouterr().out
    assert main(["replay", "events.ndjson", "--before", "HEAD", "--policies", "policies.yaml"]) == 0
    assert "no event shows a difference, although these were edited: policy hosts" in capsys.readouterr().out


@pytest.mark.slow
def test_a_change_is_compared_with_the_committed_version(committed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--before HEAD` is the workspace of the last commit with its files; `--fail-on` turns it into a check."""
    (committed / "code" / "clean.py").write_text(TEXT)
    code = main(["replay", "events.ndjson", "--before", "HEAD", "--fail-on", "changed"])

    out = capsys.readouterr().out
    assert code == 1
    assert out.startswith("failed: 1 failure condition met\n")
    assert "types: because of code/clean.py" in out
    assert "body.JSON.properties.revenue: number -> text in 5 events of Order Completed" in out
    assert main(["replay", "events.ndjson", "--before", "HEAD", "--fail-on", "newly-dropped"]) == 0
    assert main(["replay", "events.ndjson", "--before", "HEAD", "--after", "HEAD", "--fail-on", "any"]) == 0


def test_paths_can_be_compared(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A side may be a folder with a workspace.yaml, or a file."""
    other = tmp_path / "other"
    (other / "code").mkdir(parents=True)
    (other / "workspace.yaml").write_text(WORKSPACE)
    (other / "code" / "clean.py").write_text("def transformEvent(event, metadata):\n    return None\n")
    code = main(["replay", "events.ndjson", "--before", ".", "--after", str(other), "--json"])

    assert code == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"hook": {"newly dropped": 5}}


def test_two_paths_need_no_workspace_in_the_current_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both sides are named, so none is searched for."""
    monkeypatch.chdir(project.parent)
    code = main(["replay", "shop/events.ndjson", "--before", "shop", "--after", "shop/workspace.yaml"])

    same = "both sides are the same: no code, setting, connection, tracking plan or policy was edited"
    assert (code, capsys.readouterr().out) == (0, f"5 events, 1 destination: 5 same\n{same}\n")


def test_rows_and_a_page_can_be_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows as Parquet and a page; the folder can be resumed, and is not overwritten."""
    code = main(["replay", "events.ndjson", "--before", ".", "--out", "out", "--html", "page.html"])

    assert code == 0
    assert len(pd.read_parquet("out/rows")) == 5
    assert Path("page.html").read_text().startswith("<!doctype html>")
    assert main(["replay", "events.ndjson", "--before", ".", "--out", "out"]) == 4
    assert "contains a replay" in capsys.readouterr().err
    assert main(["replay", "events.ndjson", "--before", ".", "--out", "out", "--resume"]) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["gone.ndjson"], 4, "gone.ndjson: no such file"),
        (["events.ndjson", "--before", "--help-me"], 4, "--help-me"),
        (["events.ndjson", "--after", "HEAD"], 4, "--after needs --before"),
        (["events.ndjson", "--fail-on", "chnged"], 4, "unknown word 'chnged'"),
        (["events.ndjson", "--destination", "hok"], 4, "Did you mean 'hook'?"),
        (["events.ndjson", "--workspace", "gone.yaml"], 4, "gone.yaml: file not found"),
        (["events.ndjson", "--stage", "dest_transform=maybe"], 4, "dest_transform=on"),
        (["empty.ndjson"], 5, "no events in the input"),
        (["bad.ndjson", "--fail-on", "rejected"], 1, ""),
        (["bad.ndjson"], 1, "no record in the input is a valid event"),
    ],
)
def test_mistakes_are_reported(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    """Exit codes and texts say what is wrong, and what to write instead."""
    (project / "empty.ndjson").touch()
    (project / "bad.ndjson").write_text("{\n")

    assert main(["replay", *arguments]) == code
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_a_misspelt_revision_is_reported(committed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a git repository, the error names the unknown revision."""
    assert main(["replay", "events.ndjson", "--before", "nope"]) == 4
    assert "nope is neither a path nor a git revision" in capsys.readouterr().err


def test_a_csv_needs_only_a_few_options(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--column` names the meaning of a column."""
    (project / "orders.csv").write_text("who,amount\nu1,5\n")
    columns = ["type==track", "event==Order", "userId=who", "properties.revenue=amount:number"]
    code = main(["replay", "orders.csv", *(word for column in columns for word in ("--column", column))])

    assert (code, capsys.readouterr().out) == (0, "1 event, 1 destination: 1 delivered\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_leaves_a_result_that_can_be_resumed(project: Path, workers: str) -> None:
    """A real SIGINT: exit code 2, a partial summary, complete parts on disk, no process left; --resume completes it."""
    (project / "code" / "clean.py").write_text(
        "import time\ndef transformEvent(event, metadata):\n    time.sleep(0.05)\n    return event\n"
    )
    for number in range(12):
        ndjson(project / f"in{number:02d}.ndjson", orders(5))
    files = [f"in{number:02d}.ndjson" for number in range(12)]
    command = [sys.executable, "-m", "svctoolkit", "replay", *files, "--out", "out", "--workers", workers]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job ignores it
    )
    deadline = time.monotonic() + 60
    while len(list((project / "out" / "done").glob("*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    out, err = process.communicate(timeout=60)

    assert process.returncode == 2, err
    assert "interrupted: the results cover only a part of the events" in out
    assert "Traceback" not in err
    assert len(pd.read_parquet("out/rows")) % 10 == 0
    assert main(["replay", *files, "--out", "out", "--resume"]) == 0
    assert len(pd.read_parquet("out/rows")) == 120
