"""`_common.yaml`: variables, fixtures, responses, `never` and `always` of all suites in a folder."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from svctoolkit import runner
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError

COMMON = """\
vars: {mail: mira@mail.example, plan: pro}
fixtures: {order: {type: track, event: A, userId: u1, properties: {mail: $(mail), plan: $(plan)}}, big: big.json}
never: [4111 1111]
always: {delivered: {headers: {content-type: {$starts: application/json}}}}
recorder: {hook: [{status: 503}, {status: 200}], elsewhere: {status: 500}}
"""
SUITE = """\
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
sources: {web: {destinations: [hook]}}
vars: {plan: free}
scenarios:
  - name: order
    send: {$use: order, $set: {properties.note: NOTE}}
    expect: {delivered: [{body: {properties: {mail: mira@mail.example, plan: free}}}], attempts: 2}
  - {name: big, send: {$use: big}, expect: {delivered: [{body: {event: Big}}], attempts: 2}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a shared file in `suites` and a suite in `suites/shop`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    folder = tmp_path / "suites" / "shop"
    folder.mkdir(parents=True)
    (folder.parent / "_common.yaml").write_text(COMMON, encoding="utf-8")
    (folder.parent / "big.json").write_text('{"type": "track", "event": "Big", "userId": "u"}', encoding="utf-8")
    (folder / "a.suite.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


def explanations() -> list[str]:
    """Run everything below `suites`, and explain what fails."""
    suites, scenarios = runner.collect(["suites"])
    idle = runner.IdleParts()
    found = []
    with runner.open_planes(limit=60) as planes:
        for notice in runner.run(scenarios, planes):
            if isinstance(notice, runner.Outcome):
                idle.add(notice)
                found += [] if notice.ok else [runner.explanation(notice)]
    return found + list(idle.lines(suites)) + list(idle.failures(suites))


@pytest.mark.usefixtures("project")
def test_suites_of_a_folder_share_settings() -> None:
    """Fixtures, their files, variables and responses; the own variable wins, other destinations are skipped."""
    assert explanations() == []


def test_shared_rules_apply_in_addition(project: Path) -> None:
    """A forbidden value is found, and the message has the line of the shared file."""
    suite = project / "suites" / "shop" / "a.suite.yaml"
    suite.write_text(suite.read_text("utf-8").replace("NOTE", "4111 1111"), encoding="utf-8")

    (text,) = explanations()
    assert text.startswith('suites/_common.yaml:3:9: never: "4111 1111" is at dest_transform.hook.0')

    (project / "suites" / "_common.yaml").write_text(COMMON.replace("application/json", "text/"), encoding="utf-8")
    assert re.search(r"suites/_common.yaml:4:\d+: always: delivered.hook.0.headers.content-type", explanations()[0])


def test_the_nearest_file_wins_and_the_project_ends_the_search(project: Path) -> None:
    """A file next to the suite replaces single entries; one above the project is not read."""
    near = project / "suites" / "shop" / "_common.yaml"
    near.write_text("vars: {mail: kai@mail.example}\n", encoding="utf-8")

    assert 'expected "mira@mail.example", got "kai@mail.example"' in explanations()[0]

    near.unlink()
    (project / "suites" / "pyproject.toml").touch()
    (project / "_common.yaml").write_text("what: is this\n", encoding="utf-8")
    assert explanations() == []


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("never: [", "nevr: [", r"_common.yaml:3:1: unknown key 'nevr'. Did you mean 'never'"),
        ("{hook: [", "{hok: [", r"_common.yaml:5:\d+: unknown destination 'hok'. Did you mean 'hook'"),
        ("$starts", "$strats", r"_common.yaml:4:\d+: unknown matcher '\$strats'"),
        ("[4111 1111]", "['']", r"_common.yaml:3:\d+: this matches everything or nothing"),
        ("$(mail), plan", "$(mial), plan", r"unknown variable 'mial'. Did you mean 'mail'"),
        ("mira@mail.example, plan", "$(nothing), plan", r"_common.yaml:1:\d+: unknown variable 'nothing'"),
        ("big.json", "bg.json", r"bg.json"),
    ],
)
def test_mistakes_are_reported_in_the_shared_file(project: Path, written: str, instead: str, message: str) -> None:
    """With its line, whichever suite uses it."""
    (project / "suites" / "_common.yaml").write_text(COMMON.replace(written, instead), encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        runner.collect(["suites"])


@pytest.mark.slow
@pytest.mark.parametrize("change", ["edited", "deleted", "new"])
def test_a_changed_shared_file_affects_every_suite(project: Path, change: str) -> None:
    """Edited, deleted, or new: `--changed` selects the scenarios of all suites below."""
    from svctoolkit.runner.suite.changed import select_changed

    shared = project / "suites" / "_common.yaml"
    suite = project / "suites" / "shop" / "a.suite.yaml"
    plain = SUITE.replace("{$use: order, $set: {properties.note: NOTE}}", "{type: track, event: A, userId: u}")
    suite.write_text(plain.replace("{$use: big}", "{type: track, event: A, userId: u}"), encoding="utf-8")
    if change == "new":
        shared.unlink()
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t.example"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True, cwd=project)
    _, scenarios = runner.collect(["suites"])
    assert select_changed(scenarios, "HEAD") == []

    if change == "deleted":
        shared.unlink()
    else:
        shared.write_text(COMMON + "# edited\n", encoding="utf-8")
    _, scenarios = runner.collect(["suites"])
    assert len(select_changed(scenarios, "HEAD")) == 2


def test_a_shared_always_needs_a_value_in_one_suite(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without one in the whole run, it shows nothing, and the run fails."""
    common = project / "suites" / "_common.yaml"
    assert main(["run"]) == 0
    rule = "always: {user_transform: {properties: {mail: mira@mail.example}}, delivered:"
    common.write_text(COMMON.replace("always: {delivered:", rule), encoding="utf-8")
    capsys.readouterr()

    assert main(["run"]) == 1
    assert "suites/_common.yaml:4:" in (said := capsys.readouterr().err)
    assert "always: user_transform had no values to check" in said
    assert main(["run", "-k", "order"]) == 0  # a part of the suite does not decide it

    code = "transformations: {t: {language: python, code: 'def transformEvent(event, metadata): return event'}}\n"
    suite = SUITE.replace("https://hook.example/in}", "https://hook.example/in}, transformation: t")
    suite = suite.partition("  - {name: big")[0]
    (project / "suites" / "shop" / "b.suite.yaml").write_text(code + suite, encoding="utf-8")
    assert main(["run"]) == 0
