"""A call that ServiceClient rejects is a failure of the scenario, not an internal error."""

from __future__ import annotations

import pytest

from svctoolkit import Workspace, runner

WORKSPACE = """
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
sources: {web: {destinations: [hook]}, off: {destinations: [hook], enabled: false}}
"""


@pytest.mark.parametrize(
    ("source", "call", "said"),
    [
        ("web", '{track: {name: ""}}', "calls: track: name must not be empty"),
        ("off", "{track: {name: A}}", "calls: the source 'off' is disabled"),
    ],
)
def test_a_wrong_call_fails_the_scenario(source: str, call: str, said: str) -> None:
    """With the reason; the status is `failed`, so that the exit code is 1."""
    text = f"scenarios:\n  - {{name: a, source: {source}, calls: [{call}], expect: {{delivered: []}}}}\n"
    suite = runner.loads(text, Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        outcome = runner.attempt(suite.scenarios[0], planes)

    assert outcome.status == "failed"
    assert said in runner.explanation(outcome)
