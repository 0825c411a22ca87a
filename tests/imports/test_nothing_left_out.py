"""What an import cannot use as it is, it names: nothing of an export or a project disappears silently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from svctoolkit.cli import main
from svctoolkit.project import import_workspace

FAILS = "export function transformEvent(e) { throw new Error('not finished') }"
PICKY = "export function transformEvent(e) { if (e.type === 'page') return null; e.context = {x: 1}; return e }"


def spec(folder: Path, name: str, kind: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    lines = f"version: rudder/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {text}\n"
    (folder / f"{name}.yaml").write_text(lines)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Rudder CLI project with a broken transformation, one with tests, and a library that nobody imports."""
    folder = tmp_path / "rudder"
    spec(
        folder,
        "fails",
        "transformation",
        f"{{id: fails, name: Fails, language: javascript, code: {json.dumps(FAILS)}}}",
    )
    tests = "tests: [{name: first, input: ./in, output: ./out}]"
    code = json.dumps(PICKY)
    spec(folder, "picky", "transformation", f"{{id: p, name: Picky, language: javascript, code: {code}, {tests}}}")
    spec(
        folder,
        "old",
        "transformation-library",
        "{id: old, name: Old kit, language: javascript, import_name: oldKit, code: 'export function broken( {'}",
    )
    for name, value in (
        ("in", {"type": "track", "event": "A", "userId": "u"}),
        ("out", [{"type": "track", "event": "A", "userId": "u", "context": {"x": 1}}]),
    ):
        (folder / name).mkdir()
        (folder / name / "one.json").write_text(json.dumps(value))
    return folder


def test_code_that_no_destination_uses_is_tested_as_it_is(project: Path, tmp_path: Path) -> None:
    """Without sources and plans, too. What fails or drops an event today has a scenario."""
    report = import_workspace(project, tmp_path / "shop", environ={}).text()
    fails = (tmp_path / "shop/suites/fails.suite.yaml").read_text()
    picky = (tmp_path / "shop/suites/picky.suite.yaml").read_text()

    assert "transformation fails: not used by any destination; it fails for every sample event: Error: not" in report
    assert fails.count("error: 'Error: not finished (transformations/fails.js:1:43)'") == 6
    assert "user_transform: []" in picky.partition("page through picky")[2].partition("- name")[0]
    assert main(["run", str(tmp_path / "shop/suites")]) == 0


def test_tests_of_transformations_become_scenarios(project: Path, tmp_path: Path) -> None:
    import_workspace(project, tmp_path / "shop", environ={})
    suite = tmp_path / "shop/suites/picky-tests.suite.yaml"

    assert main(["run", str(suite)]) == 0
    suite.write_text(suite.read_text().replace("x: 1", "x: 2"))
    assert main(["run", str(suite)]) == 1


def test_a_library_that_nobody_imports_is_kept_and_named(project: Path, tmp_path: Path) -> None:
    report = import_workspace(project, tmp_path / "shop", environ={}).text()

    assert "  library oldKit: no transformation imports it" in report
    assert (tmp_path / "shop/transformations/libraries/oldkit.js").read_text() == "export function broken( {"


def test_variables_of_the_shell_are_not_needed_in_another_one(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan has the values that they had at the import."""
    event = '{events: [{id: login, name: "{{ .API_NAME }}", event_type: track, description: "Login events"}]}'
    spec(project, "events", "events", event)
    spec(
        project,
        "plan",
        "tracking-plan",
        '{id: tp, display_name: Shop, rules: [{type: event_rule, id: r1, event: "#event:login"}]}',
    )
    monkeypatch.setenv("RUDDER_API_NAME", "Logged In")
    assert main(["import", str(project), "-o", str(tmp_path / "shop")]) == 0
    monkeypatch.delenv("RUDDER_API_NAME")

    assert "works in CI: " in capsys.readouterr().out
    assert 'name: "Logged In"' in (tmp_path / "shop/tracking/events.yaml").read_text()
    monkeypatch.chdir(tmp_path / "shop")
    assert main(["check"]) == 0


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            {"transformations": [{"name": "a", "file": "a.js"}], "libraries": []},
            "meta.json of rudder-transformation-act",
        ),
        ({"source": {"id": "s", "destinations": []}}, "the configuration that SDKs get (sourceConfig)"),
    ],
)
def test_a_format_that_is_not_supported_is_recognized(
    tmp_path: Path, data: object, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.json").write_text(json.dumps(data))

    assert main(["import", str(tmp_path / "other.json"), "-o", str(tmp_path / "shop")]) == 4
    said = capsys.readouterr().err
    assert says in said
    assert "this format is recognized, but not supported" in said
