"""Steps of a scenario: captures, transformations alone, raw requests, invariants."""

from __future__ import annotations

from svctoolkit import Workspace, runner
from svctoolkit.runner import Outcome

WORKSPACE = """
transformations:
  strict: {language: python, code: "def transformEvent(event, metadata):\\n    if 'n' not in event['properties']:\\n        raise ValueError('no n')\\n    return event"}
destinations:
  a: {type: WEBHOOK, config: {webhookUrl: https://a.example/}}
  b: {type: WEBHOOK, config: {webhookUrl: https://b.example/}}
sources: {one: {writeKey: key-1, destinations: [a]}, two: {destinations: [a, b]}}
"""  # noqa: E501 - code in a line of YAML


def outcome(scenario: str) -> Outcome:
    """The outcome of one scenario."""
    suite = runner.loads(f"scenarios:\n  - {{name: s, {scenario}}}\n", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        (result,) = [notice for notice in runner.run(suite.scenarios, planes) if isinstance(notice, Outcome)]
    return result


def texts(result: Outcome) -> list[str]:
    """The differences of all steps."""
    return [str(difference) for step in result.steps for difference in step.differences]


def test_a_missing_captured_variable_skips_the_later_steps() -> None:
    """They would only repeat that it is missing."""
    first = "{source: one, send: {type: track, event: X, userId: u}, expect: {capture: {id: delivered.0.body.missing}}}"
    second = "{source: one, send: {type: track, event: $(id), userId: u}, expect: {delivered: [{}]}}"
    result = outcome(f"steps: [{first}, {second}]")

    assert result.status == "failed"
    assert len(result.steps) == 1


def test_a_failed_expectation_does_not_stop_the_later_steps() -> None:
    first = "{source: one, send: {type: track, event: X, userId: u}, expect: {delivered: [{body: {event: Y}}]}}"
    second = "{source: one, send: {type: track, event: Z, userId: u}, expect: {delivered: [{body: {event: Z}}]}}"
    result = outcome(f"steps: [{first}, {second}]")

    assert [len(step.differences) > 0 for step in result.steps] == [True, False]


def test_a_transformation_alone_reports_its_events_and_its_errors() -> None:
    """One error is a text, several are a list; accepted events are the result of `user_transform`."""
    good, bad = "{type: track, event: E, properties: {n: 1}}", "{type: track, event: E, properties: {}}"

    assert outcome(f"transformation: strict, event: {good}, expect: {{user_transform: {good}}}").status == "passed"
    one = outcome(f"transformation: strict, event: {bad}, expect: {{error: {{$regex: no n}}}}")
    two = outcome(
        f"transformation: strict, event: [{bad}, {bad}], expect: {{error: [{{$regex: no n}}, {{$regex: no n}}]}}"
    )
    assert (one.status, two.status) == ("passed", "passed")
    assert outcome(f"transformation: strict, event: {bad}, expect: {{user_transform: {bad}}}").status == "failed"


def test_a_raw_request_authenticates_as_a_source() -> None:
    """`auth: {source: one}` sends the write key; without it the answer is 401."""
    request = "path: /v1/track, json: {event: X, userId: u}"

    assert outcome(f"request: {{{request}, auth: {{source: one}}}}, expect: {{status: 200}}").status == "passed"
    assert outcome(f"request: {{{request}, auth: false}}, expect: {{status: 401}}").status == "passed"
    assert outcome(f"request: {{{request}, auth: {{source: one}}}}, expect: {{status: 401}}").status == "failed"


def test_results_of_one_destination_need_no_key() -> None:
    """`delivered` of a source with one destination may be a list; with several it is an object by destination."""
    one = "source: one, send: {type: track, event: X, userId: u}"
    two = "source: two, send: {type: track, event: X, userId: u}"

    assert outcome(f"{one}, expect: {{delivered: [{{body: {{event: X}}}}]}}").status == "passed"
    assert outcome(f"{one}, expect: {{delivered: {{a: [{{body: {{event: X}}}}]}}}}").status == "passed"
    assert outcome(f"{two}, expect: {{delivered: {{a: [{{}}], b: [{{}}]}}}}").status == "passed"
    assert outcome(f"{two}, expect: {{delivered: {{a: [{{}}], b: []}}}}").status == "failed"


def test_never_reports_each_stage_once() -> None:
    """A request that failed at first was sent as well. It is reported as a request, and not also as a delivery."""
    send = "source: one, recorder: {a: [{status: 503}, {status: 200}]}, send: {type: track, event: X, userId: u}"

    assert texts(outcome(f"{send}, never: [X], expect: {{delivered: [{{}}]}}")) == [
        'never: "X" is at dest_transform.a.0.body.JSON.event',
        'never: "X" is at send_to_destination.a.0.body.event',
    ]
