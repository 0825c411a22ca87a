"""One cause is one failure in every report, and it is named in the first line, at the line of code."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from svctoolkit.cli import main

WORKSPACE = """
destinations:
  hook:
    type: WEBHOOK
    config:
      webhookUrl: https://hook.example/in
      headers: [{from: authorization, to: Bearer $(env:HOOK_TOKEN)}]
    transformation: t
  plain: {type: WEBHOOK, config: {webhookUrl: https://plain.example/in}}
sources:
  web: {destinations: [hook]}
  cut: {destinations: [{destination: plain, enabled: false}]}
  off: {enabled: false, destinations: [plain]}
transformations: {t: {language: python, file: t.py}}
"""
CODE = "def transformEvent(event, metadata):\n    return event\n"
BROKEN = "def transformEvent(event, metadata):\n    return event['a']['b']\n"
SEND = "source: web, send: {type: track, event: A%d, userId: u, messageId: m}"
FREEZE = "freeze: {time: '2026-01-01T12:00:00Z', ids: sequence}\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a folder of a repository, with five scenarios whose snapshots are taken."""
    folder = tmp_path / "shop"
    (folder / "suites").mkdir(parents=True)
    (folder / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    (folder / "t.py").write_text(CODE, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    scenarios(folder, *(f"{SEND % number}, expect: {{delivered: {{$snapshot: true}}}}" for number in range(5)))
    assert main(["run", "--update"]) == 0
    return folder


def scenarios(folder: Path, *texts: str) -> None:
    rows = "".join(f"  - {{name: s{number}, {text}}}\n" for number, text in enumerate(texts))
    text = f"workspace: ../workspace.yaml\n{FREEZE}scenarios:\n{rows}"
    (folder / "suites" / "a.suite.yaml").write_text(text, encoding="utf-8")


def run(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert main(["run", *options]) in (1, 4)
    return capsys.readouterr().out


def test_broken_code_is_one_annotation_at_its_line(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Relative to the repository, not to the folder in which the command runs."""
    (shop / "t.py").write_text(BROKEN, encoding="utf-8")

    (annotation,) = [line for line in run(capsys, "--report", "github").splitlines() if line.startswith("::error ")]
    assert annotation.startswith("::error file=shop/t.py,line=2,col=")
    assert "fails 5 scenarios" in annotation


def test_a_failure_without_code_is_annotated_at_the_suite(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenarios(shop, f"{SEND % 1}, expect: {{attempts: 2}}")

    assert "::error file=shop/suites/a.suite.yaml,line=4,col=" in run(capsys, "--report", "github")


def test_one_value_that_differs_from_snapshots_is_one_group(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A swapped secret: the console shows the values once, and JUnit has the cause as a property."""
    text = WORKSPACE.replace("HOOK_TOKEN", "OTHER_TOKEN")
    (shop / "workspace.yaml").write_text(text, encoding="utf-8")
    shown = run(capsys, "--report", "console", "--report", "junit=j.xml")

    assert "FAILED hook: delivered.headers.authorization differs from snapshots: fails 5 scenarios" in shown
    assert shown.count("(snapshot), got") == 1
    assert len(shown.splitlines()) < 20
    properties = [each.attrib["value"] for each in ET.parse(shop / "j.xml").iter("property")]
    assert "hook: delivered.headers.authorization differs from snapshots: fails 5 scenarios" in properties


def test_a_swapped_secret_is_named_first(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "workspace.yaml").write_text(WORKSPACE.replace("HOOK_TOKEN", "OTHER_TOKEN"), encoding="utf-8")
    lines = run(capsys, "-k", "s0").splitlines()

    first = next(line for line in lines if "a.suite.yaml:4:" in line)
    assert "another secret at delivered" in first
    assert first.endswith("authorization: OTHER_TOKEN instead of HOOK_TOKEN")


EVENT = "{type: track, event: A, userId: u}"


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        (
            f"destination: plain, event: {EVENT}, expect: {{user_transform: {{event: A}}}}",
            "plain has no transformation",
        ),
        (f"source: off, send: {EVENT}, expect: {{failed: [{{}}]}}", "the source off is disabled"),
    ],
)
def test_the_first_line_names_what_is_switched_off(
    shop: Path, capsys: pytest.CaptureFixture[str], scenario: str, text: str
) -> None:
    scenarios(shop, scenario)

    assert text in next(line for line in run(capsys).splitlines() if "a.suite.yaml:4:" in line)


def test_a_disabled_connection_is_named_first(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = WORKSPACE.replace(
        "web: {destinations: [hook]}", "web: {destinations: [plain, {destination: hook, enabled: false}]}"
    )
    (shop / "workspace.yaml").write_text(text, encoding="utf-8")
    scenarios(shop, f"{SEND % 1}, expect: {{delivered: [{{}}, {{}}]}}")

    first = next(line for line in run(capsys).splitlines() if "a.suite.yaml:4:" in line)
    assert first.endswith("the connection from web to hook is disabled")


def test_an_invalid_suite_replaces_an_older_report(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent that keeps its folder would show the last result."""
    (shop / "j.xml").write_text("<testsuites/>", encoding="utf-8")
    scenarios(shop, "source: nowhere, send: {type: track}, expect: {delivered: []}")
    run(capsys, "--report", "junit=j.xml")

    (error,) = ET.parse(shop / "j.xml").iter("error")
    assert "unknown source 'nowhere'" in error.attrib["message"]
