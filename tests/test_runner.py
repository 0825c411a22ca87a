"""Suites: their format, their expectations, and the reports of failures."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svctoolkit import runner, yamlfile
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.runner import Finished, Outcome
from tests.examples import up_to

SUITES = Path(__file__).parent.parent / "suites"
WORKSPACE = """\
destinations:
  hook: {id: dst1, type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  crm: {type: WEBHOOK, config: {webhookUrl: https://crm.example/in}, enabled: false}
sources:
  web: {destinations: [hook, crm]}
  shop: {destinations: [hook]}
"""
EVENT = "event: {type: track, event: E, userId: u1, properties: {revenue: 10}}"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write `s.suite.yaml` with these scenarios in an empty working directory."""
    monkeypatch.chdir(tmp_path)

    def written(scenarios: str, head: str = WORKSPACE, name: str = "s.suite.yaml") -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}scenarios:\n{scenarios}", encoding="utf-8")
        return path

    return written


def outcomes(path: Path, **options: Any) -> list[Outcome]:
    with runner.open_planes(limit=60) as planes:
        found = runner.run(runner.load(path).scenarios, planes, **options)
        return [notice for notice in found if isinstance(notice, Outcome)]


def problems(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        runner.load(path)
    return [str(problem) for problem in raised.value.problems]


def verify(expect: str, **members: str) -> str:
    extra = "".join(f"    {key}: {value}\n" for key, value in members.items())
    target = "" if "source" in members else "    destination: hook\n"
    return f"  - name: a scenario\n{target}    {EVENT}\n{extra}    expect: {expect}\n"


# Format of suites


@pytest.mark.parametrize("path", sorted(SUITES.glob("*.suite.yaml")), ids=lambda p: p.name)
def test_all_suites_of_the_repository_pass(path: Path) -> None:
    """Every suite of this repository passes, scenario by scenario."""
    found = outcomes(path)

    assert [runner.explanation(o) for o in found if o.status != "passed"] == []
    assert found


def test_the_suites_cover_the_specification() -> None:
    """They are not empty by accident: each row of the specification has its scenario."""
    _, scenarios = runner.collect([str(SUITES)])

    assert len(scenarios) >= 150


@pytest.mark.parametrize(
    "expect",
    [
        "{dest_transform: {body: {JSON: {properties: {revenue: 10}}}}}",
        "{dest_transform: [{body: {JSON: {properties: {revenue: 10}}}}]}",
        "{dest_transform: {$length: 1}}",
        "{dest_transform: {$contains: {method: POST}}}",
        "{dest_transform: {$exact: {$contains: {method: POST}}}, status: 200}",
        "{dest_transform: {$any: [{method: GET}, {method: POST}]}}",
        "{dest_transform: {$unordered: [{method: POST}]}}",
    ],
)
def test_a_single_value_needs_no_list(write: Callable[..., Path], expect: str) -> None:
    """A stage's values are a list; a single one may be expected without it."""
    (outcome,) = outcomes(write(verify(expect)))

    assert outcome.status == ("failed" if "$exact" in expect else "passed")


def test_results_of_a_source_are_expected_by_destination(write: Callable[..., Path]) -> None:
    """With several destinations each has its key; a source with one needs none."""
    found = outcomes(
        write(
            verify("{dest_transform: {hook: {method: POST}}, error: {crm: {$contains: disabled}}}", source="web")
            + verify("{dest_transform: {method: POST}}", source="shop", id="alone")
            + verify("{dest_transform: {hook: {method: POST}}}", source="shop", id="keyed")
        )
    )

    assert [o.status for o in found] == ["passed"] * 3


def test_status_200_is_expected_by_default(write: Callable[..., Path]) -> None:
    """A refused request does not pass if the scenario mentions no status."""
    (outcome,) = outcomes(write("  - {name: a, request: {path: /nowhere}, expect: {headers: {}}}\n"))

    assert [str(d) for d in outcome.differences] == ["status: expected 200, got 404"]


def test_variables_keep_their_type(write: Callable[..., Path]) -> None:
    """`$(x)` alone is the value, inside text it becomes text, and `$$(x)` is literal."""
    event = '{type: track, properties: {n: $(n), none: $(none), text: "n=$(n) $(none)", raw: $$(n)}}'
    expect = '{dest_transform: {body: {JSON: {properties: {n: 5, none: null, text: "n=5 null", raw: $$(n)}}}}}'
    scenario = f"  - {{name: a, destination: hook, event: {event}, expect: {expect}}}\n"
    (outcome,) = outcomes(write(scenario, head=WORKSPACE + "vars: {n: 5, none: null}\n"))

    assert outcome.differences == []


def test_every_row_is_a_scenario(write: Callable[..., Path]) -> None:
    """Ids come from the rows' ids or numbers, never from values; titles show the values; tags are combined."""
    rows = "[{id: de, country: DE, tags: [eu]}, {country: NO, skip: later}, {country: XX, xfail: BUG-1}]"
    event = "{type: track, context: {country: $(country)}}"
    expect = "{dest_transform: {body: {JSON: {context: {country: DE}}}}}"
    members = f"name: Country $(country)!, tags: [geo], destination: hook, event: {event}, expect: {expect}"
    path = write(f"  - {{{members}, cases: {rows}}}\n", head=f"{WORKSPACE}tags: [all]\n")
    found = outcomes(path)

    scenarios = [o.scenario for o in found]
    assert [s.id for s in scenarios] == ["country-country[de]", "country-country[2]", "country-country[3]"]
    assert [s.title for s in scenarios] == ["Country DE!", "Country NO!", "Country XX!"]
    assert scenarios[0].tags == ("all", "geo", "eu")
    assert [(o.status, o.reason) for o in found] == [("passed", ""), ("skipped", "later"), ("xfailed", "BUG-1")]


def test_xfail_is_strict(write: Callable[..., Path]) -> None:
    """A scenario that passes although it is expected to fail is a failure that says why."""
    (outcome,) = outcomes(write(verify("{status: 200}", xfail="BUG-1")))

    assert outcome.status == "failed"
    assert runner.explanation(outcome) == "s.suite.yaml:8:5: it passed, but is marked xfail: BUG-1"


def test_a_suite_never_sends_to_a_real_destination(write: Callable[..., Path]) -> None:
    """A workspace file in `live` mode is recorded, too: the address of this destination does not exist."""
    workspace = f"{WORKSPACE}delivery: {{mode: live}}\n".replace("hook.example", "127.0.0.1:1")
    Path("w.yaml").write_text(workspace, encoding="utf-8")
    scenario = verify("{send_to_destination: {status: 200}}", stages="{send_to_destination: true}")
    (outcome,) = outcomes(write(scenario, head="workspace: w.yaml\n"))

    assert outcome.differences == []


def test_scenarios_can_run_in_an_event_loop(write: Callable[..., Path]) -> None:
    """As in a notebook or an asynchronous test."""
    path = write(verify("{status: 200}"))

    async def inside() -> list[str]:
        return [o.status for o in outcomes(path)]

    assert asyncio.run(inside()) == ["passed"]


def test_fail_fast_stops_at_the_first_failure(write: Callable[..., Path]) -> None:
    """Scenarios that did not run are in the total, but in no other count."""
    scenarios = runner.load(write(verify("{status: 1}") + verify("{status: 200}", id="second"))).scenarios
    with runner.open_planes(limit=60) as planes:
        *_, finished = runner.run(scenarios, planes, fail_fast=True)

    assert isinstance(finished, Finished)
    assert (dict(finished.counts), finished.total) == ({"failed": 1}, 2)


def test_an_interrupt_ends_the_run_and_is_reported(write: Callable[..., Path]) -> None:
    """Ctrl-C during a scenario: the outcomes so far are kept, and `Finished` is still sent."""
    scenarios = runner.load(write(verify("{status: 200}") + verify("{status: 200}", id="second"))).scenarios
    ticks: Iterator[float | BaseException] = iter([0.0, 1.0, 1.0, 2.0, 2.0, KeyboardInterrupt(), 4.0])

    def clock() -> float:
        tick = next(ticks)
        if isinstance(tick, BaseException):
            raise tick
        return tick

    with runner.open_planes(limit=60) as planes:
        _, first, finished = runner.run(scenarios, planes, clock=clock)

    assert isinstance(first, Outcome)
    assert first.milliseconds == 1000
    assert finished == Finished(finished.counts, 4.0, 2, interrupted=True)
    assert dict(finished.counts) == {"passed": 1}


# Mistakes in suites


@pytest.mark.parametrize(
    ("scenario", "problem"),
    [
        (
            "{name: a, expect: {status: 1}}",
            "4:5: a scenario needs one of destination, source, transformation, send, calls, request and python",
        ),
        (
            "{name: a, destination: hook, source: web, event: {}, expect: {status: 1}}",
            "this one has destination and source",
        ),
        ("{name: a, destination: hook, expect: {status: 1}}", "4:5: a scenario needs an `event`"),
        ("{name: a, destination: hook, event: {}, expect: {}}", "4:45: the expectation is missing or empty"),
        ("{name: a, destination: hook, event: {}}", "4:5: the expectation is missing or empty"),
        (
            "{name: a, destination: hok, event: {}, expect: {status: 1}}",
            "4:15: unknown destination 'hok'. Did you mean 'hook'?",
        ),
        (
            "{name: a, source: wb, event: {}, expect: {status: 1}}",
            "4:15: unknown source 'wb'. Did you mean 'web'?",
        ),
        (
            "{name: a, destination: hook, event: {}, expect: {statuss: 1}}",
            "unknown key 'statuss'. Did you mean 'status'?",
        ),
        (
            "{name: a, destination: hook, event: {}, expect: {status: {$regex: '('}}}",
            "4:63: $regex must be a valid pattern",
        ),
        ("{name: a, destination: hook, event: {}, expect: {status: {$type: strng}}}", "Did you mean 'string'?"),
        (
            "{name: a, destination: hook, event: {}, expect: {status: {$any: []}}}",
            "$any must be a list of at least one",
        ),
        ("{name: a, destination: hook, event: {}, expect: {status: {$absent: 1}}}", "$absent must be true or false"),
        ("{name: a, destination: hook, event: {}, expect: {status: {$length: x}}}", "$length must be a number"),
        ("{name: a, destination: hook, event: {}, expect: {status: {$unordered: x}}}", "$unordered must be a list"),
        (
            "{name: a, destination: hook, event: {}, expect: {body: {a: 1, $regex: x}}}",
            "$regex cannot be combined with other keys",
        ),
        (
            "{name: a, destination: hook, event: {}, expect: {send_to_destination: {status: 200}}}",
            "4:54: the stage is off",
        ),
        (
            "{name: a, destination: hook, event: {a: $(n)}, expect: {status: 1}}",
            "4:45: unknown variable 'n'. Write $$(n)",
        ),
        (
            "{name: a, destination: hook, event: $(v), expect: {status: 1}}",
            "4:34: must be an object",
        ),
        (
            "{name: a, destination: hook, stages: {dest_transform: yes}, event: {}, expect: {status: 1}}",
            "must be true or false, not 'yes'",
        ),
        ("{name: a, destination: hook, cases: [], event: {}, expect: {status: 1}}", "'cases' must not be empty"),
        (
            "{name: a, source: web, destinationConfig: {}, event: {}, expect: {status: 1}}",
            "`destinationConfig` requires a `destination`",
        ),
        (
            "{name: a, source: web, event: {}, expect: {dest_transform: {hok: 1}}}",
            "4:65: the source is not connected to a destination 'hok'",
        ),
        ("{name: a, source: web, event: {}, expect: {dest_transform: []}}", "the source has several destinations"),
        ("{name: a, request: {path: v0}, expect: {status: 1}}", "a path must start with /"),
        ("{name: a, request: {path: /, method: 'GET /'}, expect: {status: 1}}", "is not a valid HTTP method"),
        (
            '{name: a, request: {path: /, headers: {X: "a\\r\\nb"}}, expect: {status: 1}}',
            "invalid header",
        ),
        ("{name: a, request: {path: /, json: 1, body: a}, expect: {status: 1}}", "`json` or `body`, not both"),
        ("{name: a, request: {path: /}, event: {}, expect: {status: 1}}", "a request is sent unchanged"),
        ("{name: a, request: {path: /}, tags: [skip], expect: {status: 1}}", "use another tag"),
        ("{name: a, request: {path: /}, skip: x, xfail: y, expect: {status: 1}}", "not both"),
        ("{name: a, request: {path: /}, skip: true, expect: {status: 1}}", "'skip' must be a string"),
    ],
)
def test_a_mistake_in_a_suite_is_reported_with_its_position(
    write: Callable[..., Path], scenario: str, problem: str
) -> None:
    """Each is one problem with file, line, column and advice."""
    Path("w.yaml").write_text(WORKSPACE, encoding="utf-8")
    (found,) = problems(write(f"  - {scenario}\n", head="workspace: w.yaml\nvars: {v: 5}\n"))

    assert re.match(r"s\.suite\.yaml:\d+:\d+: ", found)
    assert problem in found


def test_all_mistakes_are_reported_together(write: Callable[..., Path]) -> None:
    """A mistake shared by rows is reported once."""
    broken = "{name: a, destination: hok, cases: [{n: 1}, {n: 2}], event: {x: $(n)}, expect: {status: 1}}"
    found = problems(write(f"  - {broken}\n  - {{name: b, source: wb, event: {{}}, expect: {{status: 1}}}}\n"))

    assert len(found) == 2


def test_duplicate_ids_are_rejected(write: Callable[..., Path]) -> None:
    """Ids name tests, so the second one is rejected, with the line of the first."""
    (found,) = problems(write(verify("{status: 200}") + verify("{status: 200}")))

    assert found.startswith("s.suite.yaml:12:5: duplicate id 'a-scenario', also used in line 8")


def test_a_workspace_is_inline_or_a_file(write: Callable[..., Path]) -> None:
    """Both together is a mistake, and so is a missing file; a mistake inside either has its position."""
    scenario = verify("{status: 200}")

    assert "belongs in the workspace file" in problems(write(scenario, head=f"workspace: w.yaml\n{WORKSPACE}"))[0]
    assert "s.suite.yaml:1:12: no such file: w.yaml" in problems(write(scenario, head="workspace: w.yaml\n"))[0]
    assert "s.suite.yaml:2:26" in problems(write(scenario, head=WORKSPACE.replace("WEBHOOK", "WEBHOK", 1)))[0]


VALID: dict[str, Any] = {
    "version": 1,
    "suite": "S",
    "tags": ["a"],
    "vars": {"x": 1},
    "destinations": {"hook": {"type": "WEBHOOK", "config": {"webhookUrl": "https://hook.example"}}},
    "scenarios": [
        {
            "name": "n $(c)",
            "destination": "hook",
            "cases": [{"c": 1, "id": "r"}],
            "stages": {"user_transform": True},
            "event": {"type": "track", "v": "$(c)"},
            "expect": {"status": 200, "dest_transform": {"body": {"$exact": {"JSON": {"$type": "object"}}}}},
        },
        {
            "name": "r",
            "request": {"path": "/", "headers": {"a": "b"}, "json": 1},
            "expect": {"status": {"$any": [404]}},
        },
    ],
}
PATHS = [[]]
for path in PATHS:
    inner: Any = VALID
    for step in path:
        inner = inner[step]
    keys = inner.keys() if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
    PATHS += [[*path, key] for key in keys]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=8)
    | st.sampled_from(["$(x)", "$(", "hook", "$regex"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["$regex", "$any", "$type", "$length", "name", "a"]) | st.text(max_size=4),
            inner,
            max_size=2,
        )
    ),
    max_leaves=4,
)


