"""CONTRIBUTING works as written, in a copy of the repository: to add a part is to add a file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from svctoolkit.destinations import definitions
from tests.mutants.__main__ import ABOUT, copies

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+\n# (svctoolkit/\S+)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))
WORKSPACE = """
destinations: {bay: {type: MOORING, config: {apiKey: k-1}}}
sources: {web: {destinations: [bay]}}
"""
SUITE = f"""{WORKSPACE}
scenarios:
  - name: a visit
    destination: bay
    event: {{type: track, event: Room Booked, userId: u1}}
    expect: {{dest_transform: [{{body: {{JSON: {{what: Room Booked}}}}}}]}}
  - name: even
    destination: bay
    event: {{type: track, event: Room Booked, userId: u1, timestamp: "2026-01-15T10:00:00Z"}}
    expect: {{dest_transform: [{{body: {{JSON: {{at: {{$even: true}}}}}}}}]}}
"""
REFUSED = """
from svctoolkit import Pipeline, Workspace, events
from svctoolkit.pipeline import Stages

workspace = Workspace.load("workspace.yaml")
event = events.track("Room Booked", user_id="u1")
result = Pipeline(workspace).test_destination("bay", event, stages=Stages(send_to_destination=True))
print(result.data[0].to_dict()["destination_response_status"])
"""
COUNTED = """
from svctoolkit import events
from svctoolkit.widgets import EventCounter

counter = EventCounter([events.track("A", user_id="u"), events.track("B", user_id="u")])
print(counter.counts, "<td" in counter.static())
"""

ABOUT_DESTINATIONS = [
    *(path for path in ABOUT["destinations"] if path != "tests/deletions"),
    "tests/test_cli.py",
    "tests/test_docs.py",
    "tests/test_every_refusal.py",
    "tests/test_own_types.py",
    "tests/test_samples.py",
]
NUMBER = len(definitions.names())
PARTS = 2  # in which these files run

#: Tests with one case for each type: the new type is enough.
OF_EACH_TYPE = [
    "test_a_refusal_of_a_sample_is_helpful",
    "test_a_supported_event_type_is_not_rejected_as_such",
    "test_answers_have_the_common_names_and_are_json",
    "test_batch_examples_hold",
    "test_every_handler_and_path_is_covered_by_examples",
    "test_every_line_of_a_mapping_is_covered_by_examples",
    "test_every_type_has_a_definition_with_its_title",
    "test_examples_hold",
    "test_lone_surrogates_and_large_numbers_do_not_split_batches",
    "test_no_event_crashes_a_mapping",
    "test_outcome_examples_hold",
    "test_the_settings_of_a_type_agree_with_its_definition",
]
#: Tests without types, in files that have some with types.
OF_NO_TYPE = ["test_the_python_of", "(test_cli and not definitions)", "test_every_module_has_a_docstring"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def repository() -> Iterator[Path]:
    """A copy with every file that the page shows."""
    with copies(1) as (folder,):
        for name, code in FILES.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(code, encoding="utf-8")
        yield folder


def run(repository: Path, *command: str, cwd: Path | None = None) -> str:
    environ = {**os.environ, "PYTHONPATH": str(repository)}
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd or repository, env=environ, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_has_six_examples() -> None:
    """A destination with its examples, a matcher, a reporter, a widget, a command, a delivery mode."""
    assert len(FILES) == 7
    assert not [name for name in FILES if (ROOT / name).exists()]


def test_the_new_destination_is_covered_by_its_examples(repository: Path) -> None:
    """Handler and table, as the catalogue's own tests require."""
    assert " passed" in run(
        repository, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_destinations.py", "-k", "MOORING"
    )


@pytest.fixture(scope="module")
def catalogue() -> Iterator[Path]:
    """A copy with the new destination and its entry in the catalogue, and without the other files of the page."""
    with copies(1) as (folder,):
        for name in [name for name in FILES if name.startswith("svctoolkit/destinations/")]:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(FILES[name], encoding="utf-8")
        ((generate, page),) = re.findall(r"`svctoolkit (definitions --markdown) > (\S+)`", TEXT)
        (folder / page).write_text(run(folder, "-m", "svctoolkit", *generate.split()), encoding="utf-8")
        for text in (folder / "README.md", *(folder / "svctoolkit" / "docs").glob("*.md")):
            content = text.read_text(encoding="utf-8")
            text.write_text(re.sub(r"\d+(?= destination types)", str(NUMBER + 1), content), encoding="utf-8")
        yield folder


@pytest.mark.parametrize("part", range(PARTS))
def test_all_destination_tests_pass_with_the_new_one(catalogue: Path, part: int) -> None:
    """Tests that walk the catalogue have no list of types to edit."""
    chosen = f"MOORING or not ({' or '.join([*OF_EACH_TYPE, *OF_NO_TYPE])})"
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *ABOUT_DESTINATIONS[part::PARTS])
    assert " passed" in run(catalogue, *command)


def test_the_new_matcher_and_reporter_work(repository: Path, tmp_path: Path) -> None:
    """A suite uses the matcher, and the reporter reports it; the matcher's docstring is true."""
    (tmp_path / "mooring.suite.yaml").write_text(SUITE, encoding="utf-8")

    assert run(repository, "-m", "svctoolkit", "run", ".", "--report", "dots", cwd=tmp_path).endswith("..")
    doctest = "import doctest; from svctoolkit.expect.matchers import even; print(doctest.testmod(even))"
    assert run(repository, "-c", doctest) == "TestResults(failed=0, attempted=2)\n"


def test_the_new_command_works(repository: Path) -> None:
    """It runs, and the list of commands has it."""
    assert run(repository, "-m", "svctoolkit", "hello") == "hello\n"
    assert "say hello" in run(repository, "-m", "svctoolkit", "--help")


def test_the_new_widget_works(repository: Path, tmp_path: Path) -> None:
    """It is imported by its name and has a display without a browser."""
    assert run(repository, "-c", COUNTED, cwd=tmp_path) == "Counter({'track': 2}) True\n"


def test_the_new_delivery_mode_works(repository: Path, tmp_path: Path) -> None:
    """A workspace file chooses it by its name."""
    (tmp_path / "workspace.yaml").write_text(f"delivery: {{mode: refuse}}\n{WORKSPACE}", encoding="utf-8")

    assert run(repository, "-c", REFUSED, cwd=tmp_path) == "[503]\n"


def test_the_new_files_are_clean(repository: Path) -> None:
    """They follow the layers, types and style."""
    run(repository, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_layers.py")
    # What mypy knows of unchanged files, by their content, is shared with the repository.
    run(repository, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", str(ROOT / ".mypy_cache"))
    run(repository, "-m", "ruff", "check", *(name for name in FILES if name.endswith(".py")))
