"""Starter files next to a rudder-cli project: suites that use the folder as their workspace.

rudder-cli stops at every YAML file in its folder that is not a resource, so nothing is written there.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from svctoolkit.errors import UsageError
from svctoolkit.project.imports import write_workspace
from svctoolkit.project.sources import read
from svctoolkit.project.suite_files import write_suites
from svctoolkit.project.workflows import GITIGNORE, project_workflow, pytest_files
from svctoolkit.workspace import project_at

_WORKSPACE = "workspace: ../workspace.yaml"


def find_project(folder: Path) -> Path:
    """Return the only project in a folder: one of its subfolders, such as `rudder/`. Raises `UsageError`."""
    found = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    projects = [path for path in found if project_at(path) is not None]
    if len(projects) != 1:
        names = ", ".join(path.name for path in projects) or "none"
        raise UsageError(f"{folder}: expected one folder with a rudder-cli project, found {names}. Give --project DIR")
    return projects[0]


def starter_files(
    project: Path, folder: Path, *, github: bool, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the files for `folder`, by name: suites with snapshots of what the project sends today, and a workflow.

    Raises `UsageError` if `folder` is in the project, `ConfigError` if the project cannot be read.
    """
    if project_at(project) is None:
        raise UsageError(f"{project} is not a rudder-cli project: it has no file with `version: rudder/v1`")
    if folder.resolve().is_relative_to(project.resolve()):
        raise UsageError(
            f"rudder-cli would stop at YAML files in {project}: give a folder next to it, as in "
            "`svctoolkit init --from rudder-cli .. --project .`"
        )
    workspace, _ = read(project, "", False, environ)
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary:
        draft = Path(temporary)
        write_workspace(workspace, draft)
        write_suites(workspace, draft, environ, {})  # `run` finds the tests of transformations in the project
        suites = [path for path in sorted((draft / "suites").rglob("*")) if path.is_file()]
        texts = {path.relative_to(draft).as_posix(): path.read_text("utf-8") for path in suites}
    place = Path(os.path.relpath(project, folder / "suites")).as_posix()
    files = {name: text.replace(_WORKSPACE, f"workspace: {place}", 1) for name, text in texts.items()}
    workflow = project_workflow(Path(os.path.relpath(project, folder)).as_posix()) if github else {}
    return files | {".gitignore": GITIGNORE} | pytest_files(folder) | workflow
