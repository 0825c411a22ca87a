"""Suites ask what simulated destinations hold and have lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import svctoolkit
from svctoolkit import Workspace, runner
from svctoolkit.errors import InvalidSuite

PAGE = (Path(svctoolkit.__file__).parent / "docs" / "simulations.md").read_text(encoding="utf-8")
WORKSPACE = """
sources: {web: {destinations: [kl, hook]}}
destinations:
  kl: {type: KLAVIYO, config: {publicApiKey: p, privateApiKey: k}, simulate: simulated}
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example}}
"""
TWO = """
scenarios:
  - name: both cart events are kept
    source: web
    send:
      - {type: track, event: Product Added, userId: a, context: {traits: {email: ada@x.example}}, properties: {n: 1}}
      - {type: track, event: Product Added, userId: a, context: {traits: {email: ada@x.example}}, properties: {n: 2}}
    expect: {delivered: {hook: {$length: 2}}, %s}
"""


def failures(text: str) -> list[str]:
    suite = runner.loads(text, Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        outcomes = [runner.attempt(scenario, planes) for scenario in suite.scenarios]
    assert not any(outcome.reason for outcome in outcomes)
    return [str(difference) for outcome in outcomes for step in outcome.steps for difference in step.differences]


@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
def test_the_suites_of_the_page_pass(text: str) -> None:
    """Unchanged, as a user would copy them."""
    suite = runner.loads(text, Workspace())
    with runner.open_planes(limit=60) as planes:
        outcomes = [runner.attempt(scenario, planes) for scenario in suite.scenarios]

    assert [runner.explanation(outcome) for outcome in outcomes if not outcome.ok] == []


def test_a_wrong_count_names_the_rule_and_its_source() -> None:
    """The reader learns why a row is missing, and where to read about it."""
    (text,) = failures(TWO % "holds: {kl: {counts: {profiles: 1, events: 2}}}")

    assert text.startswith("kl: 1 event held, not 2; folded: ")
    assert "kl.fold.second; Klaviyo OpenAPI" in text


def test_a_missing_row_is_compared_with_the_nearest_one() -> None:
    """The difference is that of the row that fits best."""
    (text,) = failures(TWO % "holds: {kl: {profiles: [{ids: {email: ada@x.example}, attributes: {external_id: bob}}]}}")

    assert text.startswith('kl: profiles: attributes.external_id: expected "bob", got "a" in the nearest row')


def test_somebody_who_should_not_be_there_is_shown() -> None:
    """`nobody` names ids that no profile may have."""
    (text,) = failures(TWO % "holds: {kl: {nobody: [{email: bob@x.example}, {email: ada@x.example}]}}")

    assert text.startswith('kl: a profile has {"email":"ada@x.example"}')


@pytest.mark.parametrize(
    ("expect", "found"),
    [
        ("lost: []", ["lost: kl: folded: events 0"]),
        ("lost: {kl: [{rule: kl.fold.second}]}", []),
        ("lost: [{rule: kl.fold.unique}]", ["lost: nothing was lost as expected", "lost: kl: folded: events 0"]),
        ("lost: {$length: 1}", []),
        ("response: {status: 200}", []),
    ],
)
def test_losses_of_a_step(expect: str, found: list[str]) -> None:
    """Each expected loss must be there, and no other."""
    texts = failures(TWO % expect)
    assert len(texts) == len(found)
    assert all(text.startswith(start) for text, start in zip(texts, found, strict=True))


@pytest.mark.parametrize(
    ("expect", "value"),
    [
        ("holds: {counts: {events: <2>}}", "counts.events"),
        ("holds: {kl: {counts: {events: <2>}}}", "counts.events"),
        ("lost: <[]>", ""),
        ("lost: {kl: <[]>}", ""),
        ("lost: [<{rule: kl.other}>, {rule: kl.fold.second}]", "0"),
        ("lost: {kl: {$length: <3>}}", ""),
    ],
)
def test_a_failure_is_reported_where_its_expectation_is_written(expect: str, value: str) -> None:
    """With the destination or, if only one is simulated, without it. `<...>` marks the place in the file."""
    before, wrong, after = re.split("[<>]", TWO % expect)
    suite = runner.loads(before + wrong + after, Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        outcome = runner.attempt(suite.scenarios[0], planes)
    (difference,) = outcome.steps[0].differences
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1

    assert runner.explanation(outcome).startswith(f"suite:{line}:{column}: ")
    place = ("lost",) if expect.startswith("lost") else ("holds", "kl")
    assert ".".join(map(str, difference.path)) == ".".join(filter(None, [*place, value]))


def test_losses_can_be_expected_by_destination() -> None:
    """Those of another destination count only without the key."""
    second = "  k2: {type: KLAVIYO, config: {publicApiKey: p, privateApiKey: k}, simulate: simulated}\n"
    workspace = Workspace.loads(WORKSPACE.replace("[kl, hook]", "[kl, k2, hook]") + second)

    def passes(expect: str) -> bool:
        (scenario,) = runner.loads(TWO % expect, workspace).scenarios
        with runner.open_planes(limit=60) as planes:
            return runner.attempt(scenario, planes).ok

    expectations = "lost: {$length: 2}", "lost: {kl: {$length: 1}}", "lost: {kl: {$length: 1}, k2: {$length: 1}}"
    assert [passes(expect) for expect in expectations] == [True] * 3
    assert [passes(expect) for expect in ("lost: {$length: 1}", "lost: {k2: {$length: 2}}")] == [False] * 2


def test_a_suite_can_forbid_losses() -> None:
    """Every step that does not expect losses fails with the first one."""
    assert failures("lost: forbid" + TWO % "response: {status: 200}")[0].startswith("lost: kl: folded")
    assert failures("lost: forbid" + TWO % "lost: [{what: folded}]") == []


def test_a_loss_belongs_to_its_step_and_state_to_the_scenario() -> None:
    """What the first step loses is not a loss of the second, which sees the same rows."""
    assert (
        failures("""
