"""The parts of a suite: fixtures, variables, rows, steps, snapshots, scripts, a frozen clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import runner
from svctoolkit.cli import main
from svctoolkit.delivery import HttpRequest, HttpResponse
from svctoolkit.errors import ConfigError, UnsetVariables
from svctoolkit.runner import Outcome
from svctoolkit.runner.attempts import live as _live
from svctoolkit.runner.suite.cases import csv_rows
from tests.examples import up_to

HEAD = """\
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  crm: {type: WEBHOOK, config: {webhookUrl: https://crm.example/in}}
sources:
  web: {destinations: [hook, crm]}
defaults: {destination: hook}
"""
ORDER = {"type": "track", "event": "Order", "userId": "u1", "properties": {"revenue": 10, "items": [{"sku": "A1"}]}}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write `s.suite.yaml` next to `order.json` in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    Path("order.json").write_text(json.dumps(ORDER), encoding="utf-8")

    def written(scenarios: str, head: str = "") -> Path:
        path = Path("s.suite.yaml")
        path.write_text(f"{HEAD}{head}scenarios:\n{scenarios}", encoding="utf-8")
        return path

    return written


def outcomes(path: Path, **options: Any) -> list[Outcome]:
    loading = {name: options.pop(name) for name in ("variables", "environ") if name in options}
    with runner.open_planes(limit=60) as planes:
        found = runner.run(runner.load(path, **loading).scenarios, planes, **options)
        return [notice for notice in found if isinstance(notice, Outcome)]


def problems(path: Path, **options: Any) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        runner.load(path, **options)
    return [str(problem) for problem in raised.value.problems]


def body(expected: str) -> str:
    return f"{{dest_transform: {{body: {{JSON: {expected}}}}}}}"


# Fixtures


def test_a_fixture_can_be_changed_by_path(write: Callable[..., Path]) -> None:
    """`$use` takes it from a file or from the suite, `$set` and `$unset` change parts, variables work inside."""
    head = (
        "vars: {rate: 3}\nfixtures:\n  order: order.json\n  big: {$use: order, $set: {properties.revenue: $(rate)}}\n"
    )
    event = "{$use: big, $set: {properties.items.0.sku: B2, properties.new.deep: 1}, $unset: [userId]}"
    expect = body("{properties: {revenue: 3, items: [{sku: B2}], new: {deep: 1}}, userId: {$absent: true}}")
    (outcome,) = outcomes(write(f"  - {{name: a, event: {event}, expect: {expect}}}\n", head))

    assert outcome.differences == []


@pytest.mark.parametrize(
    ("fixtures", "event", "problem"),
    [
        ("{a: {$use: b}, b: {$use: a}}", "{$use: a}", "circular fixture: a -> b -> a"),
        ("{a: {$use: a}}", "{$use: a}", "a -> a"),
        ("{order: order.json}", "{$use: ordr}", "unknown fixture 'ordr'. Did you mean 'order'?"),
        ("{order: nowhere.json}", "{$use: order}", "nowhere.json"),
        ("{order: order.json}", "{$use: order, revenue: 1}", "'revenue' cannot be combined with $use"),
        ("{order: order.json}", "{$use: order, $set: {properties.items.5.sku: 1}}", "the list has 1 elements"),
        ("{order: order.json}", "{$use: order, $set: {event.deep: 1}}", "'deep' does not exist"),
        ("{order: order.json}", "{$use: order, $unset: [userid]}", "Did you mean 'userId'?"),
    ],
)
def test_a_wrong_fixture_is_reported(write: Callable[..., Path], fixtures: str, event: str, problem: str) -> None:
    """Cycles, misspelt names, missing files and invalid paths, each with its position."""
    found = problems(write(f"  - {{name: a, event: {event}, expect: {{status: 200}}}}\n", f"fixtures: {fixtures}\n"))

    assert problem in found[0]
    assert found[0].startswith("s.suite.yaml:")


# Variables


def test_environment_variables_and_secrets(write: Callable[..., Path]) -> None:
    """`$(env:...)` has defaults, `$(secret:...)` is masked in all reports."""
    head = "vars: {city: $(env:CITY:-Berlin), key: $(secret:API_KEY)}\n"
    event = "{type: track, city: $(city), key: key=$(key)}"
    path = write(f"  - {{name: a, event: {event}, expect: {body('{city: Berlin, key: other}')}}}\n", head)
    (outcome,) = outcomes(path, environ={"API_KEY": "s3cr3t-key"})

    assert [d.path[-1] for d in outcome.differences] == ["key"]
    assert "s3cr3t" not in runner.explanation(outcome)
    assert 'got "key=••••"' in runner.explanation(outcome)


def test_a_public_variable_must_be_set(write: Callable[..., Path]) -> None:
    """The problem names the variable, and says what to do."""
    scenario = "  - {name: a, event: {type: track, a: $(var:NOPE), b: x $(var:NOPE)}, expect: {status: 200}}\n"
    found = problems(write(scenario), environ={})

    assert ["NOPE is not set" in problem for problem in found] == [True, True]
    assert "$(var:NOPE:-default)" in found[0]


def test_a_secret_variable_that_is_not_set_has_a_placeholder(write: Callable[..., Path]) -> None:
    """The same one in the event and in the expectation, with one warning; a live scenario insists on the value."""
    expected = body("{a: $(env:NOPE), b: x <NOPE>}")
    event = "{type: track, a: $(env:NOPE), b: x $(secret:NOPE)}"
    scenario = f"  - {{name: a, event: {event}, expect: {expected}}}\n"
    with pytest.warns(UnsetVariables, match="1 environment variable is not set.*: NOPE$"):
        (outcome,) = outcomes(write(scenario), environ={"NOPE": ""})
    assert outcome.ok

    live = scenario.replace("- {name: a,", "- {name: a, live: {destination: hook},")
    with pytest.warns(UnsetVariables):
        suite = runner.load(write(live), environ={})
    with runner.open_planes(live=True) as planes:
        (outcome, *_) = (notice for notice in runner.run(suite.scenarios, planes) if isinstance(notice, runner.Outcome))
    assert (outcome.status, "NOPE" in outcome.reason) == ("error", True)


def test_variables_of_the_command_line_take_precedence(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--var` overrides the suite's, typed with `:=`; a name that no suite has is a mistake."""
    write(f"  - {{name: a, event: {{type: track, n: $(n)}}, expect: {body('{n: 7}')}}}\n", "vars: {n: 1}\n")
    Path("more.yaml").write_text("n: 7\n", encoding="utf-8")

    assert main(["run", "--var", "n:=7"]) == 0
    assert main(["run", "--vars", "more.yaml"]) == 0
    assert main(["run", "--var", "n=7"]) == 1
    assert main(["run", "--var", "m=7"]) == 4
    assert "unknown variable 'm'" in capsys.readouterr().err


# Rows


def test_rows_can_come_from_files(write: Callable[..., Path]) -> None:
    """CSV cells may be padded, empty is null, quoted is text; JSON files and NDJSON work, too."""
    Path("r.csv").write_text('id,  zip,    n, tags\na,  "0123", 1.5, edge slow\nb,  x,     ,\n', encoding="utf-8")
    Path("r.ndjson").write_text('{"zip": "0123", "n": 1.5}\n{"id": "b", "zip": "x", "n": null}\n', encoding="utf-8")
    event = "{type: track, zip: $(zip), n: [$(n)]}"
    rows = "".join(
        f"  - {{name: {kind}, cases: r.{kind}, event: {event}, expect: {body('{zip: {$type: string}, n: [$(n)]}')}}}\n"
        for kind in ("csv", "ndjson")
    )
    found = outcomes(write(rows))

    assert [(o.scenario.id, o.status) for o in found] == [
        ("csv[a]", "passed"),
        ("csv[b]", "passed"),
        ("ndjson[1]", "passed"),
        ("ndjson[b]", "passed"),
    ]
    assert found[0].scenario.tags == ("edge", "slow")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("a,b\n1\n", "r.csv:2:1: 1 cells, but the first line has 2"),
        ("a,a\n1,2\n", "r.csv:1:3: duplicate column 'a'"),
        ('a\n"x\n', "r.csv:2:1: the quote is never closed"),
        ('a\n"x" y\n', "r.csv:2:1: text after the closing quote"),
        ("a\n", "at least one"),
    ],
)
def test_an_invalid_table_is_reported(write: Callable[..., Path], text: str, problem: str) -> None:
    """With the line and the column in the CSV file."""
    Path("r.csv").write_text(text, encoding="utf-8")
    found = problems(write("  - {name: a, cases: r.csv, event: {type: track}, expect: {status: 200}}\n"))

    assert problem in found[0]


