"""Read a workspace from RudderStack's JSON, a workspace file, or a folder of Rudder CLI files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

from svctoolkit import plans, yamlfile
from svctoolkit.errors import InvalidPlan, InvalidWorkspace, Problem, WorkspaceWarning
from svctoolkit.plans.formats import FORMATS
from svctoolkit.project import tracking
from svctoolkit.workspace import Connection, Source, TrackingPlan, Transformation, Workspace, configuration_of
from svctoolkit.workspace.rudder_v1 import code_in, event_sources_in

_STAND_IN = "https://stand-in.example/events"


def read(path: Path, workspace_id: str, strict: bool, environ: Mapping[str, str]) -> tuple[Workspace, list[Problem]]:
    """Return the workspace, and its unknown types and variables as problems.

    Raises `InvalidWorkspace` if it is not a workspace; with `strict`, also for unknown types and variables.
    """
    if path.is_dir():
        return _of_folder(path, strict)
    document = configuration_of(yamlfile.load(path, error=InvalidWorkspace), workspace_id)
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


def _named(problem: Problem, path: Path) -> Problem:
    """Return the problem without the folder of an absolute path: it is written to a file that others read."""
    return problem._replace(where=problem.where.removeprefix(f"{path.parent}/")) if path.is_absolute() else problem


def _of_folder(folder: Path, strict: bool) -> tuple[Workspace, list[Problem]]:
    """Read a Rudder CLI project: sources, transformations (without code, which is searched later), tracking plans.

    Such projects have no destinations, so its sources are connected to a placeholder webhook.
    """
    workspace = Workspace(folder.resolve().name)
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(n for n in names if n.endswith((".yaml", ".yml"))):
            for item in event_sources_in(Path(here, name)):
                workspace.sources[item.id] = Source(item.id, item.id, item.name, item.type, item.id, item.enabled)
            for code in code_in(Path(here, name)):
                if not code.import_name:
                    workspace.transformations[code.id] = Transformation(code.id, code.id, code.name, code.language)
    if workspace.sources:  # without a destination nothing can be sent
        workspace.destination("stand-in", "WEBHOOK", name="Stand-in", config={"webhookUrl": _STAND_IN})
        for source in workspace.sources.values():
            source.connections = [Connection("stand-in")]
    problems = _add_plans(workspace, folder, strict)
    if not workspace.sources and not workspace.transformations and not workspace.tracking_plans:
        text = "not a rudder/v1 project: the folder has no event-stream-source, transformation or tracking plan"
        raise InvalidWorkspace(text, where=str(folder))
    return workspace, problems


def _add_plans(workspace: Workspace, folder: Path, strict: bool) -> list[Problem]:
    """Add the tracking plans of a project. Return the schemas that RudderStack rejects: their events pass unchecked."""
    if not FORMATS["rudder-cli"].looks_like(folder):
        return []
    lenient, problems = False, list[Problem]()
    try:
        project = plans.load(folder, format="rudder-cli")
    except InvalidPlan as error:
        if strict:
            raise
        project = plans.load(folder, format="rudder-cli", strict=False)
        lenient, problems = True, list(error.problems)
    for id in project.plans:
        which = id if len(project.plans) > 1 else None
        item = TrackingPlan(id, folder.resolve(), plan=which, strict=not lenient, project=project)
        workspace.tracking_plans[id] = item
    return problems