scenarios:
  - name: two steps
    given: {kl: {profiles: [{ids: {email: ada@x.example}, attributes: {title: x}}]}}
    steps:
      - source: web
        send:
          - &e {type: track, event: A, userId: a, context: {traits: {email: ada@x.example}}, timestamp: "2026-01-01"}
          - *e
        expect: {lost: [{rule: kl.fold.second}]}
      - source: web
        send: {type: track, event: B, userId: ada, context: {traits: {email: ada@x.example}}}
        expect: {lost: [], holds: {kl: {counts: {profiles: 1, events: 2}, profiles: [{attributes: {title: x}}]}}}
""")
        == []
    )


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("holds: {hook: {events: [{name: A}]}}", "'hook' is not simulated: WEBHOOK has no simulation"),
        ("holds: {kl: {purchases: [{price: 1}]}}", "KLAVIYO has no simulated table 'purchases': profiles, events"),
        ("holds: {kl: {counts: {event: 1}}}", "KLAVIYO has no simulated table 'event'. Did you mean 'events'?"),
        ("holds: {kl: {events: {}}}", "must be a list of rows"),
        ("holds: {kl: {}}", "must be a map of tables"),
    ],
)
def test_mistakes_are_found_before_anything_runs(expect: str, message: str) -> None:
    """What cannot be held is reported with its position."""
    with pytest.raises(InvalidSuite) as error:
        runner.loads(TWO % expect, Workspace.loads(WORKSPACE))
    assert message in str(error.value)


def test_given_names_simulated_destinations_only() -> None:
    """A state for a destination that holds nothing would be ignored."""
    for given, message in (
        ("{hook: {profiles: []}}", "'hook' is not simulated"),
        ("{kk: {profiles: []}}", "unknown destination 'kk'"),
        ("{kl: {profiles: {}}}", "must be a list of rows"),
    ):
        for suite in (
            f"given: {given}" + TWO % "lost: []",
            (TWO % "lost: []").replace("expect:", f"given: {given}\n    expect:"),
        ):
            with pytest.raises(InvalidSuite) as error:
                runner.loads(suite, Workspace.loads(WORKSPACE))
            assert message in str(error.value)
