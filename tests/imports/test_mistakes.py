"""Starter suites notice plausible mistakes in the project that was imported."""

from __future__ import annotations

from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from svctoolkit.cli import main
from svctoolkit.project import import_workspace
from tests.imports import acme
from tests.imports.mistakes import CODE, MISTAKES, Mistake, apply


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The imported project, which all tests of this module share."""
    folder = tmp_path_factory.mktemp("acme")
    import_workspace(acme.write(folder), folder / "shop", environ={})
    return folder / "shop"


def run(shop: Path, *options: str) -> int:
    """Run the suites; the exit code is 1 if a scenario failed."""
    with chdir(shop), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        return main(["run", *options])


def is_caught(shop: Path, mistake: Mistake) -> bool:
    """Run the suites with the mistake, and take it back."""
    file = shop / mistake.file
    right = file.read_text()
    try:
        file.write_text(apply(mistake, right))
        return run(shop, "--fail-fast") == 1
    finally:
        file.write_text(right)


def test_the_imported_project_passes_and_a_few_mistakes_are_caught(shop: Path) -> None:
    """A misspelt event name, a routing change and a consent change, each in a passing project."""
    assert run(shop) == 0
    few = [m for m in MISTAKES if m.name in ("another spelling of the dropped event", "another consent id")]
    assert [is_caught(shop, mistake) for mistake in few] == [True, True]


@pytest.mark.slow
def test_at_least_twenty_of_twenty_three_mistakes_are_caught(shop: Path) -> None:
    """The mistakes of a first use: 15 in code, 8 in the workspace. Prints which ones no scenario notices."""
    caught = {mistake.name: is_caught(shop, mistake) for mistake in MISTAKES}
    missed = [name for name, is_ in caught.items() if not is_]

    print(f"{sum(caught.values())} of {len(MISTAKES)} mistakes are caught; missed: {missed}")
    assert (len(MISTAKES), len(CODE)) == (23, 15)
    assert len(missed) <= 3, missed
