"""Scenarios share a data plane but have their own clock, ids and answers; waiting takes no time."""

from __future__ import annotations

import time

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.errors import InvalidSuite

WORKSPACE = """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
sources: {web: {destinations: [hook]}}
"""
SEND = "send: {type: track, event: A, userId: u1}"


def outcomes(scenarios: str, head: str = "", **options: int) -> list[runner.Outcome]:
    suite = runner.loads(f"{head}\nscenarios:\n{scenarios}", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        return [o for o in runner.run(suite.scenarios, planes, **options) if isinstance(o, runner.Outcome)]  # type: ignore[arg-type]


def slow_outcome(scenario: str, milliseconds: int) -> runner.Outcome:
    """Return the outcome of a scenario whose user code takes this much real time for each event."""
    busy = f"const end = Date.now() + {milliseconds}; while (Date.now() < end); return e"
    code = (
        f'transformations: {{busy: {{language: javascript, code: "export function transformEvent(e) {{ {busy} }}"}}}}'
    )
    workspace = Workspace.loads(WORKSPACE.replace("WEBHOOK,", "WEBHOOK, transformation: busy,") + code)
    with runner.open_planes(limit=60) as planes:
        return runner.attempt(runner.loads(f"\nscenarios:\n{scenario}", workspace).scenarios[0], planes)


def explanations(found: list[runner.Outcome]) -> list[str]:
    return [runner.explanation(outcome) for outcome in found if not outcome.ok]


@pytest.mark.parametrize("jobs", [1, 4])
def test_successive_scenarios_are_independent(jobs: int) -> None:
    """Each has its own clock and first id, and its own answers; unused ones are not passed on."""
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
def test_attempts_are_recorded(recorder: str, expect: str, said: str) -> None:
    """Status, body, headers and time of each attempt; a requested pause of an hour passes at once."""
    row = (
        f"  - {{name: a, recorder: {{hook: {recorder}}}, {SEND}, expect: {{attempts: {expect}, delivered: [{{}}]}}}}\n"
    )
    (outcome,) = outcomes(row)

    assert bool(explanations([outcome])) == bool(said), explanations([outcome])
    assert outcome.milliseconds < 60_000
    assert said in "".join(explanations([outcome]))


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("send: {type: track, event: A, userId: u1, originalTimestamp: $(now-1h)}, "
         "freeze: {time: '2026-01-01T12:00:00Z'}, "
         "expect: {delivered: [{body: {originalTimestamp: '2026-01-01T11:00:00.000Z'}}]}", ""),
        ("send: {type: track, event: A, userId: u1, originalTimestamp: $(now)}, "
         "expect: {delivered: [{body: {originalTimestamp: {$gte: $(now-5s), $lte: $(now+1d)}}}]}", ""),
        ("send: {type: track, event: A, userId: $(uuid), messageId: $(uuid:m)}, "
         "expect: {delivered: [{body: {userId: $(uuid), messageId: {$all: [$(uuid:m), {$not: $(uuid)}]}}}]}", ""),
        ("send: {type: track, event: $$(now), userId: u1}, expect: {delivered: [{body: {event: $$(now)}}]}", ""),
        ("vars: {who: u7, id: $(who)-x}, send: {type: track, event: A, userId: $(id)}, "
         "expect: {delivered: [{body: {userId: u7-x}}]}", ""),
        ("vars: {who: $(whom)}, send: {type: track, event: A, userId: $(who)}, expect: {delivered: [{}]}",
         "unknown variable 'whom'"),
        ("destination: hook, destinationConfig: {webhookUrl: https://other.example/x}, send: {type: track, event: A, "
         "userId: u1}, expect: {delivered: [{url: https://other.example/x}]}", ""),
        ("destinationConfig: {webhookUrl: https://other.example/x}, send: {type: track, event: A, userId: u1}, "
         "expect: {delivered: [{}]}", "`destinationConfig` requires a `destination`"),
        ("limit: 0.000001, send: {type: track, event: A, userId: u1}, expect: {delivered: [{}]}",
         "it took longer than its limit of 1e-06 s"),
        ("limit: 60s, send: {type: track, event: A, userId: u1}, expect: {delivered: [{}]}", ""),
    ],
)  # fmt: skip
def test_a_scenario_can_have_its_own_settings(scenario: str, said: str) -> None:
    """Its own variables, times and ids, configuration and timeout."""
    try:
        explained = "".join(explanations(outcomes(f"  - {{name: a, {scenario}}}\n")))
    except InvalidSuite as error:
        explained = str(error)

    assert bool(explained) == bool(said), explained
    assert said in explained


