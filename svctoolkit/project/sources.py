"""Read a workspace from RudderStack's JSON, a workspace file, or a folder of Rudder CLI files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from svctoolkit import yamlfile
from svctoolkit.errors import InvalidWorkspace, Problem, WorkspaceWarning
from svctoolkit.project import tracking
from svctoolkit.workspace import Connection, Workspace, configuration_of, project_at

_STAND_IN = "https://stand-in.example/events"


def read(path: Path, workspace_id: str, strict: bool, environ: Mapping[str, str]) -> tuple[Workspace, list[Problem]]:
    """Return the workspace, and its unknown types and variables as problems.

    Raises `InvalidWorkspace` if it is not a workspace; with `strict`, also for unknown types and variables.
    """
    if path.is_dir():
        return _of_folder(path, strict, environ)
    loaded = yamlfile.load(path, error=InvalidWorkspace)
    _refuse_other_formats(loaded)
    document = configuration_of(loaded, workspace_id)
    files = tracking.plan_files(path.parent)
    links = tracking.take_links(document.data, files)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WorkspaceWarning)
        workspace = Workspace.of(document, folder=path.parent, environ=environ, strict=strict)
    if not workspace.sources and not workspace.destinations:
        raise InvalidWorkspace("not a workspace: it has no sources and no destinations", where=document.name)
    if links or not workspace.tracking_plans:  # a workspace file says itself which plans it has
        tracking.add_plans(workspace, files if links else [], links)
    problems = [_named(p, path) for w in caught if isinstance(w.message, WorkspaceWarning) for p in w.message.problems]
    return workspace, problems


def _refuse_other_formats(document: yamlfile.Document) -> None:
    """Raise `InvalidWorkspace` for public formats that look like a workspace, and are not supported."""
    data = document.data
    if not isinstance(data, dict) or "sources" in data or "destinations" in data:
        return
    if isinstance(data.get("transformations"), list) or isinstance(data.get("libraries"), list):
        raise InvalidWorkspace(
            "a list of transformations and libraries to deploy (meta.json of rudder-transformation-action): this "
            "format is recognized, but not supported. Import the workspaceConfig.json, with --code FOLDER",
            where=document.name,
        )
    if isinstance(data.get("source"), dict):
        raise InvalidWorkspace(
            "the configuration that SDKs get (sourceConfig), or a file of RudderStack's old config generator: this "
            "format is recognized, but not supported. Import the workspaceConfig.json of the data plane",
            where=document.name,
        )


def _named(problem: Problem, path: Path) -> Problem:
    """Return the problem without the folder of an absolute path: it is written to a file that others read."""
    return problem._replace(where=problem.where.removeprefix(f"{path.parent}/")) if path.is_absolute() else problem


def _of_folder(folder: Path, strict: bool, environ: Mapping[str, str]) -> tuple[Workspace, list[Problem]]:
    """Read a rudder-cli project: everything that it contains, as a copy that its owner may change.

    The sources of a project without destinations are connected to a placeholder webhook: nothing can be sent otherwise.
    """
    if project_at(folder) is None:
        text = "not a rudder/v1 project: the folder has no event-stream-source, transformation or tracking plan"
        raise InvalidWorkspace(text, where=str(folder))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        workspace = Workspace.load(folder, environ=environ, strict=strict, environment="")
    notes = [each.message for each in caught if isinstance(each.message, WorkspaceWarning)]
    problems = [problem for note in notes for problem in note.problems]
    if workspace.sources and not workspace.destinations:
        workspace.destination("stand-in", "WEBHOOK", name="Stand-in", config={"webhookUrl": _STAND_IN})
        for source in workspace.sources.values():
            source.connections = [Connection("stand-in")]
    if not workspace.sources and not workspace.transformations and not workspace.tracking_plans:
        text = "not a rudder/v1 project: the folder has no event-stream-source, transformation or tracking plan"
        raise InvalidWorkspace(text, where=str(folder))
    for item in workspace.tracking_plans.values():
        item.path = folder.resolve()
        if len(workspace.tracking_plans) == 1:
            item.plan = None
    workspace.project = None  # the copy does not belong to rudder-cli
    return workspace, problems
