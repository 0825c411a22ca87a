"""`svctoolkit record` turns the events that a data plane receives into a suite."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from svctoolkit import DataPlane, Workspace, record
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError

WORKSPACE = """\
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
sources:
  web: {writeKey: wk1, destinations: [hook]}
delivery: {mode: live}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("workspace.yaml").write_text(WORKSPACE, encoding="utf-8")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_signal_ends_a_capture_with_a_complete_suite(number: signal.Signals) -> None:
    """It has what an SDK sent until then, and passes; nothing was delivered."""
    command = [sys.executable, "-m", "svctoolkit", "record", "-o", "made/r.suite.yaml"]
    listening = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert listening.stdout is not None
    said = listening.stdout.readline()
    url = re.search(r"http://[\d.:]+", said)
    assert url, said
    for n in range(3):
        event = {"event": "Order", "userId": "u1", "properties": {"n": n}}
        assert httpx.post(f"{url[0]}/v1/track", json=event, auth=("wk1", ""), timeout=60).status_code == 200
    listening.send_signal(number)
    told, errors = listening.communicate(timeout=60)

    assert (listening.returncode, errors) == (0, "")
    assert "1 scenario from 3 events" in told
    assert main(["run", "made/r.suite.yaml"]) == 0


def test_keys_that_look_like_matchers_are_recorded_literally() -> None:
    """They are in `$literal`, so that the suite can be read and passes."""
    properties = {"$set": {"$os": "Android"}, "odd": {"$type": "x", "$keys_": [1]}}
    event = {"type": "track", "event": "Order", "userId": "u1", "properties": properties}
    Path("events.ndjson").write_text(json.dumps(event), encoding="utf-8")

    assert main(["record", "events.ndjson", "-o", "r.suite.yaml"]) == 0
    assert main(["run", "r.suite.yaml"]) == 0
    (scenario,) = yaml.safe_load(Path("r.suite.yaml").read_text(encoding="utf-8"))["scenarios"]
    expected = scenario["expect"]["delivered"][0]["body"]["properties"]
    assert expected == {"$set": {"$os": "Android"}, "odd": {"$literal": properties["odd"]}}


def test_an_unwritable_file_is_reported_before_recording(capsys: pytest.CaptureFixture[str]) -> None:
    """Before the first event comes, not after the last."""
    Path("file").touch()

    assert main(["record", "-o", "file/r.suite.yaml"]) == 4
    assert "the folder is not writable" in capsys.readouterr().err


def order(**properties: object) -> dict[str, object]:
    return {"type": "track", "event": "Order", "userId": "ada@x.example", "properties": properties}


def test_python_records_a_data_plane_into_an_existing_suite() -> None:
    """A second call adds new scenarios with new names; edits by users are kept, and the suite passes."""
    workspace = Workspace.load("workspace.yaml")
    with DataPlane(workspace.in_mode("record")) as plane:
        plane.send([order(n=1), order(n=2)], source="web")
        first = record(plane, file="made/r.suite.yaml")
        written = Path("made/r.suite.yaml").read_text(encoding="utf-8")
        own = written.replace("scenarios:\n", "# ours\nscenarios:\n").replace("freeze:", "tags: [kept]\nfreeze:")
        own += "\n# the end\n"
        Path("made/r.suite.yaml").write_text(own, encoding="utf-8")
        plane.send([order(n=3), order(total="x")], source="web")
        second = plane.record(file="made/r.suite.yaml")

    text = Path("made/r.suite.yaml").read_text(encoding="utf-8")
    assert (len(first.scenarios), first.added, len(second.scenarios), second.added) == (1, 1, 2, 1)
    assert "workspace: ../workspace.yaml" in text
    assert text.startswith(own.removesuffix("\n# the end\n"))
    assert text.endswith("\n# the end\n")
    assert "ada@x.example" not in text
    assert [one["name"] for one in yaml.safe_load(text)["scenarios"]] == ["track Order", "track Order 2"]
    assert main(["run", "made/r.suite.yaml"]) == 0


