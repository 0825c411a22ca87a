"""`svctoolkit secrets scan` finds the secrets of a workspace in files, and never shows them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from svctoolkit.cli import main

TOKEN, SUITE_KEY, PLAIN, PROD = 'it\'s a "t0ken"/é', "suite-k3y-81xw", "pl4in-in-the-file", "pr0d-only-5512"
NUMBER, WORD = "8410293847", "production"
WORKSPACE = f"""
destinations:
  hook:
    type: WEBHOOK
    config:
      webhookUrl: https://hook.example/in
      headers: [{{from: Authorization, to: "Bearer $(env:HOOK_TOKEN)"}}]
  am: {{type: AM, config: {{apiKey: {PLAIN}, apiSecret: $(env:AM_SECRET)}}}}
credentials: {{crm: $(env:CRM_KEY), stage: $(env:STAGE), later: $(env:NOT_SET)}}
environments: {{prod: {{destinations: {{am: {{config: {{apiSecret: $(env:PROD_SECRET)}}}}}}}}}}
"""
SUITE = "version: 1\nworkspace: workspace.yaml\nscenarios: [{name: a, event: {userId: $(env:SUITE_KEY)}}]\n"
ENVIRONMENT = {"HOOK_TOKEN": TOKEN, "CRM_KEY": NUMBER, "PROD_SECRET": PROD, "STAGE": WORD, "SUITE_KEY": SUITE_KEY}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, a suite, and clean files beside them."""
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("AM_SECRET", "NOT_SET"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "suites").mkdir()
    (tmp_path / "workspace.yaml").write_text(WORKSPACE.replace(PLAIN, "$(env:AM_KEY)"), encoding="utf-8")
    (tmp_path / ".env").write_text(f"AM_KEY={PLAIN}\n", encoding="utf-8")
    (tmp_path / "suites/a.suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "clean.json").write_text(
        f'{{"user_data": "{WORD}", "n": 17{NUMBER}5, "token": "{{{{secret:HOOK_TOKEN}}}}"}}'
    )
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """The exit code, the lines of the output, and the notes."""
    code = main(["secrets", "scan", *arguments])
    shown = capfd.readouterr()
    for value in (TOKEN, PLAIN, PROD, NUMBER, SUITE_KEY):
        assert value not in shown.out + shown.err
    return code, shown.out.splitlines(), shown.err


def test_clean_files_pass_and_the_notes_say_what_was_not_searched(
    shop: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Variables without a value, and ordinary words; a `.env` is where secrets belong."""
    code, lines, notes = run(capfd, ".")

    assert (code, lines) == (0, ["0 secrets found, 3 files searched for 5 secrets"])
    assert "not set, and therefore not found: AM_SECRET, NOT_SET" in notes
    assert "an ordinary word, and therefore not found: STAGE" in notes


@pytest.mark.parametrize(
    ("spell", "name"),
    [
        (lambda: TOKEN, "HOOK_TOKEN"),
        (lambda: json.dumps({"key": TOKEN}), "HOOK_TOKEN"),
        (lambda: json.dumps(json.dumps(TOKEN)), "HOOK_TOKEN"),
        (lambda: repr(KeyError(TOKEN)), "HOOK_TOKEN"),
        (lambda: "https://x.example/?k=" + quote(TOKEN, safe="").lower(), "HOOK_TOKEN"),
        (lambda: "Basic " + base64.b64encode(f"u:{TOKEN}".encode()).decode(), "HOOK_TOKEN"),
        (lambda: TOKEN.encode().hex().upper(), "HOOK_TOKEN"),
        (lambda: f'{{"n": {NUMBER}}}', "CRM_KEY"),
        (lambda: SUITE_KEY, "SUITE_KEY"),
        (lambda: PLAIN, "AM_KEY"),
        (lambda: PROD, "PROD_SECRET"),
    ],
)
def test_a_secret_is_found_in_every_spelling(
    shop: Path, capfd: pytest.CaptureFixture[str], spell: Callable[[], str], name: str
) -> None:
    """With its place and its name: of the workspace, of each environment, of the suites, of the `.env`."""
    (shop / "suites/report.html").write_text(f"<html>\n<p>é {spell()}</p>\n", encoding="utf-8")
    code, lines, _ = run(capfd, "suites", "clean.json")

    assert code == 1
    assert [line.partition(": the secret ")[2] for line in lines[:-1]] == [name]
    path, line, column = lines[0].partition(": ")[0].rsplit(":", 2)
    assert (path, line) == ("suites/report.html", "2")
    assert 6 <= int(column) <= 6 + len(spell())
    assert lines[-1].startswith("1 secret found, 3 files searched")


def test_the_secrets_of_a_suite_with_the_short_ending_are_found(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`*.suite.yml` runs as well, so its secrets count."""
    (shop / "suites/a.suite.yaml").rename(shop / "suites/a.suite.yml")
    (shop / "x.json").write_text(SUITE_KEY, encoding="utf-8")

    code, lines, _ = run(capfd, "x.json")

    assert code == 1
    assert "SUITE_KEY" in lines[0]


def test_places_are_right_in_long_files(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Lines and columns are counted from 1, in notebooks, compressed cassettes and UTF-16, too."""
    text = f"{PLAIN}\n" + "x\n" * 1000 + f"ab {PLAIN} {PLAIN}"
    (shop / "plain.txt").write_text(text, encoding="utf-8")
    (shop / "cassette.json.gz").write_bytes(gzip.compress(text.encode()))
    (shop / "utf16.csv").write_text(text, encoding="utf-16")

    for name in ("plain.txt", "cassette.json.gz", "utf16.csv"):
        code, lines, _ = run(capfd, name)
        places = [f"{name}:{place}: the secret AM_KEY" for place in ("1:1", "1002:4", f"1002:{5 + len(PLAIN)}")]
        assert (code, lines[:-1]) == (1, places)


def test_files_that_cannot_be_read_are_named(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A wrong path is an error; a damaged archive is a note, and the other files are searched."""
    (shop / "broken.gz").write_bytes(gzip.compress(PLAIN.encode())[:-6])
    (shop / "leak.txt").write_text(PLAIN)
    code, lines, notes = run(capfd, ".")

    assert (code, len(lines)) == (1, 2)
    assert "broken.gz is not searched: it is not a complete gzip file" in notes
    assert run(capfd, "nowhere")[0] == 4
    assert run(capfd, ".", "--workspace", "nowhere.yaml")[0] == 4
    assert main(["secrets"]) == 4


def test_a_secret_in_the_workspace_file_is_found(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is committed with the file; its name is that of the setting."""
    (shop / ".env").unlink()
    (shop / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    code, lines, _ = run(capfd, ".")

    assert code == 1
    assert lines[0] == "workspace.yaml:8:35: the secret am.apiKey"
