"""Suites: declared scenarios, run against a data plane in this process.

    suites, scenarios = collect(["suites"])
    with embedded() as planes:
        for notice in run(scenarios, planes):
            ...

`collect -> select -> run -> report`: the command line and pytest are two listeners of the same run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from svctoolkit.runner._attempt import attempt
from svctoolkit.runner._collect import collect, select
from svctoolkit.runner._format import schema
from svctoolkit.runner._model import Scenario, Step, Suite
from svctoolkit.runner._outcome import Covered, Finished, Notice, Outcome, Started, StepOutcome
from svctoolkit.runner._select import find
from svctoolkit.runner._written import problems
from svctoolkit.runner.compare import Difference, differences
from svctoolkit.runner.load import load, loads, of
from svctoolkit.runner.plane import Planes, embedded
from svctoolkit.runner.reporters import REPORTERS, Output, Reporter
from svctoolkit.runner.run import run, skipped
from svctoolkit.runner.snapshots import Snapshots, write

if TYPE_CHECKING:
    from svctoolkit.runner._became import became
    from svctoolkit.runner._coverage import Collector, Coverage, shown_coverage
    from svctoolkit.runner._remote import remote
    from svctoolkit.runner._text import diverged, explanation, github_commands

#: Imported when first used: most runs pass, send nothing elsewhere and count no coverage.
_HOME = {
    "Collector": "_coverage",
    "Coverage": "_coverage",
    "became": "_became",
    "diverged": "_text",
    "explanation": "_text",
    "github_commands": "_text",
    "remote": "_remote",
    "shown_coverage": "_coverage",
}

__all__ = [
    "REPORTERS",
    "Collector",
    "Coverage",
    "Covered",
    "Difference",
    "Finished",
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
    "became",
    "collect",
    "differences",
    "diverged",
    "embedded",
    "explanation",
    "find",
    "github_commands",
    "hints",
    "load",
    "loads",
    "of",
    "problems",
    "remote",
    "run",
    "schema",
    "select",
    "shown_coverage",
    "skipped",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
