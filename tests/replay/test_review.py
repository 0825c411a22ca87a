"""Reviews for CI: conditions, tolerances, ignored and accepted differences, and their reports."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from svctoolkit import yamlfile
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.replay import REPORTS, Comparison, compare
from tests.replay.shops import order, orders, shop
from tests.replay.test_cli_replay import project

__all__ = ["project"]  # a fixture
DOCS = Path(__file__).parents[2] / "svctoolkit" / "docs" / "replay.md"


def keep(event: dict[str, Any]) -> Any:
    return event


def worse(event: dict[str, Any]) -> Any:
    """Of 200 orders one fails, two are dropped, three have another revenue, and four another library."""
    number = event["properties"]["revenue"]
    if number == 0:
        raise ValueError("no revenue")
    if number in (1, 2):
        return None
    if number in (3, 4, 5):
        event["properties"]["revenue"] = str(number)
    if number in (5, 6, 7, 8):
        event["context"]["library"]["version"] = "2.0"
    return event


def result_of(after: Callable[..., Any] = worse, **options: Any) -> Comparison:
    events = [{**order(n), "context": {"library": {"name": "lib", "version": "1.0"}}} for n in range(200)]
    return compare(events, shop(keep), shop(after), **options)


@pytest.mark.parametrize(
    ("conditions", "texts"),
    [
        ("", []),
        ("changed>1% or new_failures>0 or lost>3", ["3% changed at hook (6 of 200)", "1 new failures"]),
        ("changed>3%", []),
        ("changed>=3%", ["3% changed at hook (6 of 200)"]),
        ("lost>2 and new_failures>1", []),
        ("lost>2 and new_failures==1, newly-delivered", ["3 lost and 1 new failures"]),
        ("newly-dropped,newly-failing", ["2 newly dropped", "1 newly failing"]),
        ("any", ["9 different"]),
        ("rejected>0 or same<100%", ["95.5% same at hook (191 of 200)"]),
    ],
)
def test_conditions_define_what_is_too_much(conditions: str, texts: list[str]) -> None:
    """Counts over all destinations, shares of one; `and` binds tighter than `or`; a word alone means more than zero."""
    assert [breach.text for breach in result_of().breaches(conditions)] == texts


def test_a_share_is_that_of_the_worst_destination() -> None:
    """One destination in which everything changed is not averaged with the others."""
    before, after = shop(keep), shop(worse)
    for side in (before, after):
        for number in range(9):
            side.destination(f"d{number}", "WEBHOOK", config={"webhookUrl": "https://x.example"})

    assert compare(orders(5), before, after).breaches("changed>30%")[0].text == "40% changed at hook (2 of 5)"


@pytest.mark.parametrize("text", ["chnged>1%", "changed>", "changed>x", "changed 1", "or", "changed>1 nor lost>0"])
def test_invalid_conditions_are_errors(text: str) -> None:
    """A misspelt condition does not silently pass."""
    result = compare(orders(1), shop(keep), shop(keep))
    with pytest.raises(ConfigError, match=r"Did you mean 'changed'|is not a condition"):
        result.breaches(text)


def test_ignored_paths_are_reported() -> None:
    """Ignored differences are not changes, others are; `*` matches one step, `**` any number."""
    whole = result_of()
    for pattern in ("body.JSON.context.library", "body.*.context.*.version", "**.version", "**.library"):
        result = result_of(ignore=[pattern])

        assert result.kinds["changed"] == 3
        assert [g.path for g in result.groups if g.kind == "changed"] == ["body.JSON.properties.revenue"]
        assert f"hook: {pattern} is not compared (4 events differ there)" in repr(result)
    for pattern in ("body.JSON.context.lib", "*.version", "library", "version"):
        assert result_of(ignore=[pattern]).kinds == whole.kinds


def test_numbers_have_a_tolerance() -> None:
    """Within it, a number is equal; a number that became a text never is."""

    def rounded(event: dict[str, Any]) -> Any:
        event["properties"]["revenue"] += 1e-12 if event["properties"]["revenue"] < 100 else 1
        return event

    assert result_of(rounded, tolerance={"**.revenue": 1e-9}).kinds["changed"] == 100
    assert result_of(rounded, tolerance={"**.revenue": 0.01}).kinds["changed"] == 0
    assert result_of(rounded, tolerance={"**.price": 0.01}).kinds["changed"] == 200
    assert result_of(tolerance={"**.revenue": 9}).kinds["changed"] == 6


def test_accepted_differences_pass_until_they_expire(tmp_path: Path) -> None:
    """A difference with a reason and an expiry date passes; new ones do not, and expired ones count again."""
    file = tmp_path / "accepted.yaml"
    count = result_of().write_accepted(file, reason="the CRM wants texts")
    result = result_of(accept=file)

    assert count == len(result.groups) == 4
    assert (result.kinds["accepted"], result.different, result.breaches("any")) == (9, 0, [])
    assert result_of().write_accepted(file, reason="again") == 0

    def worst(event: dict[str, Any]) -> Any:
        event = worse(event)
        return event and {**event, "more": 1}

    assert [g.path for g in result_of(worst, accept=file).groups if g.kind != "accepted"] == ["body.JSON.more"]
    assert result_of(worst, accept=file).kinds["changed"] == 197
    entries = yamlfile.load(file).data["accepted"]
    assert all(entry["expires"] > datetime.now(UTC).date().isoformat() for entry in entries)
    file.write_text(yamlfile.dump({"accepted": [{**entry, "expires": "2020-01-31"} for entry in entries]}))
    over = result_of(accept=file)
    assert over.kinds == result_of().kinds
    assert len(over.to_dict()["expired"]) == len(entries)
    assert "accepted until 2020-01-31, has expired and counts again (the CRM wants texts)" in repr(over)
    assert "accepted until 2020-01-31, has expired" in REPORTS["markdown"].text(over, [], "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("accepted: [{destination: hook, kind: changd, reason: x, expires: 2027-01-31}]", "accepted.yaml:1:"),
        ("accepted: [{destination: hook, kind: changed, reason: ' ', expires: '2027-01-31'}]", "reason"),
        ("accepted: [{destination: hook, kind: changed, reason: x, expires: '2027-02-31'}]", "is not a valid date"),
        ("accepted: [{destination: hook, kind: changed, expires: '2027-02-01'}]", "needs 'reason'"),
    ],
)
def test_mistakes_in_accepted_yaml_have_their_position(tmp_path: Path, text: str, said: str) -> None:
    """Without a reason and a date nothing is accepted."""
    (tmp_path / "accepted.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        result_of(accept=tmp_path / "accepted.yaml")
    with pytest.raises(ConfigError, match="a reason is required"):
        result_of().write_accepted(tmp_path / "new.yaml", reason=" ")


def test_each_report_has_a_valid_format(tmp_path: Path) -> None:
    """JUnit is XML with a failure for each condition, annotations are one line each, Markdown is short."""

    def nasty(event: dict[str, Any]) -> Any:
        return {**worse(event), "note": "| a\n# ``` <b> \x01 ::error::%"} if worse(event) else None

    result = result_of(nasty)
    breaches = result.breaches("changed>1% or new_failures>0")
    junit, annotations, markdown = (
        REPORTS[n].text(result, breaches, "p.html") for n in ("junit", "github", "markdown")
    )
    root = ET.fromstring(junit)

    assert [f.get("message") for f in root.iter("failure")] == [breach.text for breach in breaches]
    assert [case.get("classname") for case in root.iter("testcase")][-2:] == ["replay.causes", "replay.destinations"]
    assert root.find("testsuite").get("tests") == "4"  # type: ignore[union-attr]
    assert all(re.match("::(error|warning) title=[^:,]*::", line) for line in annotations.splitlines())
    assert annotations.count("::error title=") == 2
    assert "[hook](p.html#d-hook)" in markdown
    assert 'id="d-hook"' in result.to_html()
    assert len(markdown) < 5000
    assert "❌ there were no events" in REPORTS["markdown"].text(compare([], shop(keep), shop(keep)), [], "")


def test_the_command_fails_until_differences_are_accepted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 with the reason; 0 once the differences are accepted."""
    (project / "other.yaml").write_text((project / "workspace.yaml").read_text().replace("/in}", "/out}"))
    run = ["replay", "events.ndjson", "--before", "workspace.yaml", "--after", "other.yaml", "--fail-on", "changed>1%"]
    reports = ["--html", "pages/c.html", "--report", "junit=j.xml", "--report", "markdown=s.md", "--report", "github"]

    assert main([*run, *reports]) == 1
    shown = capsys.readouterr()
    assert "changed>1%: 100% changed at hook (5 of 5)" in shown.err
    assert "::error title=changed>1%25::100%25 changed at hook (5 of 5)" in shown.out
    assert "(pages/c.html#d-hook)" in (project / "s.md").read_text()
    assert "<failure" in (project / "j.xml").read_text()
    assert main([*run, "--ignore", "endpoint"]) == 0
    assert main([*run, "--write-accepted", "accepted.yaml", "--reason", "they have moved"]) == 1
    assert main([*run, "--accept", "accepted.yaml"]) == 0
    capsys.readouterr()
    for wrong in (
        ["--tolerance", "a=x"],
        ["--write-accepted", "a.yaml"],
        ["--write-accepted", "a.yaml", "--reason", "r", "--expires", "2020-01-31"],
        ["--report", "junt"],
        ["--fail-on", "chnged"],
    ):
        assert main([*run, *wrong]) == 4
    assert not (project / "a.yaml").exists()
    assert main(["replay", "events.ndjson", "--ignore", "x"]) == 4


