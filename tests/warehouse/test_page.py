"""The code in the documentation of warehouses runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from svctoolkit import runner

PAGE = (Path(__file__).parents[2] / "svctoolkit" / "docs" / "warehouse.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[0][:40])
def test_the_python_of_the_page_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block separately, with its assertions, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "warehouse.md", "exec", dont_inherit=True), {"__name__": "page"})


@pytest.mark.parametrize("text", blocks("yaml"))
def test_the_suites_of_the_page_pass(text: str, tmp_path: Path) -> None:
    """Every scenario passes."""
    file = tmp_path / "page.suite.yaml"
    file.write_text(text, encoding="utf-8")
    _, scenarios = runner.collect([str(file)])
    with runner.open_planes(limit=60) as planes:
        outcomes = [runner.attempt(scenario, planes) for scenario in scenarios]

    assert outcomes
    assert [o.ok for o in outcomes] == [True] * len(outcomes), [runner.explanation(o) for o in outcomes]