@settings(max_examples=up_to(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PATHS), value=JSON)
def test_any_suite_runs_or_is_rejected(tmp_path: Path, path: list[str | int], value: Any) -> None:
    """With any value anywhere; mistakes have positions."""
    suite = json.loads(json.dumps(VALID))
    inner = suite
    for step in path[:-1]:
        inner = inner[step]
    if path:
        inner[path[-1]] = value
    file = tmp_path / "s.suite.yaml"
    file.write_text(yaml.safe_dump(suite if path else value), encoding="utf-8")

    try:
        found, refused = outcomes(file), ()
    except ConfigError as error:
        found, refused = [], error.problems

    assert found or refused
    assert [o.reason for o in found if o.status == "error"] == []
    assert [str(problem) for problem in refused if not problem.where] == []


def test_the_schema_for_editors_accepts_all_suites() -> None:
    """It is valid JSON Schema."""
    validator = jsonschema_rs.validator_for(runner.editor_schema())
    files = [yamlfile.load(path).data for path in SUITES.glob("*.suite.yaml")]

    assert [error.message for file in files for error in validator.iter_errors(file)] == []


# Reports of failures


def test_one_wrong_field_is_reported_in_a_few_lines(write: Callable[..., Path]) -> None:
    """Place, path, both values, where the value came from, the source line and a caret."""
    (outcome,) = outcomes(write(verify("{dest_transform: {body: {JSON: {userId: u2}}}}")))

    assert runner.explanation(outcome).splitlines() == [
        's.suite.yaml:11:53: dest_transform.body.JSON.userId: expected "u2", got "u1"',
        "  userId: from userId",
        "        expect: {dest_transform: {body: {JSON: {userId: u2}}}}",
        "                                                        ^",
    ]


