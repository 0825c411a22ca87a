"""What a suite can say in few words: encoded values, repeated events."""

from __future__ import annotations

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.errors import ConfigError, InvalidSuite
from svctoolkit.runner import Outcome

WORKSPACE = """
transformations:
  count: {language: python, code: "def transformEvent(event, metadata):\\n    return event"}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
sources: {web: {destinations: [hook]}}
"""
HASH = "11aeb624b8be848da290b1cdffde94c36f70ea311e98729414c6ed13c87fb243"  # SHA-256 of mira@mail.example


def outcomes(scenario: str, head: str = "") -> list[Outcome]:
    """The outcomes of a scenario, one for each of its rows."""
    suite = runner.loads(f"{head}\nscenarios:\n  - {{name: s, {scenario}}}\n", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        return [notice for notice in runner.run(suite.scenarios, planes) if isinstance(notice, Outcome)]


def sends(properties: str, expected: str, more: str = "", head: str = "") -> list[str]:
    """The differences of a scenario that sends an event with these properties and expects them in the request."""
    expect = f"{{delivered: [{{body: {{properties: {expected}}}}}]}}"
    send = f"{{type: track, event: A, userId: u1, properties: {properties}}}"
    (result,) = outcomes(f"send: {send}, expect: {expect}{more}", head)
    return [str(difference) for difference in result.differences]


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        ("{$sha256: mira@mail.example}", HASH),
        ("{$sha1: mira@mail.example}", "0e432722e44822e90d952f17cc0a2ca1208d2cc8"),
        ("{$base64: mira@mail.example}", "bWlyYUBtYWlsLmV4YW1wbGU="),
        ("{$md5: 17}", "70efdf2ec9b086079795c442636b55fb"),
        ("{$url: a b&c/é}", "a%20b%26c%2F%C3%A9"),
        ("{$base64: {$md5: 17}}", "NzBlZmRmMmVjOWIwODYwNzk3OTVjNDQyNjM2YjU1ZmI="),
    ],
)
def test_an_encoding_is_a_value_and_a_matcher(encoded: str, text: str) -> None:
    """What is sent is the encoded text, and what is expected, too."""
    assert sends(f"{{h: {encoded}}}", f'{{h: "{text}"}}') == []
    assert sends(f'{{h: "{text}"}}', f"{{h: {encoded}}}") == []
    assert len(sends("{h: mira@mail.example}", f"{{h: {encoded}}}")) == 1


def test_a_text_that_was_not_encoded_is_reported_as_such() -> None:
    """The difference shows the encoded form, and that the text itself came."""
    (text,) = sends("{h: mira@mail.example}", "{h: {$sha256: mira@mail.example}}")

    assert f'expected "{HASH}", the $sha256 of "mira@mail.example"' in text
    assert 'got "mira@mail.example", the text itself' in text


def test_variables_and_rules_can_be_encoded() -> None:
    """`vars`, rows, captured values and `never` take encodings; `$literal` keeps a key with such a name."""
    head = "vars: {mail: mira@mail.example, hash: {$sha256: $(mail)}}"
    capture = "{send: {type: track, event: A, userId: u}, expect: {capture: {who: delivered.0.body.userId}}}"
    later = "{send: {type: track, event: {$md5: $(who)}, userId: u}, expect: {delivered: [{body: {event: {$md5: u}}}]}}"

    assert sends("{h: $(hash)}", f'{{h: "{HASH}"}}', head=head) == []
    assert sends("{h: {$literal: {$url: x}}}", "{h: {$literal: {$url: x}}}") == []
    assert all("never" in text for text in sends("{u: '/?h=$(hash)'}", "{}", ", never: [{$sha256: $(mail)}]", head))
    assert outcomes(f"steps: [{capture}, {later}]")[0].status == "passed"


@pytest.mark.parametrize("where", ["send: {type: track, userId: {$sha256: [1]}}", "vars: {x: {$sha256: true}}"])
def test_what_cannot_be_encoded_is_reported_with_its_place(where: str) -> None:
    """A list or a truth value has no text."""
    other = "" if "send" in where else "send: {type: track, event: A, userId: u}, "
    with pytest.raises(InvalidSuite, match=r"suite:3:\d+: \$sha256 must be a text or a number"):
        outcomes(f"{other}{where}, expect: {{delivered: [{{}}]}}")


def test_repeated_events_have_numbers() -> None:
    """`repeat: 25` sends 25 events; `$(index)` counts from 0, and `$$(index)` stays as it is."""
    event = "{type: track, event: A, userId: u$(index), properties: {n: $(index), text: '$$(index)'}}"
    (result,) = outcomes(f"repeat: 25, send: {event}, expect: {{delivered: {{$length: 25}}}}")
    bodies = [request["body"] for request in result.steps[0].results["delivered"]]

    assert result.ok
    assert [(body["userId"], body["properties"]["n"]) for body in bodies] == [(f"u{n}", n) for n in range(25)]
    assert bodies[3]["properties"]["text"] == "$(index)"


def test_rows_say_how_often() -> None:
    """`repeat: $(n)` works with rows, also for calls, lists, and a transformation alone."""
    rows = "cases: [{n: 2}, {n: 3}]"
    calls = f"{rows}, repeat: $(n), calls: [{{track: {{name: A$(index)}}}}], expect: {{delivered: {{$length: $(n)}}}}"
    pair = "{type: track, event: A, userId: u}, {type: track, event: B$(index), userId: u}"
    several = f"{rows}, repeat: $(n), send: [{pair}], expect: {{delivered: {{$contains: [{{body: {{event: B1}}}}]}}}}"
    event = "event: {type: track, event: A, userId: u$(index)}"
    alone = f"repeat: 2, transformation: count, {event}, expect: {{user_transform: [{{userId: u0}}, {{userId: u1}}]}}"

    assert [o.status for o in outcomes(calls)] == ["passed", "passed"]
    assert [o.status for o in outcomes(several)] == ["passed", "passed"]
    assert [o.status for o in outcomes(alone)] == ["passed"]


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("send: {type: track, event: A, userId: u$(index)}, expect: {delivered: [{}]}", r"write `repeat: N`"),
        (
            "repeat: 2, destination: hook, event: {type: track}, expect: {status: 200}",
            r"`repeat` needs `send`, `calls`",
        ),
        (
            "vars: {n: many}, repeat: $(n), send: {type: track}, expect: {delivered: [{}]}",
            r"`repeat` must be a number from 1 to 10,000",
        ),
        ("repeat: 10001, send: {type: track}, expect: {delivered: [{}]}", r"'repeat' must be 10000 or less"),
    ],
)
def test_a_wrong_repeat_is_reported(scenario: str, message: str) -> None:
    """What it needs, and where it is written."""
    with pytest.raises(ConfigError, match=message):
        outcomes(scenario)
