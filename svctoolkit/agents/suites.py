"""Tools that run and write suites."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from svctoolkit import runner, yamlfile
from svctoolkit.agents.tool import Project, only_one
from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json
from svctoolkit.runner.record.api import record
from svctoolkit.runner.record.suite_file import add_scenarios
from svctoolkit.workspace import require_trust

_MOST = 20  # failures that are explained in one answer


def run_suites(
    project: Project,
    paths: Annotated[list[str] | None, "suite files, folders, or FILE::ID for one scenario (default: all)"] = None,
    words: Annotated[str, "run scenarios with these words in file, id, title or tags: `refund and not slow`"] = "",
    tags: Annotated[str, "run scenarios whose tags match"] = "",
) -> Json:
    """Run suites and return the number of scenarios by status, with an explanation of each failure."""
    scenarios = runner.select(_collect(project, paths or []), tags=tags, words=words)
    if not scenarios:
        raise UsageError("no scenario is selected")
    outcomes = _run(scenarios)
    failed = [outcome for outcome in outcomes if outcome.deviates]
    return {
        "counts": dict(Counter(outcome.status for outcome in outcomes)),
        "failures": {outcome.scenario.name: runner.explanation(outcome) for outcome in failed[:_MOST]},
        "moreFailures": [outcome.scenario.name for outcome in failed[_MOST:]],
    }


def explain_failure(
    project: Project, scenario: Annotated[str, "FILE::ID, as `run_suites` returns it for a failure"]
) -> Json:
    """Run one scenario and explain its differences: where each value came from, and the values of every stage."""
    if "::" not in scenario:
        raise UsageError(f"{scenario!r} is not a scenario: expected FILE::ID, such as suites/orders.suite.yaml::refund")
    outcomes = _run(_collect(project, [scenario]))
    stream = io.StringIO()
    reporter = runner.REPORTERS["ndjson"](runner.Output(stream))
    for outcome in outcomes:
        reporter(outcome)
    return {
        "explanation": [runner.explanation(outcome) for outcome in outcomes if outcome.deviates] or "it passes",
        "scenarios": [json.loads(line) for line in stream.getvalue().splitlines()],
    }


# Any: JSON of an agent
def write_scenario(
    project: Project,
    file: Annotated[str, "a suite file (*.suite.yaml) of the project, new or existing"],
    event: Annotated[dict[str, Any] | None, "record the current results of this event as the expectation"] = None,
    source: Annotated[str, "with `event`: where it comes from (default: the workspace's first source)"] = "",
    scenario: Annotated[dict[str, Any] | None, "instead of `event`: a scenario in the format of suites"] = None,
) -> Json:
    """Add a scenario to a suite. It must pass; if it does not, nothing is written and the difference is reported.

    Comments and other scenarios of the file stay as they are. Personal data of an `event` is replaced.
    """
    only_one(event=event, scenario=scenario)
    path, workspace = project.path(file), project.workspace()
    suite: Mapping[str, Any] = {**_head_of(path), "scenarios": [scenario]}
    if event is not None:
        suite = record([event], workspace, source=source).suite
    require_trust(workspace)
    added = add_scenarios(path, suite, workspace)
    return {"file": str(file), "added": added, "scenarios": list(suite["scenarios"])}


def _head_of(path: Path) -> dict[str, Json]:
    """Return what a suite with one more scenario needs to be like the file: its clock, or a name for a new file."""
    if not path.is_file():
        return {"suite": path.name.partition(".")[0]}
    data = yamlfile.load(path).data
    return {"freeze": data["freeze"]} if isinstance(data, dict) and "freeze" in data else {}


def _collect(project: Project, names: Sequence[str]) -> list[runner.Scenario]:
    targets = []
    for name in names or ["suites" if Path("suites").is_dir() else "."]:
        file, colons, id = name.partition("::")
        targets.append(f"{project.path(file)}{colons}{id}")
    scenarios = runner.collect(targets)[1]
    require_trust(*(scenario.suite.workspace for scenario in scenarios))
    return scenarios


def _run(scenarios: Sequence[runner.Scenario]) -> list[runner.Outcome]:
    with runner.open_planes() as planes:
        return [*runner.outcomes(scenarios, planes)]
