"""Suites: declared scenarios, run against a data plane in this process.

    suites, scenarios = collect(["suites"])
    with embedded() as planes:
        for notice in run(scenarios, planes):
            ...

`collect -> select -> run -> report`: the command line and pytest are two listeners of the same run.
"""

from __future__ import annotations

from svctoolkit.runner._collect import collect, select
from svctoolkit.runner._format import schema
from svctoolkit.runner._model import Scenario, Suite
from svctoolkit.runner._text import explanation
from svctoolkit.runner.compare import Difference, differences
from svctoolkit.runner.load import load
from svctoolkit.runner.plane import Planes, embedded
from svctoolkit.runner.reporters import REPORTERS, Output, Reporter
from svctoolkit.runner.run import Finished, Notice, Outcome, Started, attempt, run

__all__ = [
    "REPORTERS",
    "Difference",
    "Finished",
    "Notice",
    "Outcome",
    "Output",
    "Planes",
    "Reporter",
    "Scenario",
    "Started",
    "Suite",
    "attempt",
    "collect",
    "differences",
    "embedded",
    "explanation",
    "load",
    "run",
    "schema",
    "select",
]
