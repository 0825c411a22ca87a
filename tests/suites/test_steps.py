"""Steps of a scenario: captures, transformations alone, raw requests, invariants."""

from __future__ import annotations

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.runner import Outcome

WORKSPACE = """
transformations:
  strict: {language: python, code: "def transformEvent(event, metadata):\\n    if 'n' not in event['properties']:\\n        raise ValueError('no n')\\n    return event"}
  drop: {language: python, code: "def transformEvent(event, metadata):\\n    return None"}
destinations:
  gone: {type: WEBHOOK, transformation: drop, config: {webhookUrl: https://gone.example/}}
  a: {type: WEBHOOK, config: {webhookUrl: https://a.example/}}
  b: {type: WEBHOOK, config: {webhookUrl: https://b.example/}}
  off: {type: WEBHOOK, enabled: false, config: {webhookUrl: https://off.example/}}
  plain: {type: WEBHOOK, transformation: strict, config: {webhookUrl: https://plain.example/}}
sources: {one: {writeKey: key-1, destinations: [a]}, two: {destinations: [a, b]}, three: {destinations: [a, plain]}, four: {destinations: [gone, plain]}}
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


TWO = "source: two, send: {type: track, event: X, userId: u}"
VERIFY = "event: {type: track, event: X, userId: u, properties: {n: 1}}"


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (f"{TWO}, expect: {{attempts: [{{status: 200}}, {{status: 200}}]}}", []),
        (f"{TWO}, expect: {{attempts: {{a: 1, b: 1}}}}", []),
        (f"{TWO}, expect: {{attempts: {{a: 1, b: 2}}}}", ["attempts.b: expected 2, got 1"]),
        (f"{TWO}, expect: {{delivered: [{{body: {{event: X}}}}, {{body: {{event: X}}}}]}}", []),
        (f"{TWO}, expect: {{delivered: {{$only: {{a: [{{}}]}}}}}}", ["delivered.b: expected nothing, got"]),
        (f"{TWO}, expect: {{delivered: {{$only: {{a: [{{}}], b: [{{}}]}}}}}}", []),
        (f"{TWO}, expect: {{dest_transform: {{$exact: {{a: {{$type: object}}, b: {{$type: object}}}}}}}}", []),
        (f"{TWO}, expect: {{response: {{headers: {{content-type: {{$regex: .}}}}}}}}", []),
        (
            f"{TWO}, expect: {{response: {{headers: {{x-none: 1}}}}}}",
            ["response.headers.x-none: expected 1, got nothing"],
        ),
    ],
)
def test_results_of_several_destinations(scenario: str, said: list[str]) -> None:
    """A list has the results of all destinations, a map those of each; `$only` also says where nothing goes."""
    found = texts(outcome(scenario))
    assert [text.startswith(start) for text, start in zip(found, said, strict=True)] == [True] * len(said), found


@pytest.mark.parametrize(
    ("answers", "attempts", "said"),
    [
        ("[{status: 503}, {status: 200}]", "[{}, {after: 500ms}]", []),
        ("[{status: 503}, {status: 200}]", "[{}, {after: 3m}]", ['attempts.1.after: expected "3m", got "0.5s"']),
        ("[{status: 429, headers: {retry-after: '90'}}, {}]", "[{}, {after: 90s}]", []),
        (
            "[{status: 429, headers: {retry-after: '90'}}, {}]",
            "[{}, {after: 2m}]",
            ['attempts.1.after: expected "2m", got "1.5m"'],
        ),
        (
            "[{status: 429, headers: {retry-after: '90'}}, {}]",
            "[{}, {after: 91s}]",
            ['attempts.1.after: expected "91s", got "90s"'],
        ),
    ],
)
def test_pauses_before_attempts(answers: str, attempts: str, said: list[str]) -> None:
    """A wrong pause is shown in the unit of the expectation, if that gives a short number."""
    scenario = f"source: one, recorder: {{a: {answers}}}, send: {{type: track, event: X, userId: u}}"

    assert texts(outcome(f"{scenario}, expect: {{attempts: {attempts}}}")) == said


def test_an_invariant_without_values_names_its_place() -> None:
    """Programs find it by its path, people by its text."""
    scenario = f"{TWO}, always: {{user_transform: {{event: X}}}}, expect: {{delivered: {{a: [{{}}], b: [{{}}]}}}}"
    result = outcome(scenario)

    assert [difference.path for difference in result.differences] == [("always", "user_transform")]
    assert "user_transform had no values to check" in texts(result)[0]


BAD = VERIFY.replace("{n: 1}", "{}")
FULL = "stages: {user_transform: true, dest_transform: true, send_to_destination: true}"


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (f"source: two, {VERIFY}, expect: {{dest_transform: {{a: {{method: POST}}, b: {{method: POST}}}}}}", []),
        (f"source: two, {VERIFY}, expect: {{dest_transform: {{a: {{method: GET}}}}}}", ["dest_transform.a.method"]),
        (f"source: two, {VERIFY}, expect: {{dest_transform: {{a: [{{}}], b: [{{}}]}}}}", []),
        (f"source: one, {VERIFY}, expect: {{dest_transform: {{a: {{method: POST}}}}}}", []),
        (f"source: one, {VERIFY}, expect: {{dest_transform: {{method: POST}}}}", []),
        (f"source: one, {VERIFY}, expect: {{dest_transform: [{{method: POST}}]}}", []),
        (
            f"source: three, {BAD}, expect: {{dest_transform: {{a: {{method: POST}}}}}}",
            ["plain: failed in user_transform"],
        ),
        (f"source: three, {BAD}, expect: {{user_transform: {{plain: {{error: {{$regex: no n}}}}}}}}", []),
        (
            f"destination: plain, {BAD}, expect: {{dest_transform: {{method: POST}}}}",
            ["plain: failed in user_transform"],
        ),
        (
            f"destination: off, {VERIFY}, expect: {{dest_transform: {{method: POST}}}}",
            ["off: failed in routing", "dest"],
        ),
        (f"destination: off, {VERIFY}, expect: {{error: {{$regex: disabled}}}}", []),
        (f"destination: off, force: true, {VERIFY}, expect: {{dest_transform: {{method: POST}}}}", []),
        (f"destination: a, {FULL}, {VERIFY}, expect: {{send_to_destination: {{status: 200}}}}", []),
        (f"destination: a, {FULL}, {VERIFY}, expect: {{user_transform: {{error: {{$regex: not found}}}}}}", []),
        (
            f"destination: a, {VERIFY}, recorder: {{a: [{{status: 404}}]}}, {FULL}, expect: {{dest_transform: [{{}}]}}",
            ["a: failed in send_to_destination: the destination answered 404"],
        ),
        (
            f"destination: a, {VERIFY}, recorder: {{a: [{{status: 404}}]}}, {FULL}, "
            "expect: {send_to_destination: {status: 404}}",
            [],
        ),
        (
            f"destination: a, {VERIFY}, recorder: {{a: [{{status: 404, body: {{success: false}}}}]}}, {FULL}, "
            "expect: {send_to_destination: {response: {success: false}}}",
            [],
        ),
    ],
)
def test_verified_events(scenario: str, said: list[str]) -> None:
    """Results by destination or alone; a failure that the expectation does not mention is a difference."""
    found = texts(outcome(scenario))
    assert len(found) == len(said), found
    assert all(text.startswith(start) for text, start in zip(found, said, strict=True)), found


@pytest.mark.parametrize(
    ("delivered", "said"),
    [
        ("{body: {event: X}}", 'delivered.a.0.body.type: expected nothing, got "track"'),
        ("{method: POST, headers: {content-type: application/json}}", ""),
        ("{method: POST, headers: {Content-Type: application/json}}", ""),
        ("{method: POST, headers: {x: y}}", 'delivered.a.0.headers.x: expected "y", got nothing'),
        ("{method: POST}, {}", "delivered.a: expected 2 elements, got 1"),
        ("{$anywhere: X}", ""),
    ],
)
def test_exact_requests(delivered: str, said: str) -> None:
    """What is named is compared completely: the body, but not headers or members without a name."""
    send = "source: one, send: {type: track, event: X, userId: u}"
    found = texts(outcome(f"{send}, exact: [delivered], expect: {{delivered: {{a: [{delivered}]}}}}"))

    assert found[0].startswith(said) if said else not found, found


def test_exact_attempts_are_numbers() -> None:
    """`exact: true` concerns requests and results, not counts."""
    send = "source: one, send: {type: track, event: X, userId: u}"
    assert texts(outcome(f"{send}, exact: true, expect: {{attempts: 1}}")) == []


DROPPED = "gone: dropped in user_transform: event dropped by user_transformation"
FAILED = "plain: failed in user_transform: ValueError: no n"


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (f"destination: gone, {VERIFY}, exact: [user_transform], expect: {{user_transform: {{event: X}}}}", [DROPPED]),
        (
            f"destination: gone, {VERIFY}, exact: [user_transform], expect: {{user_transform: [{{event: X}}]}}",
            [DROPPED],
        ),
        (
            f"destination: gone, {VERIFY}, exact: true, expect: {{dest_transform: {{method: POST}}, "
            "user_transform: {event: X}}",
            [DROPPED],
        ),
        (
            f"source: four, {VERIFY}, exact: [user_transform], expect: {{user_transform: {{gone: {{event: X}}, "
            "plain: {event: X}}}",
            [DROPPED, "user_transform.plain"],
        ),
        (
            f"source: four, {BAD}, exact: true, expect: {{user_transform: {{gone: {{event: X}}, plain: {{event: X}}}}, "
            "dest_transform: {gone: {method: POST}, plain: {method: POST}}}",
            [DROPPED, FAILED],
        ),
        (
            f"destination: plain, {BAD}, exact: true, "
            "expect: {user_transform: {event: X}, dest_transform: {method: POST}}",
            [FAILED],
        ),
        (
            f"destination: gone, {VERIFY}, exact: [user_transform], "
            "expect: {user_transform: [{event: X}, {event: Y}]}",
            [DROPPED],
        ),
    ],
)
def test_what_follows_from_a_failed_stage_is_not_reported(scenario: str, said: list[str]) -> None:
    """Only the cause is: not the missing members or the stages after it. Other destinations keep their differences."""
    result = outcome(scenario)
    found = texts(result)

    assert all(text.startswith(tuple(said)) for text in found), found
    assert [start for start in said if any(text.startswith(start) for text in found)] == said, found
    assert len([text for text in found if text.startswith((DROPPED, FAILED))]) == len({*said} & {DROPPED, FAILED})
    if DROPPED in said:  # it points to the expectation that is not met
        assert result.differences[0].expectation[0] == "user_transform"


def test_never_covers_what_a_transformation_returns() -> None:
    """The output of a user transformation is searched, too, but not the event as the scenario sent it."""
    send = "send: {type: track, event: X, userId: u, properties: {n: 1}}, never: [X]"
    found = texts(outcome(f"source: three, {send}, expect: {{attempts: {{a: 1, plain: 1}}}}"))

    assert 'never: "X" is at user_transform.plain.0.event' in found
    assert not any("user_transform.a" in text for text in found)


def test_parts_of_a_suite_that_no_scenario_needs_are_reported() -> None:
    """Responses that nothing received, and invariants of a stage without values, each with its line."""
    suite = runner.loads(
        "recorder: {b: [{status: 503}, {status: 500, times: 2}]}\nalways: {user_transform: {event: X}}\n"
        "scenarios:\n  - {name: s, source: one, send: {type: track, event: X, userId: u}, expect: {attempts: 1}}\n",
        Workspace.loads(WORKSPACE),
    )
    idle = runner.IdleParts()
    with runner.open_planes(limit=60) as planes:
        for notice in runner.run(suite.scenarios, planes):
            if isinstance(notice, Outcome):
                idle.add(notice)

    assert [line.partition(": ")[2] for line in (*idle.lines([suite]), *idle.failures([suite]))] == [
        "recorder: no scenario uses more than 0 of the 3 responses for 'b'",
        "always: user_transform had no values to check (without a transformation, the output is just the input), "
        "in any scenario",
    ]
