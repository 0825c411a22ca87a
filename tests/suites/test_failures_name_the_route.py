"""Failures about missing, refused or surplus events name the source with its connections, and the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import runner

SUITE = """\
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: clean}
sources:
  web: SOURCE
transformations:
  clean: {language: python, code: "def transformEvent(event, metadata):\\n    return event"}
scenarios:
  - name: a scenario
    source: web
    send: {type: track, event: E, userId: u1}
    expect: EXPECT
"""


@pytest.mark.parametrize(
    ("source", "expect", "line"),
    [
        ("{enabled: false, destinations: [hook]}", "{delivered: [{method: POST}]}", "source web is disabled"),
        ("{destinations: [hook]}", "{delivered: []}", "source web is connected to hook"),
        ("{destinations: [hook]}", "{dropped: {by: user_transform}}", "user code: clean.py"),
    ],
)
def test_a_failure_names_the_route(tmp_path: Path, source: str, expect: str, line: str) -> None:
    """In one of its first five lines."""
    file = tmp_path / "s.suite.yaml"
    file.write_text(SUITE.replace("SOURCE", source).replace("EXPECT", expect))

    with runner.open_planes() as planes:
        (outcome,) = [n for n in runner.run(runner.load(file).scenarios, planes) if isinstance(n, runner.Outcome)]

    assert outcome.status == "failed"
    assert line in runner.explanation(outcome).splitlines()[:5]
