"""Suites: declared scenarios, run against a data plane in this process.

    suites, scenarios = collect(["suites"])
    with open_planes() as planes:
        for notice in run(scenarios, planes):
            ...

`collect -> select -> run -> report`: the command line and pytest consume the notices of the same run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from svctoolkit.expect.compare import differences
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.expectation import problems
from svctoolkit.expect.held import held_differences
from svctoolkit.expect.snapshots import Snapshots, write
from svctoolkit.runner.attempts.attempt import attempt
from svctoolkit.runner.attempts.causes import Cause, causes
from svctoolkit.runner.attempts.idle import IdleParts
from svctoolkit.runner.attempts.known_bugs import judge
from svctoolkit.runner.attempts.outcome import Covered, Finished, Notice, Outcome, Started, StepOutcome
from svctoolkit.runner.planes.pool import Planes, open_planes
from svctoolkit.runner.report.reporters import REPORTERS, Output, Reporter
from svctoolkit.runner.run import outcomes, run, skip_reason
from svctoolkit.runner.suite.checks.ineffective import unknown_members
from svctoolkit.runner.suite.collect import Loaded, collect, select
from svctoolkit.runner.suite.format import schema
from svctoolkit.runner.suite.load import load, loads, suite_of
from svctoolkit.runner.suite.model import Scenario, Step, Suite
from svctoolkit.runner.suite.select import find, overlooked

if TYPE_CHECKING:
    from svctoolkit.runner.coverage.collector import CheckedLines, Collector, Coverage, coverage_lines
    from svctoolkit.runner.planes.fates import run_results, violation_records
    from svctoolkit.runner.planes.remote import remote_planes
    from svctoolkit.runner.report.annotations import caused_command, github_commands, merged_commands
    from svctoolkit.runner.report.text import explanation, first_wrong_stage
    from svctoolkit.runner.suite.editor.schema import editor_schema

#: Imported on first use: most runs pass, use no remote service and measure no coverage.
_HOME = {
    "CheckedLines": "coverage.collector",
    "Collector": "coverage.collector",
    "Coverage": "coverage.collector",
    "run_results": "planes.fates",
    "violation_records": "planes.fates",
    "first_wrong_stage": "report.text",
    "editor_schema": "suite.editor.schema",
    "explanation": "report.text",
    "caused_command": "report.annotations",
    "github_commands": "report.annotations",
    "merged_commands": "report.annotations",
    "remote_planes": "planes.remote",
    "coverage_lines": "coverage.collector",
}

__all__ = [
    "REPORTERS",
    "Cause",
    "CheckedLines",
    "Collector",
    "Coverage",
    "Covered",
    "Difference",
    "Finished",
    "IdleParts",
    "Loaded",
    "Notice",
    "Outcome",
    "Output",
    "Planes",
    "Reporter",
    "Scenario",
    "Snapshots",
    "Started",
    "Step",
    "StepOutcome",
    "Suite",
    "attempt",
    "caused_command",
    "causes",
    "collect",
    "coverage_lines",
    "differences",
    "editor_schema",
    "explanation",
    "find",
    "first_wrong_stage",
    "github_commands",
    "held_differences",
    "judge",
    "load",
    "loads",
    "merged_commands",
    "open_planes",
    "outcomes",
    "overlooked",
    "problems",
    "remote_planes",
    "run",
    "run_results",
    "schema",
    "select",
    "skip_reason",
    "suite_of",
    "unknown_members",
    "violation_records",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
