"""Tools that run single events through destinations."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from svctoolkit.agents.destinations import is_testable
from svctoolkit.agents.tool import Project, only_one
from svctoolkit.errors import EventError, Problem
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.results import DestinationResult, failures
from svctoolkit.results.failures import GROUP_COLUMNS
from svctoolkit.runner.record.writer import read_events
from svctoolkit.server.store.enrich import complete
from svctoolkit.simulations import Level
from svctoolkit.workspace import Workspace

_MOST = 500  # events of one call
_Event: TypeAlias = Annotated[dict[str, Any], "the event, with at least `type`; ids and times are added as SDKs do"]
_Name: TypeAlias = Annotated[str, "key or id of a destination of the workspace"]


# Any: JSON of an agent
def run_event(
    project: Project,
    event: _Event,
    destination: _Name = "",
    source: Annotated[str, "instead of a destination: all destinations of this source (key or id)"] = "",
    simulate: Annotated[Level | None, "how strictly the destination's simulated server answers"] = None,
    config: Annotated[dict[str, Any] | None, "settings of the destination to override, by name"] = None,
) -> Json:
    """Run one event through all stages: user transformation, mapping to HTTP requests, and a recorded delivery.

    Nothing is sent: a recorder, or the destination's simulated server, answers the requests.
    """
    only_one(destination=destination or None, source=source or None)
    pipeline = Pipeline(project.workspace(), exploring=True)
    added, stages = complete(event), Stages(send_to_destination=True)
    if source:
        results = [*pipeline.test_source(source, event, stages=stages, simulate=simulate)]
    else:
        results = [
            pipeline.test_destination(destination, event, stages=stages, simulate=simulate, config=config or None)
        ]
    return {"addedToEvent": [*added], "results": [_shown(result) for result in results]}


def lineage(project: Project, destination: _Name, event: _Event) -> Json:
    """Measure which field of an event each field of the destination's requests comes from, and what is lost.

    For an event that is refused, it names the fields and settings that cause that.
    """
    complete(event)
    return str(Pipeline(project.workspace()).lineage(destination, event))


# Any: JSON of an agent
def find_failures(
    project: Project,
    events: Annotated[list[dict[str, Any]] | None, "the events"] = None,
    file: Annotated[str | None, "instead of events: an NDJSON file of the project"] = None,
    destinations: Annotated[list[str] | None, "keys of destinations (default: all)"] = None,
) -> Json:
    """Run up to 500 events and return the rules that they break: field, values, expected values, setting, place in
    the code. Groups are sorted by the number of events. For larger files, use `replay`.
    """
    only_one(events=events, file=file)
    workspace, bad = project.workspace(), list[Problem]()
    given = events if file is None else [item.event for item in read_events(project.path(str(file)), bad)]
    pipeline, keys = Pipeline(workspace, exploring=True), destinations or _testable(workspace)
    results = []
    for number, event in enumerate((given or [])[:_MOST], 1):
        whole = {**event}
        complete(whole)
        try:
            results += [pipeline.test_destination(key, whole, stages=Stages(send_to_destination=True)) for key in keys]
        except EventError as error:
            bad.append(Problem(str(error), f"event {number}"))
    found = failures(results)
    return {
        "events": min(len(given or []), _MOST),
        "notRun": max(0, len(given or []) - _MOST),
        "invalid": [str(problem) for problem in bad],
        "destinations": keys,
        "failures": [dict(zip(GROUP_COLUMNS, group, strict=True)) for group in found.groups()],
    }


def _testable(workspace: Workspace) -> list[str]:
    return [key for key, item in workspace.destinations.items() if is_testable(item.type)]


def _shown(result: DestinationResult) -> Json:
    return {
        "ok": result.ok,
        **result.to_masked_dict(),
        "lost": [loss.text for loss in result.lost],
        "logs": [log.text for entry in result.data for log in entry.logs],
    }