def test_every_difference_is_reported(write: Callable[..., Path]) -> None:
    """Not only the first; if several stages differ, the first one is named."""
    expect = "{user_transform: {event: X}, dest_transform: {method: PUT, endpoint: nowhere}}"
    (outcome,) = outcomes(write(verify(expect)))
    text = runner.explanation(outcome)

    assert [str(d.path[-1]) for d in outcome.differences] == ["event", "method", "endpoint"]
    assert "the first stage that differs is user_transform" in text


def test_the_message_of_a_refusal_is_reported(write: Callable[..., Path]) -> None:
    """It is more useful than the status."""
    scenario = "  - {name: a, destination: hook, event: {type: buy}, expect: {dest_transform: {method: POST}}}\n"
    (outcome,) = outcomes(write(scenario))

    assert "the response says: message type is unsupported" in runner.explanation(outcome)


def test_the_error_of_a_failed_stage_is_reported(write: Callable[..., Path]) -> None:
    """When a payload is missing, the previous stage's error is shown."""
    event = "{type: track, appendPath: {a: 1}}"
    expect = "{send_to_destination: {status: 200}}"
    scenario = (
        f"  - {{name: a, destination: hook, stages: {{send_to_destination: true}}, event: {event}, expect: {expect}}}\n"
    )
    (outcome,) = outcomes(write(scenario))

    assert "hook: failed in dest_transform: appendPath: expected a string" in runner.explanation(outcome)