@settings(max_examples=up_to(60), deadline=None)
@given(st.text(alphabet=st.sampled_from('ab1," \t\n\r'), max_size=40))
def test_any_table_gives_rows_or_a_position(text: str) -> None:
    """The reader never crashes."""
    said, rows = "r.csv", list[dict[str, Any]]()
    try:
        rows = csv_rows(text, "r.csv")
    except ConfigError as error:
        said = str(error)

    assert said.startswith("r.csv")
    assert all(isinstance(row, dict) for row in rows)


def test_a_matrix_has_every_combination(write: Callable[..., Path]) -> None:
    """Ids are made from the values, or from their numbers if values are long or equal."""
    one = "{name: a, matrix: {type: [track, page], n: [1, 2]}, event: {type: $(type), n: $(n)}, expect: {status: 200}}"
    two = "{name: b, matrix: {p: [{x: 1}, {x: 2}]}, event: {type: track, p: $(p)}, expect: {status: 200}}"
    found = outcomes(write(f"  - {one}\n  - {two}\n"))

    assert [o.scenario.id for o in found] == ["a[track-1]", "a[track-2]", "a[page-1]", "a[page-2]", "b[1]", "b[2]"]
    assert {o.status for o in found} == {"passed"}


# Steps


def test_steps_share_captured_values(write: Callable[..., Path]) -> None:
    """A captured value keeps its type; a difference has the position of its step."""
    steps = (
        f"[{{event: {{type: track, n: 5}}, expect: {{capture: {{n: dest_transform.0.body.JSON.n}}}}}}, "
        f"{{event: {{type: track, m: $(n)}}, expect: {body('{m: 5}')}}}, "
        f"{{event: {{type: track, m: $(n)}}, expect: {body('{m: 6}')}}}]"
    )
    (outcome,) = outcomes(write(f"  - {{name: a, steps: {steps}}}\n"))

    assert [len(step.differences) for step in outcome.steps] == [0, 0, 1]
    assert "body.JSON.m: expected 6, got 5" in runner.explanation(outcome)
    assert "in step 3 of 3" in runner.explanation(outcome)


