"""What passed although it showed nothing now fails, and ordinary suites stay green."""

from __future__ import annotations

import base64

import pytest

from svctoolkit import Workspace, runner

WORKSPACE = """
transformations:
  drop: {language: python, code: "def transformEvent(event, metadata):\\n    return None"}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  sieve: {type: WEBHOOK, transformation: drop, config: {webhookUrl: https://sieve.example/in}}
sources: {web: {destinations: [hook]}, sifted: {destinations: [sieve]}}
"""


def explain(scenario: str) -> str:
    """Why the scenario fails; empty if it passes."""
    suite = runner.loads(f"scenarios:\n  - {{name: s, {scenario}}}\n", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        outcome = runner.attempt(suite.scenarios[0], planes)
    return "" if outcome.ok else runner.explanation(outcome)


def sends(properties: str, body: str = "{}", more: str = "") -> str:
    send = f"{{type: track, event: A, userId: u1, properties: {properties}}}"
    return f"source: web, send: {send}, expect: {{delivered: [{{body: {{properties: {body}}}}}]}}{more}"


def searches(rule: str, value: str) -> str:
    """A scenario that sends a value and forbids another."""
    return sends(f"{{x: '{value}'}}", "{$type: object}", f", never: [{rule}]")


CALL = "calls: [{track: {name: A, properties: {x: " + "x" * 40_000 + "}}}]"


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("source: sifted, generate: {like: track, runs: 3}", "generate: none of 3 events reached a destination"),
        (f"source: web, {CALL}, expect: {{delivered: []}}", "ServiceClient dropped 1 event (too large)"),
        (sends("{total: 1}", "{}"), "expected an empty object"),
        (sends("{total: 1}", "{}"), "write {$type: object} for any object"),
        (sends("{email: a}", "{emial: {$absent: true}}"), "nothing, but 'email': write email, or name both"),
        (sends("{email: a}", "{Email: {$absent: true}}"), "nothing, but 'email'"),
    ],
)
def test_it_fails_and_says_what_to_write(scenario: str, said: str) -> None:
    """Each passed before."""
    assert said in explain(scenario)


@pytest.mark.parametrize(
    "scenario",
    [
        "source: sifted, generate: {like: track, runs: 3}, expect: {dropped: [{}]}",
        "source: web, generate: {like: track, runs: 3}",
        f"source: web, {CALL}, expect: {{delivered: [], failed: any}}",
        "source: web, calls: [{optOut: [true]}, {track: {name: A}}], expect: {delivered: []}",
        sends("{}", "{}"),
        sends("{total: 1}", "{$type: object}"),
        sends("{orders: 1, id: 1}", "{order: {$absent: true}, ip: {$absent: true}}"),
        sends("{email: a}", "{emial: {$absent: true}, email: a}"),
    ],
)
def test_ordinary_claims_stay_green(scenario: str) -> None:
    """They say what they mean."""
    assert explain(scenario) == ""


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("mira@mail.example", "MIRA@mail.example"),
        ("mira@mail.example", "to mira%40mail.example"),
        *(
            ("mira@mail.example", base64.b64encode(f"{'x' * n}mira@mail.example{'y' * n}".encode()).decode())
            for n in range(4)
        ),
        ("'4111111111111111'", "card 4111 1111 1111 1111"),
        ("4111111111111111", "4111-1111-1111-1111"),
        ("4111 1111 1111 1111", "4111111111111111"),
    ],
)
def test_never_sees_other_spellings(rule: str, value: str) -> None:
    """Other capitals, percent-encoded, Base64 at any position, digits with separators."""
    assert "never: " in explain(
        sends(f"{{x: '{value}'}}", more=f", never: [{rule}]").replace("properties: {}}", "event: A}")
    )


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("17", "2017-01-01"),
        ("NO", "note"),
        ("12345", "1 2345"),
        ("20260115", "2026-01-16"),
        ("mira@mail.example", "miro@mail.example"),
    ],
)
def test_never_sees_nothing_by_chance(rule: str, value: str) -> None:
    """Short texts and numbers occur inside of others."""
    assert explain(searches(rule, value)) == ""


def test_never_finds_a_key_in_a_column() -> None:
    """A warehouse flattens `context.traits.email`; a hash of it is another member."""
    rule = ", never: [{key: email}]"
    expect = "{delivered: [{body: {event: A}}]}"

    def sent(key: str) -> str:
        return (
            f"source: web, send: {{type: track, event: A, userId: u, properties: {{{key}: x}}}}, expect: {expect}{rule}"
        )

    assert "never: " in explain(sent("context_traits_email"))
    assert "never: " in explain(sent("Email"))
    assert explain(sent("hashed_email")) == ""