def test_secrets_are_masked_in_reports(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret from the environment in a payload is not in the explanation."""
    monkeypatch.setenv("HOOK_KEY", "s3cr3t-key")
    head = WORKSPACE.replace(
        "https://hook.example/in}", "https://hook.example/in, headers: [{from: k, to: $(env:HOOK_KEY)}]}"
    )
    (outcome,) = outcomes(write(verify("{dest_transform: {headers: {k: other}}}"), head=head))
    text = runner.explanation(outcome)

    assert "s3cr3t" not in text
    assert 'expected "other", got "••••"' in text


def test_control_characters_are_escaped(write: Callable[..., Path]) -> None:
    """Escape sequences in titles and values are shown, not executed."""
    event = '{type: "\\e[31mred"}'
    scenario = f'  - {{name: "a\\e[2J", destination: hook, event: {event}, expect: {{error: "x"}}}}\n'
    (outcome,) = outcomes(write(scenario))

    assert "\x1b" not in outcome.scenario.title + runner.explanation(outcome)


# The command


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["run", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


PASSES = verify("{status: 200}", tags="[good]")
FAILS = verify("{status: 201}", id="bad", tags="[bad]")


def test_exit_codes(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """0 ok, 1 failed, 4 invalid, 5 nothing selected."""
    write(PASSES + FAILS)
    write("  - {}\n", name="broken/x.suite.yaml")

    assert run(capsys, "s.suite.yaml", "--tags", "good")[0] == 0
    assert run(capsys, "s.suite.yaml")[0] == 1
    assert run(capsys, "broken")[0] == 4
    assert run(capsys, "nowhere")[0] == 4
    assert run(capsys, "s.suite.yaml", "--tags", "and")[0] == 4
    assert run(capsys, "s.suite.yaml", "--tags", "gud")[0] == 5


def test_a_failure_is_reported_briefly(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """One line per suite, at most ten for a wrong field, a summary."""
    write(PASSES + FAILS)
    _, out, _ = run(capsys)

    lines = out.splitlines()
    assert lines[0] == "s.suite.yaml: 1 passed, 1 failed"
    assert lines[2] == "FAILED s.suite.yaml::bad"
    assert re.fullmatch(r"1 passed, 1 failed in \d+\.\d\d s", lines[-1])
    assert len(lines) <= 10
    assert "\x1b" not in out


def test_one_scenario_can_be_selected_by_name(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """By its name in the report; a misspelt id gets a suggestion."""
    write(PASSES + FAILS)

    assert "s.suite.yaml: 1 failed" in run(capsys, "s.suite.yaml::bad")[1]
    assert "Did you mean 'a-scenario'?" in run(capsys, "s.suite.yaml::a-scenari")[2]


def test_list_and_validate_run_nothing(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` prints the selected scenarios, `--validate` only checks."""
    write(PASSES + FAILS)

    assert run(capsys, "--list", "-k", "bad") == (0, "s.suite.yaml::bad  a scenario\n", "")
    assert run(capsys, "--validate") == (0, "1 suite, 2 scenarios: valid\n", "")


def test_the_folder_suites_is_the_default(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Without a path: `suites` if it exists, otherwise everything below; hidden folders are ignored."""
    write(PASSES, name="suites/a.suite.yaml")
    write(FAILS, name="b.suite.yml")
    write(FAILS, name=".venv/c.suite.yaml")

    assert run(capsys)[0] == 0
    assert run(capsys, ".", "suites")[1].splitlines()[:2] == ["b.suite.yml: 1 failed", "suites/a.suite.yaml: 1 passed"]


def test_an_empty_selection_names_the_tags(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt tag gets a suggestion; for an empty folder, the message says how to begin."""
    write(PASSES + FAILS)

    assert "none of 2 scenarios is selected. Did you mean 'good'?" in run(capsys, "--tags", "goood")[2]
    Path("empty").mkdir()
    assert "svctoolkit init" in run(capsys, "empty")[2]


@pytest.mark.parametrize(
    ("text", "selects"),
    [
        ("a", {"a", "ab", "abc"}),
        ("a and not b", {"a"}),
        ("not a", {"b"}),
        ("a and (b or c)", {"ab", "abc"}),
        ("b or a and c", {"b", "ab", "abc"}),
        ("not (a and b)", {"a", "b"}),
    ],
)
def test_tag_expressions_have_the_usual_precedence(text: str, selects: set[str]) -> None:
    """`not` binds tighter than `and`, `and` tighter than `or`."""
    from svctoolkit.runner.suite.select import expression

    assert {word for word in ("a", "b", "ab", "abc") if expression(text)(set(word).__contains__)} == selects


@pytest.mark.parametrize("text", ["and", "a b", "(a", "a)", "not", "a or", "()"])
def test_an_invalid_expression_is_rejected(text: str) -> None:
    """With an example; its meaning is not guessed."""
    with pytest.raises(ConfigError, match="orders and not live"):
        runner.select([], tags=text)


def test_a_run_imports_only_what_it_needs(write: Callable[..., Path]) -> None:
    """No third-party package, and no module of ours, that a passing run without network and coverage does not need."""
    path = write(PASSES)
    code = (
        "import sys; from svctoolkit.cli import main; code = main(sys.argv[1:]);"
        "others = {'pandas', 'httpx', 'httpcore', 'uvicorn', 'pytest', 'IPython', 'mini_racer', 'tree_sitter', "
        " 'importlib.metadata', 'jsonschema_rs'};"
        "ours = {'delivery.live', 'server.plane', 'server.web.openapi', 'runner.coverage.collector', "
        " 'runner.planes.remote', 'runner.attempts.send', 'runner.report.text', 'sdk', 'display', 'widgets', 'replay', "
        " 'transformations._worker', 'plans.survey', 'plans.schema.formats', 'simulations.catalogue', "
        " 'simulations.rules', 'warehouse.comparison', 'warehouse.rows.tables', "
        " 'plans.model', 'pipeline.fates'};"
        "unused = others | {f'svctoolkit.{name}' for name in ours};"
        "print(sorted(unused & sys.modules.keys())); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, "run", str(path)], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
