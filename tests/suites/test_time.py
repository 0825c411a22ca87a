"""Clock, ids and answers of a scenario are its own, although the plane behind it is not; waiting takes no time."""

from __future__ import annotations

import pytest

from svctoolkit import Workspace, runner

WORKSPACE = """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
sources: {web: {destinations: [hook]}}
"""
SEND = "send: {type: track, event: A, userId: u1}"


def outcomes(scenarios: str, head: str = "", **options: int) -> list[runner.Outcome]:
    suite = runner.loads(f"{head}\nscenarios:\n{scenarios}", Workspace.loads(WORKSPACE))
    with runner.open_planes() as planes:
        return [o for o in runner.run(suite.scenarios, planes, **options) if isinstance(o, runner.Outcome)]  # type: ignore[arg-type]


def explanations(found: list[runner.Outcome]) -> list[str]:
    return [runner.explanation(outcome) for outcome in found if not outcome.ok]


@pytest.mark.parametrize("jobs", [1, 4])
def test_scenarios_that_follow_each_other_share_nothing(jobs: int) -> None:
    """Each has its own clock and first id, and its own answers; what one left over is not the next one's."""
    body = "{originalTimestamp: 20$(n)-01-01T12:00:00.000Z, messageId: 00000000-0000-4000-8000-000000000001}"
    frozen = (
        f"{{name: a, matrix: {{n: [21, 22, 23, 24]}}, freeze: {{time: '20$(n)-01-01T12:00:00Z', ids: sequence}}, {SEND}"
    )
    scenarios = (
        f"  - {frozen}, recorder: {{hook: [{{status: 503}}, {{status: 200}}]}}, "
        f"expect: {{delivered: [{{body: {body}}}], attempts: 2}}}}\n"
        f"  - {{name: b, recorder: {{hook: {{status: 400}}}}, {SEND}, expect: {{failed: {{status: 400}}}}}}\n"
        f"  - {{name: c, freeze: {{ids: sequence}}, {SEND}, expect: {{delivered: [{{}}], attempts: 1}}}}\n"
    )

    assert explanations(outcomes(scenarios, jobs=jobs)) == []


@pytest.mark.parametrize(
    ("recorder", "expect", "said"),
    [
        (
            "[{status: 429, headers: {Retry-After: 3600}}, {status: 200}]",
            "[{status: 429, attempt: 1}, {status: 200, after: 60m}]",
            "",
        ),
        (
            "[{status: 503}, {status: 503}, {status: 200}]",
            "[{after: {$absent: true}}, {after: 500ms}, {after: 1s}]",
            "",
        ),
        ("[{status: 503}, {status: 200}]", "[{}, {after: 10s}]", 'attempts.1.after: expected "10s", got "0.5s"'),
        ("[{status: 503}, {status: 200}]", "[{}, {after: {$gte: 0.5, $lt: 1}, body: {event: A}}]", ""),
        (
            "[{status: 503, body: {no: way}}, {status: 200}]",
            "[{response: {no: way}}, {headers: {Content-Type: {}}}]",
            "{}",
        ),
        ("[{close: true}, {status: 200}]", "[{error: {$contains: closed}}, {status: 200}]", ""),
        ("[{status: 503}, {status: 200}]", "[{}]", "attempts: expected 1 element, got 2"),
    ],
)
def test_attempts_are_records(recorder: str, expect: str, said: str) -> None:
    """Statuses, bodies, headers and times of each try; an hour that a destination asks for passes at once."""
    row = (
        f"  - {{name: a, recorder: {{hook: {recorder}}}, {SEND}, expect: {{attempts: {expect}, delivered: [{{}}]}}}}\n"
    )
    (outcome,) = outcomes(row)

    assert bool(explanations([outcome])) == bool(said), explanations([outcome])
    assert outcome.milliseconds < 5000
    assert said in "".join(explanations([outcome]))
