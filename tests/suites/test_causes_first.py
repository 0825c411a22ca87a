"""A stage that fails is reported by its cause alone, in snapshots too; scenarios with one cause are one group."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from svctoolkit import runner
from svctoolkit.cli import main
from svctoolkit.runner import REPORTERS, Notice, Outcome, Output

GOOD = """def transformEvent(event, metadata):
    event['properties']['items'] = len(event['properties']['ids'])
    return event
"""
BROKEN = GOOD.replace("len(event['properties']['ids'])", "len(event['properties']['rows'])")
DROPS = "def transformEvent(event, metadata):\n    return None\n"
CAUSE = "KeyError: 'rows' (clean.py:2:"
WORKSPACE = """
transformations: {clean: {language: python, file: clean.py}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://a.example/}, transformation: clean}
  crm: {type: WEBHOOK, config: {webhookUrl: https://b.example/}, transformation: clean}
sources: {web: {destinations: [hook, crm]}}
"""
EVENT = "event: {type: track, event: Order, userId: u1, messageId: m1, properties: {ids: [1, 2], rows_: 1}}"
SNAPSHOTS = "expect: {user_transform: {$snapshot: true}, dest_transform: {$snapshot: true}}"
SUITE = f"""
workspace: workspace.yaml
freeze: {{time: "2026-01-01T12:00:00Z", ids: sequence}}
scenarios:
  - {{name: one, destination: hook, {EVENT}, {SNAPSHOTS}}}
  - {{name: two, destination: crm, {EVENT}, {SNAPSHOTS}}}
  - {{name: both, source: web, {EVENT}, {SNAPSHOTS}}}
  - {{name: code, transformation: clean, {EVENT}, expect: {{user_transform: {{$snapshot: true}}}}}}
"""


def project(folder: Path, code: str) -> Path:
    """A project whose snapshots are those of the good code, with `code` in its place."""
    files = {"workspace.yaml": WORKSPACE, "orders.suite.yaml": SUITE, "clean.py": GOOD}
    for name, text in files.items():
        (folder / name).write_text(text)
    suite = str(folder / "orders.suite.yaml")
    with pytest.MonkeyPatch.context() as env:
        env.delenv("CI", raising=False)  # in CI, --update is disabled
        assert main(["run", suite, "--update=new", "--report", f"json={folder / 'first.json'}"]) == 0
    (folder / "clean.py").write_text(code)
    return folder / "orders.suite.yaml"


def run(suite: Path) -> list[Notice]:
    with runner.open_planes(limit=60) as planes:
        return list(runner.run(runner.load(suite).scenarios, planes))


def report(name: str, notices: list[Notice]) -> str:
    stream = io.StringIO()
    reporter = REPORTERS[name](Output(stream))
    for notice in notices:
        reporter(notice)
    return stream.getvalue()


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> list[Notice]:
    return run(project(tmp_path_factory.mktemp("broken"), BROKEN))


@pytest.mark.parametrize("name", ["one", "two", "both", "code"])
def test_a_snapshot_of_a_stage_that_failed_reports_the_cause_alone(broken: list[Notice], name: str) -> None:
    """Not the fourteen members that are missing because of it."""
    outcome = next(notice for notice in broken if isinstance(notice, Outcome) and notice.scenario.id == name)

    assert CAUSE in str(outcome.differences[0])
    assert outcome.differences[0].path == ("failed",)
    assert "got nothing" not in runner.explanation(outcome)
    assert len(outcome.differences) == {"one": 1, "two": 1, "both": 2, "code": 2}[name]


def test_junit_and_annotations_begin_with_the_cause(broken: list[Notice]) -> None:
    """One annotation per cause, because GitHub shows about ten of a step."""
    cases = ET.fromstring(report("junit", broken).encode()).iter("failure")
    commands = report("github", broken).splitlines()

    assert all(CAUSE in case.attrib["message"] for case in cases)
    assert len(commands) == 1
    assert all(CAUSE in command.split("::")[2].partition("%0A")[0] for command in commands)


def test_scenarios_with_one_cause_are_one_group(broken: list[Notice]) -> None:
    """The cause, then the scenarios with their places; and the cause again at the end, after all details."""
    text = report("console", broken)

    assert text.count(CAUSE) == 2
    assert f"4 of 4 failures: {CAUSE}" in text
    assert "): fails 4 scenarios\n" in text
    assert all(f".suite.yaml:{line}:" in text for line in (5, 6, 7, 8))
    assert "fails 4 scenarios" in report("html", broken)


def test_an_event_that_is_dropped_where_a_snapshot_has_one_is_reported_once(tmp_path: Path) -> None:
    """The code returns nothing: that is the news, and not each member of the snapshot."""
    outcomes = [notice for notice in run(project(tmp_path, DROPS)) if isinstance(notice, Outcome)]

    assert str(outcomes[0].differences[0]) == "hook: dropped in user_transform: event dropped by user_transformation"
    assert len(outcomes[0].differences) == 1


def test_an_expected_error_that_is_another_is_still_a_difference(tmp_path: Path) -> None:
    """What the scenario says of the failure is compared: the cause does not replace it."""
    suite = project(tmp_path, BROKEN)
    suite.write_text(SUITE.replace(SNAPSHOTS, "expect: {user_transform: {error: another}, dest_transform: {a: 1}}", 1))
    outcome = next(notice for notice in run(suite) if isinstance(notice, Outcome))

    assert outcome.differences[0].path == ("user_transform", "error")
    assert 'expected "another"' in str(outcome.differences[0])


def test_scenarios_with_different_causes_stay_apart(tmp_path: Path) -> None:
    """Two refusals of two destinations have nothing in common."""
    suite = project(tmp_path, GOOD)
    refused = "expect: {send_to_destination: {status: 200}}, stages: {send_to_destination: true}"
    rows = [
        f"  - {{name: {key}, destination: {key}, {EVENT}, {refused}, recorder: {{{key}: {{status: 400}}}}}}"
        for key in ("hook", "crm")
    ]
    suite.write_text(SUITE.partition("  - ")[0] + "\n".join(rows) + "\n")
    text = report("console", run(suite))

    assert text.count("FAILED") == 2
    assert "fails" not in text.replace("a scenario fails on any failure", "")