def test_the_documented_workflow_works(project: Path) -> None:
    """Its YAML is valid; its command runs in this project, and writes the files for the later steps."""
    text = re.search(r"```yaml\n(on: pull_request.*?)```", DOCS.read_text(), re.DOTALL)
    assert text is not None
    steps = yamlfile.load(text[1]).data["jobs"]["replay"]["steps"]
    command = next(step["run"] for step in steps if "svctoolkit replay" in step.get("run", ""))
    here = {"events/": "events.ndjson", "origin/main": "workspace.yaml"}
    (project / "accepted.yaml").write_text("accepted: []")

    assert main([here.get(word, word) for word in shlex.split(command)[1:]]) == 0
    assert "### Replay: ✅" in (project / "summary.md").read_text()
    assert json.dumps(steps).count("summary.md") == 2
    assert [(project / step["with"]["path"]).exists() for step in steps if "path" in step.get("with", {})] == [True]


@pytest.mark.parametrize(
    ("command", "example"),
    [
        ("replay e.ndjson --workspace w.yaml", "failed>1% or lost>0"),
        ("replay e.ndjson --workspace w.yaml --before w.yaml", "changed>1% or new_failures>0"),
        ("lost e.ndjson --to mp", "lost>1% or refused>0"),
    ],
)
def test_a_condition_that_cannot_be_read_gets_an_example_for_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, example: str
) -> None:
    """With words that this command has."""
    monkeypatch.chdir(tmp_path)
    Path("e.ndjson").write_text('{"type": "track", "event": "E", "userId": "u1"}\n')
    Path("w.yaml").write_text(
        "destinations: {mp: {type: MP, config: {token: t}}}\nsources: {web: {destinations: [mp]}}\n"
    )

    assert main([*command.split(), "--fail-on", "lost>some"]) == 4
    assert f"'lost>some' is not a condition. Example: {example}" in capsys.readouterr().err
