"""The commands and the Python of docs/rudder-cli.md run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import warnings
from pathlib import Path

import pytest

from svctoolkit.cli import main
from tests.rudder_cli.bakery import BRAZE, write

pytestmark = pytest.mark.slow  # needs git

PAGE = (Path(__file__).parents[2] / "svctoolkit/docs/rudder-cli.md").read_text("utf-8")
COMMANDS = [
    line.partition("#")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.startswith("svctoolkit ")
]
EVENT = {"type": "track", "event": "Loaf Sold", "userId": "u", "properties": {"price": 3, "currency": "eur"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a project in `rudder/`, a branch `main`, an edit since, and recorded events."""
    top = tmp_path_factory.mktemp("page")
    write(top / "rudder")
    (top / "events.ndjson").write_text(json.dumps(EVENT))
    who = {f"GIT_{role}_{what}": "a@b.example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=top, check=True, env={**os.environ, **who})
    write(top / "rudder", {"letters.yaml": BRAZE.replace("- Loaf Sliced", "- Loaf Sliced\n      - Loaf Sold")})
    return top


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 5


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command(folder: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """In the order of the page: `run` runs what `init` has written."""
    monkeypatch.chdir(folder)

    assert main(shlex.split(command)[1:]) == 0


def test_the_change_is_the_one_of_the_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    main(["changes", "rudder", "--since", "main"])
    shown = capsys.readouterr().out.splitlines()

    printed = re.search(r"^```text\n(rudder-cli apply:.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert printed is not None
    for line, expected in zip(shown, printed[1].splitlines(), strict=False):
        assert line.startswith(expected.removesuffix("..."))


def test_the_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    block = re.search(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert block is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(block[1], names := {})

    assert names["project"].destinations["ovens"].config["apiUrl"] == "https://ovens.example/in"
