"""The command `python -m tests.benchmarks` works; with small sizes its numbers mean nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.__main__ import NAMES, main

pytestmark = pytest.mark.slow


def figures(file: Path) -> dict[str, list[dict[str, Any]]]:
    """The figures that a run has written."""
    found: dict[str, list[dict[str, Any]]] = json.loads(file.read_text())["figures"]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_gives_figures(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each prints a table and writes every figure with its ratio; a missing peer is noted and is not a failure."""
    assert main([name, "--quick", "--json", str(tmp_path / "results.json")]) == 0

    made = figures(tmp_path / "results.json")[name]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == name
    assert [line.split()[0] for line in lines[1:]] == [figure["name"].split()[0] for figure in made]
    assert all(figure["value"] > 0 for figure in made)
    assert any(figure["ratio"] for figure in made) or "(not installed: " in lines[1]


def test_a_changed_ratio_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each ratio is shown with its previous value; a change of more than a fifth is marked."""
    file, other = tmp_path / "results.json", tmp_path / "other.json"
    main(["pipeline", "--quick", "--json", str(other)])
    told = json.loads(other.read_text())
    told["figures"]["pipeline"][0]["ratio"] *= 1000
    told["figures"]["elsewhere"] = []
    other.write_text(json.dumps(told))
    capsys.readouterr()
    main(["pipeline", "--quick", "--compare", str(other), "--json", str(file)])

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("<-- moved")
    assert "; was " in lines[2]
    assert lines[-1].endswith("moved by more than 20%")


def test_a_run_keeps_the_figures_of_other_benchmarks(tmp_path: Path) -> None:
    """Benchmarks can be run one by one, and the file has all of them."""
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"figures": {"other": []}}))
    main(["pipeline", "--quick", "--json", str(file)])

    assert sorted(figures(file)) == ["other", "pipeline"]


def test_an_unknown_benchmark_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The error lists the existing names."""
    with pytest.raises(SystemExit):
        main(["replays"])

    assert "unknown benchmark 'replays'; there are calls, contrasts, destinations" in capsys.readouterr().err
