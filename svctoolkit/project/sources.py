"""What an export holds, as a workspace: the service's JSON, a workspace file, or a folder of Rudder CLI files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

from svctoolkit import yamlfile
from svctoolkit.errors import InvalidWorkspace, Problem, WorkspaceWarning
from svctoolkit.workspace import Source, Transformation, Workspace, configuration_of
from svctoolkit.workspace.rudder_v1 import code_in, event_sources_in


def read(path: Path, workspace_id: str, strict: bool, environ: Mapping[str, str]) -> tuple[Workspace, list[Problem]]:
    """The workspace, and what of it nobody here knows.

    Raises `InvalidWorkspace`: it is none; with `strict` also for what nobody knows.
    """
    if path.is_dir():
        return _of_folder(path), []
    document = yamlfile.load(path, error=InvalidWorkspace)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WorkspaceWarning)
        workspace = Workspace.of(
            configuration_of(document, workspace_id), folder=path.parent, environ=environ, strict=strict
        )
    if not workspace.sources and not workspace.destinations:
        raise InvalidWorkspace("has no sources and no destinations: it is no workspace", where=document.name)
    problems = [p for w in caught if isinstance(w.message, WorkspaceWarning) for p in w.message.problems]
    return workspace, problems


def _of_folder(folder: Path) -> Workspace:
    """Sources and transformations of a Rudder CLI project, which has no destinations. Code comes with all other."""
    workspace = Workspace(folder.resolve().name)
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(n for n in names if n.endswith((".yaml", ".yml"))):
            for item in event_sources_in(Path(here, name)):
                workspace.sources[item.id] = Source(item.id, item.id, item.name, item.type, item.id, item.enabled)
            for code in code_in(Path(here, name)):
                if not code.import_name:
                    workspace.transformations[code.id] = Transformation(code.id, code.id, code.name, code.language)
    if not workspace.sources and not workspace.transformations:
        text = "there is no event-stream-source and no transformation of a rudder/v1 project in this folder"
        raise InvalidWorkspace(text, where=str(folder))
    return workspace
