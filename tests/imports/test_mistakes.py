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


@pytest.mark.slow
def test_the_imported_project_passes(shop: Path, tmp_path: Path) -> None:
    """Also without `.env`."""
    clone = shutil.copytree(shop, tmp_path / "clone", ignore=shutil.ignore_patterns(".env"))

    assert (run(shop), run(clone)) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("third", range(3))
def test_at_least_twenty_of_twenty_three_mistakes_are_caught(shop: Path, third: int) -> None:
    """The mistakes of a first use: 15 in code, 8 in the workspace; all but one of each third. Prints the others."""
    caught = {mistake.name: is_caught(shop, mistake) for mistake in MISTAKES[third::3]}
    missed = [name for name, is_ in caught.items() if not is_]

    print(f"{sum(caught.values())} of {len(caught)} mistakes are caught; missed: {missed}")
    assert (len(MISTAKES), len(CODE)) == (23, 15)
    assert len(missed) <= 1, missed


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


SAMPLING = """\
export function transformEvent(event) {
  if (Math.random() < 0.5) return null;
  event.source = Math.random();
  return event;
}
"""


def test_code_that_drops_a_random_half_of_its_events_does_not_stop_an_import(tmp_path: Path) -> None:
    """Its scenarios are skipped with the reason: to ignore the whole of what they expect would not be a valid suite."""
    hook = {"id": "d", "name": "Hook", "config": {"webhookUrl": "https://h.example"}, "destinationDefinition": WEBHOOK}
    hook["transformations"] = [{"id": "tf", "code": SAMPLING, "language": "javascript"}]
    source = {"id": "s1", "name": "Web", "writeKey": "k1", "destinations": [hook]}
    (tmp_path / "export.json").write_text(json.dumps({"workspaceId": "w", "sources": [source]}))

    report = import_workspace(tmp_path / "export.json", tmp_path / "shop", environ={})

    assert report.varying["suites/hook.suite.yaml"] == []
    assert "suites/hook.suite.yaml: the whole result, so scenarios are skipped" in report.text()
    assert [run(tmp_path / "shop") for _ in range(3)] == [0, 0, 0]


WEBHOOK = {"name": "WEBHOOK"}


def test_names_of_any_length_and_kind_give_a_project_that_passes(tmp_path: Path) -> None:
    """Snapshots of long names have files, too, and a name may look like a reference to a variable."""
    names = ["x" * 400, "ж" * 400, "$(env:HOME)"]
    sources = [
        {
            "id": f"s{n}",
            "name": name,
            "writeKey": f"k{n}",
            "destinations": [
                {
                    "id": f"d{n}",
                    "name": name,
                    "config": {"webhookUrl": "https://h.example"},
                    "destinationDefinition": WEBHOOK,
                    "transformations": [{"id": f"t{n}", "name": name, "language": "javascript", "code": SAME}],
                }
            ],
        }
        for n, name in enumerate(names)
    ]
    # rows of a form that were left empty
    blocked = {"events": {"track": ["", "Heartbeat", ""], "page": [""]}}
    export = {"workspaceId": "w", "sources": sources, "settings": {"eventBlocking": blocked}}
    (tmp_path / "export.json").write_text(json.dumps(export))

    report = import_workspace(tmp_path / "export.json", tmp_path / "shop", environ={})

    assert not report.varying
    assert report.workspace.data_plane.event_blocking == {"track": ["Heartbeat"]}
    assert run(tmp_path / "shop") == 0


SAME = "export function transformEvent(event) { return event }"


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        ("\ufeff" + SAME, 0, "wrote"),
        ("// ok\n// \ud83d\n" + SAME, 4, "line 2 of the code of 'Clean' has half of a surrogate pair"),
    ],
    ids=["byte-order mark", "half a character"],
)
def test_code_with_odd_characters_is_imported_or_named(
    tmp_path: Path, code: str, exit_code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Code comes from another file than the export, such as a response of RudderStack's API."""
    hook = {"id": "d", "name": "Hook", "config": {"webhookUrl": "https://h.example"}, "destinationDefinition": WEBHOOK}
    hook["transformations"] = [{"id": "tf", "versionId": "v1"}]
    source = {"id": "s1", "name": "Web", "writeKey": "k1", "destinations": [hook]}
    (tmp_path / "export.json").write_text(json.dumps({"workspaceId": "w", "sources": [source]}))
    exported = {"id": "tf", "versionId": "v1", "name": "Clean", "language": "javascript", "code": code}
    (tmp_path / "code.json").write_text(json.dumps(exported))

    left = main(["import", str(tmp_path / "export.json"), "-o", str(tmp_path / "shop"), "--no-suites"])
    printed = capsys.readouterr()

    assert (left, (tmp_path / "shop").exists()) == (exit_code, exit_code == 0)
    assert said in printed.out + printed.err