def test_one_run_of_a_data_plane_can_be_recorded() -> None:
    """Events of other runs are not in the suite; wrong arguments give the same errors as `record`."""
    with DataPlane(Workspace.load("workspace.yaml").in_mode("record")) as plane:
        plane.send(order(n=1), source="web")
        plane.send(order(total="x"), source="web", run="mine")
        mine = plane.record(run="mine", personal=True)

        assert [scenario["send"]["properties"] for scenario in mine.scenarios] == [{"total": "x"}]
        assert len(plane.record().scenarios) == 2
        with pytest.raises(ConfigError, match="no events"):
            plane.record(run="nobody")


def test_recording_in_python_reports_invalid_events(tmp_path: Path) -> None:
    """They are left out; if none is left, or no source could send, that is an error."""
    made = record([order(), {"a": 1}, 7, {**order(), "at": {1}}], "workspace.yaml", source="web", personal=True)

    assert [problem.where for problem in made.skipped] == ["event 2", "event 3", "event 4"]
    assert made.scenarios[0]["send"]["userId"] == "ada@x.example"
    assert made.added == 0
    with pytest.raises(ConfigError, match="not an event"):
        record([{"a": 1}], "workspace.yaml")
    with pytest.raises(ConfigError, match="workspace is required"):
        record([order()])
    with pytest.raises(ConfigError, match="has no source; add one"):
        record([order()], Workspace("empty"))
    with pytest.raises(ConfigError, match=r"must end with \.suite\.yaml"):
        record([order()], "workspace.yaml", file=tmp_path / "r.yaml")
    with pytest.raises(ConfigError, match="cannot be written"):
        record([order()], "workspace.yaml", file="workspace.yaml/r.suite.yaml")


OTHER = "{name: a, source: web, send: {type: page, name: 'É', userId: u}, expect: {response: {status: 200}}}"


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("scenarios: [{name: a, source: web, send: {type: page, userId: u}, expect: {failed: any}}]\n", "- name"),
        ("scenarios:\n- name: a\n  bad: 1\n", "bad"),
        ("a: [\n", "bracket is never closed"),
        (f"never: [{{event: Order}}]\nscenarios:\n- {OTHER}\n", "not pass"),
    ],
    ids=["flow", "unknown key", "no YAML", "an invariant"],
)
def test_an_unsuitable_suite_is_left_unchanged(before: str, says: str) -> None:
    """The error says why, and nothing is written."""
    head = "" if before.startswith("a:") else "workspace: workspace.yaml\n"
    Path("r.suite.yaml").write_text(head + before, encoding="utf-8")

    with pytest.raises(ConfigError, match=says):
        record([order()], "workspace.yaml", file="r.suite.yaml")
    assert Path("r.suite.yaml").read_text(encoding="utf-8") == head + before


@pytest.mark.parametrize(
    "after",
    ["", "\n\n", "\n# what follows\ntags: [a]\n", "\n\n  # a note on it\n"],
    ids=["no line end", "blank lines", "a key behind it", "a comment in it"],
)
@pytest.mark.parametrize("margin", ["", "  ", "      "])
def test_scenarios_are_added_in_any_style_of_yaml(margin: str, after: str) -> None:
    """The old text is kept around the new one."""
    code = f"{margin}- {OTHER}"
    Path("r.suite.yaml").write_text(f"workspace: workspace.yaml\nscenarios:\n{code}{after}", encoding="utf-8")

    assert record([order()], "workspace.yaml", file="r.suite.yaml").added == 1
    text = Path("r.suite.yaml").read_text(encoding="utf-8")
    assert [one["name"] for one in yaml.safe_load(text)["scenarios"]] == ["a", "track Order"]
    assert all(line in text for line in f"{code}{after}".splitlines())
    assert main(["run", "r.suite.yaml"]) == 0


def test_a_compressed_file_is_to_be_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its bytes are no text of a wrong encoding."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace.yaml").write_text("sources: {web: {}}\n")
    (tmp_path / "events.ndjson.gz").write_bytes(gzip.compress(b'{"type": "track"}\n'))

    assert main(["record", "events.ndjson.gz", "-o", "r.suite.yaml"]) == 4
    assert "unpack it first: gzip -dk events.ndjson.gz" in capsys.readouterr().err
