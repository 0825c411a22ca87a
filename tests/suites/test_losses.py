"""Values that user code loses in JSON are failures where a suite forbids them, and can be expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.errors import InvalidSuite

WORKSPACE = """
transformations:
  cents:
    language: javascript
    code: |
      export function transformEvent(event) {
        return { ...event, properties: { cents: event.properties.total * 100, tags: new Set(["a"]) } };
      }
destinations:
  hook: {type: WEBHOOK, transformation: cents, config: {webhookUrl: https://hook.example/in}}
  plain: {type: WEBHOOK, config: {webhookUrl: https://plain.example/in}}
sources: {web: {destinations: [hook]}, both: {destinations: [hook, plain]}}
"""
EVENT = "{type: track, event: A, userId: u1, properties: {}}"
VERIFY = f"destination: hook, event: {EVENT}"
SEND = f"source: both, send: [{EVENT}, {EVENT}]"
SENT = "expect: {delivered: {hook: [{}, {}], plain: [{}, {}]}}"
NAN = "properties.cents: the code of 'cents' returns NaN, which becomes null"


def explanation(scenario: str, head: str = "losses: forbid\n") -> str:
    """Return why a scenario fails, or an empty string."""
    suite = runner.loads(f"{head}scenarios:\n  - {{name: a, {scenario}}}\n", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        found = [o for o in runner.run(suite.scenarios, planes) if isinstance(o, runner.Outcome)]
    return "".join(runner.explanation(outcome) for outcome in found if not outcome.ok)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (f"{VERIFY}, expect: {{status: 200}}", f"losses: hook: {NAN}"),
        (f"{SEND}, {SENT}", f"losses: hook: {NAN} (2 times)"),
        (f"transformation: cents, event: {EVENT}, expect: {{user_transform: {{userId: u1}}}}", f"losses: {NAN}"),
        (f"{VERIFY}, expect: {{losses: []}}", "losses: expected 0 elements, got 2"),
        (f"{VERIFY}, expect: {{losses: [{{value: NaN}}, {{becomes: 'null'}}]}}", "losses.1.becomes"),
    ],
)
def test_losses_are_failures(scenario: str, said: str) -> None:
    """In each kind of scenario, unless they are expected as they are."""
    assert said in explanation(scenario)


@pytest.mark.parametrize(
    "scenario",
    [
        f"{VERIFY}, losses: allow, expect: {{status: 200}}",
        f"{VERIFY}, expect: {{losses: [{{path: properties.cents, value: NaN}}, {{value: a Set, becomes: '{{}}'}}]}}",
        f"{SEND}, expect: {{losses: {{hook: {{$length: 4, $each: {{transformation: cents}}}}}}}}",
        f"source: both, send: {EVENT}, only: plain, expect: {{delivered: {{plain: [{{}}]}}}}",
    ],
)
def test_losses_can_be_allowed_and_expected(scenario: str) -> None:
    """By the scenario, or by its expectation."""
    assert explanation(scenario) == ""


@pytest.mark.parametrize(
    ("shared", "head", "scenario", "fails"),
    [
        ("forbid", "", "", True),
        ("forbid", "losses: allow\n", "", False),
        ("forbid", "losses: allow\n", "losses: forbid, ", True),
        ("allow", "losses: forbid\n", "", True),
    ],
)
def test_the_nearest_setting_applies(tmp_path: Path, shared: str, head: str, scenario: str, fails: bool) -> None:
    """The scenario's, or that of the suite, or that of its folder."""
    (tmp_path / "_common.yaml").write_text(f"losses: {shared}\n")
    file = tmp_path / "a.suite.yaml"
    file.write_text(
        f"{head}{WORKSPACE}\nscenarios:\n  - {{name: a, {scenario}{VERIFY}, expect: {{status: 200}}}}\n",
    )
    with runner.open_planes(limit=60) as planes:
        (outcome,) = [o for o in runner.run(runner.load(file).scenarios, planes) if isinstance(o, runner.Outcome)]

    assert outcome.ok is not fails


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (f"{VERIFY}, expect: {{losses: [{{pth: x}}]}}", "no member 'pth'. Did you mean 'path'"),
        (f"destination: plain, event: {EVENT}, expect: {{losses: []}}", "'plain' has no transformation"),
    ],
)
def test_expectations_that_prove_nothing_are_errors(scenario: str, said: str) -> None:
    """With a suggestion."""
    with pytest.raises(InvalidSuite, match=said):
        explanation(scenario)
