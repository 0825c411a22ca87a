"""Tracking plans in RudderStack's JSON next to an export, and the sources that the export links to them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from svctoolkit import plans
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.plans import Project, setting_problems
from svctoolkit.plans.formats import FORMATS
from svctoolkit.project.files import FileNames
from svctoolkit.workspace import TrackingPlan, Workspace

_FORMAT = "service"
_LARGEST = 32 << 20  # bytes; larger files hold events rather than plans


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A file with plans."""

    path: Path
    project: Project


def plan_files(folder: Path) -> list[PlanFile]:
    """Return the files with RudderStack's tracking plans in a folder, and in `tracking/` there."""
    paths = [path for place in (folder, folder / "tracking") if place.is_dir() for path in sorted(place.glob("*.json"))]
    return [file for path in paths for file in _read(path)]


def _read(path: Path) -> Iterator[PlanFile]:
    with suppress(ConfigError, OSError, ValueError):  # there may be any files next to an export
        if path.stat().st_size <= _LARGEST and FORMATS[_FORMAT].looks_like(path):
            yield PlanFile(path.resolve(), plans.load(path, format=_FORMAT, strict=False))


@dataclass(frozen=True, slots=True)
class PlanLink:
    """A plan of a source, by ids, and what happens to events with violations."""

    source: str
    plan: str
    settings: Mapping[str, Json] | None


def take_links(configuration: Json, files: Sequence[PlanFile]) -> list[PlanLink]:
    """Remove from a workspace configuration the links of sources to plans in `files`, and return them."""
    known = {id for file in files for id in file.project.plans}
    links = []
    sources = configuration.get("sources") if isinstance(configuration, dict) else None
    for source in sources if isinstance(sources, list) else ():
        link = source.get("dgSourceTrackingPlanConfig") if isinstance(source, dict) else None
        if not isinstance(link, dict) or link.get("deleted"):
            continue
        plan = link.get("trackingPlan")
        if isinstance(plan, dict) and plan.get("id") in known:
            source["dgSourceTrackingPlanConfig"] = None
            settings = link.get("config") or None
            valid = isinstance(settings, dict) and not list(setting_problems(settings))
            links.append(PlanLink(str(source.get("id")), plan["id"], settings if valid else None))
    return links


def add_plans(workspace: Workspace, files: Sequence[PlanFile], links: Sequence[PlanLink]) -> None:
    """Add the plans to the workspace, with keys made of their names, and link the sources."""
    names, keys = FileNames(), dict[str, str]()
    for file in files:
        for id, plan in file.project.plans.items():
            keys[id] = key = names.of(plan.name or id)
            which = id if len(file.project.plans) > 1 else None
            item = TrackingPlan(key, file.path, _FORMAT, which, strict=False, project=file.project)
            workspace.tracking_plans[key] = item
    for link in links:
        for source in workspace.sources.values():
            if source.id == link.source:
                source.tracking_plan = keys[link.plan]
                source.plan_settings = json.loads(json.dumps(link.settings)) if link.settings else None
