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

from svctoolkit import runner
from svctoolkit.errors import WorkspaceWarning
from svctoolkit.project import code, report, suites
from svctoolkit.project.files import FileNames, check_free, move_all
from svctoolkit.project.report import Report
from svctoolkit.project.sources import read
from svctoolkit.workspace import Library, Transformation, Workspace

_HINT = "give another folder: svctoolkit import FILE -o FOLDER"
_GITIGNORE = "# values of secrets\n.env\n"


def import_workspace(
    path: Path,
    folder: Path,
    *,
    workspace_id: str = "",
    code_paths: Sequence[Path] = (),
    with_suites: bool = True,
    strict: bool = False,
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

    Raises `ConfigError` if the export cannot be read (with `strict`, also for unknown types or variables) or a file
    already exists, `ToolkitError` if a file cannot be written.
    """
    workspace, unknown = read(path, workspace_id, strict, environ)
    check_free(folder, ["workspace.yaml"], _HINT)
    missing = code.fill(workspace, code.search(list(code_paths) or code.places_beside(path)))
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary:
        draft = Path(temporary)
        _write_workspace(workspace, draft)
        summary = Report(workspace, report.states(workspace), missing, unknown)
        scenarios = _write_suites(workspace, summary.states, draft, environ) if with_suites else 0
        (draft / "IMPORT.md").write_text(f"# What runs here\n\n```text\n{summary.text()}\n```\n", encoding="utf-8")
        files = move_all(draft, folder, hint=_HINT)
    return replace(summary, files=files, scenarios=scenarios)


def _write_workspace(workspace: Workspace, draft: Path) -> None:
    workspace.folder = draft
    names = FileNames()
    for item in workspace.transformations.values():
        _write_code(item, Path("transformations", names.of(item.name)), draft)
    for key, library in workspace.libraries.items():
        _write_code(library, Path("transformations", "libraries", names.of(key)), draft)
    _copy_plans(workspace, draft)
    workspace.save(draft / "workspace.yaml", env_file=True)
    values = draft / ".env"
    if values.exists():
        variables = [line.partition("=")[0] for line in _assignments(values.read_text("utf-8"))]
        (draft / ".env.example").write_text("".join(f"{name}=\n" for name in variables), encoding="utf-8")
        (draft / ".gitignore").write_text(_GITIGNORE, encoding="utf-8")


def _copy_plans(workspace: Workspace, draft: Path) -> None:
    """Copy the files of tracking plans unchanged into the project, including comments."""
    for item in workspace.tracking_plans.values():
        folder = item.path
        if folder is not None and folder.is_absolute():
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


def _write_suites(workspace: Workspace, states: Mapping[str, str], draft: Path, environ: Mapping[str, str]) -> int:
    """Write suites for what runs, and take their snapshots. Return the number of scenarios."""
    texts, names = {}, FileNames()
    for key, state in states.items():
        if state == "runs" or state.startswith("user code only"):
            text = suites.suite(workspace, workspace.destinations[key])
            if text:
                texts[f"suites/{names.of(key)}.suite.yaml"] = text
    for key in workspace.transformations:
        if text := suites.transformation_suite(workspace, key):
            texts[f"suites/{names.of(key)}.suite.yaml"] = text
    for key in workspace.sources:
        if text := suites.plan_suite(workspace, key):
            texts[f"suites/{names.of(f'{key}-as-planned')}.suite.yaml"] = text
    if not texts:
        return 0
    for name, text in (suites.samples() | texts).items():
        (draft / name).parent.mkdir(parents=True, exist_ok=True)
        (draft / name).write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkspaceWarning)  # the report lists unknown types and variables
        file = draft / "workspace.yaml"  # without SVC_ENV, which applies to other workspaces
        written = {file.resolve(): Workspace.load(file, environ=environ, environment="")}
        loaded = [runner.load(draft / name, workspaces=written, environ=environ) for name in texts]
    scenarios = [scenario for suite in loaded for scenario in suite.scenarios]
    with runner.open_planes() as planes:
        for _ in runner.run(scenarios, planes, snapshots=runner.Snapshots("new")):
            pass
    return len(scenarios)


def _assignments(text: str) -> list[str]:
    """Return the assignments in a `.env`; values may have several lines."""
    return [word for word in shlex.split(text, comments=True) if "=" in word]