def test_a_row_configuration_does_not_affect_the_next() -> None:
    """Each row has its own, and the scenario after them has the workspace's again."""
    rows = (
        "  - {name: a, matrix: {n: [1, 2, 3]}, destination: hook, "
        "destinationConfig: {webhookUrl: https://o$(n).example/}, "
        f"{SEND}, expect: {{delivered: [{{url: https://o$(n).example/}}]}}}}\n"
        f"  - {{name: b, destination: hook, {SEND}, expect: {{delivered: [{{url: https://hook.example/in}}]}}}}\n"
    )

    assert explanations(outcomes(rows)) == []


def test_variables_work_in_an_inline_workspace() -> None:
    """`$(name)` of the suite's variables works in inline configuration, like environment variables."""
    head = (
        WORKSPACE.replace("hook.example", "$(host).example").replace("/in", "/$(env:NO_SUCH:-in)")
        + "vars: {host: mine}\n"
    )
    expect = "expect: {delivered: [{url: https://$(host).example/in}]}"

    assert explanations(outcomes(f"  - {{name: a, {SEND}, {expect}}}\n", head)) == []


def test_a_timeout_applies_to_all_steps_together() -> None:
    """Time used by one step is not available to the next ones."""
    step = "{source: web, send: {type: track, event: A, userId: u}, expect: {delivered: [{}]}}"
    text = f"  - {{name: a, limit: 500ms, steps: [{step}, {step}, {step}, {step}, {step}]}}\n"
    outcome = slow_outcome(text, 200)

    assert "it took longer than its limit of 0.5 s" in explanations([outcome])[0]


def test_parallel_pauses_of_destinations_overlap() -> None:
    """Each has its own pauses; the clock advances by the longest."""
    workspace = Workspace.loads(
        WORKSPACE.replace("sources:", "  lake: {type: WEBHOOK, config: {webhookUrl: https://lake.example/in}}\nsources:")
        .replace("[hook]", "[hook, lake]")
    )  # fmt: skip
    retry = "{status: 429, headers: {Retry-After: %d}}"
    recorder = f"{{hook: [{retry % 10}, {retry % 20}, {{}}], lake: [{retry % 7}, {retry % 3600}, {{}}]}}"
    attempts = "{hook: [{}, {after: 10s}, {after: 20s}], lake: [{}, {after: 7s}, {after: 60m}]}"
    later = "{source: web, send: {type: track, event: B, userId: u2}, expect: {delivered: {hook: [{body: {receivedAt: "
    steps = f"[{{source: web, {SEND}, expect: {{attempts: {attempts}}}}}, {later}'2026-01-01T01:00:07.000Z'}}}}]}}}}}}]"
    freeze = "freeze: {time: 2026-01-01T00:00:00Z}"
    suite = runner.loads(f"scenarios:\n  - {{name: a, {freeze}, recorder: {recorder}, steps: {steps}}}\n", workspace)
    started = time.monotonic()
    with runner.open_planes(limit=60) as planes:
        outcome = runner.attempt(suite.scenarios[0], planes)

    assert time.monotonic() - started < 600  # and not an hour
    assert outcome.ok, runner.explanation(outcome)


def test_a_timeout_is_reported_once() -> None:
    """Not additionally as unused answers; the run does not wait for the scenario any longer."""
    text = f"  - {{name: a, limit: 200ms, recorder: {{hook: {{}}}}, {SEND}, expect: {{delivered: [{{}}]}}}}\n"
    (said,) = explanations([slow_outcome(text, 3000)])

    assert [line for line in said.splitlines() if line.startswith("suite:")] == [
        "suite:3:22: it took longer than its limit of 0.2 s: events are still under way after 0.2 s: 1 to hook"
    ]
