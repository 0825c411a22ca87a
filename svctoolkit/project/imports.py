"""The whole import: read, find the code, write a project, take the first snapshots."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from svctoolkit import runner
from svctoolkit.errors import Problem, WorkspaceWarning
from svctoolkit.project import code, source_suites, states, suites
from svctoolkit.project.accounts import add_accounts
from svctoolkit.project.environments import add_environment
from svctoolkit.project.files import FileNames, check_free, move_all
from svctoolkit.project.lock import NAME, lock_of
from svctoolkit.project.names import key_by_name
from svctoolkit.project.report import Report
from svctoolkit.project.source_suites import Draft
from svctoolkit.project.sources import read
from svctoolkit.project.states import State
from svctoolkit.project.workflows import GITIGNORE, System, workflow_files
from svctoolkit.workspace import Library, Source, Transformation, Workspace

_HINT = "give another folder: svctoolkit import FILE -o FOLDER"


def import_workspace(
    path: Path,
    folder: Path,
    *,
    workspace_id: str = "",
    code_paths: Sequence[Path] = (),
    others: Mapping[str, Path] | None = None,
    with_suites: bool = True,
    strict: bool = False,
    ci: System | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Report:
    """Write a project for the workspace in `path` to `folder`: all files or none.

    `path` is a RudderStack workspace configuration (of one workspace, or of several: then `workspace_id` selects
    one), a workspace file, or a Rudder CLI project. Code is searched in `code_paths`, by default next to `path` and in
    `transformations/` there: files named by id or version, rudder/v1 files, JSON exported by RudderStack.

    The project contains workspace.yaml, with `$(env:NAME)` for secrets; their values in `.env` (mode 600) and their
    names in `.env.example`; `transformations/`; tracking plans in `tracking/`. `with_suites` adds a suite for each
    destination that runs and for each transformation without a destination, with snapshots of the current output for
    sample events, and one for each source with a plan, with planned events.

    `others` are further exports by the name of the environment that each becomes, such as of a production workspace.
    `ci` adds a workflow that runs the suites without secrets.

    Raises `ConfigError` if the export cannot be read (with `strict`, also for unknown types or variables) or a file
    already exists, `ToolkitError` if a file cannot be written.
    """
    check_free(folder, ["workspace.yaml"], _HINT)
    workspace, unknown, missing = read_all(path, workspace_id, code_paths, others or {}, strict=strict, environ=environ)
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary:
        draft = Path(temporary)
        write_workspace(workspace, draft)
        _write_texts({NAME: lock_of(draft).text()}, draft)
        summary = Report(workspace, states.states(workspace), missing, unknown)
        scenarios = _write_suites(workspace, summary.states, draft, environ) if with_suites else 0
        _write_texts(workflow_files(ci), draft)
        (draft / "IMPORT.md").write_text(f"# What runs here\n\n```text\n{summary.text()}\n```\n", encoding="utf-8")
        files = move_all(draft, folder, hint=_HINT)
    return replace(summary, files=files, scenarios=scenarios)


def read_all(
    path: Path,
    workspace_id: str,
    code_paths: Sequence[Path],
    others: Mapping[str, Path],
    *,
    strict: bool,
    environ: Mapping[str, str],
) -> tuple[Workspace, list[Problem], list[str]]:
    """Return the workspace with its code and environments, what is unknown in it, and the code that is missing."""
    workspace, unknown, missing = _read_one(path, workspace_id, code_paths, strict=strict, environ=environ)
    for name, export in others.items():
        other, more, lacking = _read_one(export, "", code_paths, strict=strict, environ=environ)
        notes = add_environment(workspace, name, other)
        unknown += [*more, *(Problem(note, str(export)) for note in notes)]
        missing += [f"{item} of {name}" for item in lacking]
    add_accounts(workspace)
    return workspace, unknown, missing


def _read_one(
    path: Path, workspace_id: str, code_paths: Sequence[Path], *, strict: bool, environ: Mapping[str, str]
) -> tuple[Workspace, list[Problem], list[str]]:
    workspace, unknown = read(path, workspace_id, strict, environ)
    missing = code.fill(workspace, code.search(list(code_paths) or code.places_beside(path)))
    key_by_name(workspace)
    return workspace, unknown, missing


def write_workspace(workspace: Workspace, draft: Path) -> None:
    """Write workspace.yaml, code, plans, `.env` and `.gitignore` of a project to a folder."""
    workspace.folder = draft
    names = FileNames()
    for item in workspace.transformations.values():
        _write_code(item, Path("transformations", names.of(item.name)), draft)
    for key, library in workspace.libraries.items():
        _write_code(library, Path("transformations", "libraries", names.of(key)), draft)
    _copy_plans(workspace, draft)
    workspace.save(draft / "workspace.yaml", env_file=True)
    (draft / ".gitignore").write_text(GITIGNORE, encoding="utf-8")
    values = draft / ".env"
    if values.exists():
        variables = [line.partition("=")[0] for line in _assignments(values.read_text("utf-8"))]
        (draft / ".env.example").write_text("".join(f"{name}=\n" for name in variables), encoding="utf-8")


def _copy_plans(workspace: Workspace, draft: Path) -> None:
    """Copy the files of tracking plans unchanged into the project, including comments."""
    for item in workspace.tracking_plans.values():
        folder = item.path
        if folder is not None and folder.is_file():
            item.path = Path("tracking", folder.name)
            (draft / "tracking").mkdir(exist_ok=True)
            shutil.copyfile(folder, draft / item.path)
        elif folder is not None and folder.is_absolute():
            for file in item.project.files:
                copy = draft / "tracking" / file.resolve().relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
            item.path = Path("tracking")


def _write_code(item: Transformation | Library, file: Path, draft: Path) -> None:
    if not item.code:
        return
    item.file = file.with_name(f"{file.name}.{'py' if item.language == 'python' else 'js'}")
    (draft / item.file).parent.mkdir(parents=True, exist_ok=True)
    (draft / item.file).write_text(item.code, encoding="utf-8", newline="\n")


def _write_suites(workspace: Workspace, by_key: Mapping[str, State], draft: Path, environ: Mapping[str, str]) -> int:
    """Write suites for what runs, and take their snapshots. Return the number of scenarios."""
    texts, names = {}, FileNames()
    for key, state in by_key.items():
        if state.kind in states.TESTED:
            text = suites.suite(workspace, workspace.destinations[key])
            if text:
                texts[f"suites/{names.of(key)}.suite.yaml"] = text
    for key in workspace.transformations:
        if text := suites.transformation_suite(workspace, key):
            texts[f"suites/{names.of(key)}.suite.yaml"] = text
    for key in workspace.sources:
        if text := suites.plan_suite(workspace, key):
            texts[f"suites/{names.of(f'{key}-as-planned')}.suite.yaml"] = text
    drafts = source_drafts(workspace)
    of_sources = {key: f"suites/{names.of(f'from-{key}')}.suite.yaml" for key in drafts}
    texts |= {name: suites.source_suite(workspace.sources[key], drafts[key]) for key, name in of_sources.items()}
    if not texts:
        return 0
    _write_texts(suites.samples() | texts, draft)
    written = _written_workspace(draft, environ)
    with runner.open_planes() as planes:
        for key, name in of_sources.items():
            expectations = _expectations(workspace.sources[key], drafts[key], draft / name, written, environ, planes)
            _write_texts({name: suites.source_suite(workspace.sources[key], drafts[key], expectations)}, draft)
        scenarios = [s for name in texts for s in _scenarios(draft / name, written, environ)]
        for _ in runner.run(scenarios, planes, snapshots=runner.Snapshots("new")):
            pass
    return len(scenarios)


def source_drafts(workspace: Workspace) -> dict[str, list[Draft]]:
    """Return the scenarios of each source that has some, without expectations."""
    samples = suites.sample_events()
    of_sources = {key: source_suites.drafts(workspace, source, samples) for key, source in workspace.sources.items()}
    return {key: drafts for key, drafts in of_sources.items() if drafts}


def _expectations(
    source: Source,
    drafts: Sequence[Draft],
    file: Path,
    written: dict[Path, Workspace],
    environ: Mapping[str, str],
    planes: runner.Planes,
) -> list[dict[str, Any]]:
    """Run the scenarios of a source once, and return what to expect of each."""
    scenarios = _scenarios(file, written, environ)[: len(drafts)]
    outcomes = [notice for notice in runner.run(scenarios, planes) if isinstance(notice, runner.Outcome)]
    keys = [connection.destination for connection in source.connections if connection.enabled]
    return [
        draft.expectation(outcome.steps[0].results, keys) if outcome.steps else dict(source_suites.ANYTHING)
        for draft, outcome in zip(drafts, outcomes, strict=True)
    ]


def _scenarios(file: Path, written: dict[Path, Workspace], environ: Mapping[str, str]) -> list[runner.Scenario]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkspaceWarning)
        return list(runner.load(file, workspaces=written, environ=environ).scenarios)


def _written_workspace(draft: Path, environ: Mapping[str, str]) -> dict[Path, Workspace]:
    file = draft / "workspace.yaml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkspaceWarning)  # the report lists unknown types and variables
        # without SVC_ENV, which applies to other workspaces
        return {file.resolve(): Workspace.load(file, environ=environ, environment="")}


def _write_texts(texts: Mapping[str, str], draft: Path) -> None:
    for name, text in texts.items():
        (draft / name).parent.mkdir(parents=True, exist_ok=True)
        (draft / name).write_text(text, encoding="utf-8")


def _assignments(text: str) -> list[str]:
    """Return the assignments in a `.env`; values may have several lines."""
    return [word for word in shlex.split(text, comments=True) if "=" in word]
