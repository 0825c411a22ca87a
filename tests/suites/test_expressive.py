"""What a suite can say in few words: encoded values, repeated events, known bugs, warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError, InvalidSuite
from svctoolkit.runner import Outcome

WORKSPACE = """
transformations:
  boom: {language: python, code: "def transformEvent(event, metadata):\\n    raise ValueError('broken')"}
  count: {language: python, code: "def transformEvent(event, metadata):\\n    return event"}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  bad: {type: WEBHOOK, transformation: boom, config: {webhookUrl: https://bad.example/in}}
sources: {web: {destinations: [hook]}, broken: {destinations: [bad]}}
"""
ANY = "{$type: object}"
HASH = "11aeb624b8be848da290b1cdffde94c36f70ea311e98729414c6ed13c87fb243"  # SHA-256 of mira@mail.example


def outcomes(scenario: str, head: str = "") -> list[Outcome]:
    """The outcomes of a scenario, one for each of its rows."""
    suite = runner.loads(
        f"{head}\ndefaults: {{source: web}}\nscenarios:\n  - {{name: s, {scenario}}}\n", Workspace.loads(WORKSPACE)
    )
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
    assert all("never" in text for text in sends("{u: '/?h=$(hash)'}", ANY, ", never: [{$sha256: $(mail)}]", head))
    assert outcomes(f"steps: [{capture}, {later}]")[0].status == "passed"


@pytest.mark.parametrize("where", ["send: {type: track, userId: {$sha256: [1]}}", "vars: {x: {$sha256: true}}"])
def test_what_cannot_be_encoded_is_reported_with_its_place(where: str) -> None:
    """A list or a truth value has no text."""
    other = "" if "send" in where else "send: {type: track, event: A, userId: u}, "
    with pytest.raises(InvalidSuite, match=r"suite:4:\d+: \$sha256 must be a text or a number"):
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


WRONG = "send: {type: track, event: A, userId: u, properties: {total: 1}}, expect: {delivered: [{body: {event: %s, properties: {total: 2}}}]}"  # noqa: E501 - a line of YAML
TOTAL = "xfail: {reason: SHOP-1, differs: delivered.*.body.properties.total}"


@pytest.mark.parametrize(
    ("scenario", "status", "said"),
    [
        (f"{TOTAL}, {WRONG % 'A'}", "xfailed", ""),
        (f"{TOTAL}, {WRONG % 'B'}", "failed", "only covers delivered.*.body.properties.total"),
        (f"{TOTAL}, source: broken, {WRONG % 'A'}", "failed", "only covers"),
        (f"{TOTAL}, {WRONG.replace('total: 2', 'total: 1') % 'A'}", "failed", "it passed, but is marked xfail: SHOP-1"),
        (f"xfail: SHOP-1, {WRONG % 'B'}", "xfailed", ""),
        (f"xfail: SHOP-1, {WRONG.replace('userId: u, ', '') % 'A'}", "failed", "write xfail: {reason"),
        (f"xfail: SHOP-1, source: broken, {WRONG % 'A'}", "failed", "differs: failed}"),
        (f"xfail: {{reason: SHOP-1, differs: failed}}, source: broken, {WRONG % 'A'}", "xfailed", ""),
        (f"xfail: SHOP-1, setup: [{{type: trak, userId: u}}], {WRONG % 'A'}", "failed", "does not cover"),
        (f"severity: warn, {WRONG % 'B'}", "warned", "delivered.0.body.event"),
        (f"severity: warn, {WRONG.replace('total: 2', 'total: 1') % 'A'}", "passed", ""),
        (f"cases: [{{xfail: {{reason: SHOP-1, differs: delivered}}, n: $(now)}}], {WRONG % '$(n)'}", "xfailed", ""),
    ],
)
def test_a_known_bug_covers_what_it_says(scenario: str, status: str, said: str) -> None:
    """Another difference, a refused event or a crash is not the known bug; with `severity: warn` it is a warning."""
    (result,) = outcomes(scenario)

    assert result.status == status
    assert result.ok is (status != "failed")
    assert said in (runner.explanation(result) if result.deviates else "")


def test_another_failure_of_a_known_bug_is_reported_at_its_xfail() -> None:
    """The position is that of `xfail`, which is to be changed if the failure is part of the bug."""
    (result,) = outcomes(f"{TOTAL}, {WRONG % 'B'}")
    *_, last = runner.explanation(result).split("suite:4:")

    column, place, _ = last.split(": ", 2)
    assert place == "xfail"
    assert last.splitlines()[1].lstrip().startswith("- {name: s, xfail: {reason")
    assert int(column) == len("  - {name: s, xfail: {")


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("xfail: {reason: x, differs: deliverd.0}", "unknown result 'deliverd': a path begins with one. Did you mean"),
        ("xfail: {reason: x}", "'xfail' needs 'differs'"),
        ("xfail: x, severity: warn", "a scenario that only warns cannot be expected to fail"),
        ("severity: warning", "'severity' must be one of error, warn"),
    ],
)
def test_a_wrong_xfail_is_reported(scenario: str, message: str) -> None:
    """The message says what to write."""
    with pytest.raises(ConfigError, match=message):
        outcomes(f"{scenario}, {WRONG % 'A'}")


def test_a_warning_is_in_every_report_and_the_run_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The console, GitHub, JUnit, TAP, Markdown, the page: each shows the difference, none a failure."""
    monkeypatch.chdir(tmp_path)
    text = f"{WORKSPACE}defaults: {{source: web}}\nseverity: warn\nscenarios:\n  - {{name: s, {WRONG % 'A'}}}\n"
    Path("a.suite.yaml").write_text(text, encoding="utf-8")
    names = ("github", "junit", "tap", "markdown", "html", "json")
    options = [f"--report={name}={name}.txt" for name in names]

    assert main(["run", "a.suite.yaml", *options, "--report=console"]) == 0
    reports = {name: Path(f"{name}.txt").read_text(encoding="utf-8") for name in names}
    assert "WARNED a.suite.yaml::s" in (shown := capsys.readouterr().out)
    assert "1 warned in" in shown
    assert reports["github"].startswith("::warning file=a.suite.yaml,line=")
    assert reports["junit"].count("<failure") == 0
    assert reports["tap"].splitlines()[2].startswith("ok 1 - ")
    assert "✅" in reports["markdown"]
    assert "No failures" in reports["html"]
    assert all("expected 2, got 1" in report for report in reports.values())


def test_a_run_in_which_everything_is_skipped_is_not_green(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with 5, as a run that selects nothing; a shard may be all skipped."""
    monkeypatch.chdir(tmp_path)
    skipped = f"  - {{name: s, skip: later, source: web, {WRONG % 'A'}}}\n"
    Path("a.suite.yaml").write_text(f"{WORKSPACE}scenarios:\n{skipped}", encoding="utf-8")

    assert main(["run", "a.suite.yaml"]) == 5
    assert "every scenario has `skip`" in capsys.readouterr().err
    assert main(["run", "a.suite.yaml", "--shard", "1/1"]) == 0
