"""Reports of a run: all reporters get the same notices. Coverage, `--failed`, changed scenarios, recording."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from msgspec.structs import replace

from svctoolkit import inputs, runner
from svctoolkit.cli import main
from svctoolkit.runner import REPORTERS, Notice, Output
from svctoolkit.runner.record.personal import Pseudonyms

SUITE = """\
suite: All <of> it
tags: [orders]
transformations:
  clean:
    language: python
    code: |
      def transformEvent(event, metadata):
          if event.get("x"):
              return None
          return event
destinations:
  hook:
    type: WEBHOOK
    transformation: clean
    config: {webhookUrl: https://hook.example/in, headers: [{from: k, to: $(env:HOOK_KEY)}]}
  crm: {type: WEBHOOK, config: {webhookUrl: https://crm.example/in}}
scenarios:
  - name: passes
    destination: hook
    event: {type: track, event: A}
    expect: {dest_transform: {body: {JSON: {event: A}}}}
  - name: fails </script> & all
    id: fails
    destination: hook
    event: {type: track, event: A, noise: "<b>&]]>\\u0007"}
    expect:
      user_transform: {event: B}
      dest_transform: {headers: {k: other}, method: GET}
  - {name: skipped, skip: "not yet, 5 % done", destination: hook, event: {}, expect: {status: 1}}
  - {name: gap, xfail: BUG-1, destination: hook, event: {type: track}, expect: {status: 1}}
  - {name: fixed, xfail: BUG-2, destination: hook, event: {type: track}, expect: {status: 200}}
"""
SECRET = "s3cr3t-key"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with the suite in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOOK_KEY", SECRET)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    Path("s.suite.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def outcome_of_a_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Notice]]:
    """The path of the suite, and the notices of one run."""
    home = tmp_path_factory.mktemp("run")
    (home / "s.suite.yaml").write_text(SUITE, encoding="utf-8")
    planes = runner.Planes(coverage=True)
    with pytest.MonkeyPatch.context() as context:
        context.chdir(home)
        context.setenv("HOOK_KEY", SECRET)
        notices = list(runner.run(runner.load(Path("s.suite.yaml")).scenarios, planes, coverage=True))
    planes.close()
    return home, notices


@pytest.fixture
def notices(outcome_of_a_run: tuple[Path, list[Notice]], monkeypatch: pytest.MonkeyPatch) -> list[Notice]:
    """The notices of one run, recorded once; its folder is the working directory."""
    home, notices = outcome_of_a_run
    monkeypatch.chdir(home)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return notices


def told(name: str, notices: list[Notice]) -> str:
    stream = io.StringIO()
    reporter = REPORTERS[name](Output(stream))
    for notice in notices:
        reporter(notice)
    return stream.getvalue()


@pytest.mark.parametrize("name", REPORTERS)
def test_no_reporter_shows_a_secret(notices: list[Notice], name: str) -> None:
    """Each writes something, without the secret that was delivered."""
    text = told(name, notices)

    assert "fails" in text
    assert SECRET not in text


@pytest.mark.parametrize("schema", ["junit_ant.xsd", "junit_jenkins.xsd"])
def test_junit_is_valid_for_common_schemas(notices: list[Notice], schema: str) -> None:
    """Ant's is the strictest, Jenkins's the one of most CI servers; a broken scenario is valid, too.

    `file` and `line` of a case are additional attributes, which other readers ignore.
    """
    broken = [replace(n, status="error", reason="boom") for n in notices if isinstance(n, runner.Outcome)]
    text = told("junit", [*notices[:-1], *broken, notices[-1]])

    known = re.sub(r'(<testcase [^>]*?) file="[^"]*" line="[0-9]+"', r"\1", text)
    xmlschema.XMLSchema(str(Path(__file__).parent / "suites" / schema)).validate(known)
    assert "<failure " in text
    assert "<error " in text
    assert "<skipped " in text


def test_junit_has_numbers_and_places(notices: list[Notice]) -> None:
    """The numbers are those of the suite; the text of a failure leads to the expectation."""
    suite = ET.fromstring(told("junit", notices))[0]

    assert {k: suite.get(k) for k in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "All <of> it",
        "tests": "5",
        "failures": "2",
        "errors": "0",
        "skipped": "2",
    }
    assert {case.get("file") for case in suite.iter("testcase")} == {"s.suite.yaml"}
    assert all(int(case.get("line", 0)) > 1 for case in suite.iter("testcase"))
    (failure, _) = suite.iter("failure")
    assert failure.get("message", "").startswith('s.suite.yaml:27:31: user_transform.event: expected "B", got "A"')


def test_json_has_everything(notices: list[Notice]) -> None:
    """Differences with their places, inputs and results, the first stage that differs, coverage."""
    found = json.loads(told("json", notices))
    failed = found["scenarios"][1]

    assert found["summary"]["counts"] == {"passed": 1, "failed": 2, "skipped": 1, "xfailed": 1}
    assert failed["diverged"] == "user_transform"
    assert next(d["path"] for d in failed["differences"]) == "user_transform.event"
    assert failed["steps"][0]["given"]["event"]["event"] == "A"
    assert failed["steps"][0]["results"]["dest_transform"]["headers"]["k"] == "••••"
    assert found["coverage"]["groups"][0]["missing"] == ["crm"]


def test_ndjson_has_one_line_per_notice(notices: list[Notice]) -> None:
    """As it happens."""
    kinds = [json.loads(line)["kind"] for line in told("ndjson", notices).splitlines()]

    assert kinds == ["started", *["outcome"] * 5, "coverage", "finished"]


def test_tap_is_version_14(notices: list[Notice]) -> None:
    """A plan, SKIP and TODO, a block of YAML for failures."""
    text = told("tap", notices)
    lines = [line for line in text.splitlines() if re.match("(not )?ok", line)]

    assert text.startswith("TAP version 14\n1..5\n")
    assert [line.split(" - ")[0] for line in lines] == ["ok 1", "not ok 2", "ok 3", "not ok 4", "not ok 5"]
    assert "# SKIP not yet" in lines[2]
    assert "# TODO BUG-1" in lines[3]


def test_markdown_groups_failures_by_cause(notices: list[Notice]) -> None:
    """A head with counts, then each cause or scenario with its differences in a block that nothing in it can end."""
    text = told("markdown", notices)

    assert text.startswith("### ❌ Suites: 1 passed, 2 failed")
    assert text.count("```text\n") == text.count("**") // 2 == 2
    assert "&lt;" not in text


def test_github_annotations_are_on_the_line(notices: list[Notice]) -> None:
    """File, line and column; characters that would end a command are escaped."""
    first = told("github", notices).splitlines()[0]

    assert first.startswith(
        "::error file=s.suite.yaml,line=27,col=31,title=fails </script> & all::user_transform.event"
    )


def test_the_page_is_self_contained(notices: list[Notice]) -> None:
    """No external resources are loaded, and data cannot become markup."""
    page = told("html", notices)

    assert not re.search(
        r"""(src|href)\s*=|url\(|@import|https?://(?!hook|crm)""", page.replace("https://hook.example", "")
    )
    assert page.count("</script>") == 1
    assert "fails &lt;/script&gt; &amp; all" in page
    assert "Coverage" in page


def test_the_frame_has_a_row_for_each_scenario(notices: list[Notice]) -> None:
    """As CSV in a file, as a DataFrame in Python."""
    rows = list(csv.DictReader(io.StringIO(told("frame", notices))))
    reporter: Any = REPORTERS["frame"](Output(io.StringIO()))
    for notice in notices:
        reporter(notice)

    assert [row["status"] for row in rows] == ["passed", "failed", "skipped", "xfailed", "failed"]
    assert list(reporter.frame["differences"]) == [0, 3, 0, 1, 0]


def test_coverage_counts_lines_of_user_code(notices: list[Notice]) -> None:
    """A branch that no scenario ran is missing; so is a destination that none reached."""
    (covered,) = [n for n in notices if isinstance(n, runner.Covered)]
    groups = {group.name: group for group in covered.coverage.groups}

    assert groups["lines"].missing == {"s.suite.yaml clean.py:3"}
    assert groups["destinations"].missing == {"crm"}
    assert "hook track" in groups["event types"].covered
    assert "hook headers.k" in groups["fields"].covered
    assert "hook url" in groups["fields"].missing
    assert "hook body.event" in groups["fields"].covered


# The command


def test_reports_are_written_to_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In addition to the console, and atomically: no half-written file is left behind."""
    assert main(["run", "--report", "junit=out/j.xml", "--report", "html=out/r.html", "--report", "console"]) == 1
    assert "2 failed" in capsys.readouterr().out
    assert sorted(path.name for path in Path("out").iterdir()) == ["j.xml", "r.html"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--report", "junt=x.xml"], "Did you mean 'junit'?"),
        (["--report", "junit=nowhere.txt/x.xml"], "cannot write nowhere.txt/x.xml"),
        (["--report", "junit=x", "--report", "json=x"], "two reports go to"),
        (["--report", "json", "--report", "tap"], "both write to standard output"),
        (["--jobs", "0"], "at least 1"),
    ],
)
def test_wrong_usage_is_reported_before_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    """Exit code 4, and nothing on standard output."""
    Path("nowhere.txt").write_text("a file", encoding="utf-8")

    assert main(["run", *arguments]) == 4
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_annotations_are_automatic_in_github_actions(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are added to the console's text."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    main(["run"])
    out = capsys.readouterr().out

    assert "::error file=s.suite.yaml,line=27" in out
    assert "2 failed" in out


def test_low_coverage_fails_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Even if all scenarios pass."""
    assert main(["run", "-k", "passes", "--fail-under", "1"]) == 0
    assert main(["run", "-k", "passes", "--fail-under", "99"]) == 1
    assert "below --fail-under 99 %" in capsys.readouterr().err
    assert [main(["run", "--fail-under", percent]) for percent in ("101", "nan")] == [4, 4]
    assert "--fail-under 101: expected a percentage from 0 to 100" in capsys.readouterr().err


def test_failed_selects_the_scenarios_that_failed_last(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--failed` runs them again, or all if none failed."""
    main(["run"])
    capsys.readouterr()
    main(["run", "--failed", "--list"])

    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == [
        "s.suite.yaml::fails",
        "s.suite.yaml::fixed",
    ]


def test_shuffling_depends_on_the_seed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same number gives the same order."""
    orders = []
    for seed in ("1", "1", "2"):
        main(["run", "--list", "--shuffle", seed])
        orders.append(capsys.readouterr().out)

    assert orders[0] == orders[1] != orders[2]


def git(*arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *settings, *arguments], check=True, capture_output=True)


@pytest.mark.slow
def test_changed_selects_affected_scenarios(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Edited ones, and those that use changed code; none if nothing changed."""
    Path("clean.py").write_text("def transformEvent(event, metadata):\n    return event\n", encoding="utf-8")
    suite = re.sub(r"  clean:\n(    .*\n)+", "  clean: {file: clean.py}\n", SUITE)
    other = "  - {name: other, destination: crm, event: {type: track}, expect: {status: 200}}\n"
    Path("s.suite.yaml").write_text(suite + other, encoding="utf-8")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")

    def changed() -> list[str]:
        main(["run", "--changed", "HEAD", "--list"])
        return [line.split("  ")[0].rpartition("::")[2] for line in capsys.readouterr().out.splitlines()]

    assert main(["run", "--changed", "HEAD"]) == 0
    assert "nothing changed since HEAD" in capsys.readouterr().err
    Path("s.suite.yaml").write_text(suite + other.replace("track", "page"), encoding="utf-8")
    assert changed() == ["other"]
    git("commit", "-qam", "two")
    Path("clean.py").write_text("def transformEvent(event, metadata):\n    return None\n", encoding="utf-8")
    assert changed() == ["passes", "fails", "skipped", "gap", "fixed"]
    assert main(["run", "--changed", "nowhere"]) == 4
    assert "unknown revision 'nowhere'" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["suite", "workspace"])
def test_the_schema_can_be_printed_or_written(folder: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    """To standard output, or to a file that editors find."""
    assert main(["schema", what]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert main(["schema", what, "-o", "out/x.json"]) == 0
    assert json.loads(Path("out/x.json").read_text(encoding="utf-8")) == shown
    assert shown["$schema"].startswith("https://json-schema.org/")


def test_watching_runs_again_after_a_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the start and for each changed file, until Ctrl-C; a half-written file does no harm."""
    from svctoolkit.cli._watching import changes

    with inputs.recording() as used:
        runner.load(Path("s.suite.yaml"))
    turns = iter(["wait", "change", "stop"])

    def sleep(_seconds: float) -> None:
        turn = next(turns)
        if turn == "stop":
            raise KeyboardInterrupt
        if turn == "change":
            Path("s.suite.yaml").write_text("half", encoding="utf-8")

    assert [{path.name for path in changed} for changed in changes(used, ["."], sleep)] == [set(), {"s.suite.yaml"}]
    assert "changed: s.suite.yaml" in capsys.readouterr().err


def test_watching_resumes_when_the_workspace_is_fixed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workspace is outside the watched folders, and while it is invalid no suite refers to it."""
    from svctoolkit.cli import _watching

    (folder / "suites").mkdir()
    scenario = "{name: a, destination: hook, event: {type: track}, expect: {status: 200}}"
    text = f"workspace: ../workspace.yaml\nscenarios:\n  - {scenario}\n"
    (folder / "suites" / "s.suite.yaml").write_text(text, encoding="utf-8")
    good = "destinations:\n  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}\n"
    (folder / "workspace.yaml").write_text(good, encoding="utf-8")
    turns = iter([f"{good}  half: {{", good, None])
    changes = _watching.changes

    def sleep(_seconds: float) -> None:
        content = next(turns, None)
        if content is None:
            raise KeyboardInterrupt
        (folder / "workspace.yaml").write_text(content, encoding="utf-8")

    monkeypatch.setattr(_watching, "changes", lambda used, targets, _: changes(used, targets, sleep))
    assert main(["run", "suites", "--watch"]) == 0
    out, err = capsys.readouterr()
    assert out.count("1 passed in") == 2
    assert err.count("changed: workspace.yaml") == 2


# Recording


WORKSPACE = """\
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in?key=$(env:HOOK_KEY)"}}
sources: {web: {destinations: [hook]}}
"""


@pytest.fixture
def events(folder: Path) -> Callable[..., Path]:
    """Write `events.ndjson` next to a workspace."""
    Path("workspace.yaml").write_text(WORKSPACE, encoding="utf-8")

    def written(*found: Any) -> Path:
        path = Path("events.ndjson")
        path.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")
        return path

    return written


def order(user: str, **properties: Any) -> dict[str, Any]:
    traits = {"email": user, "name": "Ada", "phone": "+49 171 1234567"}
    context = {"traits": traits, "ip": "84.1.2.3", "library": {"name": "sdk"}}
    return {
        "type": "track",
        "event": "Order",
        "userId": user,
        "messageId": "m-1",
        "properties": properties,
        "context": context,
    }


def test_recorded_events_become_a_passing_suite(
    events: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """One scenario for each shape, for any values and for refused events. Two runs give the same suite."""
    events(
        order("ada@x.example", n=1, country="NO", text="$(x)", code="1e3"),
        order("bob@x.example", n=2, country="DE", text="y", code="7"),
        {"batch": [{"type": "identify", "userId": "u"}, {"type": "buy", "userId": "u"}]},
        {"source": "web", "event": order("ada@x.example", total=1)},
    )

    assert main(["record", "events.ndjson", "-o", "r.suite.yaml"]) == 0
    assert "4 scenarios from 5 events" in capsys.readouterr().out
    assert main(["run", "r.suite.yaml"]) == 0
    assert main(["record", "events.ndjson", "-o", "r.suite.yaml"]) == 4
    before = Path("r.suite.yaml").read_bytes()
    assert main(["record", "events.ndjson", "-o", "r.suite.yaml", "--force"]) == 0
    assert Path("r.suite.yaml").read_bytes() == before


def test_recorded_suites_contain_no_personal_data(events: Callable[..., Path]) -> None:
    """Neither as a whole value nor inside text; equal values have the same replacement. Secrets are not written."""
    events(order("ada@x.example", note="write to ada@x.example or +49 171 1234567"))
    main(["record", "events.ndjson", "-o", "r.suite.yaml"])
    text = Path("r.suite.yaml").read_text(encoding="utf-8")

    assert not re.search(f"ada@|Ada|171|84\\.1|m-1|{SECRET}", text)
    assert "write to user1@mail.example" in text
    assert text.count("user1@mail.example") >= 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "events.ndjson:1:2: not JSON"),
        ("5", "events.ndjson:1:1: not an event"),
        ("", "the file contains no events"),
    ],
)
def test_an_invalid_recording_is_reported(
    events: Callable[..., Path], capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    """With its position, and no suite is written."""
    events().write_text(line + "\n", encoding="utf-8")

    assert main(["record", "events.ndjson", "-o", "r.suite.yaml"]) == 4
    assert said in capsys.readouterr().err
    assert not Path("r.suite.yaml").exists()


def test_ordinary_values_are_kept() -> None:
    """Names of events and products, prices, dates and order numbers are not personal."""
    event = {"event": "Order", "name": "Home", "properties": {"price": 12.5, "date": "2026-01-02", "order": "o-1042"}}

    assert Pseudonyms().replace(event) == event


# rudder/v1 projects


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A transformation with a library and three test events."""
    monkeypatch.chdir(tmp_path)
    files = {
        "clean.yaml": "version: rudder/v1\nkind: transformation\nmetadata: {name: t}\nspec:\n  id: clean\n"
        "  name: Clean\n"
        "  language: python\n  file: clean.py\n  tests:\n    - {name: Basic, input: ./in, output: ./out}\n",
        "clean.py": "from helpers import low\ndef transformEvent(event, metadata):\n"
        "    if event['event'] == 'Internal':\n"
        "        return None\n    event['event'] = low(event['event'])\n    return event\n",
        "lib.yaml": "version: rudder/v1\nkind: transformation-library\nmetadata: {name: l}\nspec: {name: helpers, "
        'language: python, code: "def low(text):\\n    return text.lower()\\n"}\n',
        "in/order.json": '{"type": "track", "event": "Order"}',
        "out/order.json": '[{"type": "track", "event": "order"}]',
        "in/internal.json": '[{"type": "track", "event": "Internal"}]',
        "out/internal.json": "[]",
        "in/no-expectation.json": '{"type": "track", "event": "X"}',
    }
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_rudder_v1_project_runs_offline(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files are paired by name; an empty list means dropped; without an output the event must not fail."""
    assert main(["run", "."]) == 0
    assert "clean.yaml: 3 passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("out/order.json", '[{"type": "track", "event": "ORDER"}]', 'event: expected "ORDER", got "order"'),
        ("out/order.json", '[{"type": "track"}]', 'event: expected nothing, got "order"'),
        ("out/order.json", "[]", "expected 0 elements, got 1"),
        ("out/internal.json", '[{"type": "track"}]', "expected 1 element, got 0"),
        ("in/no-expectation.json", '{"type": "track"}', "error: expected nothing, got \"KeyError: 'event'"),
    ],
)
def test_a_failing_rudder_v1_test_is_reported(
    project: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, said: str
) -> None:
    """The comparison is exact, and "dropped" is a result like any other."""
    Path(file).write_text(text, encoding="utf-8")

    assert main(["run", "clean.yaml"]) == 1
    assert said in capsys.readouterr().out


def test_without_tests_the_default_events_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of each type; none may fail."""
    path = Path("clean.yaml")
    path.write_text(path.read_text(encoding="utf-8").partition("  tests:")[0], encoding="utf-8")

    assert main(["run", "clean.yaml", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("language: python\n", "language: pyton\n"), "must be one of"),
        (("file: clean.py", "file: nowhere.py"), "cannot read nowhere.py: no such file"),
        (("input: ./in", "input: ./nowhere"), "no .json files in nowhere"),
    ],
)
def test_a_wrong_project_is_reported(
    project: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], said: str
) -> None:
    """With file, line and column."""
    path = Path("clean.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace(*change), encoding="utf-8")

    assert main(["run", "."]) == 4
    error = capsys.readouterr().err
    assert said in error
    assert "clean.yaml:" in error
