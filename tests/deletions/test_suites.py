"""Suites, pytest, the command line and the page: what users see of deletions."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import svctoolkit
from svctoolkit import DataPlane, Workspace, runner
from svctoolkit.cli import main
from svctoolkit.errors import InvalidSuite

pytest_plugins = ["pytester"]
PAGE = (Path(svctoolkit.__file__).parent / "docs" / "deletion.md").read_text(encoding="utf-8")
WORKSPACE = """
sources: {web: {destinations: [br, hook]}}
destinations:
  br: {type: BRAZE, config: {restApiKey: br-secret-1, dataCenter: US-01}}
  mp: {type: MP, config: {token: t1}}
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example}}
"""


def failures(scenario: str) -> list[str]:
    suite = runner.loads(f"scenarios:\n  - {{name: a, {scenario}}}\n", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        outcomes = [runner.attempt(one, planes) for one in suite.scenarios]
    assert not any(outcome.reason for outcome in outcomes)
    return [str(difference) for outcome in outcomes for step in outcome.steps for difference in step.differences]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}(?: notest: [^\n]+)?\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


SHOP = """
sources: {web: {destinations: [braze, mixpanel]}}
destinations:
  braze: {type: BRAZE, config: {restApiKey: k1, dataCenter: US-01}, simulate: simulated}
  mixpanel: {type: MP, config: {token: t1}}
  emarsys: {type: EMARSYS, config: {emersysUsername: n, emersysUserSecret: s, defaultContactList: l}}
"""


def test_the_commands_of_the_page_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace.yaml").write_text(SHOP)
    commands, request = blocks("bash")

    for line in commands.splitlines():
        assert main(shlex.split(line)[1:]) == 0
    assert "ada@mail.example" in capsys.readouterr().out
    words = shlex.split(request.replace("\\\n", ""))
    with DataPlane(Workspace.loads(SHOP), listen=False) as plane:
        login = {"authorization": f"Bearer {plane.token}", "content-type": "application/json"}
        answer = plane.ingest("POST", "/v2/regulations", headers=login, body=words[words.index("-d") + 1].encode())
        assert answer.status == 200


def test_the_pytest_example_of_the_page_passes(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", workspace=SHOP.replace("emarsys:", "#"))
    pytester.makepyfile(*blocks("text"))

    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_the_suites_of_the_page_pass() -> None:
    (text,) = blocks("yaml")
    suite = runner.loads(text, Workspace())
    with runner.open_planes(limit=60) as planes:
        outcomes = [runner.attempt(scenario, planes) for scenario in suite.scenarios]

    assert [runner.explanation(outcome) for outcome in outcomes if not outcome.ok] == []


@pytest.mark.parametrize(
    ("scenario", "texts"),
    [
        ("delete: ada", []),
        ("delete: [ada, {userId: bob}], only: [br, mp]", []),
        ("delete: ada, recorder: {br: {status: 500}}", ["deleted: br: aborted: User deletion request failed"]),
        ("delete: ada, only: [br, hook]", ["deleted: hook: aborted: Webhook cannot delete users"]),
        ("delete: ada, recorder: {br: {status: 500}}, expect: {deleted: {br: {status: aborted}}}", []),
        ("delete: ada, destination: br, expect: {deleted: {requests: [{body: {external_ids: [bob]}}]}}", ["ada"]),
        ("delete: ada, destination: hook, expect: {deleted: {error: {$contains: cannot}, requests: []}}", []),
        ("delete: ada, expect: {deleted: {mp: {status: aborted}}}", ["complete"]),
    ],
)
def test_a_deletion_passes_if_every_job_is_as_expected(scenario: str, texts: list[str]) -> None:
    found = failures(scenario)

    assert len(found) == len(texts)
    assert all(text in difference for text, difference in zip(texts, found, strict=True))


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("delete: []", "there is no user to delete"),
        ("delete: {userId: 7}", r"users\[0\].userId: expected a string"),
        ("delete: ada, source: web", "'source' does not apply to deletions"),
        ("delete: ada, destination: bx", "unknown destination 'bx'"),
        ("delete: ada, only: [br], destination: br", "exclude each other"),
        ("delete: ada, expect: {deleted: {stat: complete}}", "Did you mean 'status'"),
        ("delete: ada, expect: {delivered: []}", "it has deleted, holds, lost"),
        ("delete: ada, python: x", "can only do one thing"),
    ],
)
def test_mistakes_are_found_when_the_suite_is_loaded(scenario: str, message: str) -> None:
    with pytest.raises(InvalidSuite, match=message):
        failures(scenario)


def test_the_fixture_fails_a_test_whose_deletion_is_aborted(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", workspace=WORKSPACE)
    pytester.makepyfile(
        """
        from svctoolkit.delivery import Answer

        def test_deleted(delete_users):
            assert len(delete_users("ada").jobs) == 2

        def test_aborted(delete_users, data_plane):
            data_plane.script("mp", Answer(404))
            delete_users("ada")
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*mp: aborted: *"])


def preview(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> tuple[int, str]:
    (folder / "w.yaml").write_text(WORKSPACE)
    code = main(["delete", "--dry-run", "--workspace", str(folder / "w.yaml"), *arguments])
    return code, capsys.readouterr().out


def test_the_command_shows_masked_requests(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, text = preview(capsys, tmp_path, "--user", "ada", "--user", "bob", "--to", "br")
    assert code == 0
    assert "POST https://rest.iad-01.braze.com/users/delete" in text
    assert '{"external_ids":["ada","bob"]}' in text
    assert "br-secret-1" not in text

    code, text = preview(capsys, tmp_path, "--user", "ada", "--json")
    assert [(one["destination"], len(one["requests"])) for one in json.loads(text)] == [("br", 1), ("mp", 1)]

    code, text = preview(capsys, tmp_path, "--attribute", "userId=ada", "--markdown", "--to", "mp,hook")
    assert code == 1
    assert "| POST | `https://api.mixpanel.com/engage` |" in text
    assert "Refused: destinations of type WEBHOOK cannot delete users" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--user", "ada", "--to", "bx"], "unknown destination 'bx'"),
        ([], "name a user"),
        (["--user", "a", "--user", "b", "--attribute", "email=x"], "belongs to a single"),
        (["--users", "missing.json"], "missing.json"),
        (["--user", ""], "expected a string that is not empty"),
    ],
)
def test_the_command_refuses_bad_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "w.yaml").write_text(WORKSPACE)

    assert main(["delete", "--dry-run", "--workspace", str(tmp_path / "w.yaml"), *arguments]) == 4
    assert message in capsys.readouterr().err
    assert main(["delete", "--workspace", str(tmp_path / "w.yaml"), "--user", "ada"]) == 4
