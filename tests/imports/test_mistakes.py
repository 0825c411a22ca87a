"""Starter suites notice plausible mistakes in the project that was imported."""

from __future__ import annotations

import json
import shutil
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


def test_the_imported_project_passes_and_a_few_mistakes_are_caught(shop: Path, tmp_path: Path) -> None:
    """A misspelt event name and a consent change, each in a passing project. It passes without `.env`, too."""
    clone = shutil.copytree(shop, tmp_path / "clone", ignore=shutil.ignore_patterns(".env"))

    assert (run(shop), run(clone)) == (0, 0)
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


CLOCK = """\
import random
import time


def transformEvent(event, metadata):
    context = event.setdefault("context", {})
    context["processed_at"] = time.time()
    context["sample"] = random.random()
    return event
"""


def test_what_differs_from_run_to_run_is_ignored_and_a_failing_transformation_is_reported(tmp_path: Path) -> None:
    """Code that reads a clock or random numbers does not fail its suite in the next run; the rest is still compared."""
    code = [("tf1", CLOCK), ("tf2", "def transformEvent(event, metadata):\n    return event['missing']\n")]
    hook = {"config": {"webhookUrl": "https://h.example"}, "destinationDefinition": {"name": "WEBHOOK"}}
    destinations = [
        {
            **hook,
            "id": f"d{n}",
            "name": f"Hook {n}",
            "transformations": [{"id": id, "code": text, "language": "python"}],
        }
        for n, (id, text) in enumerate(code)
    ]
    source = {"id": "s1", "name": "Web", "writeKey": "k1", "destinations": destinations}
    (tmp_path / "export.json").write_text(json.dumps({"workspaceId": "w", "sources": [source]}))

    report = import_workspace(tmp_path / "export.json", tmp_path / "shop", environ={})
    first = run(tmp_path / "shop")
    file = next((tmp_path / "shop" / "transformations").glob("tf1*"))
    file.write_text(CLOCK.replace('"sample"', '"simple"'))

    assert report.varying["suites/hook-0.suite.yaml"] == ["context.processed_at", "context.sample"]
    assert "differs from run to run:\n  suites/hook-0.suite.yaml: context.processed_at, context.sample" in report.text()
    (note,) = report.states["hook-1"].notes
    assert note.startswith("its transformation fails for every sample event: KeyError: 'missing'")
    assert (first, run(tmp_path / "shop")) == (0, 1)
