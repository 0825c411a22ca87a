"""Every recipe of the documentation works: its files, its Python and its commands, in one folder for each recipe."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from svctoolkit.cli import main

PAGE = Path(__file__).parent.parent / "svctoolkit" / "docs" / "recipes.md"
_BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RECIPES = {
    section.partition("\n")[0]: _BLOCK.findall(section) for section in PAGE.read_text("utf-8").split("\n## ")[1:]
}
#: what needs node, a browser or a phone: the request that they make is in `tests/data_plane`
ELSEWHERE = {"Test a web application with Jest, Vitest, Cypress or Playwright", "Test an Android or iOS application"}


def test_there_are_recipes_that_run() -> None:
    runnable = [name for name, blocks in RECIPES.items() if any(kind in ("sh", "python") for kind, _, _ in blocks)]

    assert set(RECIPES) - set(runnable) == ELSEWHERE
    assert len(RECIPES) >= 15


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in ELSEWHERE])
def test_a_recipe_works(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands exit with 0; so does the comparison, which only reports."""
    monkeypatch.chdir(tmp_path)
    for kind, file, code in RECIPES[name]:
        if file:
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(code, encoding="utf-8")
        elif kind == "python":
            exec(compile(code, "recipes.md", "exec", dont_inherit=True), {"__name__": "recipes"})
        elif kind == "sh":
            for command in code.splitlines():
                program, *arguments = shlex.split(command)
                assert (program, main(arguments)) == ("svctoolkit", 0), capsys.readouterr()


def test_values_that_disagree_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recipe about revenue with another total: the policy names both values."""
    monkeypatch.chdir(tmp_path)
    for _, file, code in RECIPES["GA4 and Mixpanel agree on revenue"]:
        if file:
            Path(file).write_text(code.replace("total: 10,", "total: 12,"), encoding="utf-8")

    assert main(["run"]) == 1
    assert re.search(r"policy agree: .*12", capsys.readouterr().out)
