"""The documentation of suites is true: its examples run, and it names everything that a suite can contain."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

import svctoolkit
from svctoolkit import Workspace, runner
from svctoolkit.runner.suite import format as _format

PAGE = (Path(svctoolkit.__file__).parent / "docs" / "suites.md").read_text(encoding="utf-8")
WORKSPACE = """
destinations:
  hook:
    type: WEBHOOK
    config: {webhookUrl: https://hook.example/in, headers: [{from: Authorization, to: Bearer x}]}
sources: {web: {destinations: [hook]}}
"""
SCENARIO = """
scenarios:
  - name: a
    source: web
    send: {type: track, event: E, userId: u, messageId: m}
    expect: {delivered: [{method: POST}]}
    exact: []
"""


@pytest.mark.filterwarnings("ignore::svctoolkit.errors.UnsetVariables")
@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
def test_every_documented_example_passes(text: str) -> None:
    """Unchanged; an example for a whole suite is run with a scenario that fits."""
    whole = text if "scenarios:" in text else text.replace("exact: true", "exact: [user_transform]") + SCENARIO
    suite = runner.loads(whole, Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        outcomes = [runner.attempt(scenario, planes) for scenario in suite.scenarios]

    assert [runner.explanation(outcome) for outcome in outcomes if not outcome.ok] == []


def test_everything_is_documented() -> None:
    """Keys of suites, scenarios and expectations, and the answers of a recorder."""
    structs = (_format.Suite, _format.Scenario, _format.Expect, _format.RecorderAnswer, _format.Generate)
    keys = {field.encode_name for struct in structs for field in msgspec.structs.fields(struct)}
    keys -= {"version", "id", "name", "suite"}
    absent = {key for key in keys - set(_format.WORKSPACE_KEYS) if not re.search(rf"\b{key}\b", PAGE)}

    assert absent == set()
