"""`svctoolkit record`: what a data plane receives becomes a suite."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from svctoolkit.cli import main

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
def test_a_signal_ends_a_capture_and_leaves_a_whole_suite(number: signal.Signals) -> None:
    """What an SDK sent until then is in the suite, which passes; none of it was delivered to anybody."""
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
        assert httpx.post(f"{url[0]}/v1/track", json=event, auth=("wk1", "")).status_code == 200
    listening.send_signal(number)
    told, errors = listening.communicate(timeout=60)

    assert (listening.returncode, errors) == (0, "")
    assert "1 scenario from 3 events" in told
    assert main(["run", "made/r.suite.yaml"]) == 0


def test_keys_that_look_like_matchers_are_recorded_as_they_are() -> None:
    """They stand in `$literal`, so that the suite can be read and passes."""
    properties = {"$set": {"$os": "Android"}, "odd": {"$type": "x", "$keys_": [1]}}
    event = {"type": "track", "event": "Order", "userId": "u1", "properties": properties}
    Path("events.ndjson").write_text(json.dumps(event), encoding="utf-8")

    assert main(["record", "events.ndjson", "-o", "r.suite.yaml"]) == 0
    assert main(["run", "r.suite.yaml"]) == 0
    (scenario,) = yaml.safe_load(Path("r.suite.yaml").read_text(encoding="utf-8"))["scenarios"]
    expected = scenario["expect"]["delivered"][0]["body"]["properties"]
    assert expected == {"$set": {"$os": "Android"}, "odd": {"$literal": properties["odd"]}}


def test_where_nothing_can_be_written_nothing_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    """It is told before the first event comes, not after the last."""
    Path("file").touch()

    assert main(["record", "-o", "file/r.suite.yaml"]) == 4
    assert "nothing can be written there" in capsys.readouterr().err
