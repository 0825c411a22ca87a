"""Runs events through the three stages, in this order:

    event -> user_transform -> [event] -> dest_transform -> [payload] -> send_to_destination -> response

`Pipeline` has the same two calls as the Test API and its client, and returns the same results.
"""

from __future__ import annotations

from svctoolkit.pipeline.api import Pipeline
from svctoolkit.pipeline.fates import Fate, Passage, pass_many
from svctoolkit.pipeline.route import Route, route
from svctoolkit.pipeline.run import run, run_many
from svctoolkit.pipeline.stages.stages import Stages
from svctoolkit.pipeline.warehouses import Warehouses, check_runs

__all__ = [
    "Fate",
    "Passage",
    "Pipeline",
    "Route",
    "Stages",
    "Warehouses",
    "check_runs",
    "pass_many",
    "route",
    "run",
    "run_many",
]
