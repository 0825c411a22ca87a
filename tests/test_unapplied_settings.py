"""`check` finds consents that never apply and suites that never run; suites warn of members that nothing reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.cli import main
from svctoolkit.errors import InvalidSuite
from svctoolkit.runner import differences

GOOD = {"provider": "oneTrust", "consents": [{"consent": "marketing"}]}


def check(folder: Path, config: dict[str, Any], *options: str, kind: str = "iOS") -> int:
    workspace = {
        "destinations": {"hook": {"type": "WEBHOOK", "config": {"webhookUrl": "https://hook.example/in", **config}}},
        "sources": {"app": {"type": kind, "destinations": ["hook"]}},
    }
    (folder / "workspace.yaml").write_text(json.dumps(workspace), encoding="utf-8")
    return main(["check", str(folder / "workspace.yaml"), *options])


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            {"consentManagement": {"iOS": [GOOD]}},
            "no source is of the kind 'iOS', so these consents never apply. Write ios",
        ),
        ({"consentManagement": {"Web": [GOOD]}}, "Write web."),
        ({"consentManagement": {"web": [GOOD]}}, "these consents are for web, so they never apply: add ios"),
        (
            {"consentManagement": {"ios": [{**GOOD, "provider": "onetrust"}]}},
            "unknown provider 'onetrust', so this never",
        ),
        ({"consentManagement": {"ios": [{**GOOD, "provider": "onetrst"}]}}, "Did you mean 'oneTrust'?"),
        ({"consentManagement": {"ios": [{"consents": [{"consent": "m"}]}]}}, "'provider' is missing"),
        (
            {"consentManagement": {"ios": [{"provider": "ketch", "consnts": [{"consent": "m"}]}]}},
            "has no member 'consnts'",
        ),
        ({"consentManagement": {"ios": [{**GOOD, "consents": [{"consnt": "m"}]}]}}, "must be {consent: ID}"),
        ({"consentManagement": {"ios": [{**GOOD, "consents": ["m"]}]}}, "must be {consent: ID}"),
        ({"consentManagement": {"ios": [{**GOOD, "resolutionStrategy": "any"}]}}, "unknown strategy 'any'"),
        ({"consentManagement": {"ios": GOOD}}, "must be a list of entries"),
        ({"oneTrustCookieCategories": {"ios": [{"category": "C2"}]}}, "has no member 'category'"),
        ({"ketchConsentPurposes": {"web": [{"purpose": "p"}]}}, "so they never apply: add ios"),
    ],
)
def test_check_finds_consents_that_never_apply(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: dict[str, Any], text: str
) -> None:
    assert check(tmp_path, config) == 1

    said = capsys.readouterr().out
    assert text in said
    assert "workspace.yaml:1:" in said


@pytest.mark.parametrize(
    "config",
    [
        {"consentManagement": {"ios": [GOOD]}},
        {"consentManagement": {"ios": [GOOD], "web": [GOOD], "android": []}},
        {"consentManagement": [GOOD]},
        {"consentManagement": {"ios": [], "web": []}},
        {"consentManagement": {"ios": [{**GOOD, "provider": "custom", "resolutionStrategy": "or"}]}},
        {"oneTrustCookieCategories": {"ios": [{"oneTrustCookieCategory": "C2"}]}},
    ],
)
def test_check_accepts_consents_that_apply(tmp_path: Path, config: dict[str, Any]) -> None:
    assert check(tmp_path, config) == 0


def test_suites_with_another_name_are_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check(tmp_path, {}) == 0
    expect = "expect: {dest_transform: {method: POST}}"
    scenario = f"- {{name: a, destination: hook, event: {{type: track, event: A, userId: u}}, {expect}}}"
    (tmp_path / "suites").mkdir()
    for name in ("a.suite", "d", "c.suites"):
        text = f"workspace: ../workspace.yaml\nscenarios:\n{scenario}\n"
        (tmp_path / "suites" / f"{name}.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "other.yaml").write_text("steps: {scenarios: 1}\n", encoding="utf-8")
    capsys.readouterr()

    assert check(tmp_path, {}, "--strict") == 1
    said = capsys.readouterr().out
    assert main(["run", "suites"]) == 0
    for text in (said, capsys.readouterr().err):
        assert [f"{name}.yaml: has scenarios, but is" in text for name in ("d", "c.suites", "a.suite", "other")] == [
            *(True, True, False, False)
        ]


def test_a_part_without_scenarios_is_not_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A matrix may have more jobs than there are scenarios."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0

    assert main(["run", "--shard", "99/100"]) == 0
    assert "--shard 99/100: none of " in capsys.readouterr().err
    assert main(["run", "--shard", "99/100", "-k", "nosuchscenario"]) == 5


WORKSPACE = """
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
sources: {web: {destinations: [hook]}}
"""


def load(event: str) -> list[str]:
    scenario = f"{{name: a, source: web, send: {event}, expect: {{delivered: [{{}}]}}}}"
    return list(runner.unknown_members([runner.loads(f"scenarios: [{scenario}]\n", Workspace.loads(WORKSPACE))]))


@pytest.mark.parametrize(
    ("member", "near"),
    [
        ("property: {revenue: 5}", "properties"),
        ("props: {revenue: 5}", "properties"),
        ("propertes: {revenue: 5}", "properties"),
        ("context: {trait: {a: 1}}", "traits"),
        ("context: {Traits: {a: 1}}", "traits"),
        ("context: {campagn: {a: 1}}", "campaign"),
    ],
)
def test_misspelt_members_are_rejected(member: str, near: str) -> None:
    with pytest.raises(InvalidSuite, match=f"Did you mean '{near}'"):
        load(f"{{type: track, event: A, userId: u, {member}}}")


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("{type: track, event: A, userId: u, payload: {revenue: 5}}", "'payload' belongs to no type of event"),
        ("{type: identify, userId: u, properties: {plan: pro}}", "'properties' belongs to track, page, screen events"),
        ("{type: page, name: Home, userId: u, event: A}", "'event' belongs to track events"),
        ("{type: track, event: A, userId: u, channel: web, context: {shop: {a: 1}, devices: []}}", ""),
        ("{type: identify, userId: u, traits: {plan: pro}, properties: {}}", ""),
    ],
)
def test_members_that_no_destination_reads_are_noted(event: str, text: str) -> None:
    said = load(event)

    assert [text in line and line.startswith("suite:1:") for line in said] == ([True] if text else [])


@pytest.mark.parametrize(
    ("expected", "fits"),
    [
        (["a"], False),
        ({"$each": {"$type": "string"}}, False),
        ({"$length": 1}, False),
        ({"$length": 2}, True),
        ({"$contains": ["a"]}, True),
        (["a", {"$absent": True}], True),
    ],
    ids=str,
)
def test_a_star_is_every_element(expected: Any, fits: bool) -> None:
    """Also one that does not have the member."""
    value = {"items": [{"sku": "a"}, {"sk": "b"}]}

    assert (differences({"$query": {"items.*.sku": expected}}, value) == []) is fits