def test_a_failed_capture_ends_the_scenario(write: Callable[..., Path]) -> None:
    """Later steps would only repeat that the variable is missing."""
    first = "{event: {type: track}, expect: {capture: {n: dest_transform.nope}}}"
    steps = f"[{first}, {{event: {{type: track, n: $(n)}}, expect: {{status: 1}}}}]"
    (outcome,) = outcomes(write(f"  - {{name: a, steps: {steps}}}\n"))

    assert [str(d) for d in outcome.differences] == ["dest_transform.nope: expected a value to capture, got nothing"]


def test_a_step_uses_only_earlier_captures(write: Callable[..., Path]) -> None:
    """A variable captured by a later step is unknown."""
    second = "{event: {type: track}, expect: {capture: {n: status}}}"
    steps = f"[{{event: {{type: track, n: $(n)}}, expect: {{status: 200}}}}, {second}]"

    assert "unknown variable 'n'" in problems(write(f"  - {{name: a, steps: {steps}}}\n"))[0]


# Ignored paths, frozen clock, recorder


def test_ignored_paths_are_not_compared(write: Callable[..., Path]) -> None:
    """At any depth, with * for one step, also for $exact and in lists in any order."""
    event = "{type: track, context: {library: {version: 1}}, items: [{sku: A, seen: 1}, {sku: B, seen: 2}]}"
    expect = body("{$exact: {type: track, context: {library: {}}, items: {$unordered: [{sku: B}, {sku: A}]}}}")
    head = "ignore: [library.version, seen]\n"
    (outcome,) = outcomes(write(f"  - {{name: a, event: {event}, expect: {expect}}}\n", head))

    assert outcome.differences == []


def test_a_recorder_can_be_scripted(write: Callable[..., Path]) -> None:
    """A destination answers with the script, and the next scenario has a new recorder."""
    stages = "stages: {send_to_destination: true}, event: {type: track}"
    scripts = {
        "{hook: {status: 503, body: {no: way}}}": "{status: 503, response: {no: way}}",
        "{hook: [{close: true}]}": "{response: {success: false}}",
        "{}": "{status: 200}",
    }
    scenarios = "".join(
        f"  - {{name: s{n}, {stages}, recorder: {script}, expect: {{send_to_destination: {expected}}}}}\n"
        for n, (script, expected) in enumerate(scripts.items())
    )

    assert [o.status for o in outcomes(write(scenarios))] == ["passed"] * 3


def test_a_wrong_script_is_reported(write: Callable[..., Path]) -> None:
    """The nearest destination, the range of a status."""
    scenario = "  - {name: a, recorder: {hok: {status: 1}}, event: {type: track}, expect: {status: 200}}\n"
    found = problems(write(scenario))

    assert "must be 100 or more" in found[0]
    found = problems(write(scenario.replace("status: 1}", "status: 200}")))
    assert "unknown destination 'hok'. Did you mean 'hook'?" in found[0]


