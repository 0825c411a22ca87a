"""The mutation command finds changes that no test detects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.__main__ import ABOUT, rooms
from tests.mutants.changes import changes

ROOT = Path(__file__).parent.parent
SOURCE = b'''"""A module."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import sep

def larger(a: int | None, b: int = 1) -> "int":
    """The larger one."""
    return a if a > b and not b == 3 else b
'''


def test_only_executed_lines_are_changed() -> None:
    """Comparisons, conditions, constants and results; not docstrings, annotations and imports."""
    made = {str(change) for change in changes(SOURCE)}

    assert made == {
        "7: 1  ->  2",
        "9: return a if a > b and not b == 3 else b  ->  return None",
        "9: a if a > b and not b == 3 else b  ->  (b if a > b and (not b == 3) else a)",
        "9: a > b and not b == 3  ->  (a > b or not b == 3)",
        "9: a > b  ->  (a >= b)",
        "9: not b == 3  ->  (b == 3)",
        "9: b == 3  ->  (b != 3)",
        "9: 3  ->  4",
    }


@pytest.mark.parametrize("change", changes(SOURCE), ids=str)
def test_a_changed_module_is_still_python(change: object) -> None:
    """Every test would notice invalid Python, so such a change would prove nothing."""
    compile(change.apply(SOURCE), "module", "exec")  # type: ignore[attr-defined]


def test_every_package_has_its_tests_in_the_table() -> None:
    """Without them each change would be tried against every test, which takes hours."""
    assert sorted(set(rooms()) - ABOUT.keys()) == []


def test_everything_in_the_table_exists() -> None:
    """Removed packages and renamed tests have to leave the table."""
    package = ROOT / "svctoolkit"
    paths = {about: package.joinpath(*about.split(".")) for about in ABOUT}

    assert [about for about, path in paths.items() if not path.is_dir() and not path.with_suffix(".py").exists()] == []
    assert sorted({test for tests in ABOUT.values() for test in tests if not (ROOT / test).exists()}) == []


@pytest.mark.slow
def test_an_undetected_change_is_listed(tmp_path: Path) -> None:
    """Tests without checks let everything pass: each change is listed, and the command fails."""
    nothing = tmp_path / "test_nothing.py"
    nothing.write_text("def test_nothing():\n    pass\n")
    options = ["--sample", "2", "--workers", "1", "--tests"]
    command = [sys.executable, "-m", "tests.mutants", "svctoolkit/events/_depth.py", *options]

    blind = subprocess.run([*command, str(nothing)], cwd=ROOT, env=os.environ, capture_output=True, text=True)
    seeing = subprocess.run([*command, "tests/test_events.py"], cwd=ROOT, capture_output=True, text=True)

    assert blind.returncode == 1
    assert blind.stdout.count("not noticed  svctoolkit/events/_depth.py:") == 2
    assert "0% noticed: 0 of 2" in blind.stdout
    assert "noticed: " in seeing.stdout
    assert seeing.stdout != blind.stdout
