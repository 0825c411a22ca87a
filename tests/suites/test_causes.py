"""A failed send reports the event's outcome, place and reason before the difference, in every report."""

from __future__ import annotations

import io
import json
import re

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.runner import REPORTERS, Notice, Output

WORKSPACE = """
transformations: {boom: {language: python, code: "def transformEvent(e, m):\\n    raise ValueError('broken here')"}}
destinations:
  a: {type: WEBHOOK, config: {webhookUrl: https://a.example/}, transformation: boom}
  b: {type: GA4, config: {apiSecret: x, measurementId: G-1, typesOfClient: gtag}}
  c: {type: WEBHOOK, config: {webhookUrl: https://c.example/}}
sources: {one: {destinations: [a]}, two: {destinations: [b]}, three: {destinations: [c]}}
"""
SEND = "send: {type: track, event: X, userId: u1, anonymousId: a}"
CRASH = "a: failed in user_transform: ValueError: broken here (boom.py:2:5)"


def notices(*scenarios: str) -> list[Notice]:
    rows = "".join(f"  - {{name: s{n}, {scenario}}}\n" for n, scenario in enumerate(scenarios))
    suite = runner.loads(f"scenarios:\n{rows}", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        return list(runner.run(suite.scenarios, planes))


@pytest.fixture(scope="module")
def crash() -> list[Notice]:
    return notices(f"source: one, {SEND}, expect: {{delivered: [{{body: {{event: X}}}}]}}")


def report(name: str, told: list[Notice]) -> str:
    stream = io.StringIO()
    reporter = REPORTERS[name](Output(stream))
    for notice in told:
        reporter(notice)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["console", "junit", "github", "json", "ndjson", "tap", "html"])
def test_the_cause_comes_before_the_difference(crash: list[Notice], name: str) -> None:
    """With the position in the code that crashed."""
    text = report(name, crash).replace("&#x27;", "'").replace("%3A", ":")

    assert CRASH in text
    assert text.index(CRASH) < text.index("expected 1 element") if "expected 1 element" in text else name in ("html",)


def test_machine_readable_reports_have_the_cause_as_fields(crash: list[Notice]) -> None:
    """Destination, fate, stage and reason; and the stage that had another outcome."""
    (scenario,) = json.loads(report("json", crash))["scenarios"]

    assert scenario["diverged"] == "user_transform"
    assert [(c["destination"], c["fate"], c["stage"], c["step"]) for c in scenario["causes"]] == [
        ("a", "failed", "user_transform", 1),
    ]


def test_the_stage_strip_shows_the_failed_stage(crash: list[Notice]) -> None:
    """Not `failed ok` in green."""
    words = " ".join(re.sub(r"<[^>]+>", " ", report("html", crash)).split())

    assert re.search(r"user_transform \S+ failed failed", words), words[-1500:]
    assert not re.search(r"failed \S+ ok", words)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (f"source: two, recorder: {{b: {{status: 400, body: {{error: nope}}}}}}, {SEND}, expect: {{delivered: [{{}}]}}",
         "b: failed in send_to_destination: the destination answered 400"),
        (f"source: two, recorder: {{b: {{status: 503}}}}, {SEND}, expect: {{delivered: [{{}}]}}",
         "b: dead after 8 attempts in send_to_destination: the destination answered 503"),
        ("source: two, send: {type: identify, userId: u1, anonymousId: a}, expect: {delivered: [{}]}",
         "b: filtered in routing: Message type not supported"),
        ("source: two, send: {type: track, userId: u1, event: X, originalTimestamp: 2020-01-01T00:00:00Z}, "
         "expect: {delivered: [{}]}", "b: failed in dest_transform: "),
    ],
)  # fmt: skip
def test_every_outcome_can_be_a_cause(scenario: str, said: str) -> None:
    """A refusal of the destination, a dead letter, a filter, a mapping that refuses: on the first line."""
    (outcome,) = [notice for notice in notices(scenario) if isinstance(notice, runner.Outcome)]

    assert said in runner.explanation(outcome).splitlines()[0]


def test_one_wrong_field_takes_four_lines() -> None:
    """The value, where it came from, its line and a caret."""
    (outcome,) = [
        notice
        for notice in notices(f"source: three, {SEND}, expect: {{delivered: [{{body: {{event: Y}}}}]}}")
        if isinstance(notice, runner.Outcome)
    ]

    assert len(runner.explanation(outcome).splitlines()) == 4