# Snapshots


def test_snapshots_are_compared_and_updated(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """A missing one fails, `--update=new` writes it, a change fails with a report, `--update` accepts it; not in CI."""
    path = write("  - {name: a, event: {$use: order}, expect: {dest_transform: {$snapshot: true}}}\n", FIXTURE)
    file = Path("__snapshots__/s/a.dest_transform.json")

    assert main(["run"]) == 1
    assert "--update=new" in capsys.readouterr().out
    assert main(["run", "--update=new"]) == 0
    assert json.loads(file.read_text(encoding="utf-8"))[0]["body"]["JSON"] == ORDER
    assert main(["run"]) == 0
    path.write_text(path.read_text(encoding="utf-8").replace("$use: order", "$use: order, $set: {userId: u2}"), "utf-8")
    assert main(["run", "--update=new"]) == 1
    assert '0.body.JSON.userId: expected "u1" (snapshot), got "u2"' in capsys.readouterr().out
    assert main(["run", "--update"]) == 0
    assert main(["run"]) == 0


FIXTURE = "fixtures: {order: order.json}\n"


def test_ci_writes_no_snapshots(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """There they would never be reviewed."""
    write("  - {name: a, event: {type: track}, expect: {dest_transform: {$snapshot: true}}}\n")
    monkeypatch.setenv("CI", "true")

    assert main(["run", "--update"]) == 4
    assert not Path("__snapshots__").exists()


def test_a_snapshot_contains_no_secrets_and_no_ignored_paths(write: Callable[..., Path]) -> None:
    """It is committed to the repository."""
    head = "vars: {key: $(secret:API_KEY)}\nignore: [noise]\n"
    scenario = (
        "  - {name: a, event: {type: track, key: $(key), noise: 1}, expect: {dest_transform: {$snapshot: true}}}\n"
    )
    path = write(scenario, head)
    outcomes(path, environ={"API_KEY": "s3cr3t-key"}, snapshots=runner.Snapshots("new"))
    text = Path("__snapshots__/s/a.dest_transform.json").read_text(encoding="utf-8")

    assert "s3cr3t" not in text
    assert "noise" not in text


def test_unused_snapshots_are_reported(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Only after a complete run; never those of skipped or interrupted scenarios."""
    row = "event: {type: track}, expect: {dest_transform: {$snapshot: true}}"
    write(f"  - {{name: a, {row}}}\n  - {{name: b, {row}}}\n  - {{name: c, steps: [{{{row}}}, {{{row}}}]}}\n")
    main(["run", "--update=new"])
    Path("__snapshots__/s/old.json").write_text("{}", encoding="utf-8")
    head = "event: {type: track}, expect: {status: 201}"
    steps = f"steps: [{{{head}}}, {{{row}}}]"
    write(f"  - {{name: a, {row}}}\n  - {{name: b, skip: later, {row}}}\n  - {{name: c, {steps}}}\n")

    for options, told in [([], ["old"]), (["-k", "c", "--repeat", "3"], [])]:
        capsys.readouterr()
        main(["run", *options])
        lines = [line for line in capsys.readouterr().err.splitlines() if "no scenario uses this snapshot" in line]
        assert lines == [
            f"svctoolkit: __snapshots__/s/{name}.json: no scenario uses this snapshot; delete it if it is obsolete"
            for name in told
        ]


# Live scenarios


LIVE = """\
  - name: a
    live:
      within: 2s
      every: 500ms
      verify: {get: "https://crm.example/$(n)", body: {status: active}, fail_when: {body: {status: gone}}}
    event: {type: track, n: 5}
    expect: {capture: {n: dest_transform.body.JSON.n}}
"""


def poll(path: Path, *answers: str) -> tuple[list[str], list[str]]:
    """The differences, and the addresses requested, when the service answers like this."""
    (scenario,) = runner.load(path).scenarios
    left: Iterator[str] = iter(answers)
    asked: list[str] = []
    now = [0.0]

    def transport(request: HttpRequest, *, timeout: float) -> HttpResponse:
        asked.append(request.url)
        return HttpResponse(200, {}, json.dumps({"status": next(left)}).encode())

    def sleep(seconds: float) -> None:
        now[0] += seconds

    assert scenario.live is not None
    found = _live.poll(scenario.live, {"n": 5}, transport=transport, clock=lambda: now[0], sleep=sleep)
    return [str(d) for d in found], asked


def test_a_live_service_is_polled_until_it_has_the_data(write: Callable[..., Path]) -> None:
    """With captured variables, at the given interval, up to the timeout."""
    path = write(LIVE)

    assert poll(path, "new", "new", "active") == ([], ["https://crm.example/5"] * 3)
    found, asked = poll(path, *["new"] * 9)
    assert found == ['body.status: expected "active", got "new" after 2 s']
    assert len(asked) == 5


def test_a_known_bad_state_ends_the_wait(write: Callable[..., Path]) -> None:
    """`fail_when` ends it before the deadline."""
    found, asked = poll(write(LIVE), "new", "gone", "active")

    assert len(asked) == 2
    assert "a response that matches" in found[0]


def test_live_scenarios_run_on_request(write: Callable[..., Path]) -> None:
    """Without `--live` nothing is sent, and the report says why."""
    (outcome,) = outcomes(write(LIVE))

    assert (outcome.status, outcome.reason) == ("skipped", "live: only runs with --live")


@pytest.mark.parametrize(
    ("scenario", "problem"),
    [
        ("{name: a, cases: [{n: 1}], matrix: {n: [1]}, event: {}, expect: {status: 1}}", "cases or a matrix, not both"),
        (
            "{name: a, event: {type: track}, send: {type: track}, source: web, expect: {status: 1}}",
            "a scenario can only do one thing",
        ),
        ("{name: a, send: {type: track}, expect: {delivered: {hook: []}}, source: wb}", "Did you mean 'web'?"),
        ("{name: a, source: web, send: {type: track}, expect: {status: 200}}", "unknown result 'status' for"),
        ("{name: a, source: web, send: 5, expect: {delivered: []}}", "must be an event"),
        ("{name: a, source: web, calls: [{track: a, page: b}], expect: {delivered: []}}", "a call must be one name"),
        ("{name: a, event: {}, freeze: {time: soon}, expect: {status: 1}}", "'soon' is not a valid time"),
        ("{name: a, event: {}, freeze: {time: 9999-12-31T23:59:59Z}, expect: {status: 1}}", "is not between the years"),
        ("{name: a, event: {at: $(now-99999999999d)}, expect: {status: 1}}", "$(now-99999999999d) is beyond the range"),
        ("{name: a, event: {}, freeze: {time: 2026-01-01T12:00:00}, expect: {status: 1}}", "the time zone is missing"),
        ("{name: a, event: {}, live: {within: soon}, expect: {status: 1}}", "must match the pattern"),
        ("{name: a, event: {}, setup: [{event: {}, expect: {body: {}}}], expect: {status: 1}}",
         "must succeed"),
        ("{name: a, event: {}, expect: {status: {$tol: 1}}}", "$tol can only be used together with $approx"),
        ("{name: a, transformation: clean, event: {}, expect: {error: x}}", "unknown transformation 'clean'"),
        ("{name: a, event: {}, expect: {status: {$regexx: x}}}", "8:44: unknown matcher '$regexx'. Did you mean"),
        ("{name: a, event: {}, live: {verify: {get: x, body: {$lenght: 1}}}, expect: {status: 1}}", "$length"),
        ("{name: a, steps: [{event: {}, expect: {capture: {n: status}}}, {event: {}, "
         "expect: {status: {$any: [{$typ: $(n)}]}}}]}", "unknown matcher '$typ'"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_position(write: Callable[..., Path], scenario: str, problem: str) -> None:
    """Each with file, line and column."""
    found = problems(write(f"  - {scenario}\n"))

    assert problem in found[0]
    assert found[0].startswith("s.suite.yaml:")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 9)), "without end"),
        ("\tscenarios: []\n", "tab"),
        ("scenarios: []\nscenarios: []\n", "duplicate key"),
        ("scenarios: []\n", "must not be empty"),
        ("- 1\n", "must be an object"),
        ("scenarios: [{name: x, expect: !!python/object:os.system {}}]\n", "tag"),
        ("", "must be an object"),
    ],
)  # fmt: skip
def test_invalid_yaml_is_reported(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    """No traceback, exit code 4, and the position."""
    Path("bad.suite.yaml").write_text(text, encoding="utf-8")

    assert main(["run", "bad.suite.yaml"]) == 4
    said = capsys.readouterr().err
    assert problem in said
    assert "bad.suite.yaml" in said
    assert "Traceback" not in said


def test_windows_files_are_accepted(write: Callable[..., Path]) -> None:
    """A byte-order mark and CRLF make no difference."""
    path = write("  - {name: a, event: {type: track}, expect: {status: 200}}\n")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))

    assert [o.status for o in outcomes(path)] == ["passed"]
